"""A naive simulator: at each call it renders, counts and matches everything anew, and remembers whole requests.

From the package it has what it is given: a transcript, a provider's numbers, policies with the view that they edit, and
the texts that stand for summaries. Every number of a row it makes itself: one rule after the other, as the docs say it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from naive_references import naive_counts
from plain_provider import Bucket, Cache, Position, contents, item_tokens, pair_errors, rendered, shared, text_tokens

from ctxsim.counting.estimators import Reported
from ctxsim.policies import Overflow, Policy, Spec, Stop, Surroundings
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import expected_loss
from ctxsim.simulator.provider.summaries import MODES, PROMPT
from ctxsim.simulator.provider.vendor import CacheRule, Framing, load_vendor
from ctxsim.simulator.references.survival import Counts
from ctxsim.transcript import Call, Head, Item, Sizes, Transcript, Usage
from ctxsim.view import Edit, View


class Judge:
    """One policy on one transcript before one provider; `rows` gives the columns of each call."""

    def __init__(
        self, transcript: Transcript, spec: Spec, provider: Provider, framing: Framing, rule: CacheRule,
        references: bool = True,
    ) -> None:  # fmt: skip
        self.references = references
        self.transcript, self.provider, self.framing, self.spec = transcript, provider, framing, spec
        models = {
            "": provider,
            **{one.name: msgspec.structs.replace(provider, model=one.model) for one in provider.others},
        }
        self.caches = {name: Cache(rule, of, framing) for name, of in models.items()}
        self.listed = {"": provider.prices, **{one.name: one.prices for one in provider.others}}
        self.model, self.last_model = "", ""
        limit = provider.rate_limit
        self.buckets = (
            [Bucket(one) for one in (limit.tokens_per_minute, limit.requests_per_minute) if one] if limit else []
        )
        self.sees = Surroundings(provider.window, transcript.head, spec.estimator, summarize=self.summarize)
        self.links: list[Policy] = sorted(spec.create(), key=lambda link: link.ephemeral)
        for link in self.links:
            link.attach(self.sees)
            link.start()
        self.view = View(Sizes(spec.estimator.item))
        self.asked: tuple[Head, list[Item]] | None = None
        self.head, self.now_s, self.delay_s, self.held, self.billed_s = transcript.head, 0.0, 0.0, 0, 0.0
        self.missed, self.capped, self.first = 0, False, list[Item]()
        self.between: list[Position] = []
        """What an agent may have sent by itself since a turn ended."""
        self.written: dict[int, tuple[tuple[Any, ...], list[Item]]] = {}
        """By the place of thinking, the request that it answered, and the response that it belongs to."""
        self.newest: list[Item] = []
        self.dropped = 0
        self.last: list[Position] = []
        self.edits: list[tuple[int, str]] = []
        """Position and reason of each edit since the last bill."""
        self.begin_row()

    def begin_row(self) -> None:
        """Nothing has happened since the last call."""
        self.made: list[Edit] = []
        self.summaries: list[tuple[int, int, float, int, float]] = []
        self.compactions, self.believed, self.arrived, self.dropped = 0, None, 0, 0

    def request(self, items: Iterable[Item]) -> list[Position]:
        """Items as they would be sent now. A call asks for the same several times."""
        asked = self.head, list(items)
        if asked != self.asked:
            self.asked = asked
            self.rendered = rendered(*asked, self.framing, self.framing.of_tools(self.provider.model))
        return self.rendered

    def as_written(self, response: Sequence[Item]) -> int:
        """A response's tokens in a request, without those that a message brings with it."""
        _, _, *items = rendered(Head(), list(response), self.framing, 0)
        return sum(one.tokens for one in items) - (self.framing.message if items else 0)

    # the provider

    def admit(self, request: list[Position], reserved: int) -> tuple[str, int, float]:
        """Status, refusals for rate, seconds waited."""
        limit = self.provider.rate_limit
        if sum(one.tokens for one in request) + reserved > self.provider.window:
            return "overflow", 0, 0.0
        if limit is None:
            return "ok", 0, 0.0
        demand, ones = self.demand(self.matched(request)[0]), [1] * (len(self.buckets) - 1)
        waits = [bucket.wait_s(asked, self.now_s) for bucket, asked in zip(self.buckets, [demand, *ones], strict=True)]
        if waits[0] is None:
            return "rate_limited", 1, 0.0
        wait_s = max(wait or 0.0 for wait in waits)
        if wait_s and limit.failed_requests_count:
            for bucket, asked in zip(self.buckets, [demand, *ones], strict=True):
                bucket.take(asked, self.now_s)
                wait_s = max(wait_s, bucket.wait_s(asked, self.now_s) or 0.0)
        self.delay_s += wait_s
        self.now_s += wait_s
        for bucket, asked in zip(self.buckets, [demand, *ones], strict=True):
            bucket.take(asked, self.now_s)
        return "ok", int(wait_s > 0), wait_s

    def demand(self, classes: tuple[int, int, int]) -> int:
        """What a request takes from the bucket."""
        limit = self.provider.rate_limit
        assert limit is not None
        return max(sum(classes[0 if limit.counts_cache_reads else 1 :]), limit.reserves_max_tokens)

    def usd(self, classes: tuple[int, int, int], output: int) -> tuple[float, float, float, float]:
        """Dollars of each class, at flat prices."""
        prices = self.listed[self.model]
        assert prices is not None
        listed = prices.cache_write_long if self.provider.long_cache and prices.cache_write_long else prices.cache_write
        rates: list[Any] = [prices.cache_read, listed, prices.input, prices.output]
        rates = [prices.input if rate is None else rate for rate in rates]
        return tuple(n * rate / 1e6 for n, rate in zip((*classes, output), rates, strict=True))  # type: ignore[return-value]

    def bill(self, request: list[Position], new_from: int) -> tuple[tuple[int, int, int], int, str]:
        """Tokens by class, those that could have been read, and why they weren't."""
        classes, self.missed = self.matched(request)
        if self.readable == 0:
            self.cache.forget()
        rewritten, cause = 0, ""
        if classes[0] < self.held:
            old = [one.tokens for one in request if one.item is None or one.item.order < new_from]
            readable = min(self.held, sum(old))
            rewritten = max(0, readable - readable % self.cache.step - classes[0])
            cause = self.cause(request) if rewritten else ""
        if self.provider.misses == "expected" and classes[0]:
            loss = expected_loss(self.provider.cache, self.now_s - self.billed_s)
            self.missed = round(classes[0] * loss.mean) if loss else 0
            written = self.missed if self.cache.rule.kind == "breakpoints" or self.cache.rule.paid_writes else 0
            classes = classes[0] - self.missed, classes[1] + written, classes[2] + self.missed - written
        self.cache.remember(request, self.now_s, self.capped)
        self.last, self.held, self.billed_s = request, self.cache.holds(classes), self.now_s
        self.last_model = self.model
        return classes, rewritten, cause

    def matched(self, request: list[Position]) -> tuple[tuple[int, int, int], int]:
        """Tokens by class, and those that the cache lost: recorded reads tell better than the vendor's rules."""
        by_rule, self.capped = self.cache.classes(request, self.now_s), False
        if self.readable is None or self.cache.rule.kind == "none":
            return by_rule, 0
        if not self.cache.used:
            before = [one.item for one in self.last[2:]] if self.last else self.first
            whole = zip(request[2:], before, strict=False)
            alike = next((n for n, (one, item) in enumerate(whole) if one.item is not item), len(before))
            read = min(self.readable, sum(one.tokens for one in request[: 2 + alike]))
            return (read, max(0, by_rule[1] - read), sum(by_rule) - max(read, sum(by_rule[:2]))), 0
        if by_rule[0] < self.readable and not self.revived:
            self.cache.revive(self.now_s)
            self.revived = True
        alive = self.cache.classes(request, self.now_s)
        read = min(alive[0], self.readable)
        self.capped = read < alive[0]
        if self.revived and shared(request, self.between) == len(self.between):
            read = max(read, min(self.readable, sum(one.tokens for one in self.between)))
        lost = 0 if self.revived else alive[0] - read
        if self.cache.rule.kind == "prefix":
            paid = alive[1] > 0
            return (read, sum(alive) - read, 0) if paid else (read, 0, sum(alive) - read), lost
        cached = max(read, alive[0] + alive[1])
        return (read, cached - read, sum(alive) - cached), lost

    @property
    def cache(self) -> Cache:
        """That of the model under way."""
        return self.caches[self.model]

    def cause(self, request: list[Position]) -> str:
        """Why a request isn't read."""
        same = shared(request, self.last)
        if self.missed:
            return "the provider's cache missed, as recorded"
        if self.last and self.model != self.last_model:
            return "another model than that of the request before"
        if self.last and same < 2:
            return f"{('other tools', 'another system prompt')[same]} than in the request before"
        if self.last and same == len(self.last):
            return (
                "lifetime"
                if self.now_s > self.billed_s + self.cache.lifetime_s
                else "further back than the cache looks"
            )
        lowest, reason = len(self.last) - 2, ""
        for at, why in self.edits:
            if at < lowest:
                lowest, reason = at, why
        return reason

    def summarize(self, items: Iterable[Item], max_tokens: int) -> str | None:
        """A summary request: head, items, prompt. Recorded reads say nothing of one with a head of its own."""
        chosen, mine, own = list(items), (self.head, self.readable), self.acting.summary_head
        if own is not None and own != self.head:
            self.head, self.readable = own, None
        request = self.request([*chosen, Item("user", -(1 << 40), -(1 << 40), PROMPT)])
        status, refused, waited = self.admit(request, max_tokens)
        (read, written, rest), _ = self.matched(request) if status == "ok" else ((0, 0, 0), 0)
        self.head, self.readable = mine
        self.sees.now_s = self.now_s
        total = sum(one.tokens for one in request)
        if status != "ok":
            self.summaries.append((total, 0, 0.0, refused, waited))
            return None
        text = MODES[self.provider.summaries](chosen, max_tokens, text_tokens, ())
        if not (self.cache.rule.implicit or self.cache.rule.paid_writes):
            written, rest = 0, written + rest
        usd = sum(self.usd((read, written, rest), text_tokens(text)))
        self.summaries.append((total, text_tokens(text), usd, refused, waited))
        return text

    def note(self, edits: Sequence[Edit]) -> None:
        """Edits are made."""
        self.made += edits
        self.edits += [(edit.position, edit.reason) for edit in edits]

    def join(self, items: Iterable[Item]) -> None:
        """Items enter the view; results are cut on arrival."""
        entered = []
        for item in items:
            for link in self.links if item.kind == "tool_result" else ():
                self.acting = link
                cut = link.on_tool_result(item)
                if cut.text != item.text:
                    self.made.append(Edit(item, cut, 0, link.label))
                    self.arrived += item_tokens(cut) - item_tokens(item)
                    item = cut
            entered.append(item)
        self.view = self.view.grow(entered)

    def before(self, number: int) -> tuple[View, bool, Stop | None]:
        """What the policy wants to send, whether its edits last, and whether it gives up."""
        view, lasting = self.view, True
        for link in self.links:
            limit = link.threshold()
            if limit is not None and self.believed is None:
                self.believed = (self.sees.estimate(view), limit)
            lasting = lasting and not link.ephemeral
            self.acting = link
            acted = link.before_call(view)
            if isinstance(acted, Stop):
                return view, lasting, acted
            if acted is not view:
                self.compactions += 1
                self.note(acted.edits)
                view = acted.settled()
            if lasting:
                self.view = view
        return view, lasting, None

    def send(self, view: View, lasting: bool) -> tuple[View, str, int, int, float]:
        """The request as sent last, the verdict, attempts, refusals for rate, seconds waited."""
        retries = max((link.retries for link in self.links if link.retries is not None), default=10)
        attempts = 1
        while True:
            view = self.without_dropped(view)
            status, refused, waited = "invalid_pairs", 0, 0.0
            broken = pair_errors(list(view))
            if not broken and (self.unbound(view) or self.altered(view)):
                status = "invalid_thinking"
            elif not broken:
                status, refused, waited = self.admit(self.request(view), self.provider.reserved_output)
            smaller = self.smaller(view) if status == "overflow" and attempts <= retries else None
            if smaller is None:
                return view, status, attempts, refused, waited
            view, attempts = smaller, attempts + 1
            if lasting:
                self.view = view

    def unbound(self, view: View) -> list[Item]:
        """Thinking that stands behind something else than when it was written, where the provider minds."""
        if self.provider.thinking == "none":
            return []
        found, request, items = [], self.request(view), list(view)
        heads_only = all(link.server_side for link in self.links)
        for at, item in enumerate(items):
            before, response = self.written.get(item.place, ((), []))
            if item.kind != "reasoning" or not response:
                continue
            first = at - response.index(item) if item in response else -1
            same = first >= 0 and all(one is other for one, other in zip(items[first:at], response, strict=False))
            if heads_only:
                same, first, before = True, 0, before[:2]
            if not same or contents(request[: 2 + first]) != before:
                found.append(item)
        return found

    def without_dropped(self, view: View) -> View:
        """The request without thinking that the provider drops; what is dropped doesn't come back."""
        gone = self.unbound(view) if self.provider.thinking == "drop" else []
        if not gone:
            return view
        self.dropped += sum(map(item_tokens, gone))
        self.newest = [] if any(item in self.newest for item in gone) else self.newest
        places = [item.place for item in gone]
        left = view.drop(places, "thinking behind a changed prefix")
        self.edits += [(edit.position, edit.reason) for edit in left.edits]
        sent = left.settled()
        self.view = sent if self.view is view else self.view.drop(places, "").settled()
        return sent

    def altered(self, view: View) -> bool:
        """Whether the newest response comes without its thinking, or with another."""
        sent = {item.place: item for item in view}
        spoken = any(item.kind != "reasoning" and item.place in sent for item in self.newest)
        return spoken and any(item.kind == "reasoning" and sent.get(item.place) != item for item in self.newest)

    def smaller(self, view: View) -> View | None:
        """The first link's answer to a refusal that is really smaller."""
        said = Overflow("", self.provider.window)
        for link in self.links:
            self.acting = link
            acted = link.on_overflow(view, said)
            if acted is None or acted is view:
                continue
            if sum(one.tokens for one in self.request(acted)) < sum(one.tokens for one in self.request(view)):
                self.compactions += 1
                self.note(acted.edits)
                return acted.settled()
        return None

    def rows(self) -> Iterable[dict[str, Any]]:
        """The columns of each call, but those that only name it."""
        joined, new_from, calls = 0, 0, self.transcript.calls
        for number, call in enumerate(calls, 1):
            yield self.row(number, call, self.transcript.items[joined : call.start], new_from)
            joined, new_from = call.end, call.start

    def row(self, number: int, call: Call, joining: Sequence[Item], new_from: int) -> dict[str, Any]:
        """One call."""
        resend, spoken = self.provider.reasoning, lambda items: [item for item in items if item.kind != "reasoning"]
        ended = 0
        if resend == "never":
            joining = spoken(joining)
        elif resend == "current_turn" and any(item.kind == "user" for item in joining):
            turn = max(at for at, item in enumerate(joining) if item.kind == "user")
            joining = [*spoken(joining[:turn]), *joining[turn:]]
            old = [item.place for item in self.view if item.kind == "reasoning"]
            left = self.view.drop(old, "reasoning of a finished turn")
            self.edits += [(edit.position, edit.reason) for edit in left.edits]
            self.view, self.newest = left.settled(), []
            ended = len(self.view) if call.held else 0
        first_s, time_s = self.transcript.calls[0].time_s, call.time_s
        timed = first_s is not None and time_s is not None
        scheduled_s = max(0.0, time_s - first_s) if timed else (number - 1) * self.provider.pace_s  # type: ignore[operator]
        self.now_s = max(self.now_s, scheduled_s + self.delay_s)
        self.head, self.readable, self.revived = call.head or self.transcript.head, call.held, False
        self.model = call.model if call.model in self.caches else ""
        self.sees.head, self.sees.now_s = self.head, self.now_s
        self.between = self.request(list(self.view)[:ended]) if ended else []
        self.first = self.first if number > 1 else joining
        self.join(joining)
        view, lasting, stop = self.before(number)
        if stop:
            status, attempts, refused, waited = "stopped", 1, 0, 0.0
        else:
            view, status, attempts, refused, waited = self.send(view, lasting)
        request = self.request(view)
        tokens, estimated = sum(one.tokens for one in request), self.sees.estimate(view)
        moved = sum(item_tokens(edit.after) if edit.after else 0 for edit in self.made) - sum(
            item_tokens(edit.before) if edit.before else 0 for edit in self.made
        )
        trigger, truth = "", tokens - moved + self.arrived
        if self.believed is not None:
            estimate, limit = self.believed
            trigger = "false-safe" if estimate <= limit < truth else "false-alarm" if truth <= limit < estimate else ""
        classes, rewritten, cause = self.bill(request, new_from)
        self.sees.now_s = self.now_s
        changed = [] if view is self.view else [(edit.position, "") for edit in self.made]
        self.edits = changed
        response = self.transcript.items[call.start : call.end]
        counts = naive_counts(self.transcript, number, view) if self.references else None
        answered = spoken(response) if resend == "never" else list(response)
        thought = [item for item in answered if item.kind == "reasoning"]
        self.written.update((item.place, (contents(request), answered)) for item in thought)
        minds = load_vendor(self.provider.vendor).thinking.latest and not all(link.server_side for link in self.links)
        self.newest = answered if minds and thought else []
        self.join(answered)
        output = (
            call.usage.output_tokens
            if call.usage and call.usage.output_tokens is not None
            else self.as_written(response)
        )
        if status == "ok":
            self.after(Usage(tokens, output, classes[0], classes[1]).reported(self.provider.usage_factor), response)
        removed = sum(item_tokens(edit.before) for edit in self.made if edit.before) - sum(
            item_tokens(edit.after) for edit in self.made if edit.after
        )
        usd, asked = self.usd(classes, output), self.summaries
        row = {
            "call": number, "status": status, "attempts": attempts, "tokens_sent": tokens,
            "tokens_estimated": estimated,
            "tokens_recorded": call.usage.input_tokens if call.usage and call.comparable else None, "trigger": trigger,
            "tokens_cache_read": classes[0], "tokens_cache_write": classes[1], "tokens_uncached": classes[2],
            "tokens_missed": self.missed, "tokens_thinking_dropped": self.dropped, "tokens_rewritten": rewritten,
            "cache_break": cause, "tokens_output": output,
            "cost_read_usd": usd[0], "cost_write_usd": usd[1], "cost_uncached_usd": usd[2], "cost_output_usd": usd[3],
            "cost_summary_usd": sum(one[2] for one in asked), "cost_usd": sum(usd) + sum(one[2] for one in asked),
            "http_429": refused + sum(one[3] for one in asked), "wait_s": waited + sum(one[4] for one in asked),
            "compactions": self.compactions, "tokens_removed": removed,
            "items_edited": sum(edit.action == "edited" for edit in self.made),
            "items_dropped": sum(edit.action == "dropped" for edit in self.made),
            "summary_calls": len(asked), "tokens_summary_in": sum(one[0] for one in asked),
            "tokens_summary_out": sum(one[1] for one in asked),
            **{name: getattr(counts, name) for name in Counts.__struct_fields__ if counts and name.startswith("refs_")},
        }  # fmt: skip
        self.begin_row()
        return row

    def after(self, usage: Usage, response: Sequence[Item]) -> None:
        """The provider has reported an accepted call's usage."""
        outputs = self.sees.reported.outputs
        if response and usage.output_tokens is not None:
            outputs[response[0].message] = usage.output_tokens
        self.sees.usage, self.sees.reported = usage, Reported(usage, self.view.size, outputs)
        for link in self.links:
            self.acting = link
            acted = link.after_call(self.view, usage)
            if acted is not self.view:
                self.compactions += 1
                self.note(acted.edits)
                self.view = acted.settled()
