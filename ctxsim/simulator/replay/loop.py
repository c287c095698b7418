"""The one loop: a transcript, a policy and a provider in, what was sent at each call out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from ctxsim.counting.estimators import Estimator
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import Oracle, Overflow, Spec, Surroundings
from ctxsim.policies.recorded import Recorded
from ctxsim.simulator.bounds import Walk, plan
from ctxsim.simulator.provider import MockLLM, Provider, Verdict
from ctxsim.simulator.provider.course import Leg, course
from ctxsim.simulator.provider.rendering import Rendered
from ctxsim.simulator.references import Ahead, References, prepare
from ctxsim.simulator.replay.moments import Moments, Request
from ctxsim.simulator.replay.tally import Sent
from ctxsim.transcript import Item, Transcript, Usage
from ctxsim.view import Sizes, View

RETRIES = 10
"""Requests sent again after an overflow where no policy states its own number."""


class KeptAll(NamedTuple):
    """What keep-all sent of the same transcript to the same provider, and what the rate limit was asked for.

    Until a policy's first edit it sends the same, and is answered the same, without anybody being asked.
    """

    sent: Sequence[Sent]
    demands: list[tuple[float, int]]


class Common:
    """What all replays of one transcript before one provider share; each makes what it is the first to need."""

    def __init__(self, transcript: Transcript, provider: Provider, counter: Counter) -> None:
        counter.learn_transcript(transcript)
        self.legs = course(transcript, provider, counter)
        self.rendered: Rendered = {}
        """Items as the provider renders them."""
        self._sizes: dict[Estimator, Sizes] = {}
        self._views: dict[Estimator, list[View]] = {}
        # Where the vendor leaves out reasoning, views are edited by it.
        self._share_views = provider.reasoning != "current_turn"
        self.kept_all: KeptAll | None = None
        self.walk: Walk | None = None
        """What oracles plan with."""

    def sizes(self, estimator: Estimator) -> Sizes:
        """Return what an estimator has said of items."""
        return self._sizes.setdefault(estimator, Sizes(estimator.item))

    def views(self, estimator: Estimator) -> list[View] | None:
        """Return the views that nobody edited, as they grow, with the sizes of an estimator."""
        return self._views.setdefault(estimator, []) if self._share_views else None


class Replay:
    """One replay; iterate it once. Teacher-forced: the recorded response joins the view whatever the provider said."""

    def __init__(
        self,
        transcript: Transcript,
        spec: Spec,
        provider: Provider,
        counter: Counter,
        references: References | None,
        common: Common,
    ) -> None:
        self.transcript = transcript
        self._provider = provider
        self._references = references
        sees = Surroundings(
            window=provider.window, head=transcript.head, estimator=spec.estimator, summarize=self._summarize
        )
        self._moments = Moments(spec, sees, common.sizes(spec.estimator), common.views(spec.estimator))
        self._llm = MockLLM(provider, counter, transcript.head, common.rendered)
        self._legs = common.legs
        self._like = common.kept_all
        """None from the first edit on."""
        for link in self._moments.links:
            if isinstance(link, Oracle):
                link.foresee(plan(transcript, self._known, provider, counter, link.aim, link.stub, common.walk))
            if isinstance(link, Recorded):
                link.follow(transcript.compactions, transcript.cleared)
        self._number = 0
        self._answered = self._told = self._begun = 0
        """Calls that are over; those of them that the provider knows of; the newest call that it knows of."""

    @property
    def threshold(self) -> float | None:
        """The estimate over which the policy acts before a call; the first of a chain's."""
        return self._moments.threshold

    @property
    def demands(self) -> list[tuple[float, int]]:
        """Simulated second and tokens that count towards a rate limit, per call so far."""
        like = self._still()
        return like.demands if like else self._llm.demands

    def __iter__(self) -> Iterator[Sent]:
        for leg in self._legs:
            self._number = leg.number
            self._join(leg)
            yield self._call(leg)
        # The policy's ways to ask and to speak lead back here: cut, or only the garbage collector frees a replay.
        self._moments.close()

    def _join(self, leg: Leg) -> None:
        """What joins before a call enters the view."""
        items = leg.joining
        if leg.turn is not None:
            self._moments.add(items[: leg.turn])
            self._moments.forget_reasoning()
            items = items[leg.turn :]
        self._moments.add(items)

    def _call(self, leg: Leg) -> Sent:
        """Send one request and let its recorded response join the view."""
        moments, sees = self._moments, self._moments.sees
        sees.head = leg.head
        like = self._still()
        known = like.sent[leg.number - 1] if like else None
        if known is None:
            self._tell()
        sees.now_s = began_s = known.clock[0] if known else self._llm.now_s
        asked = moments.before_call()
        if known and (moments.touched or asked.stop or known.verdict.status == "overflow"):
            # What follows is the policy's own, or may become it.
            self._tell()
            known, self._like = None, None if moments.touched or asked.stop else self._like
        if known:
            request, tokens, verdict, attempts = asked.view, known.tokens_sent, known.verdict, 1
            bill, ended_s = known.bill, known.clock[1]
        else:
            request, tokens, verdict, attempts = self._send(asked)
            bill, ended_s = self._llm.bill(leg.tokens_output, leg.new_from), self._llm.now_s
            self._told = leg.number
        self._answered = leg.number
        sees.now_s = ended_s
        estimated = sees.estimate(request)
        changed_from, cause = moments.sent(request)
        moments.add(leg.answered)
        if verdict.status == "ok":
            used = Usage(tokens, leg.tokens_output, bill.split.read, bill.split.write)
            moments.after_call(used.reported(self._provider.usage_factor), leg.response)
        return Sent(
            leg.number, leg.call, request, changed_from, verdict, attempts, bill, tokens, estimated, leg.tokens_output,
            moments.settle(), cause, (began_s, ended_s), not moments.touched,
        )  # fmt: skip

    def _still(self) -> KeptAll | None:
        """Keep-all, as long as what is sent is what it sent: until the first edit."""
        if self._like is not None and self._moments.touched:
            self._tell()
            self._like = None
        return self._like

    def _tell(self) -> None:
        """Tell the provider, in order, what it missed: the calls that are over, and that this one has begun."""
        llm, missed = self._llm, self._like.sent[self._told : self._answered] if self._like else ()
        for sent in missed:
            leg = self._begin(sent.call)
            llm.ask(sent.view, sent.changed_from)
            # A rate limit remembers what it was asked for, and whoever checks pairs up to where they were well.
            if self._provider.rate_limit is not None:
                llm.judge(sent.view, sent.tokens_sent, sent.changed_from)
            else:
                llm.not_asked(sent.changed_from)
            llm.bill(leg.tokens_output, leg.new_from)
        self._told = self._answered
        if self._begun < self._number > self._answered:
            self._begin(self._number)

    def _begin(self, number: int) -> Leg:
        self._begun, leg = number, self._legs[number - 1]
        self._llm.begin(leg.scheduled_s, leg.head, leg.call.cold)
        return leg

    def _send(self, asked: Request) -> tuple[View, int, Verdict, int]:
        """Return the request as sent last, its tokens, the verdict on it, and how many were sent."""
        moments, llm = self._moments, self._llm
        request = asked.view
        tokens = llm.ask(request, moments.changed_from, moments.texts_at)
        if asked.stop is not None:
            # Who gives up sends nothing: nothing is refused, waited for or taken from the bucket.
            llm.not_asked(moments.reshaped_from)
            return request, tokens, Verdict("stopped", asked.stop.reason), 1
        verdict, attempts = llm.judge(request, tokens, moments.reshaped_from), 1
        retries = RETRIES if moments.retries is None else moments.retries
        while verdict.status == "overflow" and attempts <= retries:
            smaller = self._shrink(request, tokens, verdict.reason)
            if smaller is None:
                break
            request, tokens = smaller
            attempts += 1
            if asked.lasting:
                moments.view = request
            verdict = llm.judge(request, tokens, moments.reshaped_from)
        return request, tokens, verdict, attempts

    def _shrink(self, view: View, tokens: int, message: str) -> tuple[View, int] | None:
        """After an overflow: the first policy's view that is really smaller, and its tokens; or None."""
        moments = self._moments
        for acted in moments.on_overflow(view, Overflow(message, self._provider.window)):
            smaller = self._llm.ask(acted, moments.changed_from, moments.texts_at)
            if smaller < tokens:
                return acted, smaller
            self._llm.ask(view, moments.changed_from, moments.texts_at)
        return None

    def _summarize(self, items: Iterable[Item], max_tokens: int) -> str | None:
        items = list(items)
        wanted = self._ahead.wanted(self._number, items) if self._provider.summaries == "clairvoyant" else ()
        self._tell()
        self._moments.touched = True
        result = self._llm.summarize(items, max_tokens, wanted)
        self._moments.tally.summaries.append(result)
        self._moments.sees.now_s = self._llm.now_s
        return result.text

    @cached_property
    def _known(self) -> References:
        """The transcript's references, prepared here only if nobody has."""
        return self._references or prepare(self.transcript)

    @cached_property
    def _ahead(self) -> Ahead:
        return Ahead(self._known)


def replay(
    transcript: Transcript,
    spec: Spec,
    provider: Provider,
    counter: Counter,
    references: References | None = None,
    common: Common | None = None,
) -> Replay:
    """Replay a transcript through a policy, call by call. `references`, if prepared already, are for oracles.

    `common`: what other replays of it before this provider know; if keep-all's is among them, until the policy's first
    edit nothing is rendered, cached or billed again. Raises ContractError where the policy breaks its contract.
    """
    return Replay(transcript, spec, provider, counter, references, common or Common(transcript, provider, counter))
