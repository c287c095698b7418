"""pi: a summary and the newest 20,000 tokens, once a request or the end of a run is too large."""

from collections.abc import Sequence
from itertools import chain

from ctxsim.counting.estimators.estimator import Reported
from ctxsim.policies.agents.shared.history import newly_asked, replaced, results_cut, run_ended
from ctxsim.policies.agents.shared.tools import is_shell, whole_lines
from ctxsim.policies.policy import SHIPPED, Count, Overflow, Policy, Positive
from ctxsim.transcript import Item, Usage
from ctxsim.view import View


class Pi(Policy):
    """When a request or a run's end is over the window less `reserve_tokens`: a summary, then the newest messages.

    badlogic/pi-mono, packages/coding-agent/src/core: compaction/compaction.ts, agent-session.ts, tools/truncate.ts.
    Before a request it adds ceil(characters / 4) of later items to the last usage. Without `within_runs`, as before
    0.84.4, it checks only after a response without tool calls. With `zero_is_none`, a usage of zero counts as missing,
    and everything is estimated. After a refusal it compacts once per run. The newest messages with `keep_recent_tokens`
    (ceil(characters / 4)) stay; if a tool result crosses that limit, they begin after it. A turn that is cut gets its
    own summary, by a second request. The summariser gets 2,000 characters of each result. Without `enabled`, nothing is
    compacted. On arrival, results keep their first `max_lines` lines and `max_bytes` bytes; a shell's keep the last.
    """

    source = "badlogic/pi-mono"
    decides_by = "usage-tail:ratio=4,unit=utf16"

    enabled: bool = True
    within_runs: bool = SHIPPED
    zero_is_none: bool = SHIPPED
    reserve_tokens: Count = SHIPPED
    keep_recent_tokens: Count = SHIPPED
    max_lines: Positive = SHIPPED
    max_bytes: Positive = SHIPPED
    summary_tokens: Positive = 1_500

    def start(self) -> None:
        self._recovered = False

    def fires_at(self) -> float | None:
        return self.sees.window - self.reserve_tokens if self.enabled else None

    def on_tool_result(self, item: Item) -> Item:
        return item.with_text(whole_lines(item.text, self.max_lines, self.max_bytes, end=is_shell(item.tool)))

    def before_call(self, view: View) -> View:
        if newly_asked(view):
            self._recovered = False
        used, limit = self._used(view, self.sees.usage), self.fires_at()
        if limit is None or not self.within_runs or used <= limit:
            return view
        return self._compacted(view, f"{used:,} tokens are over {limit:,}")

    def after_call(self, view: View, usage: Usage) -> View:
        used, limit = self._used(view, usage), self.fires_at()
        if limit is None or used <= limit or not run_ended(view):
            return view
        return self._compacted(view, f"{used:,} tokens at the end of a run are over {limit:,}")

    def _used(self, view: View, usage: Usage | None) -> int:
        unknown = usage is None or (self.zero_is_none and not usage.total_tokens)
        reported = Reported() if unknown else self.sees.reported
        return self.sees.estimator.request(self.sees.head, view.size, view, reported)

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        if self._recovered or not self.enabled:
            return None
        self._recovered = True
        return self._compacted(view, "the provider refused: window exceeded")

    def _compacted(self, view: View, reason: str) -> View:
        messages = view.messages()
        start = self._tail(messages)
        turn = max((n for n, one in enumerate(messages[: start + 1]) if one[0].kind == "user"), default=0)
        parts = [list(chain.from_iterable(part)) for part in (messages[:turn], messages[turn:start])]
        new = [part for part in parts if not all(item.synthetic for item in part)]
        texts = [self.sees.summarize(results_cut(part, 2_000), self.summary_tokens) for part in new]
        if not texts or None in texts:
            return view
        return replaced(self, view, parts[0] + parts[1], "\n\n".join(filter(None, texts)), reason)

    def _tail(self, messages: Sequence[Sequence[Item]]) -> int:
        """Index of the message with which the kept tail begins: never tool results; 0 if there is no such message."""
        tokens = 0
        for number in range(len(messages) - 1, -1, -1):
            tokens += self.sees.size_of(messages[number])
            if tokens >= self.keep_recent_tokens:
                return next((n for n in range(number, len(messages)) if messages[n][0].kind != "tool_result"), 0)
        return 0
