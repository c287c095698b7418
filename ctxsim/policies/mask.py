"""Observation masking: old tool results become one line."""

from dataclasses import dataclass

from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.view import View

PREFIX = "Old environment output: "


@dataclass
class Mask(Policy):
    """Replace results older than the newest `keep` by a line that counts their lines; at least `batch` at a time.

    SWE-agent/SWE-agent, sweagent/agent/history_processors.py (LastNObservations); batches as in arXiv 2508.21433.
    """

    keep: Count = 10
    batch: Positive = 1

    def before_call(self, view: View) -> View:
        results = view.results
        old = {
            item.place: f"{PREFIX}({len(item.text.splitlines())} lines omitted)"
            for item in results[: max(0, len(results) - self.keep)]
            if not item.text.startswith(PREFIX)
        }
        return view.rewrite(old, f"older than the newest {self.keep} results") if len(old) >= self.batch else view
