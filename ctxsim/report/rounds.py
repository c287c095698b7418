"""Planted facts that are looked for repeatedly: what each round of compactions leaves of them, as tables and curves."""

from itertools import cycle
from pathlib import Path
from typing import Any

from ctxsim.report.figure import finished, legend_below, panels
from ctxsim.report.losses import kept_rows
from ctxsim.report.picture import Picture
from ctxsim.report.style import plain_axes
from ctxsim.results import Run

LOOKS = 3
"""The least number of looks at every fact, at the same calls, that counts as rounds."""

APART = 0.6
"""Percentage points between curves that are equal."""

SHOWN = (0, 1, 2, 5, 10)
"""Rounds that the table shows."""


def in_rounds(run: Run) -> Any:
    """Return the planted facts with the `round` in which each was looked for, from 0; None if there are no rounds."""
    needles = run.table("needles")
    if not len(needles):
        return None
    looks = needles.groupby(["transcript", "policy", "needle"]).call.agg(lambda calls: tuple(sorted(set(calls))))
    # All facts of a transcript must be looked for at the same calls, and at LOOKS calls or more.
    same = looks.groupby(level="transcript").nunique().max() == 1
    if not same or len(looks.iloc[0]) < LOOKS:
        return None
    return needles.assign(round=needles.groupby("transcript").call.rank(method="dense").astype(int) - 1)


def round_rows(run: Run, needles: Any) -> list[dict[str, str]]:
    """Return the share that each policy kept: by round, and in round 0 by the part in which a fact was told."""
    by_round = dict(iter(needles.groupby("round")))
    groups = {f"rd {n}" if n else "told": by_round[n] for n in SHOWN if n in by_round}
    groups |= {part: by_round[0][by_round[0].depth == part] for part in _in_order(needles, "depth")}
    return kept_rows(run, run.info.policies, groups)


def kind_rows(run: Run, needles: Any) -> list[dict[str, str]]:
    """Return the share of each kind that each policy kept after the last round; if facts are stale, how many."""
    last = needles[needles["round"] == needles["round"].max()]
    rows = kept_rows(run, run.info.policies, dict(iter(last.groupby("kind"))))
    # Of a stale fact, the view holds only an older value.
    stale = last.groupby("policy").stale.sum()
    for row, label in zip(rows, run.info.policies, strict=True):
        row |= {"stale": f"{stale[label]:,}"} if stale.any() else {}
    return rows


def curves(one: Picture, path: Path) -> Path:
    """Draw kept facts by round: a panel for each kind and for each part of the telling, with a line for each policy."""
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
        # Policies of one colour differ by their dashes.
        dashes = {color: cycle(("-", "--", ":", "-.")) for color in map(one.color, policies)}
        for number, label in enumerate(policies):
            kept = 100 * part[part.policy == label].groupby("round").kept.mean()
            # Shifted, so that equal curves lie side by side, not on top of each other.
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
