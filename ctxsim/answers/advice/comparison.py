"""Two runs side by side: what changed per policy, transcript by transcript, and whether that is more than noise."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, count

import msgspec
import numpy as np

from ctxsim.answers.advice.intervals import bootstrap_mean, sign_flip
from ctxsim.errors import CtxsimError
from ctxsim.results import Run
from ctxsim.results.frames import refused

COLUMNS = (
    "tokens_sum", "tokens_peak", "cost_usd", "cost_refetch_usd", "survival", "survival_loose", "cache_hit_ratio",
    "compactions", "refused",
)  # fmt: skip

CHANCE = 0.05
"""A difference whose p-value is larger is noise."""


class Change(msgspec.Struct, frozen=True):
    """One column of one policy: means over the transcripts that both runs have, and the difference B - A.

    `interval` is the 95 % bootstrap interval of the paired difference, and `chance` the p-value of a sign-flip
    permutation test by session; both are None for fewer than six sessions. `transcripts` is n.
    """

    pair: tuple[str, str]
    column: str
    before: float
    after: float
    interval: tuple[float, float] | None
    transcripts: int
    chance: float | None = None

    @property
    def policy(self) -> str:
        """The label that was compared, or both."""
        return " -> ".join(dict.fromkeys(self.pair))

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
        """`same`, `changed`, or `noise`: the interval has 0 in it, or p is above .05.

        Refused calls are never noise. Without an interval nothing is: a difference is only that of these sessions.
        """
        if self.difference == 0 and (self.interval is None or self.interval == (0.0, 0.0)):
            return "same"
        around = self.interval is not None and self.interval[0] <= 0 <= self.interval[1]
        likely = self.chance is not None and self.chance > CHANCE
        return "noise" if self.column != "refused" and (around or likely) else "changed"


def pairs_of(before: Run, after: Run) -> list[tuple[str, str]]:
    """Return the pairs of policies that are compared, one label of each run.

    The same labels, and labels that differ only in their estimators; else the only candidate of each. Raises
    CtxsimError without a pair.
    """
    found = [(label, label) for label in before.labels if label in after.labels]
    rest = [[label for label in run.labels if label not in dict(found) and label not in run.info.bounds]
            for run in (before, after)]  # fmt: skip
    bare = {without_estimator(label): label for label in reversed(rest[1])}
    found += [(label, bare[key]) for label in rest[0] if (key := without_estimator(label)) in bare]
    if not [one for one, _ in found if one not in before.info.bounds] and len(rest[0]) == len(rest[1]) == 1:
        found.append((rest[0][0], rest[1][0]))
    if not found:
        raise CtxsimError(
            f"{before.folder} and {after.folder} have no policy in common; name two: --policy LABEL LABEL"
        )
    return found


def unpaired(before: Run, after: Run, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line for each run with candidates that are in no pair."""
    found = []
    for run, name, paired in zip((before, after), "AB", zip(*pairs, strict=True), strict=True):
        alone = [label for label in (*run.labels, *run.partial) if label not in (*paired, *run.info.bounds)]
        found += [f"only in {name}: {', '.join(map(run.shown, alone))}"] if alone else []
    return found


def without_estimator(label: str) -> str:
    """Return a label without its estimator, which stands last."""
    return re.split(r"[:,]estimator=", label, maxsplit=1)[0]


def compared(before: Run, after: Run, pairs: Sequence[tuple[str, str]] | None = None) -> list[Change]:
    """Return every change between pairs of policies over the transcripts that both runs have, by default `pairs_of`.

    Raises CtxsimError if there is no pair or no transcript in common.
    """
    changes = []
    same = same_transcripts(before, after)[0]
    for one, other in pairs or pairs_of(before, after):
        first, second = (
            # With summaries, survival is that of summaries which keep nothing: what a model's would keep is unknown.
            part.assign(
                refused=refused(part), survival=part.survival_low.fillna(part.survival),
                **{name: run.spent(part, name) for name in ("cost_usd", "tokens_sum")},
            ).set_index("transcript")
            for run, part in ((before, before.of(one)), (after, after.of(other)))
        )  # fmt: skip
        names = [name for name in first.index if same.get(name) in second.index]
        figures = (
            part.loc[own, [*COLUMNS]].to_numpy(float, na_value=np.nan).T
            for part, own in ((first, names), (second, [same[name] for name in names]))
        )
        of_root = first.root[names].to_numpy()
        for column, *both in zip(COLUMNS, *figures, strict=True):
            known = ~np.isnan(both).any(axis=0)
            if not known.any():
                continue
            a, b, roots = both[0][known], both[1][known], of_root[known]
            interval = bootstrap_mean(b - a, roots)
            changes.append(Change((one, other), column, float(a.mean()), float(b.mean()),
                                  interval[1:] if interval else None, len(a), sign_flip(b - a, roots)))  # fmt: skip
    if not changes:
        raise CtxsimError(
            f"{before.folder} and {after.folder} have no transcript in common; bench the same recordings in "
            "both, or compare two folders of recordings"
        )
    return changes


def same_transcripts(before: Run, after: Run) -> tuple[dict[str, str], list[str]]:
    """Return which transcripts are in both runs, A's name with B's, and the names of those whose files differ.

    Those from the same bytes are the same, then those of the same name. Numbers in place of names pair nothing.
    """
    first, second = (_sources(run) for run in (before, after))
    numbered = any(run.info.setting and not run.info.setting.get("text", True) for run in (before, after))
    found = {name: name for name, source in first.items()
             if source and not numbered and (second.get(name) or ("",))[0] == source[0]}  # fmt: skip
    by_bytes = {source: name for name, source in second.items() if source and name not in found}
    found |= {name: by_bytes.pop(source) for name, source in first.items() if name not in found and source in by_bytes}
    left = set(second).difference(found.values())
    of = [(run.info.inputs, run.info.sample) for run in (before, after)]
    by_name = not numbered or of[0] == of[1]
    alike = [name for name in first if by_name and name not in found and name in left]
    return found | {name: name for name in alike}, [name for name in alike if first[name] and second[name]]


def _sources(run: Run) -> dict[str, tuple[str, int] | None]:
    """By transcript, the SHA-256 of its file, and which of the transcripts from these bytes it is; None if unknown."""
    rows = run.of(run.labels[0])
    upto = rows.calls.cumsum().tolist()
    ends = list(accumulate(source.calls for source in run.info.inputs))
    # With a transcript without rows, which failed or wasn't drawn, whose the other rows are can't be told.
    if not {*ends} <= {0, *upto} or ends[-1:] != upto[-1:]:
        return dict.fromkeys(rows.transcript)
    hashes = [run.info.inputs[bisect_left(ends, end)].sha256 for end in upto]
    met = defaultdict[str, Iterator[int]](count)
    return {name: (sha256, next(met[sha256])) for name, sha256 in zip(rows.transcript, hashes, strict=True)}
