"""Facts that are looked for again and again: what each round of compactions leaves of them, as tables and curves."""

from itertools import cycle
from pathlib import Path
from typing import Any

from ctxsim.report.figure import finished, legend_below, panels
from ctxsim.report.losses import kept_rows
from ctxsim.report.picture import Picture
from ctxsim.report.style import plain_axes
from ctxsim.results import Run

LOOKS = 3
"""From so many looks at every fact on, at the same calls, they are rounds."""

APART = 0.6
"""Points between equal curves."""

SHOWN = (0, 1, 2, 5, 10)
"""Rounds that the table shows."""


def in_rounds(run: Run) -> Any:
    """Return the planted facts with the `round` in which each was looked for, from 0; None if there are no rounds."""
    needles = run.table("needles")
    if not len(needles):
        return None
    looks = needles.groupby(["transcript", "policy", "needle"]).call.agg(lambda calls: tuple(sorted(set(calls))))
    # All facts of a transcript at the same calls, and often enough.
    same = looks.groupby(level="transcript").nunique().max() == 1
    if not same or len(looks.iloc[0]) < LOOKS:
        return None
    return needles.assign(round=needles.groupby("transcript").call.rank(method="dense").astype(int) - 1)


def round_rows(run: Run, needles: Any) -> list[dict[str, str]]:
    """Return which share each policy kept: by round, and when all was told by when it had been told."""
    by_round = dict(iter(needles.groupby("round")))
    groups = {f"rd {n}" if n else "told": by_round[n] for n in SHOWN if n in by_round}
    groups |= {part: by_round[0][by_round[0].depth == part] for part in _in_order(needles, "depth")}
    return kept_rows(run, run.info.policies, groups)


def kind_rows(run: Run, needles: Any) -> list[dict[str, str]]:
    """Return which share of each kind every policy kept after the last round, and, where any, how many are stale."""
    last = needles[needles["round"] == needles["round"].max()]
    rows = kept_rows(run, run.info.policies, dict(iter(last.groupby("kind"))))
    # Of a stale one only what it had replaced is left.
    stale = last.groupby("policy").stale.sum()
    for row, label in zip(rows, run.info.policies, strict=True):
        row |= {"stale": f"{stale[label]:,}"} if stale.any() else {}
    return rows


def curves(one: Picture, path: Path) -> Path:
    """Kept facts by round: a panel for each kind, and for each part of the telling, a line for each policy."""
    needles = in_rounds(one.run)
    shown = [("kind", kind) for kind in sorted(set(needles.kind))]
    shown += [("depth", part) for part in _in_order(needles, "depth")]
    figure, flat = panels(len(shown), 0.9, 2.6)
    policies = one.labels
    last = needles[needles["round"] == needles["round"].max()].groupby("policy").kept.mean()
    used = [label for label in policies if not one.bound(label)] or list(policies)
    best = max(used, key=lambda label: float(last[label]))
    for (column, value), panel in zip(shown, flat, strict=True):
        part = needles[needles[column] == value]
        # Those of one colour differ by their dashes.
        dashes = {color: cycle(("-", "--", ":", "-.")) for color in map(one.color, policies)}
        for number, label in enumerate(policies):
            kept = 100 * part[part.policy == label].groupby("round").kept.mean()
            # Equal curves lie side by side, not on top of each other.
            offset = 0.0 if one.bound(label) else APART * (number - (len(policies) - 1) / 2)
            color = one.color(label)
            panel.plot(kept.index, kept + offset, color=color, linestyle=next(dashes[color]), linewidth=1.5,
                       label=one.marked(label))  # fmt: skip
        told = f"told: {value}" if column == "depth" else value
        panel.set_title(f"{told} ({part.needle.nunique()} facts)", fontsize=10)
        plain_axes(panel, xlim=(0, int(needles["round"].max())), ylim=(-6, 106))
    for panel in flat[-3:]:
        panel.set_xlabel("round of other work")
    for panel in flat[::3]:
        panel.set_ylabel("kept, %")
    legend_below(figure, flat[0])
    finding = f"{one.name(best)} still has {last[best]:.0%} of all planted facts after the last round, the most of all"
    about = f"{one.title}: kept, by kind and by when it was told; equal curves are moved apart"
    return finished(figure, path, finding, about, one.mark)


def _in_order(needles: Any, column: str) -> list[str]:
    """The values of a column in the order in which facts were planted."""
    return list(dict.fromkeys(needles.sort_values("needle")[column]))
