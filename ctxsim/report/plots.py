"""Pictures of a run by matplotlib: token growth per policy, and estimates against counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas

from ctxsim.report.style import COLORS, LIMIT_COLOR, color_of, direct_label, plain_axes, second_time, short, spread
from ctxsim.report.tables import compact
from ctxsim.results import Run

DOTS = 20_000
"""Requests in the picture of estimates, at most."""


def new_figure(width: float = 10.5, height: float = 6.0, columns: int = 1, rows: int = 1) -> tuple[Any, Any]:
    """Return a figure and its axes in the common look."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update(
        {"font.size": 10, "axes.titlesize": 12, "axes.titlelocation": "left", "svg.hashsalt": "ctxsim"}
    )
    figure, axes = pyplot.subplots(rows, columns, figsize=(width, height), layout="constrained")
    return figure, axes


def save(figure: Any, path: Path) -> Path:
    """Write a figure under a temporary name, rename it, and return its path."""
    from matplotlib import pyplot

    part = path.with_name(f"{path.stem}.part{path.suffix}")
    figure.savefig(part, dpi=150, metadata={"Software": None} if path.suffix == ".png" else {"Date": None})
    pyplot.close(figure)
    part.replace(path)
    return path


def plot_run(run: Run) -> list[Path]:
    """Write all pictures of a run into its folder and return their paths."""
    from ctxsim.report.tradeoff_plots import tradeoffs

    drawn = [growth(run, run.folder / "token-growth.png"), estimates(run, run.folder / "estimates.png")]
    return drawn + tradeoffs(run)


def shown_transcript(run: Run) -> str:
    """The transcript with the most tokens: pictures over calls show one."""
    return str(run.of(run.labels[-1]).sort_values("tokens_full_sum", kind="stable").transcript.iloc[-1])


def growth(run: Run, path: Path) -> Path:
    """Input tokens of every call, one line per policy, with the limits; crosses mark first failures."""
    transcript = shown_transcript(run)
    calls = run.table("calls", transcript=[transcript])
    figure, axes = new_figure()
    last = calls.call.max()
    ends: list[tuple[str, float, str]] = []
    for label in run.info.policies:
        rows = calls[calls.policy == label].sort_values("call")
        bound = label in run.info.bounds
        color = color_of(label, run.info.policies, run.info.bounds)
        again = second_time(label, run.info.policies, run.info.bounds)
        failed = rows[rows.status != "ok"].call
        first = failed.iloc[0] if len(failed) else last + 1
        style = {
            "color": color, "linewidth": 1.4 if bound else 1.8, "linestyle": "--" if bound else ":" if again else "-",
            "marker": "o" if last <= 20 else None, "markersize": 3.5,
        }  # fmt: skip
        before, after = rows[rows.call <= first], rows[rows.call >= first]
        axes.plot(before.call, before.tokens_sent, **style)
        axes.plot(after.call, after.tokens_sent, **{**style, "alpha": 0.3, "linewidth": 1})
        axes.plot(after.call[:1], after.tokens_sent[:1], "x", color=LIMIT_COLOR, ms=8, markeredgewidth=2, zorder=5)
        note = f"  × call {first}" if len(failed) else ""
        ends.append(
            (
                f"{short(run.info.shown.get(label, label))}{' (bound)' if bound else ''}{note}",
                float(rows.tokens_sent.iloc[-1]),
                color,
            )
        )
    top = max(1.0, float(calls.tokens_sent.max()) * 1.08)
    for limit, name in limits_of(run, transcript):
        if limit <= top * 1.5:
            top = max(top, limit * 1.06)
            color = "#555555" if name == "budget" else LIMIT_COLOR
            axes.axhline(limit, color=color, linewidth=1, linestyle=":", zorder=1)
            text = axes.text(1, limit, f" {name}: {limit:,}", color=color, va="bottom", fontsize=9, zorder=6)
            text.set_bbox({"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5})
    axes.set_ylim(0, top)
    axes.set_xlim(1 - 0.02 * last, last)
    for (text, value, color), height in zip(
        ends, spread([end[1] for end in ends], top * 0.042, 0.02 * top, 0.985 * top), strict=True
    ):
        direct_label(axes, text, (last, value), height / top, color)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:,.0f}K")
    axes.set_xlabel("call")
    axes.set_ylabel("input tokens sent (counted)")
    axes.set_title(
        f"{run.info.title}: input tokens per call\n"
        "× = first call that the provider would refuse; pale = what the policy would have sent after it",
        fontsize=12,
    )
    plain_axes(axes)
    if last <= 20:
        axes.set_xticks(range(1, last + 1))
    return save(figure, path)


def limits_of(run: Run, transcript: str) -> list[tuple[int, str]]:
    """Return what a request of this transcript must stay under, with names: window, rate limit, budgets."""
    part = run.of(run.labels[0])
    number = int(part[part.transcript == transcript].provider.iloc[0])
    provider = run.info.providers[number]
    window = int(provider.get("window", 200_000))
    reserved = int(provider.get("reserved_output", 0))
    limits = [(window - reserved, "window" + (" less reserved output" if reserved else ""))]
    if provider.get("rate_limit"):
        limits.append((int(provider["rate_limit"]["tokens_per_minute"]), "rate limit per minute"))
    budgets = {
        int(pair.removeprefix("budget="))
        for label in run.info.policies
        for pair in label.replace("+", ":").replace(":", ",").split(",")
        if pair.startswith("budget=")
    }
    return limits + [(budget, "budget") for budget in sorted(budgets) if budget]


def _sample(run: Run, most: int) -> Any:
    """Estimates and counts of that many requests, spread over the run by chance."""
    total = run.rows("calls")
    chosen = np.sort(np.random.default_rng(0).choice(total, min(most, total), replace=False))
    found, start = [], 0
    for batch in run.batches("calls", ["tokens_sent", "tokens_estimated"]):
        first, last = np.searchsorted(chosen, [start, start + len(batch)])
        found.append(batch.iloc[chosen[first:last] - start])
        start += len(batch)
    calls = pandas.concat(found)
    return calls[calls.tokens_sent > 0]


def estimates(run: Run, path: Path) -> Path:
    """How far the policies' estimates are from the count, for every request of the run, against its size."""
    figure, axes = new_figure(9, 5.5)
    calls = _sample(run, DOTS)
    error = 100 * (calls.tokens_estimated - calls.tokens_sent) / calls.tokens_sent
    axes.axhspan(-20, 20, color="#333333", alpha=0.06, linewidth=0)
    axes.axhline(0, color="#333333", linewidth=1)
    axes.plot(calls.tokens_sent, error, "o", color=COLORS[0], markersize=4, alpha=0.35, markeredgewidth=0)
    reach = max([30.0, *(error.abs() * 1.15)])
    axes.set_ylim(-reach, reach)
    if len(calls):
        axes.set_xscale("log")
    notes = {
        "over-estimate: context is cut too early": (0.97, "top"),
        "under-estimate: requests get refused": (0.03, "bottom"),
    }
    for text, (height, side) in notes.items():
        axes.text(0.015, height, text, transform=axes.transAxes, fontsize=9, va=side, color="#555555")
    axes.xaxis.set_major_formatter(lambda value, _: compact(value))
    axes.xaxis.set_minor_formatter(lambda value, _: compact(value) if int(f"{value:e}"[0]) in (2, 5) else "")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:+.0f} %" if value else "exact")
    axes.set_xlabel(f"input tokens of the request, counted by {' and '.join(run.info.tokenizers)} (log scale)")
    axes.set_ylabel("estimate against count")
    mean = pandas.concat([run.of(label).estimate_mape for label in run.labels]).mean()
    axes.set_title(
        f"{run.info.title}:\nwhat policies believe is off by {mean:.0%} on average (one dot per request; band ±20 %)",
        fontsize=12,
    )
    plain_axes(axes)
    return save(figure, path)
