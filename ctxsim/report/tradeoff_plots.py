"""The miss-ratio curve of this field: survival against tokens and dollars, settings as lines, the frontier above."""

from pathlib import Path
from typing import Any

from ctxsim.answers.advice.settings import family
from ctxsim.report.figure import entitle, new_figure, save
from ctxsim.report.picture import Picture
from ctxsim.report.style import LIMIT_COLOR, Label, direct_labels, plain_axes, thinned
from ctxsim.report.tradeoff import Point, by_family, dominated, frontiers, joined, points

DIRECT_LABELS = 24
"""Of more points only those in colour are named, and one of each family."""

MOST_NAMES = 26
"""Names that find room beside the chart."""

DASHES = {"solid": "-", "dash": "--", "dot": ":"}
"""matplotlib's names of line styles."""


def tradeoff(one: Picture, path: Path, dollars: bool) -> Path:
    """One chart: each policy a point with its intervals, a policy's settings joined, what another one beats hollow, the
    advised one ringed, the frontier drawn.
    """
    found = [point for point in points(one.pooled, dollars) if point.kept is not None and point.policy in one.labels]
    figure, axes = new_figure(10.5, 6.4)
    worse = dominated(found)
    families = by_family(found)
    labels: list[Label] = []
    # The advised one lies above others at its place.
    for point in sorted(found, key=lambda point: (point.policy in one.colors, point.policy == one.chosen)):
        _draw_point(one, axes, point, point.policy in worse)
        alone = len(families.get(family(point.policy), ())) <= 2
        if len(found) <= DIRECT_LABELS or point.bound or alone or point.policy in one.colors:
            labels.append((one.marked(point.policy), *_at(point), one.color(point.policy)))
    for line in joined(found):
        axes.plot(*zip(*map(_at, line), strict=True), color="#999999", linewidth=0.7, alpha=0.6, zorder=1)
    draw_frontiers(one, axes, dollars)
    top, right = 106.0, axes.get_xlim()[1] * 1.02
    axes.set_ylim(-4, top)
    axes.set_xlim(0, right)
    labels, unnamed = thinned(labels, MOST_NAMES)
    direct_labels(axes, labels, 3.9, -3, 104)
    amount = "dollars (modelled)" if dollars else "input tokens sent (counted)"
    axes.set_xlabel(f"{amount}, % of keep-all's, all transcripts together")
    axes.set_ylabel("kept, % of what later calls used of old results (counted)")
    entitle(figure, _finding(one, dollars), f"{one.run.info.title}, {one.many}; {_legend(one, found)}{unnamed}")
    plain_axes(axes)
    return save(figure, path)


def _at(point: Point) -> tuple[float, float]:
    return 100 * point.amount.value, 100 * (point.kept.value if point.kept else 0.0)


def _draw_point(one: Picture, axes: Any, point: Point, worse: bool) -> None:
    """A point; its intervals if it is in colour; ringed if it is the advised one."""
    color, (x, y) = one.color(point.policy), _at(point)
    if point.policy in one.colors and point.amount.low is not None and point.amount.high is not None:
        axes.plot([100 * point.amount.low, 100 * point.amount.high], [y, y], color=color, linewidth=1, alpha=0.7)
        if point.kept and point.kept.low is not None and point.kept.high is not None:
            axes.plot([x, x], [100 * point.kept.low, 100 * point.kept.high], color=color, linewidth=1, alpha=0.7)
    edge = LIMIT_COLOR if point.rejected else color
    axes.plot(
        x, y, marker="s" if point.bound else "o", markersize=7, zorder=3, markeredgecolor=edge,
        color="white" if worse else color, markeredgewidth=1.5 if point.rejected or worse else 0.5,
    )  # fmt: skip
    if point.policy == one.chosen:
        axes.plot(x, y, marker="o", markersize=15, markerfacecolor="none", markeredgecolor=color, markeredgewidth=2)


def _finding(one: Picture, dollars: bool) -> str:
    if one.chosen is None or one.advice is None:
        return f"What survival costs in {'dollars' if dollars else 'tokens'}"
    take = one.advice.take
    if take.policy == one.pooled.nothing:
        return "Nothing saves enough for what it loses: don't compact"
    share = take.usd_share if dollars else take.tokens_share
    kept = f" and keeps {take.kept.value:.0%}" if take.kept else ""
    if share is None:
        return f"{one.name(take.policy)}{kept}"
    verb = "costs" if dollars else "sends"
    return f"{one.name(take.policy)} {verb} {share.value:.0%} of keep-all's {'dollars' if dollars else 'tokens'}{kept}"


def _legend(one: Picture, found: list[Point]) -> str:
    note = "red edge: some calls refused; " if any(point.rejected for point in found) else ""
    ring = "ring: advised; " if one.chosen else ""
    bars = "; bars: 95 %" if one.pooled.sessions > 1 else ""
    return f"{ring}{note}hollow: another is as good in everything{bars}"


def draw_frontiers(one: Picture, axes: Any, dollars: bool) -> None:
    """The least anybody can reach: by removing whole results (solid; with real edits dashed), by any means (dotted)."""
    for line in frontiers(one.run, dollars):
        if not line.x:
            continue
        # Between two levels only the lower one's amount is proven.
        axes.plot(
            line.x, line.y, DASHES[line.dash], color="#222222", linewidth=1.3, zorder=2, label=line.about,
            drawstyle="steps-pre",
        )  # fmt: skip
    if axes.get_legend_handles_labels()[0]:
        axes.figure.legend(
            loc="outside lower left", frameon=False, fontsize=9, title="The frontier, knowing the future:",
            alignment="left", ncols=3,
        )  # fmt: skip
