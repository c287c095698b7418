"""Observation masking: old tool results become one line."""

from bisect import bisect_right
from functools import lru_cache

from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.view import View

PREFIX = "Old environment output: "


@lru_cache(maxsize=1 << 10)
def placeholder(text: str) -> str:
    """Return the line that stands for a result."""
    return f"{PREFIX}({len(text.splitlines())} lines omitted)"


class Mask(Policy):
    """Replace results older than the newest `keep` by one line with their number of lines; at least `batch` at a time.

    SWE-agent/SWE-agent, sweagent/agent/history_processors.py (LastNObservations); batches as in arXiv 2508.21433.
    """

    family = "papers"
    source = "arXiv 2508.21433"

    keep: Count = 10
    batch: Positive = 1

    def start(self) -> None:
        self._masked = -1  # the place of the newest masked result

    def before_call(self, view: View) -> View:
        results = view.results
        # Results up to that place are masked already, so only later ones are checked.
        start = bisect_right(results, self._masked, key=lambda item: item.place)
        old = {
            item.place: placeholder(item.text)
            for item in results[start : max(start, len(results) - self.keep)]
            if not item.text.startswith(PREFIX)
        }
        if len(old) < self.batch:
            return view
        self._masked = max(old)
        return view.rewrite(old, f"older than the newest {self.keep} results")
