"""Replay: a transcript, a policy and a provider in, what was sent at each call out."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import Oracle, Spec, Surroundings
from ctxsim.simulator.ledger import Course, Ledger
from ctxsim.simulator.provider import Provider, SummaryMode
from ctxsim.simulator.references import References
from ctxsim.simulator.replay.loop import Loop
from ctxsim.simulator.replay.moments import Moments
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Item, Transcript

if TYPE_CHECKING:
    from ctxsim.simulator.replay.foresight import Foresight

__all__ = ["Replay", "Sent", "replay"]


class Replay(Loop):
    """One replay of a policy; iterate it once."""

    def __init__(
        self, ledger: Ledger, spec: Spec, references: References | None = None, summaries: SummaryMode | None = None
    ) -> None:
        """`references`, if prepared already, are for oracles; `summaries`: what summary calls answer, if not as the
        provider says. Raises ContractError where the policy breaks its contract.
        """
        provider, transcript = ledger.provider, ledger.transcript
        spec = spec.as_shipped(transcript.format, transcript.version, transcript.model)
        sees = Surroundings(provider.window, transcript.head, spec.estimator, summarize=self._summarize)
        course = Course(ledger, bound=not spec.server_side)
        moments = Moments(spec, sees, ledger.sizes(spec.estimator), ledger.views(spec.estimator), course.edit)
        super().__init__(ledger, course, moments)
        self._references = references
        self._summaries = summaries or provider.summaries
        if any(isinstance(link, Oracle) or hasattr(link, "follow") for link in moments.links):
            self._foresight.tell(moments.links)

    @cached_property
    def _foresight(self) -> Foresight:
        # Bounds need it, and summaries that know the future.
        from ctxsim.simulator.replay.foresight import Foresight

        return Foresight(self._ledger, self._references)

    def _summarize(self, items: Iterable[Item], max_tokens: int) -> str | None:
        asked = list(items)
        wanted = self._foresight.wanted(self.course.number, asked) if self._summaries == "clairvoyant" else ()
        summary = self.course.summarize(asked, max_tokens, wanted, self._summaries)
        return self.moments.summarized(summary, self.course.now_s)


def replay(transcript: Transcript, spec: Spec, provider: Provider, counter: Counter | None = None) -> Replay:
    """Replay a transcript through a policy, call by call. Raises ContractError where the policy breaks its contract."""
    return Replay(Ledger(transcript, provider, counter or provider.counter()), spec)
