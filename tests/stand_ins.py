"""Stands in for frameworks that aren't installed: messages that they are handed, and what they hold."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.estimators.serialized import handed
from ctxsim.policies import Policy
from ctxsim.policies.foreign.conversation import Message, call_of, calls_in
from ctxsim.policies.foreign.framework import Scribe
from ctxsim.policies.foreign.shortener import Context
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


def held(messages: Sequence[Message]) -> list[Message]:
    """Messages with calls' arguments as objects, as some frameworks hold them."""
    return [
        one | {"tool_calls": [call_of(name, tool, handed(text)) for name, tool, text in calls_in(one)]}
        if "tool_calls" in one else one for one in messages
    ]  # fmt: skip


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


def put_modules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what makes modules of a framework: names with __ for a dot, and what each holds."""

    def put(**made: dict[str, Any]) -> None:
        for name, values in made.items():
            module = ModuleType(name.replace("__", "."))
            vars(module).update(values)
            monkeypatch.setitem(sys.modules, module.__name__, module)

    return put


def kind(name: str, **fixed: Any) -> Callable[..., SimpleNamespace]:
    """A class of a framework: it holds what it is given, and its own name as `type`."""
    return lambda *args, **given: SimpleNamespace(**{"type": name, "args": args, **fixed, **given})
