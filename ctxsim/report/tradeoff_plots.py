"""The miss-ratio curve of this field: survival against tokens and dollars, settings as lines, the frontier above."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ctxsim.report.figure import new_figure, save
from ctxsim.report.style import BOUND_COLOR, COLORS, color_of, direct_label, plain_axes, second_time, short, spread
from ctxsim.report.tradeoff import Point, Scope, amount, dominated, frontiers, points, priced
from ctxsim.results import Run

DIRECT_LABELS = 16
"""More points than this are labelled by family only."""

DASHES = {"solid": "-", "dash": "--", "dot": ":"}
"""matplotlib's names of line styles."""


def tradeoffs(run: Run) -> list[Path]:
    """Write survival against tokens, and against dollars where prices are known; none if nothing old was needed."""
    if not run.knows("survival"):
        return []
    drawn = [tradeoff(run, run.folder / "survival-tokens.png", dollars=False)]
    if priced(run):
        drawn.append(tradeoff(run, run.folder / "survival-dollars.png", dollars=True))
    return drawn


def tradeoff(run: Run, path: Path, dollars: bool) -> Path:
    """One chart: each policy a point, a policy's settings joined, what another one beats pale, the frontier drawn."""
    found = [point for point in points(run, Scope(run, dollars).of) if point.survival is not None]
    figure, axes = new_figure(10.5, 6)
    pale = dominated(found, dollars)

    def at(point: Point) -> tuple[float, float]:
        return 100 * amount(point, dollars), 100 * (point.survival or 0.0)

    def again(point: Point) -> bool:
        return not sweeping and second_time(point.policy, run.info.policies, run.info.bounds)

    families: dict[str, list[Point]] = {}
    for point in found:
        families.setdefault("bound" if point.bound else _family(point.policy), []).append(point)
    sweeping = any(len(members) > 2 for name, members in families.items() if name != "bound")
    labels: list[tuple[str, float, float, str]] = []
    for number, (name, members) in enumerate(families.items()):
        for point in members:
            color = BOUND_COLOR if point.bound else (
                COLORS[(number - 1) % len(COLORS)] if sweeping
                else color_of(point.policy, run.info.policies, run.info.bounds)
            )  # fmt: skip
            faint = point.policy in pale
            axes.plot(
                *at(point), marker="s" if point.bound else "^" if again(point) else "o", color=color, markersize=7,
                alpha=0.35 if faint else 1.0, zorder=3, markeredgecolor="#B00020" if point.rejected else color,
                markeredgewidth=1.5 if point.rejected else 0.5,
            )  # fmt: skip
            if point.bound or not sweeping or (len(found) <= DIRECT_LABELS and not faint):
                labels.append((short(run.info.shown.get(point.policy, point.policy)), *at(point), color))
        if sweeping and name != "bound":
            for line in _lines(members):
                axes.plot(*zip(*(at(point) for point in line), strict=True), color=color, linewidth=0.8, alpha=0.5)
            if len(found) > DIRECT_LABELS:
                best = max(members, key=lambda point: at(point)[1] - at(point)[0] * 1e-6)
                labels.append((name, *at(best), color))
    _draw_frontiers(run, axes, dollars)
    top, right = 106.0, axes.get_xlim()[1] * 1.02
    axes.set_ylim(-4, top)
    axes.set_xlim(0, right)
    placed = spread([y for _, _, y, _ in labels], 4.2, -3, 104)
    for (text, x, y, color), height in zip(labels, placed, strict=True):
        direct_label(axes, text, (x, y), (height + 4) / (top + 4), color)
    axes.set_xlabel(
        "dollars, % of keep-all's (modelled)" if dollars else "input tokens sent, % of keep-all's (counted)"
    )
    axes.set_ylabel("kept, % of what later calls needed of old results (counted)")
    note = "red ring: some calls refused; " if any(point.rejected for point in found) else ""
    axes.set_title(
        f"{run.info.title}: what survival costs\n{note}pale: another policy is as good in everything and better in one",
        fontsize=12,
    )
    plain_axes(axes)
    return save(figure, path)


def _draw_frontiers(run: Run, axes: Any, dollars: bool) -> None:
    """The least anybody can reach: by removing whole results (solid; with real edits dashed), by any means (dotted)."""
    for one in frontiers(run, dollars):
        if not one.x:
            continue
        # Between two levels only the lower one's amount is proven.
        axes.plot(
            one.x, one.y, DASHES[one.dash], color="#222222", linewidth=1.3, zorder=2, label=one.about,
            drawstyle="steps-pre",
        )  # fmt: skip
    if axes.get_legend_handles_labels()[0]:
        axes.figure.legend(
            loc="outside lower left", frameon=False, fontsize=9, title="The frontier, knowing the future:",
            alignment="left", ncols=3,
        )  # fmt: skip


def _family(label: str) -> str:
    """Policy names of a label, without parameters."""
    return " + ".join(part.partition(":")[0] for part in label.split("+"))


def _lines(members: list[Point]) -> list[list[Point]]:
    """Settings that differ in one parameter only, in order of that parameter; each line has at least two."""
    parameters = [dict(pair.partition("=")[::2] for pair in _pairs(point.policy)) for point in members]
    names = [name for name in parameters[0] if len({one.get(name) for one in parameters}) > 1]
    # The last parameter of the grid changes along a line.
    moving = names[-1] if names else ""
    groups: dict[tuple[str, ...], list[Point]] = {}
    for point, one in zip(members, parameters, strict=True):
        groups.setdefault(tuple(one.get(name, "") for name in names if name != moving), []).append(point)
    return [line for line in groups.values() if len(line) > 1]


def _pairs(label: str) -> list[str]:
    return [pair for pair in label.replace("+", ":").replace(":", ",").split(",") if "=" in pair]
