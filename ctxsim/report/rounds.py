"""Facts that are looked for again and again: what each round of compactions leaves of them, as tables and curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ctxsim.report.figure import entitle, new_figure, save
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
    rows = []
    for label in run.info.policies:
        mine = needles[needles.policy == label]
        row = {"policy": run.shown(label)}
        row |= {_round(n): _share(mine[mine["round"] == n]) for n in SHOWN if (mine["round"] == n).any()}
        told = mine[mine["round"] == 0]
        row |= {f"{part}": _share(told[told.depth == part]) for part in _in_order(told, "depth")}
        rows.append(row)
    return rows


def kind_rows(run: Run, needles: Any) -> list[dict[str, str]]:
    """Return which share of each kind every policy had kept after the last round."""
    last = needles[needles["round"] == needles["round"].max()]
    return [
        {"policy": run.shown(label)}
        | {kind: _share(last[(last.policy == label) & (last.kind == kind)]) for kind in sorted(set(last.kind))}
        for label in run.info.policies
    ]


def curves(one: Picture, path: Path) -> Path:
    """Kept facts by round: a panel for each kind, and for each part of the telling, a line for each policy."""
    needles = in_rounds(one.run)
    panels = [("kind", kind) for kind in sorted(set(needles.kind))]
    panels += [("depth", part) for part in _in_order(needles, "depth")]
    columns = 3
    figure, axes = new_figure(12, 0.9 + 2.6 * -(-len(panels) // columns), columns, -(-len(panels) // columns))
    flat = list(axes.flat)
    policies = one.labels
    last = needles[needles["round"] == needles["round"].max()].groupby("policy").kept.mean()
    used = [label for label in policies if not one.bound(label)] or list(policies)
    best = max(used, key=lambda label: float(last[label]))
    for (column, value), panel in zip(panels, flat, strict=False):
        part = needles[needles[column] == value]
        for number, label in enumerate(policies):
            kept = 100 * part[part.policy == label].groupby("round").kept.mean()
            # Equal curves lie side by side, not on top of each other.
            offset = 0.0 if one.bound(label) else APART * (number - (len(policies) - 1) / 2)
            panel.plot(kept.index, kept + offset, color=one.color(label), linewidth=1.5, label=one.marked(label))
        told = f"told: {value}" if column == "depth" else value
        panel.set_title(f"{told} ({part.needle.nunique()} facts)", fontsize=10)
        panel.set_ylim(-6, 106)
        panel.set_xlim(0, int(needles["round"].max()))
        plain_axes(panel)
    for panel in flat[len(panels) :]:
        panel.set_visible(False)
    for panel in flat[: len(panels)][-columns:]:
        panel.set_xlabel("round of other work")
    for row in range(0, len(panels), columns):
        flat[row].set_ylabel("kept, %")
    entitle(
        figure,
        f"{one.name(best)} still has {last[best]:.0%} of all planted facts after the last round, the most of all",
        f"{one.run.info.title}: kept, by kind and by when it was told; equal curves are moved apart",
    )
    handles, labels = flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return save(figure, path)


def _in_order(needles: Any, column: str) -> list[str]:
    """The values of a column in the order in which facts were planted."""
    return list(dict.fromkeys(needles.sort_values("needle")[column]))


def _round(number: int) -> str:
    return "told" if number == 0 else f"rd {number}"


def _share(part: Any) -> str:
    return f"{part.kept.mean():.0%}" if len(part) else "-"
