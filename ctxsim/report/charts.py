"""Every chart of a run, by name: `ctxsim report --only pictures` draws them all, bench and sweep some."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas

from ctxsim.answers.advice.verdict import usd
from ctxsim.report.figure import finished, heat_map, is_for_paper, legend_below, new_figure, panels, save, stacked_bars
from ctxsim.report.losses import survival_by_age
from ctxsim.report.picture import Picture, picture
from ctxsim.report.planted import curves, in_rounds
from ctxsim.report.plots import estimates, growth_of, shown_transcript, which
from ctxsim.report.style import at_axis, plain_axes, wrap_label
from ctxsim.report.sweep_plots import sweep_charts
from ctxsim.report.tradeoff import MOST_ROWS, tradeoff
from ctxsim.results import Run

HATCHES = {"read": "", "write": "", "uncached": "////", "output": "....", "summary": "xxxx", "refetch": "++++"}
"""Patterns of the classes in a paper, because some of their colours are the same grey."""

CLASSES = {"read": "#56B4E9", "write": "#0072B2", "uncached": "#E69F00", "output": "#009E73", "summary": "#882255",
           "refetch": "#999933"}  # fmt: skip

INPUT = {"read": ("tokens_cache_read", "read from the cache"), "write": ("tokens_cache_write", "written"),
         "uncached": ("tokens_uncached", "uncached")}  # fmt: skip
"""The column and the name of each class of input."""

OF_COMMAND = {
    "bench": ("token-growth", "estimates", "survival-tokens", "survival-dollars"),
    "sweep": ("sweep-curves", "sweep-heatmap", "survival-tokens", "survival-dollars"),
}
"""The charts of the two commands, in order; survival is against tokens only if most prices are unknown."""


def plot(run: Run, command: str, goal: str = "dollars") -> list[Path]:
    """Write those charts of a command that its run has data for into the run's folder, and return their paths."""
    one = picture(run, goal)
    charts = charts_of(one)
    if "survival-dollars" in charts:
        del charts["survival-tokens"]
    return [charts[name](one, run.folder / f"{name}.png") for name in OF_COMMAND[command] if name in charts]


def plot_all(one: Picture, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write all charts that this run has data for, in each format, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    return [draw(one, folder / f"{name}.{form}") for name, draw in charts_of(one).items() for form in formats]


def charts_of(one: Picture) -> dict[str, Callable[[Picture, Path], Path]]:
    """Return the functions that draw the charts for which this run has data, by chart name."""
    run = one.run
    charts: dict[str, Callable[[Picture, Path], Path]] = {
        "token-growth": lambda one, path: save(growth_of(one), path), "estimates": estimates
    }  # fmt: skip
    if run.knows("survival"):
        charts["survival-tokens"] = lambda one, path: tradeoff(one, path, dollars=False)
        charts["survival-age"] = by_age
        if one.pooled.by_dollars:
            charts["survival-dollars"] = lambda one, path: tradeoff(one, path, dollars=True)
    charts |= sweep_charts(one)
    if one.pooled.priced:
        charts["dollars"] = dollars
    # These need colours, or more room than a paper's column has.
    if not is_for_paper():
        if run.knows("cache_hit_ratio"):
            charts["cache"] = cache
        if in_rounds(run) is not None:
            charts["rounds"] = curves
    return charts


def dollars(one: Picture, path: Path) -> Path:
    """Draw the bill of all transcripts by class, one bar per policy, cheapest first, with the total at its end."""
    bills = {label: bill(one.run, label) for label in one.labels}
    totals = pandas.Series({label: one.pooled.all[label].usd for label in bills}).dropna().sort_values()
    figure, axes = new_figure(9.5, 1.6 + 0.36 * len(totals))
    labels = [("▶ " if label == one.chosen else "") + wrap_label(one.run.shown(label), 44) for label in totals.index]
    widths = {name: [bills[label][name] for label in totals.index] for name in CLASSES}
    styles = {name: {"color": color} | ({"hatch": HATCHES[name], "edgecolor": "white", "linewidth": 0}
                                        if is_for_paper() else {}) for name, color in CLASSES.items()}  # fmt: skip
    stacked_bars(axes, labels, {name: its for name, its in widths.items() if any(its)}, styles)
    axes.tick_params(axis="y", labelsize=9)
    for row, (label, total) in enumerate(totals.items()):
        axes.text(total, row, f" {usd(total)}", va="center", fontsize=9,
                  fontweight="bold" if label == one.chosen else "normal")  # fmt: skip
    plain_axes(axes, xlim=(0, float(totals.max()) * 1.12),
               xlabel="USD (modelled), all transcripts with known prices together")  # fmt: skip
    axes.grid(axis="y", visible=False)
    legend_below(figure, axes, 5)
    about = f"{one.title}, {one.pooled.priced:,} of {one.many}: where the dollars go"
    return finished(figure, path, one.headline, about, one.mark)


def bill(run: Run, label: str) -> dict[str, float]:
    """Return a policy's dollars by class, from its summary rows of transcripts with known prices. `refetch` is what
    fetching lost results again costs at the run's rate.
    """
    part = run.of(label)
    part = part[part.cost_usd.notna()]
    found = {name: float(part[f"cost_{name}_usd"].sum()) for name in CLASSES}
    return found | {"refetch": run.rate * found["refetch"]}


def by_age(one: Picture, path: Path) -> Path:
    """Draw what each policy kept of identifiers by their age in calls: a row per policy, a column per age."""
    groups, kept = survival_by_age(one.run)
    ranked = sorted(one.labels, key=lambda label: -sum(kept[label]))
    labels = [label for n, label in enumerate(ranked) if n < MOST_ROWS or label == one.chosen]
    figure, axes = new_figure(10.5, 2.1 + 0.27 * len(labels))
    heat_map(axes, [kept[label] for label in labels], "Blues", (0, 100))
    axes.set_xticks(range(len(groups)), [group.replace(" ", "\n") for group in groups])
    axes.set_yticks(range(len(labels)), [one.marked(label) for label in labels], fontsize=9)
    axes.set_xlabel("age: calls since the source was first sent (n needs)")
    left = len(one.labels) - len(labels)
    rest = f"; {left} that keep least left out" if left else ""
    marks = f"kept, % of what was needed (counted), by age; darker is better{one.mark and f'; {one.mark}'}{rest}"
    return finished(figure, path, one.headline, f"{one.title}, {one.many}", marks)


def cache(one: Picture, path: Path) -> Path:
    """Draw the read, written and uncached tokens of each request of the largest transcript, in a panel per policy."""
    transcript = shown_transcript(one.run)
    calls = one.run.table("calls", transcript=[transcript])
    labels = [label for label in one.labels if (calls.policy == label).any()]
    figure, flat = panels(len(labels), 0.8, 2.1)
    highest = float(calls[[column for column, _ in INPUT.values()]].sum(axis=1).max()) * 1.05
    for label, axes in zip(labels, flat, strict=True):
        part = calls[calls.policy == label].sort_values("call")
        edges = np.append(part.call, part.call.iloc[-1] + 1) - 0.5
        bottom = np.zeros(len(part))
        for name, (column, said) in INPUT.items():
            # One shape, instead of a bar for each call.
            top = bottom + part[column].to_numpy()
            axes.stairs(top, edges, baseline=bottom, fill=True, color=CLASSES[name], snap=True, label=said)
            bottom = top
        axes.set_title(one.marked(label), fontsize=9)
        axes.yaxis.set_major_formatter(at_axis)
        axes.tick_params(labelsize=8)
        plain_axes(axes, ylim=(0, highest))
    legend_below(figure, flat[0])
    about = f"{one.title}: {which(one)}; input tokens of each call (modelled)"
    return finished(figure, path, one.headline, about, one.mark)
