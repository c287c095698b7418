"""Messages as frameworks hold them and back, where the frameworks aren't installed: stand-ins hold what they are given.

That the frameworks themselves take these messages is shown where they are installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from stand_ins import REST, RESULT, SAID, SYSTEM, asked, bare, held, kind, put_modules, scribe

from ctxsim.policies import open_policy
from ctxsim.policies.frameworks.autogen import adapter as autogen
from ctxsim.policies.frameworks.langchain import adapter as langchain
from ctxsim.policies.frameworks.langmem import adapter as langmem
from ctxsim.policies.frameworks.strands import adapter as strands


def test_a_refused_request_is_sent_again_as_often_as_by_the_policy_that_is_built_in() -> None:
    (built_in,) = open_policy("strands-sliding").create()
    assert strands.FRAMEWORK.retries == built_in.retries


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return put_modules(monkeypatch)


class Newest:
    """A context of AutoGen that keeps the last `keep` messages."""

    def __init__(self, initial_messages: list[Any], keep: int = 99, model_client: Any = None) -> None:
        self.messages, self.keep, self.client = initial_messages, keep, model_client

    async def get_messages(self) -> list[Any]:
        return self.messages[-self.keep :]


class TokenLimited(Newest):
    async def get_messages(self) -> list[Any]:
        left = self.client.remaining_tokens(self.messages, tools=[])
        assert left + self.client.count_tokens(self.messages) == 1_000
        return self.messages if left == self.keep else []


def test_autogen(modules: Callable[..., None]) -> None:
    names = ("FunctionExecutionResultMessage", "AssistantMessage", "UserMessage", "FunctionExecutionResult")
    models = SimpleNamespace(**{name: kind(name) for name in names})
    modules(autogen_core={"FunctionCall": kind("FunctionCall"), "models": models})
    theirs = autogen.there(REST)
    assert [one.type for one in theirs] == [
        "UserMessage", "AssistantMessage", "FunctionExecutionResultMessage", "AssistantMessage",
        "FunctionExecutionResultMessage", "AssistantMessage",
    ]  # fmt: skip
    assert [getattr(one, "source", None) for one in theirs] == [
        "user",
        "assistant",
        None,
        "assistant",
        None,
        "assistant",
    ]
    assert [(each.name, each.call_id) for each in theirs[2].content] == [("read", "c1"), ("read", "c2")]
    assert (theirs[1].thought, theirs[3].thought) == ("I look.", None)
    assert autogen.back(theirs) == bare(REST, "id")
    assert autogen.back([SimpleNamespace(type="SystemMessage", content="x")]) == [{"role": "system", "content": "x"}]
    session = autogen.session(Newest, {"keep": 2}, scribe())
    assert asked(session, [SYSTEM, *REST]) == [SYSTEM, *bare([RESULT, SAID], "id")]
    # Do. 3, I look. 7, twice read 8, the arguments 9 and 7, result 3 and 4 16, grep and {} 6, found 5, Done. 5: 66.
    limited = autogen.session(TokenLimited, {"keep": 1_000 - 66}, scribe())
    assert asked(limited, REST) == bare(REST, "id")
    assert not autogen.FRAMEWORK.lasting(Newest)


def test_langchain(modules: Callable[..., None]) -> None:
    types = {"AIMessage": "ai", "HumanMessage": "human", "SystemMessage": "system", "ToolMessage": "tool"}

    class RemoveMessage:
        pass

    class BaseChatModel:
        pass

    modules(
        langchain_core__messages={
            **{name: kind(value) for name, value in types.items()},
            "RemoveMessage": RemoveMessage,
        },
        langchain_core__messages__utils={"count_tokens_approximately": len},
        langchain_core__language_models={"BaseChatModel": BaseChatModel},
        langchain_core__outputs={"ChatGeneration": kind("generation"), "ChatResult": kind("result")},
    )
    theirs = langchain.there([SYSTEM, *REST])
    assert [one.type for one in theirs] == ["system", "human", "ai", "tool", "tool", "ai", "tool", "ai"]
    assert theirs[3].name == "read" and langchain.there([RESULT | {"name": ""}])[0].name is None
    assert theirs[2].tool_calls[0] == {"name": "read", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    assert langchain.back(theirs) == bare(held([SYSTEM, *REST]))

    def trim(messages: list[Any], token_counter: Any, keep: int) -> list[Any]:
        assert token_counter is len
        return messages[-keep:]

    assert asked(langchain.session(trim, {"keep": 2}, scribe()), [SYSTEM, *REST]) == bare(held(REST[-2:]))

    class Edit:
        def __init__(self, exclude_tools: Sequence[str] = ()) -> None:
            self.excluded = exclude_tools

        def apply(self, messages: list[Any], count_tokens: Any) -> None:
            assert count_tokens is len and self.excluded in ((), ("grep",))
            for message in messages:
                if message.type == "tool" and message.name not in self.excluded:
                    message.content = "cleared"

    cleared = [one | {"content": "cleared"} if one["role"] == "tool" else one for one in held(REST)]
    assert asked(langchain.session(Edit, {}, scribe()), [SYSTEM, *REST]) == [SYSTEM, *bare(cleared)]
    partly = asked(langchain.session(Edit, {"exclude_tools": "grep"}, scribe()), REST)
    assert [one["content"] for one in partly if one["role"] == "tool"] == ["cleared", "cleared", "found"]

    class Middleware:
        def __init__(self, model: Any, most: int) -> None:
            self.model, self.most = model, most

        def before_model(self, state: dict[str, Any], runtime: None) -> Any:
            messages = state["messages"]
            if len(messages) <= self.most:
                return None
            answer = self.model._generate(messages[:2]).generations[0].message.content
            return {"messages": [RemoveMessage(), kind("human")(content=answer, id=None), *messages[-1:]]}

    assert langchain.model(scribe())._llm_type == "ctxsim"
    assert asked(langchain.session(Middleware, {"most": 9}, scribe()), REST) is None
    written = asked(langchain.session(Middleware, {"most": 1}, scribe()), [SYSTEM, *REST])
    summary = {"id": None, "role": "user", "content": "{summary}", "summarize": True}
    assert written.messages == [SYSTEM, summary, *bare([SAID])]
    assert langchain.FRAMEWORK.lasting(Middleware) and not langchain.FRAMEWORK.lasting(Edit)

    def running(messages: list[Any], running_summary: Any, model: Any, keep: int) -> Any:
        return SimpleNamespace(messages=messages[-keep - (running_summary or 0) :], running_summary=1)

    remembering = langmem.session(running, {"keep": 1}, scribe())
    assert asked(remembering, REST) == bare(REST[-1:]) and asked(remembering, REST) == bare(held(REST[-2:]))
    assert not langmem.FRAMEWORK.lasting(running)
