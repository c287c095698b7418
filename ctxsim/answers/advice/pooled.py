"""The figures of a run, each policy over all its transcripts: every table, chart, page and advice uses them.

For a sampled run they are estimates of the whole folder, and intervals are sampling errors of that folder.

Amounts are pooled: the sum over all transcripts, as a share of keep-all's sum. `kept` is survival, the mean over the
transcripts that have aged needs. Intervals are of the next sessions, as many as there are, from the same draws for
every policy (ctxsim/answers/forecast/ranges.py); with fewer than 8 sessions they are ranges by priors over projects. A
generated conversation has no next sessions, and one session no interval.
"""

from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from ctxsim.answers.advice import sampled
from ctxsim.answers.advice.figures import Figures, Share
from ctxsim.answers.forecast.ranges import (
    DRAWS,
    FIRST,
    LEAST,
    blocks_of,
    by_odds,
    interval,
    next_sessions,
    recency,
    varied,
)
from ctxsim.results import Run
from ctxsim.results.frames import refused
from ctxsim.results.run_info import Sample

Array = npt.NDArray[np.float64]

AMOUNT = {"dollars": "usd", "kept": "usd", "tokens": "tokens", "window": "peak"}
"""The amount that each goal minimizes. `kept` minimizes dollars too, among policies that lose little."""

DRAWN_AT_ONCE, FEWEST_DRAWS = 20_000_000, 200
"""Most numbers in memory while drawing sessions, and the least number of draws, even beyond that memory."""

FINE, FINE_AT_ONCE = 10_000, 2_000_000
"""Draws of the next sessions, and the most numbers in them: with DRAWS only, the rule's limits err by .005."""

SHARES = {"usd": "usd_all", "tokens": "tokens_all", "peak": "peak_all", "kept": "having"}
"""Each share and what it is a share of."""


class Pooled:
    """Every policy's figures. Sums are kept by session, so that differences between policies have intervals too."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.labels = run.labels
        first = run.of(self.labels[0])
        self.transcripts = len(first)
        self.sample = run.info.sample or None
        self._taken: Array | None = None
        if self.sample:
            drawn = {one.transcript: one.probability for one in self.sample.drawn}
            self._taken = first.transcript.map(drawn.__getitem__).to_numpy(dtype=float)
        # A sample draws transcripts, not sessions.
        by_session = first.groupby("transcript" if self.sample else "root", sort=True)
        self._session: npt.NDArray[np.int64] = by_session.ngroup().to_numpy()
        self._weight = np.ones(self.transcripts) if self._taken is None else 1 / self._taken
        self.stands_for = float(self._weight.sum())
        """The number of transcripts that the run stands for: those that ran, or an estimate of the folder's."""
        self.sessions = int(by_session.ngroups)
        began = by_session.started.min().to_numpy(dtype=float)
        self._started = [None if np.isnan(one) else float(one) for one in began]
        self._project = by_session.project.first().fillna("").tolist()
        self.has_next = run.info.scenario is None and self.sample is None and self.sessions > 1
        """Whether next sessions can be drawn: the run has two or more sessions, neither generated nor sampled."""
        priced = first.cost_usd.notna() & first.cost_vs_keep_all.notna()
        self.priced = int(priced.sum())
        self._priced = priced.to_numpy()
        self.rate = run.rate
        self.sums: dict[str, dict[str, Array]] = {}
        """By label and measure (see `_sums`), the sum of each session."""
        self._tops: dict[str, tuple[int, int]] = {}
        self.nothing = run.nothing
        keep_all = run.of(self.nothing) if self.nothing else None
        for label in self.labels:
            part = run.of(label)
            # An agent that ended early is compared with keep-all's bill of the same calls, from the rows' ratios.
            beside = part if keep_all is None else keep_all
            if keep_all is None or label in run.ended_early:
                bill = (part.cost_usd / part.cost_vs_keep_all).to_numpy()
                sent = part.tokens_full_sum.to_numpy(dtype=float)
            else:
                # The row that stands for doing nothing may lose results too, as an agent does as set.
                bill = run.spent(beside, "cost_usd").to_numpy()
                sent = run.spent(beside, "tokens_full_sum").to_numpy()
            usd, tokens = run.spent(part, "cost_usd").to_numpy(), run.spent(part, "tokens_sum").to_numpy()
            self.sums[label] = self._sums(part, usd, tokens, bill, sent, beside.tokens_peak.to_numpy())
            self._tops[label] = int(part.tokens_peak.max()), int(part.first_failure.notna().sum())
        if self.sample is not None:
            self._to_known_totals(self.sample)

    def _to_known_totals(self, sample: Sample) -> None:
        """Scale amounts to keep-all's known totals (ratio estimates), of tokens, of dollars and of calls."""
        known = {
            "tokens_all": (float(sample.tokens), ("tokens", "tokens_again")),
            "usd_all": (sample.usd or 0.0, ("usd", "usd_again", "usd_least")),
            "calls": (float(sample.calls), ("refused",)),
        }
        for sums in self.sums.values():
            for name, (total, others) in known.items():
                estimated = sums[name].sum()
                for one in (name, *others) if estimated > 0 else ():
                    sums[one] *= total / estimated

    def _sums(self, part: Any, usd: Array, tokens: Array, bill: Array, sent: Array, peaks: Any) -> dict[str, Array]:
        """Sums by session. `_all` is keep-all's amount, `_again` what fetching all lost results again adds; `having`
        counts transcripts with aged needs.
        """
        survival, low, high, tokens_again, usd_again, least = (
            part[name].to_numpy(dtype=float)
            for name in (
                "survival", "survival_low", "survival_high", "tokens_refetch", "cost_refetch_usd", "cost_frontier_usd",
            )
        )  # fmt: skip
        columns = {
            "tokens": tokens,
            "tokens_all": sent,
            "tokens_again": tokens_again,
            "peak": part.tokens_peak,
            "peak_all": peaks,
            "usd": np.where(self._priced, usd, 0.0),
            "usd_all": np.where(self._priced, bill, 0.0),
            "usd_again": np.where(self._priced, usd_again, 0.0),
            "usd_least": np.where(self._priced, np.nan_to_num(least), 0.0),
            "kept": np.nan_to_num(survival),
            "kept_low": np.nan_to_num(np.where(np.isnan(low), survival, low)),
            "kept_high": np.nan_to_num(np.where(np.isnan(high), survival, high)),
            "having": ~np.isnan(survival),
            "refused": refused(part),
            "calls": part.calls,
        }
        weighted = {name: self._weight * np.asarray(values, dtype=float) for name, values in columns.items()}
        return {name: np.bincount(self._session, one, self.sessions).astype(float) for name, one in weighted.items()}

    @property
    def ranges(self) -> str:
        """What the intervals mean, in words; '' if there are none."""
        if not self.has_next:
            return ""
        few = self.sessions < LEAST
        return "from other projects, as sessions are too few" if few else f"the next {self.sessions:,} sessions, 90 %"

    def total(self, label: str, measure: str) -> float:
        """Return a policy's sum over all transcripts."""
        return float(self.sums[label][measure].sum())

    def value(self, label: str, share: str) -> float | None:
        """Return one of SHARES over all sessions; None if it isn't known."""
        of = self.total(label, SHARES[share])
        if of > 0:
            return self.total(label, share) / of
        # Transcripts without any tokens save nothing.
        return 1.0 if share in ("tokens", "peak") else None

    def seen(self, label: str, share: str) -> float:
        """Return one of SHARES; 1 (nothing saved, all kept) if it isn't known."""
        found = self.value(label, share)
        return 1.0 if found is None else found

    def again(self, label: str, amount: str) -> float | None:
        """Return what fetching all lost results again adds to an amount; None if it isn't known, as for bounds."""
        added = self.total(label, f"{amount}_again") if amount in ("usd", "tokens") else 0.0
        return None if np.isnan(added) else added

    def at(self, rate: float, label: str, amount: str) -> float:
        """Return an amount at another refetch rate; lost results that aren't known add nothing."""
        return self.total(label, amount) + (rate - self.rate) * (self.again(label, amount) or 0.0)

    def refusals(self, label: str) -> float:
        """Return the share of calls that were refused."""
        calls = self.total(label, "calls")
        return self.total(label, "refused") / calls if calls else 0.0

    @cached_property
    def _drawn(self) -> Array:
        """How often each session is drawn among the next ones, in each draw."""
        return self._come(recency(self._started), 0, max(DRAWS, min(FINE, FINE_AT_ONCE // self.sessions)))

    @cached_property
    def _ways(self) -> Array:
        """How often each session is drawn, in each resample of the sessions seen; recent ones don't weigh more."""
        return self._come(np.ones(self.sessions), 2, DRAWS)

    def _come(self, weights: Array, seed: int, most: int) -> Array:
        draws = max(FEWEST_DRAWS, min(most, DRAWN_AT_ONCE // self.sessions))
        blocks = blocks_of(self._started, self._project)
        return next_sessions(blocks, weights, self.sessions, np.random.default_rng(seed), draws)

    @cached_property
    def _noise(self) -> Array:
        """Deviations of next sessions from those seen, in standard deviations by draw: four of amounts (`varied`), and
        that of what is lost. They are the same for every policy.
        """
        return np.random.default_rng(1).normal(size=(5, len(self._drawn)))

    def draws(self, label: str, share: str) -> Array:
        """Return a share in every draw of the next sessions, or for a sample in random draws of its folder's share. NaN
        where a draw's whole is 0 or unknown, or if only one transcript was drawn at random, which gives no error.
        """
        if self.value(label, share) is None:
            return np.full(len(self._drawn) if self._taken is None else DRAWS, np.nan)
        if self._taken is not None:
            low, high = self._of_this_folder(label, share, None) or (np.nan, np.nan)
            middle, deviation = (low + high) / 2, (high - low) / 2 / NormalDist().inv_cdf(0.975)
            return np.random.default_rng(0).normal(middle, deviation, DRAWS)
        return self._shares(self._drawn, label, share, self._noise)

    def ways(self, label: str, share: str) -> Array:
        """Return a share in every resample of the sessions seen, with the same deviations as `draws`."""
        return self._shares(self._ways, label, share, self._noise[:, : len(self._ways)])

    def _shares(self, come: Array, label: str, share: str, noise: Array) -> Array:
        own, whole = (self.sums[label][name] for name in (share, SHARES[share]))
        if share == "kept":
            # What is compared with, and a bound, lose nothing that they haven't lost yet.
            known = label == self.nothing or label in self.run.info.bounds
            return by_odds(come, own, whole, noise[4], 0.0 if known else FIRST)
        if label == self.nothing:
            return np.where(come @ whole > 0, 1.0, np.nan)
        return varied(come, own, whole, noise[:4])

    def interval(self, label: str, share: str, other: str | None = None) -> tuple[float, float] | None:
        """Return the interval of a share, or of its difference to another policy's; None without next sessions."""
        if self.value(label, share) is None:
            return None
        if self._taken is not None:
            ends = self._of_this_folder(label, share, other)
            # No share is below 0.
            return ends if ends is None or other is not None else (max(0.0, ends[0]), ends[1])
        if not self.has_next:
            return None
        found = self.draws(label, share)
        return interval(found if other is None else found - self.draws(other, share))

    def _of_this_folder(self, label: str, share: str, other: str | None) -> tuple[float, float] | None:
        """For a sample: the interval of the whole folder's share, or of its difference to another policy's."""
        assert self._taken is not None
        of, parts = self.sums[label][SHARES[share]], self.sums[label][share]
        if other is not None:
            parts = parts - self.sums[other][share]
        # In a sample each transcript counts as a session.
        ends = sampled.ends(parts, of, self._taken[np.argsort(self._session)], share == "kept" and other is None)
        # What is done now is known: it costs what it costs.
        return (1.0, 1.0) if ends and label == self.nothing and np.array_equal(parts, of) else ends

    def share(self, label: str, share: str) -> Share | None:
        """Return one of SHARES with its interval; None if it isn't known."""
        value = self.value(label, share)
        if value is None:
            return None
        return Share(value, *(self.interval(label, share) or (None, None)))

    def figures(self, label: str) -> Figures:
        """Return the figures of one policy."""
        peak, failing = self._tops[label]
        tokens = self.share(label, "tokens")
        assert tokens is not None
        tokens_again = self.again(label, "tokens")
        low, high, having = (self.total(label, name) for name in ("kept_low", "kept_high", "having"))
        summarised = having > 0 and low != high
        return Figures(
            policy=label, bound=label in self.run.info.bounds, transcripts=self.transcripts, priced=self.priced,
            sessions=self.sessions, calls=int(self.total(label, "calls")), at_rate=self.rate,
            usd=self.total(label, "usd") if self.priced else None,
            usd_share=self.share(label, "usd") if self.priced else None,
            usd_least=(self.total(label, "usd_least") or None) if self.priced else None,
            usd_again=self.again(label, "usd") if self.priced else None,
            tokens=int(self.total(label, "tokens")), tokens_share=tokens,
            tokens_again=None if tokens_again is None else int(tokens_again),
            peak=peak, peak_mean=round(self.total(label, "peak") / self.stands_for),
            peak_share=None if self.nothing is None else self.share(label, "peak"),
            kept=self.share(label, "kept"), kept_low=low / having if summarised else None,
            kept_high=high / having if summarised else None,
            refused=int(self.total(label, "refused")), failing=failing,
        )  # fmt: skip

    @cached_property
    def all(self) -> dict[str, Figures]:
        """Every policy's figures, in the order of the run."""
        return {label: self.figures(label) for label in self.labels}

    @property
    def by_dollars(self) -> bool:
        """Whether prices are known for at least half of the transcripts: then amounts are dollars, else tokens."""
        return self.priced * 2 >= self.transcripts

    def amount(self, goal: str) -> str:
        """Return the amount compared for a goal: usd, tokens or peak."""
        return AMOUNT[goal] if AMOUNT[goal] != "usd" or self.by_dollars else "tokens"


@lru_cache(maxsize=1)
def figures_of(run: Run) -> Pooled:
    """Return a run's figures; those of the last run are cached for its charts, its table and the advice."""
    return Pooled(run)
