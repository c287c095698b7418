"""Pictures of a run by matplotlib: token growth per policy, and estimates against counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from ctxsim.answers.advice.settings import family
from ctxsim.plugins.labels import BOUND
from ctxsim.report.figure import ERROR_MARKS, entitle, error_boxes, finished, load_matplotlib, new_figure, told
from ctxsim.report.picture import Picture, meaning
from ctxsim.report.style import (
    COLORS,
    LIMIT_COLOR,
    LONGEST_NAME,
    OTHER_COLOR,
    at_axis,
    compact,
    direct_labels,
    middle_cut,
    plain_axes,
    short,
    thinned,
)
from ctxsim.results import Run
from ctxsim.results.run_info import OBSERVED, RunInfo

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMES = 16
"""The largest number of names beside the lines."""

SAMPLED = 20_000
"""About the number of requests in the picture of estimates, if the run has more."""


def shown_transcript(run: Run) -> str:
    """Return the name of the transcript with the most tokens, which pictures over calls show."""
    return str(run.of(run.labels[0]).sort_values("tokens_full_sum", kind="stable").transcript.iloc[-1])


def growth_of(one: Picture) -> Figure:
    """Return the picture of input tokens per call of a run's transcript with the most tokens."""
    run, transcript = one.run, shown_transcript(one.run)
    rows = run.of(run.labels[0])
    provider = run.info.providers[int(rows.provider[rows.transcript == transcript].iloc[0])]
    return growth_figure(
        run.table("calls", transcript=[transcript]), one.labels, run.info.bounds, run.info.shown,
        f"{one.headline}\n{one.title}: {which(one)}", limits(provider, run.info.limits), one.chosen,
    )  # fmt: skip


def which(one: Picture) -> str:
    """Return in words which transcript a picture shows, without its name, which may hold a path."""
    return "its one transcript" if one.pooled.transcripts == 1 else f"the largest of {one.pooled.transcripts:,}"


def growth_figure(
    calls: pandas.DataFrame, policies: Sequence[str], bounds: Sequence[str], shown: Mapping[str, str], title: str,
    limits: Sequence[tuple[int, str]], chosen: str | None = None,
) -> Figure:  # fmt: skip
    """Draw input tokens of one transcript's calls, one line per policy, with the limits; crosses mark first failures.

    `shown` maps labels to short forms. Failing policies are red, the chosen one blue (without one, all but bounds),
    driven agents have colours of their own, others are grey. Matplotlib's settings stay as they are.
    """
    # Loaded only now, so that reading a run's rows doesn't wait for matplotlib.
    load_matplotlib()
    from matplotlib import rc_context

    with rc_context():
        figure: Figure
        figure, axes = new_figure()
        finding, _, about = title.rpartition("\n")
        unnamed = _growth(axes, calls, policies, bounds, shown, limits, chosen)
        fails = bool((calls.status[calls.policy.isin(policies)] != "ok").any())
        marks = told({
            "red: fails, × at the first call that would be refused, pale after it": fails,
            f"▶: {meaning(chosen or '')}": chosen in policies, unnamed: bool(unnamed),
        })  # fmt: skip
        entitle(figure, finding, about, marks)
    return figure


def _growth(
    axes: Any, calls: pandas.DataFrame, policies: Sequence[str], bounds: Sequence[str], shown: Mapping[str, str],
    limits: Sequence[tuple[int, str]], chosen: str | None,
) -> str:  # fmt: skip
    """Draw the lines, and return a text on the lines without a name."""
    last = calls.call.max()
    of = dict(iter(calls.sort_values("call", kind="stable").groupby("policy")))
    ends: dict[tuple[float, str, str], list[str]] = {}
    blue = {chosen} if chosen else set(policies) - set(bounds)
    failing = set(calls.policy[calls.status != "ok"])
    # Driven agents are what the picture is about, so each has a colour of its own.
    agents = dict(zip((label for label in policies if label.startswith(OBSERVED)), COLORS[1:], strict=False))
    # Lines that are drawn later lie above the others.
    for label in sorted(policies, key=lambda label: (label in blue, label in failing)):
        if label not in of:  # it could not be replayed
            continue
        number, sent, status = (of[label][name].to_numpy() for name in ("call", "tokens_sent", "status"))
        failed = np.flatnonzero(status != "ok")
        color = LIMIT_COLOR if len(failed) else COLORS[0] if label in blue else agents.get(label, OTHER_COLOR)
        width = 3.0 if label in blue else 2.2 if len(failed) else 1.6 if label in agents else 0.8
        style = {
            "color": color, "linewidth": width,
            "linestyle": "--" if label in bounds and not len(failed) else "-",
            "zorder": 2 if color == OTHER_COLOR else 3, "alpha": 0.7 if color == OTHER_COLOR else 1.0,
            # The marker at the last call isn't cut off at the edge.
            "marker": "o" if last <= 20 else None, "markersize": 3.5, "clip_on": False,
        }  # fmt: skip
        first = failed[0] if len(failed) else len(number)
        axes.plot(number[: first + 1], sent[: first + 1], **style)
        note = ""
        if len(failed):
            axes.plot(number[first:], sent[first:], **{**style, "alpha": 0.3, "linewidth": 1})
            axes.plot(number[first], sent[first], "x", color=color, ms=9, markeredgewidth=2.5, zorder=5, clip_on=False)
            note = f"  × call {number[first]}: {compact(sent[first])}"
        name = f"{'▶ ' if label == chosen else ''}{short(shown.get(label, label))}{BOUND if label in bounds else ''}"
        ends.setdefault((float(sent[-1]), color, note), []).append(name)
    top, drawn = _draw_limits(axes, limits, max(1.0, float(calls.tokens_sent.max()) * 1.08))
    axes.set(xlim=(1 - 0.02 * last, last), ylim=(0, top))
    named, unnamed = thinned([(_together(names) + note, last, end, color)
                              for (end, color, note), names in ends.items()], MOST_NAMES)  # fmt: skip
    direct_labels(axes, [*named, *((name, last, limit, "black") for name, limit in drawn)])
    axes.yaxis.set_major_formatter(at_axis)
    plain_axes(axes, xlabel="call", ylabel="input tokens sent (counted)")
    if last <= 20:
        axes.set_xticks(range(1, last + 1))
    return unnamed


def _draw_limits(axes: Any, limits: Sequence[tuple[int, str]], top: float) -> tuple[float, list[tuple[str, int]]]:
    """Draw limits up to 1.5 times the axis' end, and return the new end, and a text for each name with its place."""
    drawn: dict[str, list[int]] = {}
    for limit, name in sorted(limits):
        if limit <= top * 1.5:
            top = max(top, limit * 1.06)
            axes.axhline(limit, color="black", linewidth=1, linestyle=":", zorder=1)
            drawn.setdefault(name, []).append(limit)
    return top, [(f"{name}: {' to '.join(f'{one:,}' for one in dict.fromkeys((its[0], its[-1])))}", its[-1])
                 for name, its in drawn.items()]  # fmt: skip


def _together(names: Sequence[str]) -> str:
    """Return one name for lines that end at one point."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def limits(provider: Mapping[str, Any], policies: Mapping[str, Mapping[str, float]]) -> list[tuple[int, str]]:
    """Return the limits of requests in tokens, with names, from a provider's fields and each policy's own limits."""
    window = int(provider.get("window", 200_000))
    reserved = int(provider.get("reserved_output", 0))
    found = [(window - reserved, "window" + (" less reserved output" if reserved else ""))]
    if provider.get("rate_limit"):
        found.append((int(provider["rate_limit"]["tokens_per_minute"]), "rate limit per minute"))
    own = {(round(tokens), name) for named in policies.values() for name, tokens in named.items()}
    return found + sorted(own)


def counted_by(info: RunInfo) -> str:
    """Return which tokenizers counted, in few words for an axis, and how sizes were matched with recorded ones."""
    names = list(info.tokenizers)
    sizes = {str(provider.get("size", "counted")) for provider in info.providers}
    matched = f", sizes {' and '.join(sorted(sizes))}" if sizes - {"counted"} else ""
    return f"counted by {' and '.join(names) if len(names) <= 2 else f'{len(names)} tokenizers'}{matched}"


def estimates(one: Picture, path: Path) -> Path:
    """Draw a box for each kind of policy and estimator: the errors of its estimates, over about SAMPLED requests of
    the run.
    """
    share = min(1.0, SAMPLED / one.run.rows("calls"))
    batches = one.run.batches("calls", ["policy", "tokens_sent", "tokens_estimated"])
    calls = pandas.concat([batch.sample(frac=share, random_state=0).sort_index() for batch in batches])
    # Bounds don't decide by estimates.
    calls = calls[(calls.tokens_sent > 0) & calls.policy.isin(one.labels) & ~calls.policy.isin(one.run.info.bounds)]
    errors = 100 * (calls.tokens_estimated / calls.tokens_sent - 1).astype(float)
    by_policy = dict(iter(errors.groupby(calls.policy.astype(str).map(_estimating))))
    # Those that are off the most stand on top.
    names = sorted(by_policy, key=lambda name: float(by_policy[name].abs().mean()))
    figure, axes = new_figure(9, 2.4 + 0.3 * len(names))
    about = f"error of estimates, % of the tokens {counted_by(one.run.info)}"
    error_boxes(axes, [by_policy[name] for name in names], [middle_cut(name, LONGEST_NAME) for name in names], about)
    finding = "No estimate"
    if len(calls):
        finding = f"Estimates of a request's size are off by {errors.abs().mean():.0f}% on average"
    return finished(figure, path, finding, f"{one.title}, {one.many}", ERROR_MARKS)


def _estimating(label: str) -> str:
    """A policy's name, with its estimator if the label names one."""
    estimator = label.partition("estimator=")[2]
    return f"{family(label)}, {estimator}" if estimator else family(label)
