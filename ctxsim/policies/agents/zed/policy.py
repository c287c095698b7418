"""Zed: from a threshold that its user sets, one summary of everything."""

import re
from dataclasses import field

from ctxsim.errors import LabelError
from ctxsim.policies.agents.shared.history import condense_history
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive
from ctxsim.transcript import Usage
from ctxsim.view import View

PATTERN = re.compile(r"(?P<percent>\d+(?:\.\d+)?)%|\+?(?P<used>[1-9]\d*)|-(?P<left>[1-9]\d*)")


class Zed(Policy):
    """From `threshold` on, put one summary in place of everything: at `90%` of the window, `50000` used, `-20000` left.

    zed-industries/zed, crates/agent_settings/src/agent_settings.rs; pull requests 58883, 59469. The number compared is
    the last request's usage, without later items (issue 62423). With a window under `smallest_window` it never
    compacts. The items that stay beside the summary are unknown; here the user's texts after the last response stay.
    A refused request isn't handled.
    """

    source = "zed-industries/zed"
    version = "00b6ce1c"
    read_on = "2026-11"
    decides_by = "usage-tail"

    enabled: bool = True
    at: str = field(default=SHIPPED, metadata={"label": "threshold"})
    smallest_window: Count = SHIPPED
    summary_tokens: Positive = 1_500

    def __post_init__(self) -> None:
        found = PATTERN.fullmatch(self.at)
        if found is None:
            raise LabelError(f"zed: threshold={self.at}: write a share as 90%, tokens used as 50000, or left as -20000")
        self._found = found

    def start(self) -> None:
        self._used: int | None = None

    @property
    def limit(self) -> float:
        """Tokens from which on it compacts."""
        if self._found["percent"]:
            return float(self._found["percent"]) * self.sees.window / 100
        return float(self._found["used"] or self.sees.window - int(self._found["left"]))

    def after_call(self, view: View, usage: Usage) -> View:
        self._used = usage.total_tokens
        return view

    def before_call(self, view: View) -> View:
        used, self._used = self._used, None
        if not self.enabled or used is None or used < self.limit or self.sees.window < self.smallest_window:
            return view
        reason = f"{used:,} tokens are {self.limit:,.0f} or more"
        return condense_history(self, view, reason, self.summary_tokens) or view
