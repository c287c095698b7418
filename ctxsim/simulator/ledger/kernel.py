"""The kernel: judges and bills one request after another on a simulated clock. The only place that bills."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.ledger.cache import Cache, open_cache
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.ledger.legs import Leg
from ctxsim.simulator.ledger.refused import PairCheck, Thinking
from ctxsim.simulator.ledger.request import HEAD, Request
from ctxsim.simulator.provider.prices import Cost, Split, cost_of, expected_loss
from ctxsim.simulator.provider.rules import Bucket, Provider, RateLimit, SummaryMode, vendors_limit
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.transcript import Call, Head, Item

PROMPT_PLACE = -(1 << 40)
"""Place and message of the summary prompt, which no item of a view has."""

MISSED = "the provider's cache missed, as recorded"
OTHER_MODEL = "another model than that of the request before"
OTHER_TOOLS = "other tools than in the request before"
OTHER_PROMPT = "another system prompt than in the request before"
LIFETIME = "lifetime"
OUT_OF_REACH = "further back than the cache looks"
CAUSES = (MISSED, OTHER_MODEL, OTHER_TOOLS, OTHER_PROMPT, LIFETIME, OUT_OF_REACH)
"""Reasons, other than an edit, why tokens that the cache held weren't read."""

Status = Literal["ok", "overflow", "rate_limited", "invalid_pairs", "invalid_thinking", "stopped"]


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """The provider's answer to one request: status, reason, refusals with 429 before it, and seconds waited."""

    status: Status
    reason: str = ""
    http_429: int = 0
    wait_s: float = 0.0


OK = Verdict("ok")


class Bill(msgspec.Struct, frozen=True, gc=False):
    """One request's tokens by class and its dollars, if prices are known.

    `tokens_missed` are tokens that the vendor's rules let the request read, but that the cache missed.
    `tokens_rewritten` could have been read without a miss, an edit, another head or the end of a lifetime; what an edit
    put in the place of something else counts too. `cause` names which it was; for an edit, it is the edit's reason.
    """

    split: Split
    cost: Cost | None
    tokens_missed: int
    tokens_rewritten: int
    cause: str


class SummaryCall(msgspec.Struct, frozen=True, gc=False):
    """One billed summary request; `text` is None where the provider refused it."""

    text: str | None
    tokens_in: int
    tokens_out: int
    cost: Cost | None
    verdict: Verdict


class Kernel:
    """One conversation's provider. State: the clock, the buckets, the cache, and the request billed last."""

    def __init__(
        self, provider: Provider, counter: Counter, head: Head, frames: Frames, heads_only: bool = False
    ) -> None:
        self.provider = provider
        self.request = Request(frames, head)
        self.demands: list[tuple[float, int]] = []
        """By request, the simulated second without any waiting, and the tokens that count towards a rate limit."""
        self.now_s = 0.0
        self._counter = counter
        self._frames = frames
        self._pairs = PairCheck()
        self.thinking = Thinking(provider.thinking, load_vendor(provider.vendor).thinking.latest, heads_only)
        limit = provider.rate_limit
        self._taken = limit or RateLimit(1, **vendors_limit(provider.vendor, provider.reserved_output))
        """The rule by which requests take from the limit, or would if there was one."""
        quotas = (limit.tokens_per_minute, limit.requests_per_minute) if limit else ()
        self._buckets = [Bucket(quota) for quota in quotas if quota]
        self._rule = load_vendor(provider.cache).cache
        self._caches: dict[str, Cache] = {}
        """By model: no model reads what another model wrote."""
        self._last_model = ""
        """The model of the request billed last."""
        self.turn_to(None)
        self._held = 0
        self._billed_s = self._delay_s = 0.0
        # Each call sets these as it begins.
        self._readable: int | None
        self._begins_turn: bool
        self._turn_end: tuple[int, int]
        """Position and identity of the request up to where a turn has ended."""
        self._revived: bool
        """Whether recorded reads show that the cache held in this call entries that should have expired."""

    def turn_to(self, call: Call | None) -> None:
        """Use the prices and cache that hold for a call, None for one that the provider's own hold for, and the
        lifetime that the newest mark says.
        """
        provider = self.provider.of(call) if call else self.provider
        self._model, self._prices = provider.model, provider.prices
        self._long = provider.long_cache or any([*(self.request.marks or {}).values()][-1:])
        if self._model not in self._caches:
            self._caches[self._model] = open_cache(self._rule, self._model, provider.breakpoints, self._frames.shared)
        self.cache = self._caches[self._model]
        self.cache.lifetime_s = self._rule.lifetime(self._model, self._long)

    def begin(self, leg: Leg) -> None:
        """Begin a call, before a policy edits it: move the clock to its scheduled start plus all waiting so far."""
        if self.provider.others:
            self.turn_to(leg.call)
        self.now_s = max(self.now_s, leg.scheduled_s + self._delay_s)
        self._readable, self._revived = leg.call.held, False
        self._begins_turn = leg.begins_turn
        self.request.with_head(leg.head)
        end = self.request.last_before(leg.joining[0].order) if leg.begins_turn and leg.call.held else 0
        self._turn_end = (end, self.request.identity(end)) if end else (0, 0)

    def drop_thinking(self) -> list[Item]:
        """Remove from the request the thinking that the provider drops, and return it."""
        return self.thinking.drop(self.request) if self.provider.thinking == "drop" else []

    def judge(self) -> Verdict:
        """Return the verdict on the request. It checks, in order, pairs, thinking, the window and the rate limit."""
        request = self.request
        errors = self._pairs.errors(request.items, request.reshaped_from)
        request.reshaped_from = len(request.items)
        if errors:
            return Verdict("invalid_pairs", "; ".join(errors[:3]) + (" ..." if len(errors) > 3 else ""))
        if unbound := self.thinking.errors(request, self._begins_turn):
            return Verdict("invalid_thinking", unbound[0])
        return self._admit(request, self.provider.reserved_output)

    def _admit(self, request: Request, output: int) -> Verdict:
        provider, tokens = self.provider, request.total
        if tokens + output > provider.window:
            plus = f" + {output:,} reserved for output" if output else ""
            wording = load_vendor(provider.vendor).overflow.message
            return Verdict("overflow", wording.format(tokens=f"{tokens:,}{plus}", window=f"{provider.window:,}"))
        limit = provider.rate_limit
        if limit is None:
            return OK
        demand, capacity = limit.demand(self._matched(request)[0]), limit.tokens_per_minute
        if demand > capacity:
            return Verdict("rate_limited", f"{demand:,} tokens exceed what the bucket can ever hold ({capacity:,})", 1)
        asked = list(zip(self._buckets, (demand, 1), strict=False))
        wait_s = max(bucket.wait_s(n, self.now_s) or 0.0 for bucket, n in asked)
        if wait_s and limit.failed_requests_count:
            for bucket, n in asked:
                bucket.take(n, self.now_s)
            wait_s = max(bucket.wait_s(n, self.now_s) or 0.0 for bucket, n in asked)
        self._delay_s += wait_s
        self.now_s += wait_s
        for bucket, n in asked:
            bucket.take(n, self.now_s)
        return Verdict("ok", "", int(wait_s > 0), wait_s)

    def bill(self, leg: Leg) -> Bill:
        """Match the request with the cache, store it there, and return its bill with a call's output."""
        request, cache, now_s = self.request, self.cache, self.now_s
        split, missed = self._matched(request)
        if self._readable == 0:
            cache.forget()
        rewritten, cause = 0, ""
        if split.read < self._held:
            readable = min(self._held, request.upto()[request.last_before(leg.new_from)])
            rewritten = max(0, readable - readable % cache.step - split.read)
            cause = (MISSED if missed else self._cause() or request.cause) if rewritten else ""
        if self.provider.misses == "expected" and split.read:
            split, missed = self._expected(split)
        cache.remember(request, now_s)
        for other in self._caches.values():
            if other is not cache:
                other.pass_by(request)
        request.remember()
        self.thinking.answered(leg, request)
        self._held, self._billed_s, self._last_model = cache.holds(split, request.total), now_s, self._model
        self._note_demand(split)
        # What is recorded of this request doesn't hold for a summary that is asked for after it.
        self._readable = None
        return Bill(split, self._cost(split, leg.tokens_output), missed, rewritten, cause)

    def _matched(self, request: Request) -> tuple[Split, int]:
        """Return a request's tokens by class, and those that the rules let it read but recorded reads don't."""
        cache, now_s, readable = self.cache, self.now_s, self._readable
        if request.head is not self.request.head:
            # The tools, or the system prompt, come first.
            return cache.split(request, now_s, 0), 0
        split = cache.split(request, now_s)
        if readable is None or self._rule.kind == "none":
            return split, 0
        if not cache.used:
            # Other conversations begin alike: what of the first request nobody has edited may be there.
            read = min(readable, request.upto()[HEAD - 1 + min(request.changed_from, len(request.items))])
            return Split(read, max(0, split.write - read), min(split.uncached, request.total - read)), 0
        if split.read < readable and not self._revived:
            cache.revive(now_s)
            self._revived = True
        capped = cache.split(request, now_s, readable)
        if not self._revived:
            return capped, split.read - capped.read
        end, identity = self._turn_end
        # An agent may have sent a finished turn by itself, which its log doesn't show.
        sent = request.upto()[end] if end < request.length and request.identity(end) == identity else 0
        read = max(capped.read, min(readable, sent))
        cached = max(read, capped.read + capped.write)
        return Split(read, cached - read, request.total - cached), 0

    def _expected(self, split: Split) -> tuple[Split, int]:
        """Return a request's tokens by class, and those not read, if the cache misses as often as on recordings."""
        loss = expected_loss(self.provider.cache, self.now_s - self._billed_s)
        lost = round(split.read * loss.mean) if loss else 0
        written = lost if self._rule.bills_writes else 0
        return Split(split.read - lost, split.write + written, split.uncached + lost - written), lost

    def _cost(self, split: Split, output_tokens: int) -> Cost | None:
        prices = self._prices.at(self.now_s) if self._prices else None
        return cost_of(prices, split, output_tokens, self._long) if prices else None

    def _cause(self) -> str:
        """Why cached tokens weren't read, by comparison with the last request; '' if an edit is the reason."""
        shared, before = self.request.shared(), self.request.remembered
        if not before:
            return ""
        if self._model != self._last_model:
            return OTHER_MODEL
        if shared == 0:
            return OTHER_TOOLS
        if shared == 1:
            return OTHER_PROMPT
        if shared < before:
            return ""
        return LIFETIME if self.now_s > self._billed_s + self.cache.lifetime_s else OUT_OF_REACH

    def _note_demand(self, split: Split) -> None:
        self.demands.append((self.now_s - self._delay_s, self._taken.demand(split)))

    def summarize(
        self,
        items: Iterable[Item],
        max_tokens: int,
        wanted: Sequence[str],
        mode: SummaryMode,
        head: Head | None = None,
    ) -> SummaryCall:
        """Request a summary, written as `mode` says: a request of its own with a head, these items and a prompt.

        The window and the rate limit hold for it. With the conversation's head (None) it reads what the cache holds of
        its prefix; with another head, nothing. It writes only where the vendor writes unasked: a prompt that isn't sent
        again isn't marked.
        """
        from ctxsim.simulator.provider.summaries import MODES, PROMPT

        chosen = list(items)
        request = self.request.forked()
        if head is not None:
            request.with_head(head)
        request.become([*chosen, Item("user", PROMPT_PLACE, PROMPT_PLACE, PROMPT)])
        # The prompt was in no earlier request.
        request.changed_from = min(request.changed_from, len(chosen))
        verdict = self._admit(request, max_tokens)
        if verdict.status != "ok":
            return SummaryCall(None, request.total, 0, None, verdict)
        found, _ = self._matched(request)
        self._note_demand(found)
        text = MODES[mode](chosen, max_tokens, self._counter.text, wanted)
        unasked = self._rule.implicit or self._rule.paid_writes
        split = found if unasked else Split(found.read, 0, found.write + found.uncached)
        output = self._counter.text(text)
        return SummaryCall(text, request.total, output, self._cost(split, output), verdict)
