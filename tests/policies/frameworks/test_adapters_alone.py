"""Messages as frameworks hold them and back, where the frameworks aren't installed: stand-ins hold what they are given.

That the frameworks themselves take these messages is shown where they are installed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from ctxsim.counting.estimators import open_estimator
from ctxsim.policies import Policy, Stop
from ctxsim.policies.foreign.conversation import Message
from ctxsim.policies.foreign.framework import Scribe
from ctxsim.policies.foreign.shapes import Arguments, call_of
from ctxsim.policies.foreign.shortener import Context
from ctxsim.policies.frameworks.agent_framework import adapter as agent_framework
from ctxsim.policies.frameworks.autogen import adapter as autogen
from ctxsim.policies.frameworks.langchain import adapter as langchain
from ctxsim.policies.frameworks.langmem import adapter as langmem
from ctxsim.policies.frameworks.pydantic_ai import adapter as pydantic_ai
from ctxsim.policies.frameworks.pydantic_ai.policy import Requests
from ctxsim.policies.frameworks.strands import adapter as strands
from ctxsim.transcript import Usage

SYSTEM: Message = {"id": "head", "role": "system", "content": "Be kind."}
USER: Message = {"id": "m0", "role": "user", "content": "Do."}
ASKS: Message = {
    "id": "a1", "role": "assistant", "content": "I look.", "tool_calls": [
        call_of("c1", "read", '{"a":  1}'), call_of("c2", "read", "no json")],
}  # fmt: skip
SILENT: Message = {"id": "a2", "role": "assistant", "content": "", "tool_calls": [call_of("c3", "grep", "{}")]}
RESULTS: list[Message] = [
    {"id": f"m{n}", "role": "tool", "tool_call_id": f"c{n - 2}", "name": "read", "content": f"result {n}"}
    for n in (3, 4)
]
RESULT: Message = {"id": "m6", "role": "tool", "tool_call_id": "c3", "name": "grep", "content": "found"}
SAID: Message = {"id": "a3", "role": "assistant", "content": "Done."}
REST = [USER, ASKS, *RESULTS, SILENT, RESULT, SAID]


def bare(messages: Sequence[Message], *without: str) -> list[Message]:
    """Messages without some of their fields, a tool's name among them: nobody gives it back."""
    return [{key: value for key, value in one.items() if key not in ("name", *without)} for one in messages]


def scribe(window: int = 1_000) -> Scribe:
    def summarize(items: Any, most: int) -> str:
        return "SUM"

    sees = SimpleNamespace(window=window, estimator=open_estimator("chars:ratio=1"), summarize=summarize)
    return Scribe(cast(Policy, SimpleNamespace(sees=sees)))


def context(usage: Usage | None = None) -> Context:
    return cast(Context, SimpleNamespace(usage=usage))


def asked(session: Any, messages: list[Message], usage: Usage | None = None) -> Any:
    return session.before_call(messages, context(usage))


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def put(**made: dict[str, Any]) -> None:
        for name, values in made.items():
            module = ModuleType(name.replace("__", "."))
            vars(module).update(values)
            monkeypatch.setitem(sys.modules, module.__name__, module)

    return put


def kind(name: str, **fixed: Any) -> Callable[..., SimpleNamespace]:
    """A class of a framework: it holds what it is given, and its own name as `type`."""
    return lambda *args, **given: SimpleNamespace(**{"type": name, "args": args, **fixed, **given})


class Context8:
    """A context of AutoGen's that keeps the last `keep` messages."""

    def __init__(self, initial_messages: list[Any], keep: int = 99, model_client: Any = None) -> None:
        self.messages, self.keep, self.client = initial_messages, keep, model_client

    async def get_messages(self) -> list[Any]:
        return self.messages[-self.keep :]


class TokenLimited(Context8):
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
    session = autogen.session(Context8, {"keep": 2}, scribe())
    assert asked(session, [SYSTEM, *REST]) == [SYSTEM, *bare([RESULT, SAID], "id")]
    # Do. 3, I look. 7, twice read 8, the arguments 9 and 7, result 3 and 4 16, grep and {} 6, found 5, Done. 5: 66.
    limited = autogen.session(TokenLimited, {"keep": 1_000 - 66}, scribe())
    assert asked(limited, REST) == bare(REST, "id")
    assert not autogen.FRAMEWORK.lasting(Context8)


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
    arguments = Arguments()
    theirs = langchain.there([SYSTEM, *REST], arguments)
    assert [one.type for one in theirs] == ["system", "human", "ai", "tool", "tool", "ai", "tool", "ai"]
    assert theirs[3].name == "read" and langchain.there([RESULT | {"name": ""}], arguments)[0].name is None
    assert theirs[2].tool_calls[0] == {"name": "read", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    assert langchain.back(theirs, arguments) == bare([SYSTEM, *REST])

    def trim(messages: list[Any], token_counter: Any, keep: int) -> list[Any]:
        assert token_counter is len
        return messages[-keep:]

    assert asked(langchain.session(trim, {"keep": 2}, scribe()), [SYSTEM, *REST]) == bare(REST[-2:])

    class Edit:
        def __init__(self, exclude_tools: Sequence[str] = ()) -> None:
            self.excluded = exclude_tools

        def apply(self, messages: list[Any], count_tokens: Any) -> None:
            assert count_tokens is len and self.excluded in ((), ("grep",))
            for message in messages:
                if message.type == "tool" and message.name not in self.excluded:
                    message.content = "cleared"

    cleared = [one | {"content": "cleared"} if one["role"] == "tool" else one for one in REST]
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
    assert asked(remembering, REST) == bare(REST[-1:]) and asked(remembering, REST) == bare(REST[-2:])
    assert not langmem.FRAMEWORK.lasting(running)


class ContextWindowOverflowException(Exception):
    pass


class Manager:
    """A conversation manager of Strands' that takes the oldest message when it is asked to."""

    per_turn = False

    def __init__(self, least: int = 1) -> None:
        self.least = least

    def apply_management(self, agent: Any) -> None:
        del agent.messages[: len(agent.messages) - self.least]

    def reduce_context(self, agent: Any, error: Exception) -> None:
        if len(agent.messages) <= self.least:
            raise ContextWindowOverflowException(str(error))
        del agent.messages[0]


class PerTurn(Manager):
    per_turn = True

    def _on_before_model_call(self, event: Any) -> None:
        self.reduce_context(event.agent, Exception())


def test_strands(modules: Callable[..., None]) -> None:
    modules(strands__types__exceptions={"ContextWindowOverflowException": ContextWindowOverflowException})
    arguments = Arguments()
    theirs = strands.there(REST, arguments)
    assert [(one["role"], [next(iter(block)) for block in one["content"]]) for one in theirs] == [
        ("user", ["text"]), ("assistant", ["text", "toolUse", "toolUse"]), ("user", ["toolResult", "toolResult"]),
        ("assistant", ["toolUse"]), ("user", ["toolResult"]), ("assistant", ["text"]),
    ]  # fmt: skip
    assert theirs[2]["content"][0]["toolResult"] == {
        "toolUseId": "c1", "status": "success", "content": [{"text": "result 3"}],
    }  # fmt: skip
    assert strands.there([{"role": "assistant", "content": ""}], arguments) == [
        {"role": "assistant", "content": [{"text": ""}]}
    ]
    assert strands.back(theirs, arguments) == bare(REST, "id")
    several = {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "a"}, {}, {"text": "b"}]}}],
    }
    assert strands.back([several], arguments) == [{"role": "tool", "tool_call_id": "c", "content": "a\nb"}]
    # Nothing happens within a turn; behind it the invocation before the new texts is over.
    quiet = strands.session(Manager, {"least": 1}, scribe())
    assert asked(quiet, [SYSTEM, *REST]) == [SYSTEM, *bare(REST, "id")]
    more = [USER | {"content": text} for text in ("x", "y")]
    assert asked(quiet, [SYSTEM, *REST, *more]) == [SYSTEM, *bare([SAID, *more], "id")]
    assert asked(strands.session(PerTurn, {}, scribe()), REST) == bare(REST[1:], "id")
    assert isinstance(asked(strands.session(PerTurn, {}, scribe()), [USER]), Stop)
    assert cast(Any, quiet).on_overflow(REST, context()) == bare(REST[1:], "id")
    assert cast(Any, quiet).on_overflow([USER], context()) is None
    assert strands.FRAMEWORK.lasting(Manager) and strands.FRAMEWORK.retries == 1_000


def test_strands_asks_for_a_summary_as_a_stream() -> None:
    import asyncio

    session = cast(Any, strands.session(Manager, {}, scribe()))

    async def streamed() -> list[Any]:
        return [event async for event in session._stream(["x"])]

    events = asyncio.run(streamed())
    assert [next(iter(event)) for event in events] == [
        "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop",
    ]  # fmt: skip
    assert events[2]["contentBlockDelta"]["delta"] == {"text": "[[summary 1]]"}


def test_agent_framework(modules: Callable[..., None]) -> None:
    class Content(SimpleNamespace):
        @classmethod
        def from_text(cls, text: str) -> Content:
            return cls(type="text", text=text)

        @classmethod
        def from_function_call(cls, call_id: str, name: str, arguments: str) -> Content:
            return cls(type="function_call", call_id=call_id, name=name, arguments=arguments)

        @classmethod
        def from_function_result(cls, call_id: str, result: str) -> Content:
            return cls(type="function_result", call_id=call_id, result=result)

    class Theirs:
        def __init__(self, role: str, contents: list[Any], message_id: str) -> None:
            self.role, self.contents, self.message_id = role, contents, message_id
            self.text = "".join(one.text for one in contents if one.type == "text")

    async def apply_compaction(history: list[Any], strategy: Any, tokenizer: Any) -> list[Any]:
        return await strategy(history, tokenizer)  # type: ignore[no-any-return]

    modules(agent_framework={
        "Content": Content, "Message": Theirs, "CharacterEstimatorTokenizer": lambda: "counter",
        "apply_compaction": apply_compaction,
    })  # fmt: skip
    assert [agent_framework.back(agent_framework.there(one)) for one in [SYSTEM, *REST]] == bare([SYSTEM, *REST])
    assert [len(agent_framework.there(one).contents) for one in REST] == [1, 3, 1, 1, 1, 1, 1]
    seen: list[Any] = []

    class Strategy:
        def __init__(self, keep: int, tokenizer: Any = None, client: Any = None) -> None:
            self.keep, self.tokenizer, self.client = keep, tokenizer, client

        async def __call__(self, history: list[Any], tokenizer: Any) -> list[Any]:
            seen.append((len(history), tokenizer, self.tokenizer, self.client is None))
            if self.client is None:
                return history[-self.keep :]
            answer = await self.client.get_response(history[:2])
            return [Theirs("user", [Content.from_text(answer.text)], "new"), *history[-self.keep :]]

    class Plain:
        def __init__(self, keep: int) -> None:
            self.keep = keep

        async def __call__(self, history: list[Any], tokenizer: Any) -> list[Any]:
            return history[-self.keep :]

    session = agent_framework.session(Strategy, {"keep": 2}, scribe())
    answer = asked(session, REST[:4])
    assert answer.messages == [{"id": "new", "role": "user", "content": "{summary}", "summarize": True}, *bare(RESULTS)]
    # What was there stays in the history, and only what is new joins it.
    asked(session, REST)
    assert seen == [(4, "counter", "counter", False), (7, "counter", "counter", False)]
    assert asked(agent_framework.session(Plain, {"keep": 1}, scribe()), REST) == bare(REST[-1:])
    assert not agent_framework.FRAMEWORK.lasting(Plain)


def test_pydantic_ai(modules: Callable[..., None]) -> None:
    def part(name: str) -> Callable[..., SimpleNamespace]:
        def made(tool_name: str = "", **given: Any) -> SimpleNamespace:
            return SimpleNamespace(part_kind=name, tool_name=tool_name, **given)

        return made

    parts = {
        "TextPart": "text", "ToolCallPart": "tool-call", "ToolReturnPart": "tool-return",
        "UserPromptPart": "user-prompt", "SystemPromptPart": "system-prompt",
    }  # fmt: skip
    messages = {name: part(value) for name, value in parts.items()}
    messages |= {
        f"Model{one}": lambda parts, one=one: SimpleNamespace(kind=one.lower(), parts=parts)
        for one in ("Request", "Response")
    }
    modules(
        pydantic_ai={"messages": SimpleNamespace(**messages), "RunContext": SimpleNamespace},
        pydantic_ai__messages=messages,
        pydantic_ai__models={"ModelRequestContext": SimpleNamespace, "ModelRequestParameters": SimpleNamespace},
        pydantic_ai__models__function={"FunctionModel": lambda answer: answer},
        pydantic_ai__usage={"RequestUsage": SimpleNamespace, "RunUsage": SimpleNamespace},
    )  # fmt: skip
    names: dict[int, str] = {}
    theirs = pydantic_ai.there([SYSTEM, *REST], Requests(), names)
    assert [(one.kind, [part.part_kind for part in one.parts]) for one in theirs] == [
        ("request", ["system-prompt", "user-prompt"]), ("response", ["text", "tool-call", "tool-call"]),
        ("request", ["tool-return", "tool-return"]), ("response", ["tool-call"]), ("request", ["tool-return"]),
        ("response", ["text"]),
    ]  # fmt: skip
    assert theirs[2].parts[0].tool_name == "read" and sorted(names.values()) == ["head", "m0"]
    back = pydantic_ai.back(theirs, Arguments(), names)
    assert back == [SYSTEM, USER, *bare(REST[1:], "id")]
    assert pydantic_ai.back(theirs[:1], Arguments(), {}) == bare([SYSTEM, USER], "id")
    # What a policy made stands nowhere: it is a request of its own.
    made = {"id": "s1", "role": "user", "content": "x", "made": "summary"}
    assert [len(one.parts) for one in pydantic_ai.there([USER, made], Requests(), {})] == [1, 1]
    usages: list[Any] = []

    class Keeps:
        def __init__(self, keep: int) -> None:
            self.keep = keep

        async def before_model_request(self, run: Any, request: Any) -> Any:
            usages.append([getattr(one, "usage", None) for one in request.messages])
            return SimpleNamespace(messages=request.messages[-self.keep :])

    class Sums(Keeps):
        def __init__(self, keep: int, model: Any) -> None:
            super().__init__(keep)
            self.model = model

        async def before_model_request(self, run: Any, request: Any) -> Any:
            answer = self.model(["x"], None).parts[0].content
            summary = messages["ModelRequest"](parts=[messages["UserPromptPart"](content=answer)])
            return SimpleNamespace(messages=[summary, *request.messages[-self.keep :]])

    session = pydantic_ai.session(Keeps, {"keep": 1}, scribe())
    assert asked(session, REST, Usage(100)) == bare([SAID], "id") and asked(session, REST) == bare([SAID], "id")
    assert usages[0][-1] == SimpleNamespace(input_tokens=100, output_tokens=0) and usages[0][:-1] == [None] * 5
    assert usages[1] == [None] * 6
    asked(session, REST, Usage(0, 5))
    assert usages[2] == [None] * 6
    written = asked(pydantic_ai.session(Sums, {"keep": 1}, scribe()), REST)
    assert written.messages == [{"role": "user", "content": "{summary}", "summarize": True}, *bare([SAID], "id")]
    assert pydantic_ai.FRAMEWORK.lasting(Keeps)


def test_arguments_keep_their_own_text() -> None:
    arguments = Arguments()
    assert arguments.parsed(ASKS["tool_calls"][0]) == {"a": 1} and arguments.text("c1", {"a": 1}) == '{"a":  1}'
    assert arguments.text("c1", {"a": 2}) == json.dumps({"a": 2}) and arguments.text("c9", "as it is") == "as it is"
