"""Every chart of a run, in any format: what `ctxsim plot` draws beyond what a bench does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas

from ctxsim.report.figure import new_figure, save
from ctxsim.report.losses import survival_by_age
from ctxsim.report.plots import estimates, growth, shown_transcript
from ctxsim.report.rounds import curves, in_rounds
from ctxsim.report.style import color_of, direct_label, plain_axes, second_time, short, spread
from ctxsim.report.tables import compact, wrap_label
from ctxsim.report.tradeoff import priced
from ctxsim.report.tradeoff_plots import tradeoff
from ctxsim.results import Run

CLASSES = (("read", "#56B4E9"), ("write", "#0072B2"), ("uncached", "#E69F00"), ("output", "#009E73"), ("summary", "#882255"))  # fmt: skip # noqa: E501


def plot_all(run: Run, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write all charts that this run has data for, in each format, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    charts: dict[str, Callable[[Run, Path], Path]] = {"token-growth": growth, "estimates": estimates}
    if run.knows("survival"):
        charts["survival-tokens"] = lambda one, path: tradeoff(one, path, dollars=False)
        charts["survival-age"] = by_age
        if priced(run):
            charts["survival-dollars"] = lambda one, path: tradeoff(one, path, dollars=True)
    if run.knows("cost_usd"):
        charts["dollars"] = dollars
    if run.knows("cache_hit_ratio"):
        charts["cache"] = cache
    if in_rounds(run) is not None:
        charts["rounds"] = curves
    return [draw(run, folder / f"{name}.{form}") for name, draw in charts.items() for form in formats]


def dollars(run: Run, path: Path) -> Path:
    """Dollars per transcript by class, one bar per policy, cheapest first, with the total at its end."""
    means = {label: _mean_dollars(run.of(label)) for label in run.labels}
    totals = pandas.Series({label: mean["total"] for label, mean in means.items()}).dropna().sort_values()
    figure, axes = new_figure(9.5, 1.4 + 0.36 * len(totals))
    labels = [wrap_label(run.shown(label), 44) for label in totals.index]
    left = [0.0] * len(totals)
    for name, color in CLASSES:
        widths = [means[label][name] for label in totals.index]
        if any(widths):
            axes.barh(range(len(totals)), widths, left=left, color=color, label=name, height=0.7)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for row, total in enumerate(totals):
        axes.text(total, row, f" {total:.3f}" if total < 10 else f" {total:,.1f}", va="center", fontsize=9)
    axes.set_yticks(range(len(totals)), labels, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, float(totals.max()) * 1.12)
    axes.set_xlabel("USD per transcript (modelled)")
    axes.set_title(f"{run.info.title}: where the dollars go")
    plain_axes(axes)
    axes.grid(axis="y", visible=False)
    axes.figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return save(figure, path)


def _mean_dollars(part: Any) -> dict[str, float]:
    part = part[part.cost_usd.notna()]
    return {name: float(part[f"cost_{name}_usd"].mean()) for name, _ in CLASSES} | {
        "total": float(part.cost_usd.mean())
    }


def by_age(run: Run, path: Path) -> Path:
    """Kept identifiers by their age in calls, one line per policy."""
    groups, rows = survival_by_age(run)
    figure, axes = new_figure(10.5, 5.5)
    ends = []
    for label, kept in rows.items():
        bound = label in run.info.bounds
        color = color_of(label, run.info.policies, run.info.bounds)
        line = "--o" if bound else ":o" if second_time(label, run.info.policies, run.info.bounds) else "-o"
        axes.plot(range(len(groups)), kept, line, color=color, linewidth=1.6, markersize=4)
        ends.append((short(run.info.shown.get(label, label)), kept[-1], color))
    heights = spread([end[1] for end in ends], 4.6, -4, 104)
    for (text, value, color), height in zip(ends, heights, strict=True):
        direct_label(axes, text, (len(groups) - 1, value), (height + 5) / 111, color)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylim(-5, 106)
    axes.set_xlabel("age: calls since the source was first sent (n needs)")
    axes.set_ylabel("kept, % (counted)")
    axes.set_title(f"{run.info.title}: what was still in view when it was needed, by age")
    plain_axes(axes)
    return save(figure, path)


def cache(run: Run, path: Path) -> Path:
    """Each request of the largest transcript under its policies: read, written, uncached; one panel per policy."""
    transcript = shown_transcript(run)
    calls = run.table("calls", transcript=[transcript])
    labels = [label for label in run.info.policies if (calls.policy == label).any()]
    columns = 3
    rows = -(-len(labels) // columns)
    figure, panels = new_figure(12, 0.8 + 2.1 * rows, columns, rows)
    top = float((calls.tokens_cache_read + calls.tokens_cache_write + calls.tokens_uncached).max()) * 1.05
    flat = list(panels.flat) if hasattr(panels, "flat") else [panels]
    for label, axes in zip(labels, flat, strict=False):
        part = calls[calls.policy == label].sort_values("call")
        bottom = 0 * part.tokens_sent
        for name, column, color in (
            ("read from the cache", "tokens_cache_read", CLASSES[0][1]),
            ("written", "tokens_cache_write", CLASSES[1][1]),
            ("uncached", "tokens_uncached", CLASSES[2][1]),
        ):
            axes.bar(part.call, part[column], bottom=bottom, color=color, width=1.0, label=name)
            bottom = bottom + part[column]
        axes.set_title(short(run.info.shown.get(label, label)), fontsize=9)
        axes.set_ylim(0, top)
        axes.yaxis.set_major_formatter(lambda value, _: compact(value))
        axes.tick_params(labelsize=8)
        plain_axes(axes)
    for axes in flat[len(labels) :]:
        axes.set_axis_off()
    handles, names = flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(f"{run.info.title}\ninput tokens of each call, by what the cache did (modelled)", fontsize=12)
    return save(figure, path)
