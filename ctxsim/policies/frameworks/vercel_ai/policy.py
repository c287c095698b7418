"""The Vercel AI SDK's `pruneMessages`, in `prepareStep` or before a new turn."""

import re
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Literal

from ctxsim.errors import LabelError
from ctxsim.policies.frameworks.chat import Message, counted, items_of, messages, packed
from ctxsim.policies.policy import Count, Policy
from ctxsim.transcript import Item
from ctxsim.view import View

TOOLS = ("tool_call", "tool_result")


class VercelPrune(Policy):
    """Drop calls and results except those of the last messages; messages without content are dropped too.

    vercel/ai, packages/ai/src/generate-text/prune-messages.ts. `tool_calls` and `reasoning` are its options.
    `before-last-3-messages` keeps the last three messages whole, and earlier calls and results whose other half is in
    them; all results of a response are one message. `tools=a/b` prunes only those. Reasoning that precedes only pruned
    calls is dropped too. With `every_step`, as in `prepareStep`, edits last from step to step; without, it acts only
    before a user's text. Nothing happens up to `trigger` tokens. Upstream prunes nothing by default; its page on tools
    has these options, and 100,000 for `trigger`.
    """

    trigger: Count = 0
    reasoning: Literal["none", "all", "before-last-message"] = "all"
    tool_calls: str = "before-last-3-messages"
    tools: str = "all"
    every_step: bool = True

    source = "vercel/ai"
    version = "ai 7.0.173"
    read_on = "2026-11-25"

    def __post_init__(self) -> None:
        form = re.fullmatch(r"none|all|before-last-message|before-last-(\d+)-messages", self.tool_calls)
        if form is None:
            raise LabelError(
                f"vercel-prune: tool_calls is none, all, before-last-message or before-last-N-messages, "
                f"not {self.tool_calls}"
            )
        self._last = int(form[1]) if form[1] else int(self.tool_calls == "before-last-message")

    def threshold(self) -> float | None:
        return self.trigger or None

    def before_call(self, view: View) -> View:
        found = packed(view)
        if not found or (not self.every_step and found[-1].role != "user"):
            return view
        if self.trigger and counted(self.sees, messages(view)) <= self.trigger:
            return view
        looked_at = {"none": [], "all": found, "before-last-message": found[:-1]}[self.reasoning]
        gone = [item.place for item in items_of(looked_at) if item.kind == "reasoning"]
        if self.tool_calls != "none":
            gone += self._calls(found)
        return view.drop(set(gone), f"tool calls: {self.tool_calls}")

    def _calls(self, found: Sequence[Message]) -> list[int]:
        older = found[: max(0, len(found) - self._last)]
        kept = {_call(item) for item in items_of(found[len(older) :]) if item.kind in TOOLS}
        named = set(self.tools.split("/"))
        gone: list[int] = []
        for message in older:
            pruned = [
                item.place
                for item in message.items
                if item.kind in TOOLS and _call(item) not in kept and (self.tools == "all" or item.tool in named)
            ]
            gone += pruned + _thought_for(message.items, set(pruned))
        return gone


def _call(item: Item) -> int | None:
    """The place of a call, or of the call that a result answers."""
    return item.place if item.kind == "tool_call" else item.answers


def _thought_for(items: Sequence[Item], pruned: set[int]) -> list[int]:
    """Places of reasoning that is followed only by pruned calls, up to the next reasoning."""
    found: list[int] = []
    for thoughts, following in pairwise(list(run) for _, run in groupby(items, lambda item: item.kind == "reasoning")):
        if thoughts[0].kind == "reasoning" and pruned.issuperset(item.place for item in following):
            found += [item.place for item in thoughts]
    return found
