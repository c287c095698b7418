"""The one loop: a transcript, a policy and a provider in, call rows and an audit trail out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import msgspec

from ctxsim.bounds import plan
from ctxsim.errors import ContractError
from ctxsim.moments import Moments
from ctxsim.policies import Oracle, Overflow, Spec, Stop, Surroundings
from ctxsim.provider import Bill, MockLLM, Provider, Verdict
from ctxsim.references import Ahead, References, prepare
from ctxsim.tally import Outcome, Sent, Tally
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Call, Head, Item, Transcript, Usage
from ctxsim.view import View

RETRIES = 10
"""Requests sent again after an overflow where no policy states its own number."""


class _Step(msgspec.Struct, frozen=True):
    """A call whose request the provider hasn't been asked about."""

    number: int
    call: Call
    view: View
    changed_from: int
    new_from: int


class _Replay(Moments):
    """The state of one replay: what the policies do, and what the provider says to it."""

    def __init__(
        self,
        transcript: Transcript,
        spec: Spec,
        provider: Provider,
        counter: Counter,
        references: References | None,
        like: Sequence[Sent] | None,
    ) -> None:
        self.transcript = transcript
        self.counter = counter
        self.like = like
        self.skipped: list[_Step] = []
        self.last: tuple[Verdict, Bill] | None = None
        self._references = references
        self.llm = MockLLM(provider, counter, transcript.head)
        sees = Surroundings(
            window=provider.window,
            head=transcript.head,
            estimator=spec.estimator,
            summarize=self._summarize,
            say=lambda text: self.tally.said.append(text),
        )
        super().__init__(spec, sees)
        for part in self.parts:
            if isinstance(part, Oracle):
                part.foresee(plan(transcript, self._known(), provider, counter, part.aim, part.stub))
        stated = [part.attempts for part in self.parts if hasattr(part, "attempts")]
        self.retries = max(stated, default=RETRIES)
        self.full = self.llm.render(())
        self.number = 0
        self.new_from = 0

    # growth

    def join(self, items: Iterable[Item]) -> None:
        """New items enter the view; a result first passes the ingestion limits."""
        resend = self.llm.provider.reasoning
        for item in items:
            if item.kind == "reasoning" and resend == "never":
                continue
            if item.kind == "user" and resend == "current_turn":
                self._forget_reasoning()
            if self.like is None:
                self.full.append(item)
            self.view = self.view.grow(self.ingest(item) if item.kind == "tool_result" else item)

    def _forget_reasoning(self) -> None:
        """The vendor, not the policy, leaves out the reasoning of finished turns."""
        first = next((n for n, item in enumerate(self.full.items) if item.kind == "reasoning"), None)
        if first is not None and self.like is None:
            self.full.follow([item for item in self.full.items if item.kind != "reasoning"], first)
        old = [item.place for item in self.view if item.kind == "reasoning"]
        if old:
            edited = self.view.drop(old, "reasoning of a finished turn")
            self.changed(edited.edits)
            self.view = edited.settled()

    def _summarize(self, items: Iterable[Item], max_tokens: int) -> str | None:
        self.touched = True
        self._catch_up()
        items = list(items)
        wanted = self._ahead.wanted(self.number, items) if self.llm.provider.summaries == "clairvoyant" else ()
        result = self.llm.summarize(items, max_tokens, wanted)
        self.tally.summaries.append(result)
        self.sees.now_s = self.llm.now_s
        return result.text

    @cached_property
    def _ahead(self) -> Ahead:
        return Ahead(self._known())

    def _known(self) -> References:
        """The transcript's references, prepared here only if nobody has."""
        if self._references is None:
            self._references = prepare(self.transcript)
        return self._references

    # one call

    def call(self, number: int, call: Call) -> Sent:
        """Send one request and let its recorded response join the view."""
        self.number = number
        same = self.like is not None and not self.touched
        if same:
            self.sees.now_s = self._before(number).clock[0]
            self.sees.head = call.head or self.transcript.head
        else:
            self._begin(number, call)
        began_s = self.sees.now_s
        request, lasting, stop = self.before_call()
        # A refusal is for the policy to answer; anything else that it left alone goes as it went before.
        if same and not self.touched and stop is None and self._before(number).row.status != "overflow":
            return self._again(number, call, request)
        if same:
            self._begin(number, call)
        llm, tally = self.llm, self.tally
        tokens = llm.rendering.follow(request, self.changed_from)
        # Who gives up sends nothing: nothing is refused, waited for or taken from the bucket.
        if stop is None:
            verdict = llm.judge(request, tokens, self.changed_from)
        else:
            verdict = Verdict("stopped", stop.reason)
            llm.not_asked(self.changed_from)
        attempts = 1
        while verdict.status == "overflow" and stop is None and attempts <= self.retries:
            smaller = self._shrink(request, tokens, verdict.reason)
            if smaller is None:
                break
            request, tokens = smaller
            attempts += 1
            if lasting:
                self.view = request
            verdict = llm.judge(request, tokens, self.changed_from)
        response = self.transcript.items[call.start : call.end]
        output = self._output_tokens(call, response)
        bill = llm.bill(output, llm.rendering.tokens_before(self.new_from))
        self.new_from = call.start
        self.sees.now_s = llm.now_s
        full, estimated, cause = self._full_tokens(number), self.sees.estimate(request), self.cause
        believed, changed_from = tally.trigger(tokens, self.counter), self.changed_from
        # An ephemeral edit makes the next request differ where this one was edited.
        self.changed_from = len(request) if request is self.view else min(self.changed_from, len(request))
        self.cause = ""
        self.join(response)
        if verdict.status == "ok" and stop is None:
            self.after_call(Usage(tokens, output, bill.split.read, bill.split.write), response)
        outcome = Outcome(
            self.transcript.name, self.label, number, call, verdict, attempts, bill,
            full, tokens, estimated, output, cause, believed,
        )  # fmt: skip
        row = tally.row(outcome, self.counter)
        self.tally = Tally()
        return Sent(number, request, row, changed_from, tuple(tally.edits), tuple(tally.said), (began_s, llm.now_s))

    # what was replayed before without any edit

    def _before(self, number: int) -> Sent:
        assert self.like is not None
        return self.like[number - 1]

    def _full_tokens(self, number: int) -> int:
        return self.full.total if self.like is None else self._before(number).row.tokens_full

    def _again(self, number: int, call: Call, request: View) -> Sent:
        """The request is the uncompacted one: its row is known, and the provider is asked only if an edit follows."""
        before, tally = self._before(number), self.tally
        known = before.row
        self.skipped.append(_Step(number, call, request, self.changed_from, self.new_from))
        cause, self.cause = self.cause, ""
        changed_from = self.changed_from
        self.new_from, self.changed_from = call.start, len(request)
        estimated, believed = self.sees.estimate(request), tally.trigger(known.tokens_sent, self.counter)
        response = self.transcript.items[call.start : call.end]
        self.sees.now_s = before.clock[1]
        self.join(response)
        if known.status == "ok":
            usage = Usage(known.tokens_sent, known.tokens_output, known.tokens_cache_read, known.tokens_cache_write)
            self.after_call(usage, response)
        self.tally = Tally()
        if not self.touched:
            row = msgspec.structs.replace(known, policy=self.label, tokens_estimated=estimated, trigger=believed)
            return Sent(number, request, row, changed_from, (), tuple(tally.said), before.clock, same=True)
        self._catch_up()
        assert self.last is not None
        outcome = Outcome(
            self.transcript.name, self.label, number, call, self.last[0], 1, self.last[1], known.tokens_full,
            known.tokens_sent, estimated, known.tokens_output, cause, believed,
        )  # fmt: skip
        row = tally.row(outcome, self.counter)
        return Sent(number, request, row, changed_from, tuple(tally.edits), tuple(tally.said), before.clock)

    def _catch_up(self) -> None:
        """Show the provider the requests that it wasn't asked about, in order."""
        steps, self.skipped = self.skipped, []
        for step in steps:
            self._begin(step.number, step.call, catching_up=True)
            tokens = self.llm.rendering.follow(step.view, step.changed_from)
            verdict = self.llm.judge(step.view, tokens, step.changed_from)
            output = self._output_tokens(step.call, self.transcript.items[step.call.start : step.call.end])
            self.last = verdict, self.llm.bill(output, self.llm.rendering.tokens_before(step.new_from))
        if steps and steps[-1].number != self.number:
            # In the middle of a later call, before its request.
            self._begin(self.number, self.transcript.calls[self.number - 1], catching_up=True)

    def _begin(self, number: int, call: Call, catching_up: bool = False) -> None:
        """The provider's clock and head at the start of a call."""
        if not catching_up:
            self._catch_up()
        self._use_head(call.head or self.transcript.head)
        self.llm.begin(self._scheduled_s(number, call))
        if not catching_up:
            self.sees.now_s = self.llm.now_s

    def _use_head(self, head: Head) -> None:
        if head == self.llm.rendering.head:
            return
        self.llm.rendering.with_head(head)
        if self.like is None:
            self.full.with_head(head)
        self.llm.head = self.sees.head = head

    def _shrink(self, view: View, tokens: int, message: str) -> tuple[View, int] | None:
        """After an overflow: the first policy whose view is really smaller, rendered; or None."""
        error = Overflow(message, self.llm.provider.window)
        for part in self.parts:
            before, known = len(self.tally.edits), (self.changed_from, self.cause)
            acted = self.moment(part, "on_overflow", view, error)
            if isinstance(acted, Stop):
                raise ContractError(f"{part.label}: on_overflow returns a view or None; only before_call may stop")
            if acted is None or acted is view:
                continue
            smaller = self.llm.rendering.follow(acted, self.changed_from)
            if smaller < tokens:
                return acted, smaller
            self.llm.rendering.follow(view, self.changed_from)
            self.changed_from, self.cause = known
            del self.tally.edits[before:]
            self.tally.compactions -= 1
        return None

    def _output_tokens(self, call: Call, response: Sequence[Item]) -> int:
        """Recorded output where the reader trusts it, else counted."""
        if call.usage is not None and call.usage.output_tokens is not None:
            return call.usage.output_tokens
        return sum(map(self.counter.item, response))

    def _scheduled_s(self, number: int, call: Call) -> float:
        first = self.transcript.calls[0].time_s
        if call.time_s is not None and first is not None:
            return max(0.0, call.time_s - first)
        return (number - 1) * self.llm.provider.pace_s


class Replayed:
    """One replay, call by call as it is iterated; `needs` then says what the rate limit was asked for, and when."""

    def __init__(self, state: _Replay) -> None:
        self._state = state

    @property
    def threshold(self) -> float | None:
        """The estimate over which the policy acts before a call; the first of a chain's."""
        return next((limit for part in self._state.parts if (limit := part.threshold()) is not None), None)

    @property
    def touched(self) -> bool:
        """Whether the policy has edited anything so far."""
        return self._state.touched

    @property
    def needs(self) -> list[tuple[float, int]]:
        """Simulated second and tokens that count towards a rate limit, per call so far."""
        return self._state.llm.needs

    def __iter__(self) -> Iterator[Sent]:
        joined, transcript = 0, self._state.transcript
        for number, call in enumerate(transcript.calls, 1):
            self._state.join(transcript.items[joined : call.start])
            yield self._state.call(number, call)
            joined = call.end
        # The policy's ways to ask and to speak lead back here: cut, or only the garbage collector frees a replay.
        self._state.sees.close()


def replay(
    transcript: Transcript,
    spec: Spec,
    provider: Provider,
    counter: Counter,
    references: References | None = None,
    like: Sequence[Sent] | None = None,
) -> Replayed:
    """Replay a transcript through a policy, call by call. `references`, if prepared already, are for oracles.

    `like`: the same transcript against the same provider under keep-all. Until the policy's first edit every request is
    the same, so nothing is rendered, cached or billed again; the rows are equal either way.
    Teacher-forced: the recorded response joins the view whatever the provider said. Raises ContractError where the
    policy breaks its contract.
    """
    counter.learn_transcript(transcript)
    return Replayed(_Replay(transcript, spec, provider, counter, references, like))
