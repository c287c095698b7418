"""The one loop: a transcript, a policy and a provider in, what was sent at each call out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import Oracle, Overflow, Spec, Surroundings
from ctxsim.simulator.ledger import Course, Ledger, Leg, Verdict
from ctxsim.simulator.ledger.refused import DROPPED
from ctxsim.simulator.provider import Provider, SummaryMode
from ctxsim.simulator.references import References
from ctxsim.simulator.replay.moments import Asked, Moments
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Item, Transcript, Usage
from ctxsim.view import View

if TYPE_CHECKING:
    from ctxsim.simulator.replay.foresight import Foresight


class Replay:
    """One replay; iterate it once. Teacher-forced: the recorded response joins the view whatever the provider said."""

    def __init__(
        self, ledger: Ledger, spec: Spec, references: References | None = None, summaries: SummaryMode | None = None
    ) -> None:
        """`references`, if prepared already, are for oracles; `summaries`: what summary calls answer, if not as the
        provider says. Raises ContractError where the policy breaks its contract.
        """
        self._ledger, self._provider, transcript = ledger, ledger.provider, ledger.transcript
        self._references = references
        spec = spec.as_shipped(transcript.format, transcript.version, transcript.model)
        self._summaries = summaries or self._provider.summaries
        sees = Surroundings(self._provider.window, transcript.head, spec.estimator, summarize=self._summarize)
        self._course = Course(ledger, bound=not spec.server_side)
        self._moments = Moments(
            spec, sees, ledger.sizes(spec.estimator), ledger.views(spec.estimator), self._course.edit
        )
        self._number = self._thinking_dropped = 0
        for link in self._moments.links:
            if isinstance(link, Oracle):
                self._foresight.tell(link)
            if link.bound and (follow := getattr(link, "follow", None)):
                follow(transcript.compactions, transcript.cleared)

    @cached_property
    def _foresight(self) -> Foresight:
        # Bounds need it, and summaries that know the future.
        from ctxsim.simulator.replay.foresight import Foresight

        return Foresight(self._ledger, self._references)

    @property
    def threshold(self) -> float | None:
        """The estimate over which the policy acts before a call; the first of a chain's."""
        return self._moments.threshold

    @property
    def demands(self) -> list[tuple[float, int]]:
        """Simulated second and tokens that count towards a rate limit, per request so far."""
        return self._course.demands

    def __iter__(self) -> Iterator[Sent]:
        for leg in self._ledger.legs:
            yield self._call(leg)
        # The policy's ways to ask and to speak lead back here: cut, or only the garbage collector frees a replay.
        self._moments.close()

    def _call(self, leg: Leg) -> Sent:
        moments, course, sees = self._moments, self._course, self._moments.sees
        self._number = leg.number
        # Join: what the recording brings enters the view.
        moments.join(leg.joining, leg.begins_turn)
        # Decide.
        course.begin(leg)
        sees.head, sees.now_s = leg.head, course.now_s
        began_s = sees.now_s
        asked = moments.before_call()
        # Judge, and retry.
        self._thinking_dropped = 0
        request, tokens, verdict, attempts = self._send(asked)
        leg = self._answered(leg, verdict)
        # Bill.
        changed_from, bill = course.changed_from, course.bill(leg)
        sees.now_s = course.now_s
        estimated = sees.estimate(request)
        course.undo([made.edit for made in moments.tally.edits if not made.lasting])
        # Answer: the recorded response joins, and who follows the usage sees it.
        moments.join(leg.answered)
        if verdict.status == "ok":
            used = Usage(tokens, leg.tokens_output, bill.split.read, bill.split.write)
            moments.after_call(used.reported(self._provider.usage_factor), leg.response)
        return Sent(
            leg.number, leg.call, request, changed_from, verdict, attempts, bill, tokens, estimated,
            leg.tokens_output, moments.settle(), (began_s, sees.now_s), not moments.touched, self._thinking_dropped,
        )  # fmt: skip

    def _answered(self, leg: Leg, verdict: Verdict) -> Leg:
        """Return the call with the response that the request gets: teacher-forced, the recorded one."""
        return leg

    def _send(self, asked: Asked) -> tuple[View, int, Verdict, int]:
        """Return the request as sent last, its tokens, the verdict on it, and how many were sent."""
        moments, course = self._moments, self._course
        if asked.stop is not None:
            # Who gives up sends nothing: nothing is refused, dropped, waited for or taken from the bucket.
            moments.touched = True
            return asked.view, course.ask(asked.view, True), Verdict("stopped", asked.stop.reason), 1
        request = self._without_dropped(asked.view)
        tokens = course.ask(request, moments.touched)
        verdict, attempts = course.judge(), 1
        while verdict.status == "overflow" and attempts <= moments.retries:
            smaller = self._shrink(request, tokens, verdict.reason)
            if smaller is None:
                break
            request, tokens = smaller
            attempts += 1
            if asked.lasting:
                moments.view = request
            if (left := self._without_dropped(request)) is not request:
                request, tokens = left, course.ask(left, True)
            verdict = course.judge()
        return request, tokens, verdict, attempts

    def _without_dropped(self, view: View) -> View:
        """Return the request without the thinking that the provider drops; who sends it leaves that out from now on."""
        dropped = self._course.drop_thinking(view)
        if not dropped:
            return view
        self._thinking_dropped += sum(map(self._ledger.counter.item, dropped))
        return self._moments.leave_out(view, dropped, DROPPED)

    def _shrink(self, view: View, tokens: int, message: str) -> tuple[View, int] | None:
        """After an overflow: the first policy's view that is really smaller, and its tokens; or None."""
        for acted, edits in self._moments.on_overflow(view, Overflow(message, self._provider.window)):
            smaller = self._course.ask(acted, True)
            if smaller < tokens:
                return acted, smaller
            self._course.reject(edits)
        return None

    def _summarize(self, items: Iterable[Item], max_tokens: int) -> str | None:
        items = list(items)
        recorded = map(self._recorded, items)
        wanted = self._foresight.wanted(self._number, recorded) if self._summaries == "clairvoyant" else ()
        result = self._course.summarize(items, max_tokens, wanted, self._summaries)
        self._moments.touched = True
        self._moments.tally.summaries.append(result)
        self._moments.sees.now_s = self._course.now_s
        return result.text

    def _recorded(self, item: Item) -> Item:
        """Return an item of the view with its place in the recording."""
        return item


def replay(transcript: Transcript, spec: Spec, provider: Provider, counter: Counter | None = None) -> Replay:
    """Replay a transcript through a policy, call by call. Raises ContractError where the policy breaks its contract."""
    return Replay(Ledger(transcript, provider, counter or provider.counter()), spec)
