"""The mock LLM at work: judges and bills one request after another on a simulated clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.provider.cache import Split, open_cache
from ctxsim.simulator.provider.pairs import PairCheck
from ctxsim.simulator.provider.prices import Cost, cost_of
from ctxsim.simulator.provider.rate_limit import Bucket
from ctxsim.simulator.provider.rendering import Rendered, Rendering
from ctxsim.simulator.provider.rules import Provider
from ctxsim.simulator.provider.summaries import MODES, PROMPT
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.transcript import Head, Item

PROMPT_PLACE = -(1 << 40)
"""Place and message of the summary prompt: no item's of any view."""

MISSED = "the provider's cache missed, as recorded"
OTHER_TOOLS = "another tools than in the request before"
OTHER_PROMPT = "another system prompt than in the request before"
LIFETIME = "lifetime"
OUT_OF_REACH = "further back than the cache looks"
CAUSES = (MISSED, OTHER_TOOLS, OTHER_PROMPT, LIFETIME, OUT_OF_REACH)
"""Why a request that a cache holds can't be read, other than by an edit."""

Status = Literal["ok", "overflow", "rate_limited", "invalid_pairs", "stopped"]


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What the provider says to one request: its status and why, refusals with 429 on the way, seconds waited."""

    status: Status
    reason: str = ""
    http_429: int = 0
    wait_s: float = 0.0


class Bill(msgspec.Struct, frozen=True, gc=False):
    """One request's tokens by class, and dollars if prices are known.

    `tokens_rewritten` could have been read if no edit, other head or lifetime had come between; what an edit put in the
    place of something else counts too. `cause` says which it was, if it wasn't an edit.
    """

    split: Split
    cost: Cost | None
    tokens_rewritten: int
    cause: str


class SummaryCall(msgspec.Struct, frozen=True, gc=False):
    """One billed summary request; `text` is None where the provider refused it."""

    text: str | None
    tokens_in: int
    tokens_out: int
    cost: Cost | None
    verdict: Verdict


class MockLLM:
    """One conversation's provider. State: the clock, the bucket, the cache, and the last request."""

    def __init__(self, provider: Provider, counter: Counter, head: Head, rendered: Rendered | None = None) -> None:
        """`rendered`: what is known of the transcript's items as this provider renders them."""
        self.provider = provider
        self._rendered: Rendered = {} if rendered is None else rendered
        self._counter = counter
        self.head = head
        self._pairs = PairCheck()
        limit = provider.rate_limit
        self._tokens = Bucket(limit.tokens_per_minute) if limit else None
        self._requests = Bucket(limit.requests_per_minute) if limit and limit.requests_per_minute else None
        rule = load_vendor(provider.cache).cache
        self._lifetime_s = rule.lifetime(provider.model, provider.long_cache)
        self._cache = open_cache(rule, provider.model, provider.breakpoints, self._lifetime_s, counter.shared)
        self.rendering = self.render(())
        self.demands: list[tuple[float, int]] = []
        self._held = 0
        self._billed_s = self._delay_s = 0.0
        self._cold = False
        self.now_s = 0.0

    def render(self, items: Sequence[Item]) -> Rendering:
        """Return these items as a request, framing included."""
        rendering = Rendering(
            self.head,
            self.provider.model,
            load_vendor(self.provider.framing).framing,
            self._counter.item,
            self._counter.text,
            self._rendered,
        )
        rendering.follow(items, 0)
        return rendering

    def begin(self, scheduled_s: float, head: Head, cold: bool = False) -> None:
        """A call begins: the clock moves to its scheduled start, later by all waiting; `cold`: the cache is lost."""
        self.now_s = max(self.now_s, scheduled_s + self._delay_s)
        self._cold = cold
        if cold:
            self._cache.forget()
        self.head = head
        self.rendering.with_head(head)

    def ask(self, view: Sequence[Item], changed_from: int, texts_at: Iterable[int] | None = None) -> int:
        """Take a request and return its tokens. Items before `changed_from` are those of the request before; so are all
        others up to its end, but for texts at the positions `texts_at`, if they are known.
        """
        return self.rendering.follow(view, changed_from, texts_at)

    def judge(self, view: Sequence[Item], tokens: int, reshaped_from: int) -> Verdict:
        """Return the verdict on the request asked last: pairs first, then the window, then the rate limit.

        Items before position `reshaped_from` are those of the request judged before; their texts may be others.
        """
        errors = self._pairs.errors(view, reshaped_from)
        if errors:
            return Verdict("invalid_pairs", "; ".join(errors[:3]) + (" ..." if len(errors) > 3 else ""))
        return self._admit(self.rendering, tokens, self.provider.reserved_output)

    def not_asked(self, reshaped_from: int) -> None:
        """A request that was asked but not judged: the next one is checked from there on, or whole."""
        self._pairs.passed_by(reshaped_from)

    def _admit(self, rendering: Rendering, tokens: int, output: int) -> Verdict:
        window = self.provider.window
        if tokens + output > window:
            plus = f" + {output:,} reserved for output" if output else ""
            wording = load_vendor(self.provider.vendor).overflow.message
            return Verdict("overflow", wording.format(tokens=f"{tokens:,}{plus}", window=f"{window:,}"))
        limit = self.provider.rate_limit
        if limit is None or self._tokens is None:
            return Verdict("ok")
        demand = limit.demand(self._cache.split(rendering, self.now_s, commit=False))
        wait_s = self._tokens.wait_s(demand, self.now_s)
        if wait_s is None:
            capacity = limit.tokens_per_minute
            return Verdict("rate_limited", f"{demand:,} tokens exceed what the bucket can ever hold ({capacity:,})", 1)
        if self._requests is not None:
            wait_s = max(wait_s, self._requests.wait_s(1, self.now_s) or 0.0)
        if wait_s and limit.failed_requests_count:
            self._tokens.take(demand, self.now_s)
            wait_s = max(wait_s, self._tokens.wait_s(demand, self.now_s) or 0.0)
        self._delay_s += wait_s
        self.now_s += wait_s
        self._tokens.take(demand, self.now_s)
        if self._requests is not None:
            self._requests.take(1, self.now_s)
        return Verdict("ok", "", int(wait_s > 0), wait_s)

    def bill(self, output_tokens: int, new_from: int) -> Bill:
        """Match the request asked last with the cache, let the cache remember it, and return what it costs.

        Items before place `new_from` are those that the request before could have had.
        """
        cause = self._cause()
        split, cost = self.charge(output_tokens)
        rewritten = 0
        if split.read < self._held:
            readable = min(self._held, self.rendering.tokens_before(new_from))
            rewritten = max(0, readable - readable % self._cache.step - split.read)
        self._held, self._billed_s = self._cache.holds(split, self.rendering.total), self.now_s
        self._note_demand(split)
        return Bill(split, cost, rewritten, cause)

    def charge(self, output_tokens: int) -> tuple[Split, Cost | None]:
        """Return the classes of the request asked last and what they cost; the cache remembers it. A bill says more."""
        split = self._cache.split(self.rendering, self.now_s)
        self.rendering.remember()
        return split, self._price(split, output_tokens)

    def _cause(self) -> str:
        """Why a request that could have been read wasn't, told by what the last one had; '' for an edit."""
        if self._cold:
            return MISSED
        prefixes = self.rendering.prefixes
        shared, before = prefixes.shared, prefixes.remembered
        if not before:
            return ""
        if shared == 0:
            return OTHER_TOOLS
        if shared == 1:
            return OTHER_PROMPT
        if shared < before:
            return ""
        return LIFETIME if self.now_s > self._billed_s + self._lifetime_s else OUT_OF_REACH

    def _note_demand(self, split: Split) -> None:
        """Remember what a rate limit is asked for, at the time the call would have without any waiting."""
        limit = self.provider.rate_limit
        demand = limit.demand(split) if limit else split.read + split.write + split.uncached
        self.demands.append((self.now_s - self._delay_s, demand))

    def _price(self, split: Split, output_tokens: int) -> Cost | None:
        prices = self.provider.prices
        if prices is None:
            return None
        return cost_of(prices.at(self.now_s), split, output_tokens, self.provider.long_cache)

    def summarize(self, items: Iterable[Item], max_tokens: int, wanted: Sequence[str] = ()) -> SummaryCall:
        """Ask for a summary: a request of its own with head, these items and a prompt, judged like any other.

        It reads what the cache holds of its prefix, and writes nothing: a prompt that won't come again isn't marked.
        """
        chosen = list(items)
        asked = Item("user", PROMPT_PLACE, PROMPT_PLACE, PROMPT)
        rendering = self.rendering.forked()
        rendering.follow([*chosen, asked], 0)
        verdict = self._admit(rendering, rendering.total, max_tokens)
        if verdict.status != "ok":
            return SummaryCall(None, rendering.total, 0, None, verdict)
        found = self._cache.split(rendering, self.now_s, commit=False)
        self._note_demand(found)
        text = MODES[self.provider.summaries](chosen, max_tokens, self._counter.text, wanted)
        split = Split(found.read, 0, found.write + found.uncached)
        output = self._counter.text(text)
        return SummaryCall(text, rendering.total, output, self._price(split, output), verdict)
