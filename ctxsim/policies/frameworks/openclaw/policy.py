"""OpenClaw: a summary and the newest messages, if a turn begins with a history nearly as large as the window."""

from collections.abc import Sequence

from ctxsim.policies.agents.shared.history import newly_asked, results_cut, run_ended
from ctxsim.policies.frameworks.chat import Message, counted, in_place_of, items_of, messages, since_usage
from ctxsim.policies.policy import Count, Overflow, Policy, Positive
from ctxsim.transcript import Usage
from ctxsim.view import View

SHOWN = 2_000
"""Characters of a result that the summarizer sees."""


class Openclaw(Policy):
    """Over the window less `reserve_tokens`: a summary, and the newest `keep_recent_tokens` behind it.

    openclaw/openclaw, its compaction module (shouldCompact, prepareCompaction, findCutPoint) and
    docs/reference/session-management-compaction. It checks before a user's text is sent, when the agent has answered,
    and after a refusal, not between the steps of a turn. The reserve is at most a quarter of the window. The tail
    begins with a message of the user or the model; if usage is larger than the estimate, it is shorter by that factor.
    A turn that is cut gets its own summary. Not modelled: safeguard mode's checks and verbatim turns, pruning by the
    age of the cache, the flush of memory, and the tail's share of the window.
    """

    decides_by = "openclaw"
    source = "openclaw/openclaw"
    version = "openclaw 2026.9.6"
    read_on = "2026-11-25"
    retries = 1

    enabled: bool = True
    reserve_tokens: Count = 20_000
    keep_recent_tokens: Positive = 20_000
    summary_tokens: Positive = 1_500

    def fires_at(self) -> float | None:
        return self.sees.window - min(self.reserve_tokens, self.sees.window // 4) if self.enabled else None

    def before_call(self, view: View) -> View:
        return self._looked_at(view) if newly_asked(view) else view

    def after_call(self, view: View, usage: Usage) -> View:
        return self._looked_at(view) if run_ended(view) else view

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        return self.compacted(view, "its window was exceeded")

    def _looked_at(self, view: View) -> View:
        found, limit = messages(view), self.fires_at()
        used = since_usage(self.sees, found, lambda: counted(self.sees, found))
        if limit is None or used <= limit:
            return view
        return self.compacted(view, f"{used:,} tokens are over {limit:,.0f}") or view

    def compacted(self, view: View, reason: str) -> View | None:
        """Return the view with its older messages summarized; None if there are none or a summary is refused."""
        found = messages(view)
        first = int(bool(found) and found[0].items[0].kind == "summary")
        start = self.tail(found, first)
        if start <= first:
            return None
        turn = next((n for n in range(start, first - 1, -1) if found[n].role == "user"), start)
        parts = [one for one in (found[first:turn], found[turn:start]) if one]
        texts = [self.sees.summarize(results_cut(items_of(part), SHOWN), self.summary_tokens) for part in parts]
        if None in texts:
            return None
        return in_place_of(view, found[:start], "\n\n".join(filter(None, texts)), reason)

    def tail(self, found: Sequence[Message], first: int) -> int:
        """Return the index of the first message that stays, at least `first`, which follows an earlier summary."""
        whole = counted(self.sees, found)
        used = self.sees.usage.total_tokens if self.sees.usage else 0
        scale = min(self.keep_recent_tokens, max(1.0, used / whole)) if whole else 1.0
        start, tokens = first, 0
        for n in range(len(found) - 1, first - 1, -1):
            if found[n].role != "tool":
                start = n
            tokens += counted(self.sees, [found[n]])
            if tokens >= self.keep_recent_tokens / scale:
                break
        return start
