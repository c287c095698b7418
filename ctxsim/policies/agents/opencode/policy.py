"""opencode: a summary, and the newest messages that fit a quarter of the room."""

from collections.abc import Sequence
from typing import ClassVar

from ctxsim.policies.agents.shared.history import asked_at, condense, history_of, newly_asked, results_cut
from ctxsim.policies.agents.shared.tools import is_shell, whole_lines
from ctxsim.policies.policy import SHIPPED, Count, Overflow, Policy, Positive, Share
from ctxsim.transcript import CLEARED, Item, Usage
from ctxsim.view import View, each_exchange

GO_ON = "Go on if steps are left, or stop and ask for clarification if it isn't clear how to proceed."


class Opencode(Policy):
    """When a step's usage reaches the window less `output`: summary, newest messages, and a request to go on.

    anomalyco/opencode, packages/opencode/src/session: compaction.ts, overflow.ts, message-v2.ts; tool/truncate.ts.
    Items after the step don't count. Messages of the last `tail_turns` (-1: any) stay, newest first, while their
    estimate is at most `preserve_recent_tokens`; if the newest alone is larger, none stays. -1 tokens are `tail_share`
    of the usable room, from 2,000 to 15,000. The summariser gets 2,000 characters of each result. If the model declares
    its `input`, the limit is that less `reserved` (0: `output`, at most 20,000); if not, `reserved` is ignored. An
    `output` of 0 is 32,000. With `auto`, a refused request is compacted and sent again, without a limit. On arrival,
    results keep their first `max_lines` lines and `max_bytes` bytes; a shell's keep the last ones. `prune`, off as
    shipped, clears results when a turn ends, if over 20,000 tokens of them, without skills, are older than the last two
    turns and than 40,000 tokens of newer ones.
    """

    source = "anomalyco/opencode"
    decides_by = "opencode"
    renamed: ClassVar = {"tail": "preserve_recent_tokens"}

    output: Count = SHIPPED
    input: Count = SHIPPED
    reserved: Count = 0
    auto: bool = True
    preserve_recent_tokens: int = SHIPPED
    tail_turns: int = -1
    tail_share: Share = SHIPPED
    prune: bool = False
    max_lines: Positive = SHIPPED
    max_bytes: Positive = SHIPPED
    summary_tokens: Positive = 1_500

    def start(self) -> None:
        self._used: int | None = None

    @property
    def usable(self) -> int:
        """Tokens of a step's usage from which on it compacts."""
        output = min(self.output, 32_000) or 32_000
        return max(0, self.input - (self.reserved or min(20_000, output)) if self.input else self.sees.window - output)

    def fires_at(self) -> float | None:
        return self.usable if self.auto and self.usable else None

    def on_tool_result(self, item: Item) -> Item:
        return item.with_text(whole_lines(item.text, self.max_lines, self.max_bytes, end=is_shell(item.tool)))

    def after_call(self, view: View, usage: Usage) -> View:
        self._used = usage.total_tokens
        return view

    def before_call(self, view: View) -> View:
        used, self._used = self._used, None
        if self.auto and used is not None and self.usable and used >= self.usable:
            view = self._compacted(view, f"{used:,} tokens are {self.usable:,} or more")
        return self._pruned(view, newly_asked(view)) if self.prune else view

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        return self._compacted(view, "the provider refused: window exceeded") if self.auto else None

    def _compacted(self, view: View, reason: str) -> View:
        history = history_of(view)
        old = history[: self._tail(history)]
        at = asked_at(view) if len(old) == len(history) else None
        made = condense(self, view, old, reason, self.summary_tokens, at, results_cut(old, 2_000))
        if made is None:
            return view
        return made if newly_asked(view) else made.insert(GO_ON, made[-1].order + 1, reason)

    def _tail(self, history: Sequence[Item]) -> int:
        """The position of the first message that stays; the end if none does or if only summaries would leave."""
        left = self.preserve_recent_tokens
        if left < 0:
            left = min(15_000, max(2_000, int(self.tail_share * self.usable)))
        start, turns = len(history), 0
        for exchange in reversed(list(each_exchange(history))):
            left -= self.sees.size_of(exchange)
            if left < 0 or exchange[0].kind == "summary" or turns == self.tail_turns:
                break
            start -= len(exchange)
            turns += exchange[0].kind == "user"
        return len(history) if all(item.synthetic for item in history[:start]) else start

    def _pruned(self, view: View, asked: Sequence[Item]) -> View:
        if not asked:
            return view
        turns, kept, pruned = -len(asked), 0, 0
        gone: list[int] = []
        for item in reversed(view):
            if item.text == CLEARED or item.kind == "summary":
                break
            turns += item.kind == "user"
            if turns < 2 or item.kind != "tool_result" or item.tool == "skill":
                continue
            tokens = int(len(item.text) / 4 + 0.5)
            kept += tokens
            if kept > 40_000:
                gone.append(item.place)
                pruned += tokens
        if pruned <= 20_000:
            return view
        return view.rewrite(dict.fromkeys(gone, CLEARED), "older than two turns and 40,000 tokens of newer results")
