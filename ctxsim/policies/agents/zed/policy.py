"""Zed: from a threshold that its user sets, one summary of everything, behind the user's newest texts."""

import re
from dataclasses import field

from ctxsim.errors import LabelError
from ctxsim.policies.agents.shared.history import asked_at, condense, history_of, newest_texts
from ctxsim.policies.agents.shared.tools import byte_length, first_bytes
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive
from ctxsim.transcript import Usage
from ctxsim.view import View

PATTERN = re.compile(r"(?P<percent>\d+(?:\.\d+)?)%|\+?(?P<used>[1-9]\d*)|-(?P<left>[1-9]\d*)")


class Zed(Policy):
    """From `threshold` on, put a summary in place of all but the user's newest texts: at `90%` of the room for input,
    `50000` used, `-20000` left.

    zed-industries/zed, crates/agent/src/thread.rs, crates/agent_settings/src/agent_settings.rs; pull requests 58883,
    59469. The room is the window less `max_output_tokens`, which depends on the model; 0 reserves nothing. The number
    compared is the last request's usage, without later items (issue 62423). In a room under `smallest_window` it never
    compacts. The user's texts within the newest `keep_user_bytes` stay before the summary, and the one that crosses
    them is cut; those after the last response follow it. This was read in copies of Zed. A refused request isn't
    handled.
    """

    source = "zed-industries/zed"
    version = "00b6ce1c"
    decides_by = "usage-tail"

    enabled: bool = True
    at: str = field(default=SHIPPED, metadata={"label": "threshold"})
    max_output_tokens: Count = 0
    smallest_window: Count = SHIPPED
    keep_user_bytes: Count = SHIPPED
    summary_tokens: Positive = 1_500

    def __post_init__(self) -> None:
        found = PATTERN.fullmatch(self.at)
        if found is None:
            raise LabelError(f"zed: threshold={self.at}: write a share as 90%, tokens used as 50000, or left as -20000")
        self._found = found

    def start(self) -> None:
        self._used: int | None = None

    @property
    def room(self) -> int:
        """Tokens that the input may have."""
        return max(0, self.sees.window - self.max_output_tokens)

    @property
    def limit(self) -> float:
        """Tokens from which on it compacts."""
        if self._found["percent"]:
            return float(self._found["percent"]) * self.room / 100
        return float(self._found["used"] or max(0, self.room - int(self._found["left"])) + 1)

    def after_call(self, view: View, usage: Usage) -> View:
        self._used = usage.total_tokens
        return view

    def before_call(self, view: View) -> View:
        used, self._used = self._used, None
        if not self.enabled or used is None or used < self.limit or self.room < self.smallest_window:
            return view
        reason = f"{used:,} tokens are {self.limit:,.0f} or more"
        history = history_of(view)
        kept = newest_texts(history, self.keep_user_bytes, byte_length, first_bytes, units=1)
        old = [item for item in history if item.place not in kept]
        cut = view.rewrite(kept, reason)
        return condense(self, cut, old, reason, self.summary_tokens, asked_at(view), history) or view
