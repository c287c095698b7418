"""The conversation so far, as the endpoint knows it: prompts, what it answered, and the results that it asked for."""

from collections.abc import Sequence

from ctxsim.live.matching import Known, Matched, Matcher
from ctxsim.live.script import Script
from ctxsim.readers.assembly import Part
from ctxsim.transcript import Item


class History:
    """Grows step by step; maps requests to the places of the script's transcript."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._matcher = Matcher()
        self._joined = 0

    def match(self, items: Sequence[Item], step: int) -> Matched:
        """Return what each item of a request is that asks for a step, counted from 1."""
        calls = self._script.transcript.calls
        start = calls[min(step, len(calls)) - 1].start
        new = self._script.transcript.items[self._joined : start]
        self._matcher.learn(Known(item.place, "user", item.text) for item in new if item.kind == "user")
        self._joined = max(self._joined, start)
        return self._matcher.match(items)

    def answered(self, step: int, made: Sequence[Part]) -> None:
        """A step was answered with these tool calls: its response and their results are history.

        Calls that the script doesn't have, such as one that ends a turn, stand for nothing.
        """
        if step > len(self._script.steps):
            return
        call, wanted = self._script.transcript.calls[step - 1], self._script.steps[step - 1].wanted
        response = self._script.transcript.items[call.start : call.end]
        self._matcher.learn(Known(one.place, "assistant", one.text) for one in response if one.kind == "assistant")
        for part, asked in zip(made, wanted if len(made) == len(wanted) else (), strict=False):
            self._matcher.learn([Known(asked.place, "tool_call", part.text, part.tool, part.call_id)])
            if asked.answer is not None:
                self._matcher.learn([Known(asked.answer, "tool_result", asked.result, part.tool, part.call_id)])
