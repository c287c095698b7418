"""SWE-agent: one line replaces each old observation except the task."""

from ctxsim.policies.mask import placeholder
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive
from ctxsim.transcript import Item
from ctxsim.view import View

LIMIT = 100_000
"""Most characters of one observation."""


class SweAgent(Policy):
    """Replace observations by a line with their number of lines, except the first (the task) and the last `n` or more.

    SWE-agent/SWE-agent, sweagent/agent/history_processors.py, last_n_observations. With 0 none is replaced, as by the
    default configuration of 1.x. The number of replaced observations changes only every `polling` observations. Each
    request is edited independently. An observation keeps its first 100,000 characters on arrival. A refused request
    ends the run.
    """

    source = "SWE-agent/SWE-agent"
    version = "3ea751c087f"
    read_on = "2026-07"
    per_request = True

    n: Count = SHIPPED
    polling: Positive = 1

    def on_tool_result(self, item: Item) -> Item:
        return item if len(item.text) <= LIMIT else item.with_text(item.text[:LIMIT])

    def before_call(self, view: View) -> View:
        observations = [item for item in view if item.kind in ("user", "tool_result")]
        last = max(0, len(observations) // self.polling * self.polling - self.n) if self.n else 0
        elided = {item.place: placeholder(item.text) for item in observations[1:last]}
        return view.rewrite(elided, f"older than the newest {self.n} observations")
