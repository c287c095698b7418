"""Runs of SWE-agent and mini-swe-agent: responses and observations in turn, and what a file says of the run as a whole.

Where the model calls no tool, its command stands in the text and the observation is a user message: it becomes the
result of that command.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import field

from ctxsim.readers.assembly import Assembly, Part
from ctxsim.transcript import Media, Usage


class Described(msgspec.Struct):
    """The part of a file that describes its run: totals."""

    api_calls: int | None = field(default=None, name="info.model_stats.api_calls")
    tokens_sent: int | None = field(default=None, name="info.model_stats.tokens_sent")
    instance_cost: Any = field(default=None, name="info.model_stats.instance_cost")


class Run:
    """Adds a run's messages to a transcript; knows whether the next user message answers a command."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self._awaiting = ""

    def response(
        self,
        parts: Sequence[Part],
        usage: Usage | None = None,
        time_s: float | None = None,
        model: str = "",
        answered_by_user: bool = True,
    ) -> None:
        """A response; `answered_by_user` where a user message can be the observation of its call."""
        called = next((part.tool for part in parts if part.kind == "tool_call"), "")
        self._awaiting = called if answered_by_user else ""
        self.assembly.response(parts, usage, time_s, model)

    def result(self, text: str, call_id: str, media: tuple[Media, ...]) -> None:
        """A message of role `tool`."""
        self.assembly.result(text, call_id, self._awaiting, media)
        self._awaiting = ""

    def user(self, text: str, media: tuple[Media, ...]) -> None:
        """A message of role `user`: the observation of a command, if one waits for it."""
        if self._awaiting:
            self.result(text, "", media)
        else:
            self.assembly.user(Part("user", text, media=media))

    def finish(self, notes: Iterable[str]) -> None:
        """End the run with these notes, and one where no response is recorded."""
        self.assembly.notes += notes
        if not self.assembly.calls:
            self.assembly.notes.append("no model response is recorded")
