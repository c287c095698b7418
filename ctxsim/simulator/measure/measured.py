"""One transcript under one policy: one replay, its calls as columns, and what the policy lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from ctxsim.counting.estimators import Estimator
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import Spec, open_policy
from ctxsim.results.columns import CallRow, Event, NeedRow
from ctxsim.simulator.bounds.frontier import Family, Frontier, frontiers
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.measure.columns import (
    OWN,
    Columns,
    Outcome,
    by_lifetime,
    event_rows,
    nearest_rank,
    of_all_policies,
    outcome,
    total,
)
from ctxsim.simulator.measure.losses import Losses, need_rows
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.rules import SummaryMode
from ctxsim.simulator.references.finding import prepare
from ctxsim.simulator.references.needs import References
from ctxsim.simulator.references.survival import Counts, Survival, all_kept
from ctxsim.simulator.replay import Replay
from ctxsim.transcript import UNLOGGED, Transcript

if TYPE_CHECKING:
    from ctxsim.simulator.references.fetching import Fetching

KEEP_ALL = open_policy("keep-all")

TOLD_CALLS = 500
"""Calls of a replay between two reports of its progress."""


class Measured(msgspec.Struct, frozen=True):
    """The results of one replay. `demands` are the second and the tokens that each request takes from a rate limit."""

    spec: Spec
    calls: Columns
    events: list[Event]
    losses: Losses
    demands: list[tuple[float, int]]
    threshold: float | None

    @property
    def tables(self) -> dict[str, Sequence[Any]]:
        """Its rows by table, without those of its calls."""
        return {"events": self.events, "losses": self.losses.lost, "needles": self.losses.needles}

    @property
    def rows(self) -> list[CallRow]:
        """A row for each call, made of the columns."""
        cells = zip(*(self.calls[name] for name in CallRow.__struct_fields__), strict=True)
        return [CallRow(*of_call) for of_call in cells]


HeadMode = Literal["fitted", "none"] | Annotated[int, msgspec.Meta(ge=0)]
"""The size of a head that the log lacks: fitted to usage or by priors, none, or a number of tokens."""


class Step(msgspec.Struct, frozen=True):
    """Tokens that are in every request from a call on, and not in the log."""

    call: int
    tokens: int


class Size(msgspec.Struct, frozen=True):
    """The size of the requests as sent, relative to our counts. `how` says where the numbers come from.

    `head`: the provider's tokens of a head that the log lacks. `factor`: the provider's tokens per counted token.
    `calls`, `median_error` and `p95_error` are of the fit: |modelled - recorded| / recorded, None where nothing is
    recorded.
    """

    how: Literal["counted", "fitted", "prior", "given"]
    head: int = 0
    factor: float = 1.0
    steps: tuple[Step, ...] = ()
    calls: int = 0
    median_error: float | None = None
    p95_error: float | None = None
    later_errors: tuple[float, ...] = ()
    """Of calls that are in no fit, predicted from earlier ones: |predicted - recorded| / recorded."""

    def unseen(self) -> dict[str, float | None]:
        """Return columns of the summary: number, median and p95 of `later_errors`; None without any."""
        errors = sorted(self.later_errors)
        median, p95 = (nearest_rank(errors, rank) if errors else None for rank in (50, 95))
        return {"calls_unseen": len(errors) or None, "unseen_median": median, "unseen_p95": p95}


COUNTED = Size("counted")


class Basis:
    """One transcript under one provider: what all policies share. Each part is made at its first use."""

    def __init__(
        self,
        transcript: Transcript,
        provider: Provider,
        counter: Counter,
        references: References | None = None,
        size: Size = COUNTED,
    ) -> None:
        self.transcript = transcript
        self.provider = provider
        self.counter = counter
        self.references = references or prepare(transcript)
        self.size = size
        self.tell: Callable[[int], object] | None = None
        self._by_estimator: dict[Estimator, Measured] = {}

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger that its replays share."""
        return Ledger(self.transcript, self.provider, self.counter)

    @cached_property
    def keep_all(self) -> Measured:
        """The replay of keep-all."""
        return _measure(self, KEEP_ALL, None)

    def believed(self, estimator: Estimator) -> Measured:
        """Return the replay of keep-all with another estimator, one for each estimator."""
        if estimator == KEEP_ALL.estimator:
            return self.keep_all
        if estimator not in self._by_estimator:
            self._by_estimator[estimator] = measure(self, open_policy("keep-all", estimator))
        return self._by_estimator[estimator]

    @cached_property
    def needs(self) -> list[NeedRow]:
        """The rows of its needs, in call order."""
        return need_rows(self.transcript.name, self.references)

    @cached_property
    def kept(self) -> list[Counts]:
        """By call, the reference counts of an unedited view."""
        return all_kept(self.references)

    @cached_property
    def fetching(self) -> Fetching:
        """Which of its results can be fetched again."""
        from ctxsim.simulator.references.fetching import Fetching

        return Fetching(self.transcript)

    @cached_property
    def against_recorded(self) -> dict[str, Any]:
        """By column of the summary: recorded tokens and dollars, those of keep-all at the same calls, errors of sizes,
        and the time, project, model and version of the session.
        """
        of, transcript, provider = self.keep_all.calls, self.transcript, self.provider
        compared = [pair for pair in zip(of["tokens_recorded"], of["tokens_full"], strict=True) if pair[0]]
        costs = zip(of["cost_recorded_usd"], of["cost_usd"], of["tokens_recorded"], strict=True)
        # Of a request that was never sent like this, neither tokens nor dollars are recorded.
        paid = [(usd, full) for usd, full, sent in costs if usd is not None and sent]
        unlogged = sum(media.tokens for item in transcript.items for media in item.media if media.kind == UNLOGGED)
        return {
            "size": provider.size,
            "tokens_hidden": transcript.head.hidden + unlogged,
            "tokens_factor": provider.tokens_factor,
            "calls_recorded": len(compared),
            "tokens_recorded_sum": sum(recorded for recorded, _ in compared),
            "tokens_full_recorded": sum(full for _, full in compared),
            "cost_recorded_usd": total(recorded for recorded, _ in paid) if paid else None,
            "cost_full_recorded_usd": total(full for _, full in paid) if paid else None,
            "started": next((call.time_s for call in transcript.calls if call.time_s is not None), None),
            "project": transcript.project or None,
            "model": transcript.model or None,
            "version": transcript.version or None,
            "compactions_recorded": int(transcript.after_compaction),
            **self.size.unseen(),
        }

    @cached_property
    def frontiers(self) -> dict[Family, Frontier]:
        """The frontiers that all policies on this transcript are compared with."""
        calls = self.keep_all.calls
        output = total(calls["cost_output_usd"])
        return frontiers(self.ledger, self.references, calls["tokens_full"], output)


def measure(basis: Basis, spec: Spec, tell: Callable[[int], object] | None = None) -> Measured:
    """Replay a policy once and return the results; keep-all is replayed once per basis. `tell` is called now and then
    with the number of calls that are done.
    """
    basis.tell = tell
    return basis.keep_all if spec == KEEP_ALL else _measure(basis, spec, basis.keep_all)


def counts_if(basis: Basis, spec: Spec, summaries: SummaryMode) -> Iterator[Counts]:
    """Replay a policy with another mode of summaries than the provider's; yield each call's reference counts, and make
    no rows.
    """
    survival = Survival(basis.references, basis.kept)
    for sent in Replay(basis.ledger, spec, basis.references, summaries):
        yield survival.call(sent.call, sent.tally.edits)


def _measure(basis: Basis, spec: Spec, keep_all: Measured | None) -> Measured:
    transcript, provider, counter = basis.transcript, basis.provider, basis.counter
    # The version of the policy that this session ran: `Measured.spec` must name that one.
    spec = spec.as_shipped(transcript.format, transcript.version, transcript.model)
    replayed = Replay(basis.ledger, spec, basis.references)
    losses = Losses(basis, spec.label)
    outcomes: list[Outcome] = []
    events: list[Event] = []
    for number, sent in enumerate(replayed):
        if basis.tell and number % TOLD_CALLS == TOLD_CALLS - 1:
            basis.tell(number + 1)
        made = list(event_rows(sent, transcript.name, spec.label, counter))
        outcomes.append(outcome(sent, losses.after(sent), made))
        events += made
    own = dict(zip(OWN, zip(*outcomes, strict=True) if outcomes else repeat(()), strict=False))
    shared = keep_all.calls if keep_all else of_all_policies(basis.ledger, own["tokens_sent"], basis.kept)
    calls = {
        **shared,
        **own,
        **by_lifetime(provider, own["tokens_cache_write"]),
        "policy": [spec.label] * len(outcomes),
    }
    return Measured(spec, calls, events, losses, replayed.kernel.demands, replayed.moments.threshold)


class AsSent(msgspec.Struct, frozen=True):
    """One transcript or segment with the provider and the size that hold for it."""

    transcript: Transcript
    provider: Provider
    size: Size = COUNTED
    counter: Counter | None = None
    """A counter whose memo has the texts counted so far; `basis` uses it."""

    def basis(self) -> Basis:
        """Return the basis that all policies on the transcript share."""
        return Basis(self.transcript, self.provider, self.counter or self.provider.counter(), size=self.size)
