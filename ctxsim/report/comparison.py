"""Two runs side by side: what changed per policy, transcript by transcript, and whether that is more than noise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ctxsim.errors import CtxsimError, unknown
from ctxsim.report.intervals import bootstrap_mean, refused
from ctxsim.results import Run

COLUMNS = (
    "tokens_sum",
    "tokens_peak",
    "cost_usd",
    "survival",
    "survival_loose",
    "cache_hit_ratio",
    "compactions",
    "refused",
)
_RULE = re.compile(r"\s*(?P<column>\w+)\s*(?P<sign>[<>])\s*(?P<value>[+-]?\d+(?:\.\d+)?)\s*(?P<percent>%?)\s*")


class Change(msgspec.Struct, frozen=True):
    """One column of one policy: means over the transcripts that both runs have, and the difference B - A.

    `interval` is the 95 % bootstrap interval of the paired difference, None for one session. `transcripts` is n.
    """

    policy: str
    column: str
    before: float
    after: float
    interval: tuple[float, float] | None
    transcripts: int

    @property
    def difference(self) -> float:
        """B - A."""
        return self.after - self.before

    @property
    def percent(self) -> float | None:
        """The difference in per cent of A; None where A is 0."""
        return 100 * self.difference / self.before if self.before else None

    @property
    def verdict(self) -> str:
        """`same`, `changed`, or `noise`: the interval has 0 in it."""
        if self.difference == 0 and (self.interval is None or self.interval == (0.0, 0.0)):
            return "same"
        if self.interval is not None and self.interval[0] <= 0 <= self.interval[1]:
            return "noise"
        return "changed"


class Rule(msgspec.Struct, frozen=True):
    """When to fail: a column's difference, absolute or in per cent, above or below a value."""

    column: str
    above: bool
    value: float
    percent: bool

    def breaks(self, change: Change) -> bool:
        """Whether a change goes beyond the rule. Noise doesn't; of one session every difference counts."""
        if change.column != self.column or change.verdict != "changed":
            return False
        moved = change.percent if self.percent else change.difference
        return moved is not None and (moved > self.value if self.above else moved < self.value)


def parse_rule(text: str) -> Rule:
    """Return the rule of `cost_usd > +2%` or `survival < -0.01`. Raises CtxsimError or UnknownName if it is none."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise CtxsimError(f"'{text}' is no rule, as in: cost_usd > +2%   or   survival < -0.01")
    if found["column"] not in COLUMNS:
        raise unknown("column", found["column"], COLUMNS)
    return Rule(found["column"], found["sign"] == ">", float(found["value"]), bool(found["percent"]))


def compare(before: Run, after: Run) -> list[Change]:
    """Return every change of the policies and transcripts that both runs have. Raises CtxsimError if none are."""
    shared = [label for label in before.info.policies if label in after.info.policies]
    if not shared:
        raise CtxsimError(f"{before.folder} and {after.folder} have no policy in common")
    changes = []
    for label in shared:
        parts = [run.of(label) for run in (before, after)]
        first, second = (part.assign(refused=refused(part)).set_index("transcript") for part in parts)
        names = first.index[first.index.isin(second.index)]
        for column in COLUMNS:
            pairs = first.loc[names, column].to_frame("a").assign(b=second.loc[names, column]).dropna()
            if not len(pairs):
                continue
            interval = bootstrap_mean((pairs.b - pairs.a).to_numpy(), first.root[pairs.index].to_numpy())
            changes.append(
                Change(
                    label,
                    column,
                    float(pairs.a.mean()),
                    float(pairs.b.mean()),
                    interval[1:] if interval else None,
                    len(pairs),
                )
            )
    if not changes:
        raise CtxsimError(f"{before.folder} and {after.folder} have no transcript in common")
    return changes


def change_rows(changes: Sequence[Change], broken: Sequence[Change], shown: Any) -> list[dict[str, str]]:
    """Return what isn't the same, as text cells."""
    rows = []
    for change in changes:
        if change.verdict == "same":
            continue
        interval = change.interval
        rows.append(
            {
                "policy": shown(change.policy),
                "column": change.column,
                "A": f"{change.before:,.4g}",
                "B": f"{change.after:,.4g}",
                "B - A": f"{change.difference:+,.4g}",
                "%": "-" if change.percent is None else f"{change.percent:+.1f}%",
                "interval": "-" if interval is None else f"{interval[0]:+,.3g} .. {interval[1]:+,.3g}",
                "": "FAILS" if change in broken else change.verdict,
            }
        )
    return rows
