"""Pictures of a sweep: one parameter's settings as curves, two parameters' as heat maps, the chosen one marked."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ctxsim.answers.advice.figures import Share
from ctxsim.answers.advice.settings import Grid, grids
from ctxsim.report.figure import entitle, heat_map, new_figure, save, told
from ctxsim.report.picture import CHOSEN, Picture
from ctxsim.report.style import COLORS, LIMIT_COLOR, OTHER_COLOR, plain_axes, short_number

FEWEST = 3
"""The least number of settings that make a curve."""

LONGEST_TICK = 10
"""Characters of a value below a curve, at most. Settings of agents are longer, and get no curve."""

MOST_CURVES = 5
"""Policies in one picture of curves or of heat maps, at most. If there are more, the first ones are drawn."""

MOST_WRITTEN = 26
"""The largest number of columns of a heat map whose cells have room for a number."""


def sweep_charts(one: Picture) -> dict[str, Callable[[Picture, Path], Path]]:
    """Return the functions that draw charts of a run's settings, by chart name; {} if nothing old was needed."""
    charts: dict[str, Callable[[Picture, Path], Path]] = {}
    known = one.run.knows("survival")
    if known and (flat := curves_of(one)):
        charts["sweep-curves"] = lambda one, path: save(curves_figure(one, flat), path)
    if known and (deep := heat_maps_of(one)):
        charts["sweep-heatmap"] = lambda one, path: save(heat_map_figure(one, deep), path)
    return charts


def curves_of(one: Picture) -> list[Grid]:
    """Return the policies of a run that vary in one parameter."""
    return [grid for grid in _grids(one) if len(grid.varied) == 1 and len(grid.labels) >= FEWEST
            and max(map(len, grid.values[0])) <= LONGEST_TICK]  # fmt: skip


def heat_maps_of(one: Picture) -> list[Grid]:
    """Return the policies of a run that vary in two parameters, with every pair of values."""
    return [grid for grid in _grids(one) if len(grid.varied) == 2 and grid.full]


def _grids(one: Picture) -> list[Grid]:
    return grids([label for label in one.labels if not one.bound(label)])


def _sides(one: Picture) -> tuple[tuple[str, Callable[[str], Share]], ...]:
    """The panels' names and shares of a setting: its dollars (tokens if most prices are unknown), and what it keeps."""
    every, dollars = one.pooled.all, one.pooled.by_dollars

    def amount(label: str) -> Share:
        share = every[label].usd_share if dollars else every[label].tokens_share
        assert share is not None
        return share

    name = "dollars (modelled)" if dollars else "input tokens (counted)"
    return (
        (f"{name}, % of keep-all's", amount),
        ("kept, % of what later calls used", lambda label: every[label].kept or Share(1.0)),
    )


def curves_figure(one: Picture, flat: Sequence[Grid]) -> Any:
    """Draw what each setting costs and keeps, over its parameter: a row of two panels per policy, with intervals."""
    drawn = flat[:MOST_CURVES]
    figure, panels = new_figure(10.5, 1.2 + 2.6 * len(drawn), 2, len(drawn))
    for grid, row in zip(drawn, np.atleast_2d(panels), strict=True):
        labels = [grid.labels[(value,)] for value in grid.values[0]]
        for axes, (name, share) in zip(row, _sides(one), strict=True):
            _curve(one, axes, labels, list(map(share, labels)))
            axes.set_xticks(range(len(labels)), [short_number(value) for value in grid.values[0]])
            plain_axes(axes, xlabel=f"{grid.name}: {grid.varied[0]}", ylabel=name)
    entitle(figure, one.headline, *_about(one, "blue", drawn, len(flat)))
    return figure


def _curve(one: Picture, axes: Any, labels: Sequence[str], shares: Sequence[Share]) -> None:
    """Draw one policy's settings in order: the chosen one blue, those with refused calls red."""
    places = range(len(labels))
    values = [100 * share.value for share in shares]
    axes.plot(places, values, "-", color=OTHER_COLOR, linewidth=1.2, zorder=2)
    axes.axhline(100, color=OTHER_COLOR, linewidth=1, linestyle=":")
    for place, label, share, value in zip(places, labels, shares, values, strict=True):
        color = COLORS[0] if label == one.chosen else LIMIT_COLOR if one.pooled.refusals(label) else OTHER_COLOR
        if share.low is not None and share.high is not None:
            axes.plot([place, place], [100 * share.low, 100 * share.high], color=color, linewidth=1.2, gid="range")
        axes.plot(place, value, "o", color=color, markersize=10 if label == one.chosen else 6, zorder=3,
                  gid="chosen" if label == one.chosen else "setting", clip_on=False)  # fmt: skip
    axes.set_ylim(bottom=0)


def _about(one: Picture, mark: str, drawn: Sequence[Grid], all_of_them: int) -> tuple[str, str]:
    """What a figure shows, and what its marks mean."""
    labels = [label for grid in drawn for label in grid.labels.values()]
    by = ", ".join(f"{grid.name} by {' and '.join(grid.varied)}" for grid in drawn)
    curves = mark == "blue"
    marks = {
        f"{mark}: {CHOSEN}": one.chosen in labels,
        f"{'red' if curves else '×'}: some calls refused": any(one.pooled.refusals(label) for label in labels),
        "whiskers: ranges": curves and one.pooled.sessions > 1,
        "dotted: keep-all": curves,
        f"the first {len(drawn)} of {all_of_them} policies": all_of_them > len(drawn),
        "darker is better": not curves,
    }
    return f"{one.title}, {one.many}: {by}", told(marks)


def heat_map_figure(one: Picture, deep: Sequence[Grid]) -> Any:
    """Draw two maps for each policy: what every pair of values costs, and what it keeps; darker is better."""
    drawn = deep[:MOST_CURVES]
    across = max(len(grid.values[1]) for grid in drawn)
    heights = [max(3, len(grid.values[0])) + 1 for grid in drawn]
    figure, panels = new_figure(min(22, max(9.5, 3.2 + 1.5 * across)), min(30, 1.5 + 0.6 * sum(heights)), 2, len(drawn))
    panels = np.atleast_2d(panels)
    panels[0, 0].get_gridspec().set_height_ratios(heights)
    for grid, row in zip(drawn, panels, strict=True):
        for axes, (title, share), cmap in zip(row, _sides(one), ("Blues_r", "Blues"), strict=True):
            _map(axes, grid, share, cmap)
            _marks(one, axes, grid)
            axes.set_title(title, fontsize=10)
    entitle(figure, one.headline, *_about(one, "frame", drawn, len(deep)))
    return figure


def _map(axes: Any, grid: Grid, share: Callable[[str], Share], cmap: str) -> None:
    """Draw one map: rows are the label's first parameter that varies, columns the second. Cells show their values."""
    rows, columns = grid.values
    table = [[100 * share(grid.labels[(row, column)]).value for column in columns] for row in rows]
    least, most = min(map(min, table)), max(map(max, table))
    heat_map(axes, table, cmap, (least, max(most, least + 1e-9)), len(columns) <= MOST_WRITTEN)
    axes.set_xticks(range(len(columns)), [short_number(value) for value in columns])
    axes.set_yticks(range(len(rows)), [short_number(value) for value in rows])
    axes.set(xlabel=f"{grid.name}: {grid.varied[1]}", ylabel=grid.varied[0])


def _marks(one: Picture, axes: Any, grid: Grid) -> None:
    """Draw the frame of the chosen setting, and a cross at settings with refused calls."""
    from matplotlib.patches import Rectangle

    rows, columns = grid.values
    for (row, column), label in grid.labels.items():
        x, y = columns.index(column), rows.index(row)
        if label == one.chosen:
            frame = Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, fill=False, edgecolor=COLORS[1], lw=3, gid="chosen")
            axes.add_patch(frame)
        if one.pooled.refusals(label):
            axes.plot(x + 0.36, y - 0.28, "X", color=LIMIT_COLOR, markersize=10, markeredgecolor="white", gid="refused")
