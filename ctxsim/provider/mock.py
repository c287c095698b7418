"""The mock LLM at work: judges one request after another on a simulated clock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from ctxsim.provider.pairs import PairCheck
from ctxsim.provider.rate_limit import Bucket
from ctxsim.provider.rules import Provider
from ctxsim.provider.summaries import MODES, PROMPT
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Head, Item
from ctxsim.view import View

Status = Literal["ok", "overflow", "rate_limited", "invalid_pairs", "stopped"]


class Verdict(msgspec.Struct, frozen=True):
    """What the provider says to one request: its status and why, refusals with 429 on the way, seconds waited."""

    status: Status
    reason: str = ""
    http_429: int = 0
    wait_s: float = 0.0


class SummaryCall(msgspec.Struct, frozen=True):
    """One billed summary request; `text` is None where the provider refused it."""

    text: str | None
    tokens_in: int
    tokens_out: int
    verdict: Verdict


class MockLLM:
    """One conversation's provider. State: the clock, the bucket, and what was already checked."""

    def __init__(self, provider: Provider, counter: Counter, head: Head) -> None:
        self.provider = provider
        self._counter = counter
        self._head_tokens = counter.head(head)
        self._pairs = PairCheck()
        self._bucket = Bucket(provider.rate_limit) if provider.rate_limit else None
        self._delay_s = 0.0
        self.now_s = 0.0

    def begin(self, scheduled_s: float) -> None:
        """Move the clock to a call's scheduled start, later by all waiting so far."""
        self.now_s = max(self.now_s, scheduled_s + self._delay_s)

    def judge(self, view: View, tokens: int, edited: bool) -> Verdict:
        """Return the verdict on a request of so many tokens: pairs first, then the window, then the rate limit."""
        errors = self._pairs.errors(view, edited)
        if errors:
            return Verdict("invalid_pairs", "; ".join(errors[:3]) + (" ..." if len(errors) > 3 else ""))
        return self._admit(tokens, self.provider.reserved_output)

    def _admit(self, tokens: int, output: int) -> Verdict:
        window = self.provider.window
        if tokens + output > window:
            plus = f" + {output:,} reserved for output" if output else ""
            return Verdict("overflow", f"{tokens:,} tokens{plus} exceed the window of {window:,}")
        if self._bucket is None:
            return Verdict("ok")
        wait_s = self._bucket.take(tokens, self.now_s)
        if wait_s is None:
            assert self.provider.rate_limit
            capacity = self.provider.rate_limit.tokens_per_minute
            return Verdict("rate_limited", f"{tokens:,} tokens exceed what the bucket can ever hold ({capacity:,})", 1)
        self._delay_s += wait_s
        self.now_s += wait_s
        return Verdict("ok", "", int(wait_s > 0), wait_s)

    def summarize(self, items: Iterable[Item], max_tokens: int) -> SummaryCall:
        """Ask for a summary: a request of its own with head, these items and a prompt, judged like any other."""
        chosen = list(items)
        tokens_in = self._head_tokens + self._counter.text(PROMPT) + sum(map(self._counter.item, chosen))
        verdict = self._admit(tokens_in, max_tokens)
        if verdict.status != "ok":
            return SummaryCall(None, tokens_in, 0, verdict)
        text = MODES[self.provider.summaries](chosen, max_tokens, self._counter.text)
        return SummaryCall(text, tokens_in, self._counter.text(text), verdict)
