"""Whether advice and its intervals hold for sessions that took no part in them: `python -m evidence.advice RUN...`

Each run is a finished `ctxsim bench` of one project's recordings. Its sessions are split in two, at random and by date;
the advice from one part is compared with the other part.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas

from ctxsim.answers.advice.advice import MAY_LOSE, Advice, advise
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.results import Run, read_run
from ctxsim.results.run_info import NOTHING

SPLITS = 24
"""The number of splits of each run: three quarters at random, the rest by date if its sessions have dates."""

FEWEST = 4
"""The fewest sessions of a run that is split: each part has at least half of them."""


class Part(Run):
    """A run with the sessions of some roots only."""

    def __init__(self, whole: Run, roots: set[str]) -> None:
        super().__init__(whole.folder, whole.info)
        self.whole, self.roots = whole, roots

    @cached_property
    def labels(self) -> list[str]:
        return self.whole.labels

    @cached_property
    def partial(self) -> dict[str, int]:
        return {}

    @cached_property
    def transcripts(self) -> int:
        return len(self.of(self.labels[0]))

    def of(self, label: str) -> pandas.DataFrame:
        rows = self.whole.of(label)
        return rows[rows.root.isin(self.roots)].reset_index(drop=True)


class Split(NamedTuple):
    """How one part's advice and intervals did on the other part."""

    project: str
    by_date: bool
    sessions: int
    saves: float
    hindsight: float
    acts: bool
    breaks: bool
    chance: bool
    agrees: bool
    share: float
    beaten: bool
    saving: tuple[bool, ...]
    kept: tuple[bool, ...]


def splits(run: Run) -> Iterator[tuple[bool, set[str], set[str]]]:
    """Yield splits of a run's roots: whether it is by date, and the two parts (random halves, or earlier and later)."""
    first = run.of(run.labels[0]).groupby("root", sort=False).started.min()
    roots, rng = first.index.to_numpy(), np.random.default_rng(0)
    dated = roots[np.argsort(first.to_numpy(), kind="stable")] if first.notna().all() else None
    for number in range(SPLITS):
        if dated is not None and not number % 4:
            at = len(roots) // 2 if not number else int(rng.integers(len(roots) // 3, len(roots) - len(roots) // 3 + 1))
            yield True, set(dated[:at]), set(dated[at : 2 * at])
        else:
            order = rng.permutation(roots)
            yield False, set(order[: len(roots) // 2]), set(order[len(roots) // 2 :])


def parted(run: Run, project: str) -> Iterator[Split]:
    """Yield how the advice and intervals from one part did on the other, for each split."""
    for by_date, known, unknown in splits(run):
        if min(len(known), len(unknown)) < FEWEST // 2:
            continue
        advise.cache_clear()
        ours, theirs = advise(Part(run, known)), advise(Part(run, unknown))
        if ours is None or theirs is None or ours.amount != theirs.amount:
            continue
        before, after = Pooled(Part(run, known)), Pooled(Part(run, unknown))
        labels = [label for label in after.labels if label not in run.info.bounds or label == NOTHING]
        fewest = min(after.refusals(label) for label in labels)
        most = max(after.value(label, "kept") or 0.0 for label in labels if after.refusals(label) == fewest)
        take, theirs_take = advised(ours), advised(theirs)
        kept = after.value(take, "kept")
        yield Split(
            project,
            by_date,
            len(known),
            1 - (after.value(take, ours.amount) or 1.0),
            1 - (after.value(theirs_take, ours.amount) or 1.0),
            take != NOTHING,
            kept is not None and kept < most - MAY_LOSE["dollars"] - 1e-9,
            take != NOTHING and 1 - (before.value(take, ours.amount) or 1.0) < 0.02,
            take == theirs_take,
            ours.wins.get(ours.take.policy, 1.0),
            ours.wins.get(NOTHING, 0.0) > ours.wins.get(take, 1.0),
            tuple(_held(before, after, label, ours.amount) for label in labels if label != NOTHING),
            tuple(_held(before, after, label, "kept") for label in labels if label != NOTHING),
        )


def advised(advice: Advice) -> str:
    """Return the policy that the verdict advises; keep-all where it says that there is none to take."""
    kept = advice.take.kept
    return advice.take.policy if kept and kept.value >= 1 - MAY_LOSE[advice.goal] - 1e-9 else NOTHING


def _held(before: Pooled, after: Pooled, label: str, share: str) -> bool:
    interval, came = before.interval(label, share), after.value(label, share)
    return interval is None or came is None or interval[0] - 1e-9 <= came <= interval[1] + 1e-9


def ranks(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the ranks of values; equal values get their mean rank."""
    return np.asarray(pandas.Series(values).rank())


def main(folders: list[str]) -> None:
    """Print the table."""
    found = [one for folder in folders for one in parted(read_run(folder), folder.rstrip("/").rpartition("/")[2])]
    table = pandas.DataFrame(found)
    enough = table[table.sessions >= 8]

    def held(rows: pandas.DataFrame, of: str) -> float:
        return float(np.mean([one for row in rows[of] for one in row]))

    print(f"{len(table)} splits of {table.project.nunique()} runs; {len(enough)} with 8 sessions or more known")
    for of in ("saving", "kept"):
        by = [held(rows, of) for _, rows in enough.groupby("project")]
        dates = held(enough[enough.by_date], of) if enough.by_date.any() else float("nan")
        print(
            f"90 % intervals of the {of} hold {held(enough, of):.1%}; least by run {min(by):.0%}; by date {dates:.1%}"
        )
    shares = table.groupby("project")[["share", "agrees"]].mean()
    print(f"advice saves {table.saves.mean():.1%}, hindsight {table.hindsight.mean():.1%}: "
          f"{table.saves.mean() / table.hindsight.mean():.0%} of it")  # fmt: skip
    print(f"keeps over 10 % less than the best: {table.breaks.mean():.1%}; headline under 2 %: {table.chance.sum()}")
    for many, some in table[table.acts].groupby(table.sessions >= 8):
        print(f"of {len(some)} splits that advise a policy from {'8 sessions or more' if many else 'fewer'}: "
              f"{some.breaks.mean():.0%} do so, {(some.saves < 0).mean():.0%} cost more")  # fmt: skip
    beaten = table[table.acts & table.beaten]
    print(f"won less often than changing nothing: {len(beaten)}, which save {beaten.saves.mean():.1%}")
    print(
        f"share against agreement, rank correlation by run: {np.corrcoef(*map(ranks, shares.T.to_numpy()))[0, 1]:.2f}"
    )
    sure = table[table.share >= 0.8]
    print(f"where it says 80 % or more, halves agree in {sure.agrees.mean():.0%} of {len(sure)}")
    print(
        table.groupby("project")[["sessions", "saves", "hindsight", "breaks", "agrees", "share"]]
        .mean()
        .round(3)
        .to_string()
    )


if __name__ == "__main__":
    main(sys.argv[1:])
