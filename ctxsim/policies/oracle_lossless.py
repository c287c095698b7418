"""The lossless oracle: each result is cleared as soon as no later call needs it, or when that saves money."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from ctxsim.policies.policy import Policy
from ctxsim.view import View


class OracleLossless(Policy):
    """Lose no reference: clear each result once no later call needs it (`aim=tokens`), or when that saves money
    (`aim=dollars`).

    docs/bounds.md. The most recent source meets a need; a result is cleared only after it was sent once. Other times,
    or cutting results on arrival, can cost less.
    """

    bound = True
    stub: ClassVar[str] = "[no longer needed]"

    aim: Literal["tokens", "dollars"] = "tokens"

    def start(self) -> None:
        self._call = 0

    def foresee(self, clear_at: Mapping[int, int]) -> None:
        """Called once by replay, with the future: by a result's place, the first call (from 1) without it."""
        self._due: dict[int, list[int]] = {}
        for place, call in clear_at.items():
            self._due.setdefault(call, []).append(place)

    def before_call(self, view: View) -> View:
        self._call += 1
        found = (view.find(place) for place in self._due.get(self._call, ()))
        due = {item.place: self.stub for item in found if item and item.text != self.stub and not item.media}
        return view.rewrite(due, "no later call needs it")
