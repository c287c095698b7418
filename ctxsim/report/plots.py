"""Pictures of a run by matplotlib: token growth per policy, and estimates against counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from ctxsim.labels import BOUND
from ctxsim.report.figure import entitle, load_matplotlib, new_figure, save
from ctxsim.report.picture import Picture
from ctxsim.report.style import (
    COLORS,
    LIMIT_COLOR,
    OTHER_COLOR,
    Label,
    colors_of,
    compact,
    direct_labels,
    middle_cut,
    plain_axes,
    short,
    thinned,
)
from ctxsim.results import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMES = 23
"""Names that find room beside the lines."""

DOTS = 20_000
"""Requests in the picture of estimates, at most."""


TITLE_NAME = 60
"""Characters of a transcript's name in a title."""


def shown_transcript(run: Run) -> str:
    """The transcript with the most tokens: pictures over calls show one."""
    return str(run.of(run.labels[-1]).sort_values("tokens_full_sum", kind="stable").transcript.iloc[-1])


def growth(one: Picture, path: Path) -> Path:
    """Write the picture of input tokens of every call, one line per policy."""
    return save(growth_of(one), path)


def growth_of(one: Picture) -> Figure:
    """Return the picture of input tokens per call of a run's transcript with the most tokens."""
    run, transcript = one.run, shown_transcript(one.run)
    calls = run.table("calls", transcript=[transcript])
    title = f"{_growth_finding(one, calls)}\n{run.info.title}: {which(one, transcript)}"
    limited = limits_of(run, transcript)
    return growth_figure(calls, one.labels, run.info.bounds, run.info.shown, title, limited, one.colors, one.chosen)


def which(one: Picture, transcript: str) -> str:
    """Return which transcript a picture shows, of how many."""
    if one.pooled.transcripts == 1:
        return "its one transcript"
    return f"{middle_cut(transcript, TITLE_NAME)}, the largest of {one.pooled.transcripts:,}"


def _growth_finding(one: Picture, calls: pandas.DataFrame) -> str:
    tops = calls.groupby("policy").tokens_sent.max()
    # An agent that was driven has a head of its own, and so another keep-all.
    nothing = calls[calls.policy == one.pooled.nothing]
    whole = int((nothing if len(nothing) else calls).tokens_full.max())
    if one.chosen is None or one.chosen == one.pooled.nothing:
        return f"The context grows to {compact(whole)} tokens"
    top = int(tops[one.chosen])
    return f"{one.name(one.chosen)} stays within {compact(top)} tokens where keep-all sends up to {compact(whole)}"


def growth_figure(
    calls: pandas.DataFrame, policies: Sequence[str], bounds: Sequence[str], shown: Mapping[str, str], title: str,
    limits: Sequence[tuple[int, str]], colors: Mapping[str, int] | None = None, chosen: str | None = None,
) -> Figure:  # fmt: skip
    """Return input tokens of one transcript's calls, one line per policy, with the limits; crosses mark first failures.

    `shown` has labels in a shorter form, `colors` the numbers of colours; what has none is grey. Settings of matplotlib
    stay as they are.
    """
    if colors is None:
        colors = colors_of([label for label in policies if label not in bounds])
    # Not before something is drawn: a run's rows come first.
    load_matplotlib()
    from matplotlib import rc_context

    with rc_context():
        figure: Figure
        figure, axes = new_figure()
        finding, _, about = title.rpartition("\n")
        unnamed = _growth(axes, calls, policies, bounds, shown, limits, colors, chosen)
        marks = f"× = first call that would be refused, pale = what would have been sent after it{unnamed}"
        entitle(figure, finding, f"{about}; {marks}")
    return figure


def _growth(
    axes: Any, calls: pandas.DataFrame, policies: Sequence[str], bounds: Sequence[str], shown: Mapping[str, str],
    limits: Sequence[tuple[int, str]], colors: Mapping[str, int], chosen: str | None,
) -> str:  # fmt: skip
    """Draw the lines and return a word on those that have no name."""
    last = calls.call.max()
    of = dict(iter(calls.sort_values("call", kind="stable").groupby("policy")))
    ends: list[Label] = []
    # What is drawn last lies above the others.
    for label in sorted(policies, key=lambda label: (label in colors, label == chosen)):
        if label not in of:  # it could not be replayed
            continue
        number, sent, status = (of[label][name].to_numpy() for name in ("call", "tokens_sent", "status"))
        bound = label in bounds
        color = COLORS[colors[label]] if label in colors else OTHER_COLOR
        width = 3.0 if label == chosen else 1.8 if label in colors else 1.0
        failed = np.flatnonzero(status != "ok")
        style = {
            "color": color, "linewidth": width, "linestyle": "--" if bound else "-",
            "marker": "o" if last <= 20 else None, "markersize": 3.5, "zorder": 3 if label in colors else 2,
            # A mark at the last call is whole.
            "clip_on": False,
        }  # fmt: skip
        first = failed[0] if len(failed) else len(number)
        axes.plot(number[: first + 1], sent[: first + 1], **style)
        note = ""
        if len(failed):
            axes.plot(number[first:], sent[first:], **{**style, "alpha": 0.3, "linewidth": 1})
            axes.plot(
                number[first], sent[first], "x", color=LIMIT_COLOR, ms=8, markeredgewidth=2, zorder=5, clip_on=False
            )
            note = f"  × call {number[first]}"
        ends.append(
            (
                f"{'▶ ' if label == chosen else ''}{short(shown.get(label, label))}{BOUND if bound else ''}{note}",
                last, float(sent[-1]), color,
            )
        )  # fmt: skip
    top = max(1.0, float(calls.tokens_sent.max()) * 1.08)
    for limit, name in limits:
        if limit <= top * 1.5:
            top = max(top, limit * 1.06)
            color = LIMIT_COLOR if name.startswith(("window", "rate limit")) else "#555555"
            axes.axhline(limit, color=color, linewidth=1, linestyle=":", zorder=1)
            text = axes.text(1, limit, f" {name}: {limit:,}", color=color, va="bottom", fontsize=9, zorder=6)
            text.set_bbox({"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5})
    axes.set_ylim(0, top)
    axes.set_xlim(1 - 0.02 * last, last)
    ends, unnamed = thinned(ends, MOST_NAMES)
    direct_labels(axes, ends, top * 0.042, 0.02 * top, 0.985 * top)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:,.0f}K")
    axes.set_xlabel("call")
    axes.set_ylabel("input tokens sent (counted)")
    plain_axes(axes)
    if last <= 20:
        axes.set_xticks(range(1, last + 1))
    return unnamed


def limits_of(run: Run, transcript: str) -> list[tuple[int, str]]:
    """Return what a request of this transcript must stay under, with names: window, rate limit, the policies' own."""
    part = run.of(run.labels[0])
    number = int(part[part.transcript == transcript].provider.iloc[0])
    return limits(run.info.providers[number], run.info.limits)


def limits(provider: Mapping[str, Any], policies: Mapping[str, Mapping[str, float]]) -> list[tuple[int, str]]:
    """Return what a request must stay under by a provider's fields and by each policy's own limits, with names."""
    window = int(provider.get("window", 200_000))
    reserved = int(provider.get("reserved_output", 0))
    found = [(window - reserved, "window" + (" less reserved output" if reserved else ""))]
    if provider.get("rate_limit"):
        found.append((int(provider["rate_limit"]["tokens_per_minute"]), "rate limit per minute"))
    own = {(round(tokens), name) for named in policies.values() for name, tokens in named.items()}
    return found + sorted(own)


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


def counted_by(tokenizers: Sequence[str]) -> str:
    """Return what counted, in few words: an axis has no room for many names."""
    return " and ".join(tokenizers) if len(tokenizers) <= 2 else f"{len(tokenizers)} tokenizers"


def estimates(one: Picture, path: Path) -> Path:
    """How far the policies' estimates are from the count, for every request of the run, against its size."""
    run = one.run
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
    # Over many decades there is room for the whole ones only.
    between = (2, 5) if len(calls) and calls.tokens_sent.max() < 300 * calls.tokens_sent.min() else ()
    axes.xaxis.set_minor_formatter(lambda value, _: compact(value) if int(f"{value:e}"[0]) in between else "")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:+.0f} %" if value else "exact")
    axes.set_xlabel(f"input tokens of the request, counted by {counted_by(list(run.info.tokenizers))} (log scale)")
    axes.set_ylabel("estimate against count")
    mean = pandas.concat([run.of(label).estimate_mape for label in run.labels]).mean()
    entitle(
        figure,
        f"What policies believe a request holds is off by {mean:.0%} on average",
        f"{run.info.title}, {one.many}; one dot per request; band: ±20 %",
    )
    plain_axes(axes)
    return save(figure, path)
