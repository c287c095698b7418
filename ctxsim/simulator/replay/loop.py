"""The one loop: a transcript, a policy and a provider in; join, decide, judge, retry, bill, answer, call by call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.errors import ContractError
from ctxsim.policies import Overflow, Spec, Surroundings
from ctxsim.simulator.ledger import Ledger, Leg, Verdict
from ctxsim.simulator.ledger.refused import DROPPED
from ctxsim.simulator.provider import Provider, SummaryMode
from ctxsim.simulator.references.needs import References
from ctxsim.simulator.replay.moments import Moments
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Item, Transcript, Usage
from ctxsim.view import View

if TYPE_CHECKING:
    from ctxsim.simulator.replay.foresight import Foresight


class Replay:
    """One replay of a policy; iterate it once. Teacher-forced: the recorded response joins whatever the provider said.

    `kernel` is the provider's side of it, `moments` the policy's.
    """

    def __init__(
        self, ledger: Ledger, spec: Spec, references: References | None = None, summaries: SummaryMode | None = None
    ) -> None:
        """`references`, if prepared already, are for oracles; `summaries`: the mode of summaries instead of the
        provider's. Raises ContractError where the policy breaks its contract.
        """
        provider, transcript = ledger.provider, ledger.transcript
        spec = spec.as_shipped(transcript.format, transcript.version, transcript.model)
        sees = Surroundings(provider.window, transcript.head, spec.estimator, remembered=ledger.sizes(spec.estimator))
        self._ledger = ledger
        self._references = references
        self._summaries = summaries or provider.summaries
        self.kernel = ledger.kernel(heads_only=spec.server_side)
        self._number = 0
        """The number of the call under way, or of the last one; 0 before the first."""
        self.moments = Moments(spec, sees, self.kernel.request.follow)
        # Outside of calls nobody would be billed.
        sees.summarize = self._summarize
        if any(hasattr(link, "foresee") or hasattr(link, "follow") for link in self.moments.links):
            self._foresight.tell(self.moments.links)

    @cached_property
    def _foresight(self) -> Foresight:
        # Imported only for bounds and clairvoyant summaries.
        from ctxsim.simulator.replay.foresight import Foresight

        return Foresight(self._ledger, self._references)

    def _summarize(self, items: Iterable[Item], max_tokens: int) -> str | None:
        if not isinstance(max_tokens, int) or max_tokens < 1:
            raise ContractError(f"a summary's max_tokens must be a whole number of at least 1, not {max_tokens!r}")
        asked = list(items)
        wanted = self._foresight.wanted(self._number, asked) if self._summaries == "clairvoyant" else ()
        head = self.moments.summary_head
        summary = self.kernel.summarize(asked, max_tokens, wanted, self._summaries, head)
        self.moments.tally.summaries.append(summary)
        self.moments.sees.now_s = self.kernel.now_s
        return summary.text

    def __iter__(self) -> Iterator[Sent]:
        for leg in self._ledger.legs:
            try:
                sent = self._call(leg)
            except ContractError as error:
                raise ContractError(f"call {leg.number}: {error}") from error
            yield sent
        # The policy's callbacks refer to this replay: cut the cycle, or only the garbage collector frees it.
        self.moments.close()

    def _call(self, leg: Leg) -> Sent:
        moments, kernel, sees = self.moments, self.kernel, self.moments.sees
        # Join: recorded items enter the view, at the time of the call that they join.
        self._number = leg.number
        if leg.begins_turn:
            moments.end_turn()
        kernel.request.follow(moments.view)
        kernel.begin(leg)
        sees.head, sees.now_s = leg.head, kernel.now_s
        moments.join(leg.joining)
        # Decide.
        kernel.request.follow(moments.view)
        asked, stop = moments.before_call()
        # Judge, and retry. A policy that stops sends nothing: no refusal, dropped thinking or use of the rate limit.
        view, verdict, attempts = (asked, Verdict("stopped", stop.reason), 1) if stop else self._send(asked)
        leg = self._answered(leg, verdict)
        # Bill.
        request = kernel.request
        changed_from, tokens, bill = request.changed_from, request.total, kernel.bill(leg)
        sees.now_s = kernel.now_s
        estimated = sees.estimate(view)
        if not moments.lasting:
            request.become(moments.view)
        # Answer: the recorded response joins, and `after_call` gets the usage.
        moments.join(leg.answered)
        if verdict.status == "ok":
            used = Usage(tokens, leg.tokens_output, bill.split.read, bill.split.write)
            moments.after_call(used.reported(self._ledger.provider.usage_factor), leg.response)
        return Sent(
            leg.number, leg.call, view, changed_from, verdict, attempts, bill, tokens, estimated,
            leg.tokens_output, moments.settle(),
        )  # fmt: skip

    def _answered(self, leg: Leg, verdict: Verdict) -> Leg:
        """Return the call with the response that the request gets: teacher-forced, the recorded one."""
        return leg

    def _send(self, asked: View) -> tuple[View, Verdict, int]:
        """Return the request as sent last, the verdict on it, and the number of attempts."""
        moments, kernel = self.moments, self.kernel
        view = self._without_thinking(asked)
        verdict, attempts = kernel.judge(), 1
        while verdict.status == "overflow" and attempts <= moments.retries:
            if (smaller := self._shrink(view, verdict.reason)) is None:
                break
            if moments.lasting:
                moments.view = smaller
            view, attempts = self._without_thinking(smaller), attempts + 1
            verdict = kernel.judge()
        return view, verdict, attempts

    def _without_thinking(self, view: View) -> View:
        """Return a view as it is sent: without the thinking that the provider drops from it."""
        dropped = self.kernel.drop_thinking()
        if not dropped:
            return view
        self.moments.tally.thinking_dropped += sum(map(self._ledger.counter.item, dropped))
        return self.moments.leave_out(view, dropped, DROPPED)

    def _shrink(self, view: View, message: str) -> View | None:
        """After an overflow, return the first policy's view that has fewer tokens, or None."""
        request = self.kernel.request
        tokens, unlike = request.total, (request.changed_from, request.cause, request.reshaped_from)
        for acted in self.moments.on_overflow(view, Overflow(message, self._ledger.provider.window)):
            if request.total < tokens:
                return acted
            # As if they had never been made.
            request.become(view)
            request.changed_from, request.cause, request.reshaped_from = unlike
        return None


def replay(transcript: Transcript, spec: Spec, provider: Provider, counter: Counter | None = None) -> Replay:
    """Replay a transcript through a policy, call by call. Raises ContractError where the policy breaks its contract."""
    return Replay(Ledger(transcript, provider, counter or provider.counter()), spec)
