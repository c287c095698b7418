"""One transcript under one policy: one replay, each call made into a row, and what the policy lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import msgspec

from ctxsim.counting.estimators import Estimator
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import Spec, open_policy
from ctxsim.results.columns import CallRow, Event
from ctxsim.simulator.bounds import Family, Frontier, Walk, frontiers
from ctxsim.simulator.measure.losses import Losses
from ctxsim.simulator.measure.recorded import against_recorded
from ctxsim.simulator.measure.rows import call_row, event_rows, row_like
from ctxsim.simulator.measure.totals import total
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.rate_limit import smallest_quota
from ctxsim.simulator.provider.rules import SummaryMode
from ctxsim.simulator.references import Counts, References, Survival, all_kept, prepare
from ctxsim.simulator.replay import Common, KeptAll, replay
from ctxsim.simulator.replay.tally import Sent
from ctxsim.transcript import Transcript

KEEP_ALL = open_policy("keep-all")

TOLD_CALLS = 500
"""Calls of a replay between two words about how far it is."""


def _nobody(calls: int) -> None:
    return None


class Measured(msgspec.Struct, frozen=True):
    """What one replay gives. `demands` are the seconds and tokens that a rate limit was asked for."""

    spec: Spec
    calls: list[CallRow]
    events: list[Event]
    losses: Losses
    demands: list[tuple[float, int]]
    threshold: float | None
    sent: list[Sent]
    """The requests themselves, of keep-all alone: what other policies are compared with."""


class Basis:
    """One transcript against one provider: what all policies share, each part made when it is first asked for."""

    def __init__(
        self, transcript: Transcript, provider: Provider, counter: Counter, references: References | None = None
    ) -> None:
        self.transcript = transcript
        self.provider = provider
        self.counter = counter
        self.references = references or prepare(transcript)
        self.tell: Callable[[int], object] = _nobody
        self._by_estimator: dict[Estimator, Measured] = {}

    @contextmanager
    def telling(self, tell: Callable[[int], object]) -> Iterator[None]:
        """Tell, now and then, how many calls of a replay are done."""
        self.tell = tell
        try:
            yield
        finally:
            self.tell = _nobody

    @cached_property
    def keep_all(self) -> Measured:
        """Keep-all: a replay."""
        measured = _measure(self, KEEP_ALL, None)
        self.common.kept_all = KeptAll(measured.sent, measured.demands)
        self.common.walk = self.walk
        return measured

    @cached_property
    def common(self) -> Common:
        """What its replays share."""
        return Common(self.transcript, self.provider, self.counter)

    def believed(self, estimator: Estimator) -> Measured:
        """Keep-all as another estimator sees it: a replay for each estimator."""
        if estimator == KEEP_ALL.estimator:
            return self.keep_all
        if estimator not in self._by_estimator:
            self._by_estimator[estimator] = measure(self, open_policy("keep-all", estimator))
        return self._by_estimator[estimator]

    @cached_property
    def walk(self) -> Walk:
        """Schedules of clearings before this provider."""
        return Walk(self.transcript, self.provider, self.counter, self.common.rendered)

    @cached_property
    def kept(self) -> list[Counts]:
        """By call, the reference counts of a view that nobody edited."""
        return all_kept(self.references)

    @cached_property
    def cost_usd(self) -> float | None:
        """What keep-all costs; None if prices are unknown."""
        return total(row.cost_usd for row in self.keep_all.calls)

    @cached_property
    def against_recorded(self) -> dict[str, Any]:
        """What the summary says of keep-all and the recording, whatever the policy."""
        return against_recorded(self.keep_all.calls, self.transcript, self.provider)

    @cached_property
    def smallest_quota(self) -> int:
        """Tokens per minute with which no request of keep-all would have waited."""
        return smallest_quota(self.keep_all.demands)

    @cached_property
    def frontiers(self) -> dict[Family, Frontier]:
        """The frontiers that all policies on this transcript are measured by."""
        calls = self.keep_all.calls
        output = total(row.cost_output_usd for row in calls)
        full = [row.tokens_full for row in calls]
        return frontiers(self.transcript, self.references, self.provider, self.counter, full, output)


def measure(basis: Basis, spec: Spec) -> Measured:
    """Replay a policy once and return its rows."""
    return basis.keep_all if spec == KEEP_ALL else _measure(basis, spec, basis.keep_all)


def counts_if(basis: Basis, spec: Spec, summaries: SummaryMode) -> Iterator[Counts]:
    """Replay a policy whose summary calls answer otherwise than the provider says; yield each call's reference counts,
    and make no rows.
    """
    provider = msgspec.structs.replace(basis.provider, summaries=summaries)
    survival = Survival(basis.references, basis.kept)
    for sent in replay(basis.transcript, spec, provider, basis.counter, basis.references, basis.common):
        yield survival.call(sent.call, sent.tally.edits)


def _measure(basis: Basis, spec: Spec, keep_all: Measured | None) -> Measured:
    transcript, provider, counter = basis.transcript, basis.provider, basis.counter
    replayed = replay(transcript, spec, provider, counter, basis.references, basis.common)
    losses = Losses(transcript, basis.references, spec.label, provider, counter, basis.kept)
    calls: list[CallRow] = []
    events: list[Event] = []
    requests: list[Sent] = []
    for number, sent in enumerate(replayed):
        if number % TOLD_CALLS == TOLD_CALLS - 1:
            basis.tell(number + 1)
        beside = keep_all.calls[number] if keep_all else None
        if sent.untouched:
            losses.pass_by(sent)
            counts = basis.kept[number]
        else:
            counts = losses.after(sent)
        if beside and sent.untouched and sent.status == beside.status:
            row = row_like(beside, sent, spec.label, counter)
        else:
            full = beside.tokens_full if beside else None
            row = call_row(sent, transcript.name, spec.label, full, counts, counter)
        calls.append(row)
        if sent.tally.edits:
            events.extend(event_rows(sent, transcript.name, spec.label, counter))
        if keep_all is None:
            requests.append(sent)
    return Measured(spec, calls, events, losses, replayed.demands, replayed.threshold, requests)
