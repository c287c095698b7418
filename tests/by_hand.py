"""One policy, driven by hand: items join, usage is told, requests are looked at, summary requests are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxsim.policies import Overflow, Stop, Surroundings, open_policy
from ctxsim.simulator.replay.moments import Moments
from ctxsim.transcript import Head, Item, Usage
from ctxsim.view import View

SUMMARY = "What was done."


class Driven:
    """`asked` are the items of each summary request, `most` the tokens that each answer may have; `refuses` says which
    of them the provider refuses.
    """

    def __init__(
        self, label: str, window: int, refuses: Callable[[Sequence[Item]], bool] = lambda items: False, head: int = 0
    ) -> None:
        spec = open_policy(label)
        self.window = window
        self.asked: list[list[Item]] = []
        self.most: list[int] = []
        self._refuses = refuses
        self.sees = Surroundings(
            window=window, head=Head(hidden=head), estimator=spec.estimator, summarize=self._summarize
        )
        self.moments = Moments(spec, self.sees)
        self._place = self._message = 0

    def _summarize(self, items: Sequence[Item], max_tokens: int) -> str | None:
        self.asked.append(list(items))
        self.most.append(max_tokens)
        return None if self._refuses(self.asked[-1]) else SUMMARY

    def _join(self, kind: str, text: str, tool: str = "", answers: int | None = None, same: bool = False) -> int:
        self._message += not same
        self.moments.join([Item(kind, self._place, self._message, text, tool, answers)])  # type: ignore[arg-type]
        self._place += 1
        return self._place - 1

    def user(self, text: str = "Go on.") -> int:
        """The user speaks; returns the place."""
        return self._join("user", text)

    def says(self, text: str = "Done.", used: int | None = None, written: int = 0) -> int:
        """A response that calls no tool, and the input that the provider reported."""
        place = self._join("assistant", text)
        self._told(used, written)
        return place

    def calls(
        self,
        *results: str,
        tool: str = "bash",
        used: int | None = None,
        written: int = 0,
        arguments: str = "{}",
        said: str = "",
    ) -> list[int]:
        """A response with a text, if any, that calls a tool once for each result; then the results. Their places."""
        if said:
            self._join("assistant", said)
        asked = [self._join("tool_call", arguments, tool, same=bool(n or said)) for n, _ in enumerate(results)]
        self._told(used, written)
        return [
            self._join("tool_result", text, tool, call, same=bool(n))
            for n, (call, text) in enumerate(zip(asked, results, strict=True))
        ]

    def _told(self, used: int | None, written: int) -> None:
        if used is not None:
            last = self.view[-1].message
            response = [item for item in self.view if item.message == last]
            self.moments.after_call(Usage(used, 0, 0, written), response)

    @property
    def told(self) -> list[str]:
        """What the person at the terminal was told."""
        return self.moments.tally.said

    @property
    def threshold(self) -> float | None:
        """The tokens over which it acts, by its own word."""
        return self.moments.threshold

    @property
    def view(self) -> View:
        """What would be sent now."""
        return self.moments.view

    def request(self) -> View | Stop:
        """What the policy sends."""
        view, stop = self.moments.before_call()
        return stop or view

    def sent(self) -> list[str]:
        """The texts that the policy sends; an AssertionError if it stops."""
        request = self.request()
        assert isinstance(request, View), request
        return [item.text for item in request]

    def refused(self) -> View | None:
        """The policy's answer to a refusal, which then holds; None where it gives up."""
        answer = next(iter(self.moments.on_overflow(self.view, Overflow("too large", self.window))), None)
        if answer is not None:
            self.moments.view = answer
        return answer

    def text(self, place: int) -> str:
        """The text of an item as it stands in the view."""
        item = self.view.find(place)
        assert item is not None
        return item.text
