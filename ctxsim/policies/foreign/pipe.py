"""`pipe:COMMAND`: a policy in any language, in lines of JSON. The protocol is in docs/policy-protocol.md."""

import json
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from ctxsim.errors import ContractError
from ctxsim.plugins import labels
from ctxsim.policies.foreign.conversation import Conversation, Group, Message
from ctxsim.policies.foreign.mapping import changed, edited
from ctxsim.policies.foreign.process import Process, borrow, give_back, split
from ctxsim.policies.foreign.shortener import context_of
from ctxsim.policies.policy import Overflow, Policy, Stop
from ctxsim.transcript import Head, Item, Usage
from ctxsim.view import View

NAME = "pipe"
PATTERN = "pipe:COMMAND"
ABOUT = """A program of yours, asked in lines of JSON over its standard input: docs/policy-protocol.md.

The command is split as a shell would, and run without one. In a chain, quote what holds a `+`.
"""

VERSION = 1
START_S = 60.0
"""Seconds that a program has to answer `start`, which includes the start of an interpreter or a compiler."""

Moment = Literal["tool_result", "before_call", "after_call", "overflow"]


class Hello(msgspec.Struct, forbid_unknown_fields=True):
    """The answer to `start`: the moments at which the program acts, which messages it gets, and its time limit."""

    ctxsim: int = VERSION
    moments: tuple[Moment, ...] = ("before_call",)
    send: Literal["new", "all"] = "new"
    lasting: bool = True
    seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 10.0


class Reply(msgspec.Struct, forbid_unknown_fields=True):
    """The answer to any other moment: exactly one of the first five fields."""

    unchanged: bool = False
    messages: list[dict[str, Any]] | None = None
    change: dict[str, dict[str, Any] | None] | None = None
    content: str | None = None
    stop: str | None = None
    reason: str = ""


class Pipe(Policy):
    """A policy whose edits another program decides."""

    command: ClassVar[str] = ""

    @property
    def ephemeral(self) -> bool:
        # Needed before `start`, because the order of a chain's links depends on it.
        return not _hello_of(self.command).lasting

    def start(self) -> None:
        self._process = borrow(self.command)
        # The process is given back even if the replay is abandoned and `end` isn't called.
        self._let_go = weakref.finalize(self, give_back, self._process)
        self._let_go.atexit = False
        self._conversation = Conversation()
        self._told: dict[str, tuple[Item, ...]] = {}
        self._call = 0
        sees = self.sees
        self._head = sees.head
        self._hello = _greet(self._process, sees.window, sees.head, sees.estimator.head(sees.head))
        if self._hello.lasting is self.ephemeral:
            raise ContractError("says now that its edits last, now that they don't")

    def end(self) -> None:
        self._let_go()

    def on_tool_result(self, item: Item) -> Item:
        if "tool_result" not in self._hello.moments:
            return item
        asked = {"moment": "tool_result", "call": self._call + 1, "name": item.tool, "content": item.text}
        reply = self._ask(asked)
        if reply.messages is not None or reply.change is not None or reply.stop is not None:
            raise ContractError("answers tool_result with something else than content or unchanged")
        return item if reply.content is None else item.with_text(reply.content)

    def before_call(self, view: View) -> View | Stop:
        self._call += 1
        return self._acted("before_call", view)

    def after_call(self, view: View, usage: Usage) -> View:
        return self._view("after_call", view)

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        acted = self._view("overflow", view, {"error": error.message})
        return None if acted is view else acted

    def _view(self, moment: Moment, view: View, more: Mapping[str, Any] | None = None) -> View:
        acted = self._acted(moment, view, more)
        if isinstance(acted, Stop):
            raise ContractError(f"stops at {moment}; only before_call may")
        return acted

    def _acted(self, moment: Moment, view: View, more: Mapping[str, Any] | None = None) -> View | Stop:
        if moment not in self._hello.moments:
            return view
        sees = self.sees
        groups = self._conversation.groups(view)
        asked = {"moment": moment} | msgspec.to_builtins(context_of(sees, view, self._call)) | dict(more or {})
        if sees.head is not self._head:
            self._head = sees.head
            asked["head"] = _shown(sees.head)
        reply = self._ask(asked | self._news(view, groups))
        if reply.stop is not None:
            return Stop(reply.stop)
        if reply.content is not None:
            raise ContractError("answers with content where messages are meant")
        if reply.unchanged:
            return view
        made = self._edited(view, groups, reply)
        if self._hello.lasting and made is not view:
            self._told = {group.id: group.items for group in self._conversation.groups(made)}
            # The program hasn't seen the texts of these summaries yet, so they are sent as changed next time.
            asked_for = {str(message["id"]) for message in reply.messages or () if message.get("summarize")}
            self._told.update({name: () for name in asked_for if name in self._told and self._told[name][0].synthetic})
        return made

    def _edited(self, view: View, groups: Sequence[Group], reply: Reply) -> View:
        reason = reply.reason or self.name
        if reply.change is not None:
            return changed(self._conversation, view, reply.change, reason)
        answer = reply.messages or []
        if any("role" in message and not message.get("id") for message in answer):
            raise ContractError("answers with a message that has no id: give those that you make one of your own")
        sees = self.sees
        return edited(self._conversation, view, answer, reason, sees.summarize, sees.head)

    def _news(self, view: View, groups: Sequence[Group]) -> dict[str, Any]:
        """The messages part of a request: all messages, or only those that are new, changed or gone."""
        now = {group.id: group.items for group in groups}
        told, self._told = self._told, now
        if self._hello.send == "all":
            return {"messages": [self._conversation.message(group) for group in groups]}
        before: str | None = None
        new: list[Message] = []
        for group in reversed(groups):
            if group.id in told:
                before = group.id
            else:
                new.append(self._conversation.message(group) | ({"before": before} if before else {}))
        news: dict[str, Any] = {"new": new[::-1]}
        if changed := [group for group in groups if told.get(group.id, group.items) != group.items]:
            news["changed"] = [self._conversation.message(group) for group in changed]
        if gone := [name for name in told if name not in now]:
            news["gone"] = gone
        return news

    def _ask(self, asked: Mapping[str, Any]) -> Reply:
        reply: Reply = _read(self._process, asked, Reply, self._hello.seconds)
        given = [name for name in Reply.__struct_fields__[:5] if getattr(reply, name) not in (None, False)]
        if len(given) != 1:
            told = f"answers with {' and '.join(given)}" if given else "answers nothing"
            raise ContractError(f"{told}: give one of unchanged, messages, change, content, stop")
        return reply


def _shown(head: Head) -> dict[str, Any]:
    return {"system": head.system, "tools": list(head.tools)}


def _greet(process: Process, window: int, head: Head, tokens: int) -> Hello:
    start = {"moment": "start", "ctxsim": VERSION, "window": window, "head": _shown(head) | {"tokens": tokens}}
    hello: Hello = _read(process, start, Hello, START_S)
    if hello.ctxsim != VERSION:
        raise process.failed(f"speaks version {hello.ctxsim} of the protocol, this is version {VERSION}")
    return hello


def _read(process: Process, asked: Mapping[str, Any], kind: type[Any], seconds: float) -> Any:
    """Send one request and return the answer, decoded as `kind`."""
    line = process.ask(_encode(asked), seconds)
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.DecodeError as error:
        shown = line[:60].decode("utf-8", "replace")
        raise process.failed(f"answers {asked['moment']} with '{shown}': {str(error).lower()}") from None


def _encode(asked: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(asked)
    except UnicodeEncodeError:  # lone surrogates, which JSON in UTF-8 can't hold
        line = json.dumps(asked, ensure_ascii=False)
        return line.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


@cache
def _hello_of(command: str) -> Hello:
    """A program's answer to `start` with an empty head. Cached by command."""
    process = borrow(command)
    hello = _greet(process, 0, Head(), 0)
    give_back(process)
    return hello


@cache
def _policy(command: str) -> type[Policy]:
    split(command)
    return dataclass(type("Piped", (Pipe,), {"name": f"{NAME}:{command}", "command": command, "__doc__": ABOUT}))


def opened(rest: str) -> tuple[str, type[Policy], dict[str, str]]:
    """Return the name and class of the policy that a label names after `pipe:`, and its estimator if the label has one.

    Raises LabelError for a command that can't be split into words.
    """
    cut = labels.unquoted(rest).rfind(",estimator=")
    command, estimator = (rest, "") if cut < 0 else (rest[:cut], rest[cut + len(",estimator=") :])
    command = command.strip()
    return f"{NAME}:{command}", _policy(command), {"estimator": estimator} if estimator else {}
