"""The lossless oracle: every result leaves as soon as no later call needs it."""

from dataclasses import dataclass

from ctxsim.policies.policy import Oracle
from ctxsim.view import View

STUB = "[no longer needed]"


@dataclass
class OracleLossless(Oracle):
    """Least tokens, item by item, at which no reference is lost; dollars as they come, with every edit's cache break.

    docs/references.md, "Bounds". A need is met by its most recent source; the newest exchange stays as it is.
    """

    def before_call(self, view: View) -> View:
        call = self.__dict__["_call"] = self.__dict__.get("_call", 0) + 1
        newest = {item.place for item in view.exchanges()[-1]} if view else set()
        dead = {
            item.place: STUB
            for item in view.results
            if item.place not in newest
            and self.last_needed.get(item.place, 0) < call
            and len(item.text) > len(STUB)
            and not item.media
        }
        return view.rewrite(dead, "no later call needs it")
