"""Planted facts: what policies keep of them by age, or by round if they are looked for repeatedly, also as curves."""

import math
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

from ctxsim.report.figure import finished, legend_below, panels
from ctxsim.report.picture import Picture
from ctxsim.report.sheet import Sheet, sheet
from ctxsim.report.style import plain_axes
from ctxsim.results import Run

LOOKS = 3
"""The least number of looks at every fact, at the same calls, that counts as rounds."""

APART, APART_IN_ALL = 0.6, 5.0
"""Percentage points by which curves are moved apart: neighbours and, at most, the outermost."""

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


def needle_sheets(run: Run) -> list[Sheet]:
    """Return the tables of planted facts: by age, or by round if all facts are looked for repeatedly."""
    needles = run.table("needles")
    if not len(needles):
        return []
    rounds = in_rounds(run)
    if rounds is not None:
        return [_by_round(run, rounds), _by_kind(run, rounds)]
    facts = needles[needles.kind != "rule"]
    groups = {"rules": needles[needles.kind == "rule"], "facts": facts}
    groups |= {depth: facts[facts.depth == depth] for depth in ("head", "middle", "tail")}
    groups |= {f"age {age}": facts[facts.age == age] for age in sorted(facts.age.unique())}
    about = "head, middle, tail: the fact's place in its result; age: calls between first request and use"
    title = "Planted facts and rules that were still in view when used"
    return [sheet("needles", title, ["policy", *groups], _kept(run, groups), notes=(about,))]


def _by_round(run: Run, needles: Any) -> Sheet:
    """What each policy kept by round, and as told by the part in which a fact was told."""
    by_round = dict(iter(needles.groupby("round")))
    groups = {f"rd {n}" if n else "told": by_round[n] for n in SHOWN if n in by_round}
    groups |= {part: by_round[0][by_round[0].depth == part] for part in _in_order(needles, "depth")}
    title = "Planted facts that were still in view, round after round"
    about = "told: once all facts were told; rd N: after N rounds; last columns: as told, by when the fact was told"
    return sheet("rounds", title, ["policy", *groups], _kept(run, groups), notes=(about,))


def _by_kind(run: Run, needles: Any) -> Sheet:
    """What each policy kept of each kind after the last round; if facts are stale, how many."""
    last = needles[needles["round"] == needles["round"].max()]
    groups = dict(iter(last.groupby("kind")))
    rows = _kept(run, groups)
    # Of a stale fact, the view holds only an older value.
    stale = last.groupby("policy").stale.sum()
    more = ["stale"] if stale.any() else []
    if more:
        rows = [[*row, f"{stale[label]:,}"] for row, label in zip(rows, run.labels, strict=True)]
    title = "Planted facts that were still in view after the last round, by kind"
    return sheet("kinds", title, ["policy", *groups, *more], rows)


def _kept(run: Run, groups: Mapping[str, Any]) -> list[list[str]]:
    """A row for each policy, with the share that it kept of each group of planted facts."""

    def share(kept: Any) -> str:
        return f"{kept.mean():.0%}" if kept.notna().any() else "-"

    return [[run.shown(label), *(share(group[group.policy == label].kept) for group in groups.values())]
            for label in run.labels]  # fmt: skip


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
    apart = min(APART, APART_IN_ALL / len(policies))
    moved = apart * (len(policies) - 1) / 2
    for (column, value), panel in zip(shown, flat, strict=True):
        part = needles[needles[column] == value]
        # Policies of one colour differ by their dashes.
        dashes = {color: cycle(("-", "--", ":", "-.")) for color in map(one.color, policies)}
        for number, label in enumerate(policies):
            kept = 100 * part[part.policy == label].groupby("round").kept.mean()
            # Shifted, so that equal curves lie side by side, not on top of each other.
            offset = 0.0 if one.bound(label) else apart * (number - (len(policies) - 1) / 2)
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
    as_good = [label for label in used if last[label] == last[best]] or [best]
    names = (
        f"{one.name(best)} still has"
        if len(as_good) == 1
        else f"{one.name(best)} and {len(as_good) - 1} more still have"
    )
    finding = f"{names} {last[best]:.0%} of all planted facts after the last round, the most of all"
    apart_by = f"; curves are shifted by up to {math.ceil(10 * moved) / 10:g} points" if moved else ""
    about = f"{one.title}: kept, by kind and by when it was told{apart_by}"
    return finished(figure, path, finding, about, one.mark)


def _in_order(needles: Any, column: str) -> list[str]:
    """The values of a column in the order in which facts were planted."""
    return list(dict.fromkeys(needles.sort_values("needle")[column]))
