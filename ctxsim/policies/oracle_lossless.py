"""The lossless oracle: every result leaves as soon as no later call needs it, or when that costs least."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from ctxsim.policies.policy import Oracle
from ctxsim.view import View


@dataclass
class OracleLossless(Oracle):
    """No reference is lost: least tokens at `aim=tokens`, as if edits were free; at `aim=dollars` the least cost.

    docs/bounds.md. A need is met by its most recent source; a result leaves only after it was sent once.
    """

    aim: Literal["tokens", "dollars"] = "tokens"

    stub: ClassVar[str] = "[no longer needed]"

    def start(self) -> None:
        self._call = 0

    def foresee(self, clear_at: Mapping[int, int]) -> None:
        super().foresee(clear_at)
        self._due: dict[int, list[int]] = {}
        for place, call in clear_at.items():
            self._due.setdefault(call, []).append(place)

    def before_call(self, view: View) -> View:
        self._call += 1
        found = (view.find(place) for place in self._due.get(self._call, ()))
        due = {item.place: self.stub for item in found if item and item.text != self.stub and not item.media}
        return view.rewrite(due, "no later call needs it")
