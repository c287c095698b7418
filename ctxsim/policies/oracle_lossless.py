"""The lossless oracle: every result leaves as soon as no later call needs it, or when that costs least."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ctxsim.policies.policy import Oracle
from ctxsim.view import View


@dataclass
class OracleLossless(Oracle):
    """No reference is lost: least tokens at `aim=tokens`, as if edits were free; at `aim=dollars` the least cost.

    docs/references.md, "Bounds". A need is met by its most recent source; a result leaves only after it was sent once.
    """

    aim: Literal["tokens", "dollars"] = "tokens"

    stub: ClassVar[str] = "[no longer needed]"

    def before_call(self, view: View) -> View:
        call = self.__dict__["_call"] = self.__dict__.get("_call", 0) + 1
        due = {
            item.place: self.stub
            for item in view.results
            if self.clear_at.get(item.place, call + 1) <= call and item.text != self.stub and not item.media
        }
        return view.rewrite(due, "no later call needs it")
