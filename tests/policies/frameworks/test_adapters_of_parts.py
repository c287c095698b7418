"""As `test_adapters_alone`: frameworks that hold calls and results as parts of a message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from stand_ins import REST, RESULTS, SAID, SYSTEM, USER, asked, bare, context, held, put_modules, scribe

from ctxsim.policies import Stop
from ctxsim.policies.frameworks.agent_framework import adapter as agent_framework
from ctxsim.policies.frameworks.pydantic_ai import adapter as pydantic_ai
from ctxsim.policies.frameworks.pydantic_ai.policy import Requests
from ctxsim.policies.frameworks.strands import adapter as strands
from ctxsim.transcript import Usage


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return put_modules(monkeypatch)


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
    theirs = strands.there(REST)
    assert [(one["role"], [next(iter(block)) for block in one["content"]]) for one in theirs] == [
        ("user", ["text"]), ("assistant", ["text", "toolUse", "toolUse"]), ("user", ["toolResult", "toolResult"]),
        ("assistant", ["toolUse"]), ("user", ["toolResult"]), ("assistant", ["text"]),
    ]  # fmt: skip
    assert theirs[2]["content"][0]["toolResult"] == {
        "toolUseId": "c1", "status": "success", "content": [{"text": "result 3"}],
    }  # fmt: skip
    silent = {"role": "assistant", "content": ""}
    assert strands.there([silent]) == [{"role": "assistant", "content": [{"text": ""}]}]
    assert strands.back(theirs) == bare(held(REST), "id")
    several = {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "a"}, {}, {"text": "b"}]}}],
    }
    assert strands.back([several]) == [{"role": "tool", "tool_call_id": "c", "content": "a\nb"}]
    # Nothing happens within a turn; behind it the invocation before the new texts is over.
    quiet = strands.session(Manager, {"least": 1}, scribe())
    assert asked(quiet, [SYSTEM, *REST]) == [SYSTEM, *bare(held(REST), "id")]
    more = [USER | {"content": text} for text in ("x", "y")]
    assert asked(quiet, [SYSTEM, *REST, *more]) == [SYSTEM, *bare([SAID, *more], "id")]
    assert asked(strands.session(PerTurn, {}, scribe()), REST) == bare(held(REST[1:]), "id")
    assert isinstance(asked(strands.session(PerTurn, {}, scribe()), [USER]), Stop)
    assert cast(Any, quiet).on_overflow(REST, context()) == bare(held(REST[1:]), "id")
    assert cast(Any, quiet).on_overflow([USER], context()) is None
    assert strands.FRAMEWORK.lasting(Manager) and strands.FRAMEWORK.retries == 1_000


def test_strands_asks_for_a_summary_as_a_stream() -> None:
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
    back = pydantic_ai.back(theirs, names)
    assert back == [SYSTEM, USER, *bare(REST[1:], "id")]
    assert pydantic_ai.back(theirs[:1], {}) == bare([SYSTEM, USER], "id")
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
