"""Pictures of a sweep: one parameter's settings as a front, two parameters' as heat maps, the advised one marked."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ctxsim.answers.advice.figures import Share
from ctxsim.answers.advice.settings import Grid, grids
from ctxsim.report.figure import LETTERS_PER_INCH, entitle, new_figure, save
from ctxsim.report.picture import Picture
from ctxsim.report.style import COLORS, LIMIT_COLOR, OTHER_COLOR, direct_labels, plain_axes, short_number
from ctxsim.report.tradeoff_plots import draw_frontiers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST = 3
"""Settings that make a front."""

MOST_FRONTS = 5
"""Policies in one chart of fronts, and heat maps in one picture: of more, those that come first."""

MOST_NAMES = 24
"""Settings that find room beside the fronts."""

ROOM = {"interval": 14, "value": 26}
"""Columns of a heat map up to which its cells have room for an interval, and for a value."""

MARK = "#ce450a"
"""The frame of the advised setting."""


def sweep_charts(one: Picture) -> dict[str, Callable[[Picture, Path], Path]]:
    """Return what there is to draw of a run's settings, by name; nothing if nothing old was needed."""
    charts: dict[str, Callable[[Picture, Path], Path]] = {}
    if one.run.knows("survival"):
        if fronts_of(one):
            charts["sweep-fronts"] = lambda one, path: save(fronts_figure(one, fronts_of(one)), path)
        if heat_maps_of(one):
            charts["sweep-heatmap"] = lambda one, path: save(heat_map_figure(one, heat_maps_of(one)), path)
    return charts


def fronts_of(one: Picture) -> list[Grid]:
    """Return the policies of a run that vary in one parameter."""
    return [grid for grid in _grids(one) if len(grid.varied) == 1 and len(grid.labels) >= FEWEST]


def heat_maps_of(one: Picture) -> list[Grid]:
    """Return the policies of a run that vary in two parameters, with every pair of values."""
    return [grid for grid in _grids(one) if len(grid.varied) == 2 and grid.full]


def _grids(one: Picture) -> list[Grid]:
    return grids([label for label in one.labels if not one.bound(label)])


def _amount(one: Picture, label: str) -> Share:
    """A setting's dollars as a share of keep-all's; its tokens where most prices aren't known."""
    figures = one.pooled.all[label]
    share = figures.usd_share if one.pooled.by_dollars else figures.tokens_share
    assert share is not None
    return share


def _amount_name(one: Picture) -> str:
    return "dollars (modelled)" if one.pooled.by_dollars else "input tokens (counted)"


def _kept(one: Picture, label: str) -> Share:
    return one.pooled.all[label].kept or Share(1.0)


def fronts_figure(one: Picture, flat: Sequence[Grid]) -> Figure:
    """Return the chart of what each setting costs and keeps: a line per policy in the order of its parameter, every
    setting named, with its intervals.
    """
    figure: Figure
    figure, axes = new_figure(10.5, 6.4)
    drawn = flat[:MOST_FRONTS]
    named: list[tuple[str, float, float, str]] = []
    for n, grid in enumerate(drawn):
        color = COLORS[n]
        labels = [grid.labels[(value,)] for value in grid.values[0]]
        places = [(100 * _amount(one, label).value, 100 * _kept(one, label).value) for label in labels]
        axes.plot(*zip(*places, strict=True), "-", color=color, linewidth=1.5, zorder=3)
        for value, label, (x, y) in zip(grid.values[0], labels, places, strict=True):
            _cross(axes, _amount(one, label), _kept(one, label), color)
            edge = LIMIT_COLOR if one.pooled.refusals(label) else color
            axes.plot(x, y, "o", color=color, markersize=7, markeredgecolor=edge, markeredgewidth=1.5, zorder=4)
            if label == one.chosen:
                axes.plot(x, y, "o", markersize=15, markerfacecolor="none", markeredgecolor=color, markeredgewidth=2,
                          gid="advised")  # fmt: skip
            mark = "▶ " if label == one.chosen else ""
            named.append((f"{mark}{_setting(grid, (value,), len(drawn) > 1)}", x, y, color))
    settings = [label for grid in drawn for label in grid.labels.values()]
    for label in (label for label in one.labels if one.bound(label) or (label == one.chosen and label not in settings)):
        x, y = 100 * _amount(one, label).value, 100 * _kept(one, label).value
        axes.plot(x, y, "s" if one.bound(label) else "o", color=OTHER_COLOR, markersize=7, zorder=3)
        if label == one.chosen:
            axes.plot(x, y, "o", markersize=15, markerfacecolor="none", markeredgecolor=OTHER_COLOR, markeredgewidth=2,
                      gid="advised")  # fmt: skip
        named.append((one.marked(label), x, y, OTHER_COLOR))
    draw_frontiers(one, axes, one.pooled.by_dollars)
    axes.set_ylim(-4, 106)
    axes.set_xlim(0, axes.get_xlim()[1] * 1.02)
    step = max(1, -(-len(named) // MOST_NAMES))
    shown = [name for n, name in enumerate(named) if n % step == 0 or name[0].startswith("▶")]
    direct_labels(axes, shown, 3.9, -3, 104)
    axes.set_xlabel(f"{_amount_name(one)}, % of keep-all's, all transcripts together")
    axes.set_ylabel("kept, % of what later calls used of old results (counted)")
    entitle(figure, one.headline, _about(one, "ring", drawn, len(flat)))
    plain_axes(axes)
    return figure


def _cross(axes: Any, amount: Share, kept: Share, color: str) -> None:
    """A setting's intervals, if it has any."""
    x, y = 100 * amount.value, 100 * kept.value
    reach = [None if low is None or high is None else [[at - 100 * low], [100 * high - at]]
             for at, low, high in ((x, amount.low, amount.high), (y, kept.low, kept.high))]  # fmt: skip
    axes.errorbar(x, y, xerr=reach[0], yerr=reach[1], fmt="none", ecolor=color, elinewidth=1, capsize=3, alpha=0.6)


def _setting(grid: Grid, values: Sequence[str], whole: bool) -> str:
    """A setting's name: its varied parameters, and its policy where there are several."""
    told = ", ".join(f"{key}={short_number(value)}" for key, value in zip(grid.varied, values, strict=True))
    return f"{grid.name} {told}" if whole else told


def _about(one: Picture, mark: str, drawn: Sequence[Grid], all_of_them: int) -> str:
    labels = [label for grid in drawn for label in grid.labels.values()]
    by = ", ".join(f"{grid.name} by {' and '.join(grid.varied)}" for grid in drawn)
    notes = [f"{one.title}, {one.many}: {by}"]
    if one.chosen in labels or (mark == "ring" and one.chosen):
        notes.append(f"{mark}: advised")
    if any(one.pooled.refusals(label) for label in labels):
        notes.append("red edge: some calls refused" if mark == "ring" else "×: some calls refused")
    if one.pooled.sessions > 1:
        notes.append("bars: ranges" if mark == "ring" else "below each figure its range")
    if all_of_them > len(drawn):
        notes.append(f"the first {len(drawn)} of {all_of_them} policies")
    return "; ".join(notes)


def heat_map_figure(one: Picture, deep: Sequence[Grid]) -> Figure:
    """Return two maps for each policy: what every pair of values costs, and what it keeps; darker is better."""
    drawn = deep[:MOST_FRONTS]
    across = max(len(grid.values[1]) for grid in drawn)
    heights = [max(3, len(grid.values[0])) + 1 for grid in drawn]
    figure: Figure
    figure, panels = new_figure(min(22, max(9.5, 3.2 + 1.5 * across)), min(30, 1.5 + 0.6 * sum(heights)), 2, len(drawn))
    panels = np.atleast_2d(panels)
    panels[0, 0].get_gridspec().set_height_ratios(heights)
    for grid, row in zip(drawn, panels, strict=True):
        for axes, share, title, cmap in (
            (row[0], _amount, f"{_amount_name(one)}, % of keep-all's: less is better", "Blues_r"),
            (row[1], _kept, "kept, % of what later calls used (counted): more is better", "Blues"),
        ):
            cells = {place: share(one, label) for place, label in grid.labels.items()}
            _map(axes, grid, cells, cmap)
            _marks(one, axes, grid)
            # Two maps stand side by side; their rows have names.
            room = (figure.get_size_inches()[0] / 2 - 1) * LETTERS_PER_INCH
            axes.set_title(textwrap.fill(f"{grid.name}: {title}", int(room)), fontsize=10)
    about = _about(one, "frame", drawn, len(deep)) + "; darker is better"
    entitle(figure, one.headline, about)
    return figure


def _map(axes: Any, grid: Grid, cells: dict[tuple[str, ...], Share], cmap: str) -> None:
    """One map: rows are the first parameter, columns the second, both as in the label; each cell says its value."""
    rows, columns = grid.values
    table = np.array([[100 * cells[(row, column)].value for column in columns] for row in rows])
    image = axes.imshow(table, cmap=cmap, aspect="auto", vmin=table.min(), vmax=max(table.max(), table.min() + 1e-9))
    axes.set_xticks(range(len(columns)), [short_number(value) for value in columns])
    axes.set_yticks(range(len(rows)), [short_number(value) for value in rows])
    axes.set_xlabel(grid.varied[1])
    axes.set_ylabel(grid.varied[0])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    for y, row in enumerate(rows):
        for x, column in enumerate(columns):
            cell = cells[(row, column)]
            red, green, blue, _ = image.cmap(image.norm(table[y, x]))
            ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.45 else "black"
            if len(columns) <= ROOM["value"]:
                axes.text(x, y, f"{100 * cell.value:.0f}", ha="center", va="center", color=ink, fontsize=10)
            if len(columns) <= ROOM["interval"] and cell.low is not None and cell.high is not None:
                interval = f"{100 * cell.low:.0f}-{100 * cell.high:.0f}"
                axes.text(x, y + 0.3, interval, ha="center", va="center", color=ink, fontsize=7.5)


def _marks(one: Picture, axes: Any, grid: Grid) -> None:
    """The frame of the advised setting, and a cross where calls are refused."""
    from matplotlib.patches import Rectangle

    rows, columns = grid.values
    for (row, column), label in grid.labels.items():
        x, y = columns.index(column), rows.index(row)
        if label == one.chosen:
            axes.add_patch(Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, fill=False, edgecolor=MARK, lw=3, gid="advised"))
        if one.pooled.refusals(label):
            axes.plot(x + 0.36, y - 0.28, "X", color=LIMIT_COLOR, markersize=10, markeredgecolor="white", gid="refused")
