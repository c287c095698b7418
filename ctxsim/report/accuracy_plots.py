"""Pictures of estimates: per call, spread of errors, error against size and by kind of content; of a calibration."""

from collections.abc import Sequence
from math import inf
from pathlib import Path

import numpy as np

from ctxsim.answers.validation.accuracy import Observed, Point
from ctxsim.report.figure import boxes, finished, heat_map, new_figure
from ctxsim.report.style import COLORS, LIMIT_COLOR, OTHER_COLOR, at_axis, direct_labels, plain_axes

FAR = 0.2
"""Error, as a share of the count, above which an estimate is far off."""


def plot_accuracy(labels: Sequence[str], seen: Observed, tokenizer: str, out: Path) -> list[Path]:
    """Write the pictures of observed estimates, and return their paths. Each point has an estimate for each label."""
    longest = max(seen.runs, key=lambda run: run[-1].tokens)
    return [
        _per_call(labels, longest, tokenizer, out / "estimates-per-call.png"),
        _spread(labels, seen.requests, tokenizer, out / "error-distribution.png"),
        _heat_map(labels, seen.texts, tokenizer, out / "error-by-kind.png"),
    ]


def _per_call(labels: Sequence[str], run: Sequence[Point], tokenizer: str, path: Path) -> Path:
    figure, axes = new_figure(10.5, 6)
    calls, last = range(1, len(run) + 1), run[-1].tokens
    ends, off = [(f"counted ({tokenizer})", len(run), float(last), "black")], 0
    for number, label in enumerate(labels):
        values = [point.estimates[number] for point in run]
        ratio = values[-1] / last if last else 1.0
        color = LIMIT_COLOR if ratio < 1 - FAR else COLORS[0] if ratio > 1 + FAR else OTHER_COLOR
        off += color != OTHER_COLOR
        axes.plot(calls, values, color=color, linewidth=1.1)
        ends.append((label, len(run), float(values[-1]), color))
    axes.plot(calls, [point.tokens for point in run], color="black", linewidth=2.4)
    top = max(end[2] for end in ends) * 1.05 or 1.0
    axes.set(xlim=(1, max(2, len(run))), ylim=(0, top))
    direct_labels(axes, ends, top * 0.042, 0.02 * top, 0.985 * top)
    axes.yaxis.set_major_formatter(at_axis)
    plain_axes(axes, xlabel="call of the segment that ends with the largest request", ylabel="tokens of the request")
    finding = f"{off} of {len(labels)} estimators are off by more than {FAR:.0%} at the last call"
    marks = (
        f"black: counted; red: over {FAR:.0%} too low, requests get refused; blue: too high, context is cut too early"
    )
    return finished(figure, path, finding, marks)


def _spread(labels: Sequence[str], requests: Sequence[Point], tokenizer: str, path: Path) -> Path:
    figure, (left, right) = new_figure(12.5, 0.34 * len(labels) + 2.4, columns=2)
    some = [point for point in requests if point.tokens]
    errors = [[100 * (one.estimates[n] / one.tokens - 1) for one in some] for n in range(len(labels))]
    boxes(left, errors[::-1], labels[::-1])
    for span, line in ((left.axvspan, left.axvline), (right.axhspan, right.axhline)):
        span(-20, 20, color="#333333", alpha=0.06, linewidth=0)
        line(0, color="#333333", linewidth=1)
    plain_axes(left, xlabel=f"error of whole requests against {tokenizer}, %\n(box: middle half, whiskers: 5 to 95 %)")
    right.plot([point.tokens for point in some], errors[0], "o", color=COLORS[0], markersize=2.5, alpha=0.3,
               markeredgewidth=0)  # fmt: skip
    plain_axes(right, xscale="log", xlabel="tokens of the request (log scale)", ylabel="error, %")
    right.xaxis.set_major_formatter(at_axis)
    right.set_title(f"{labels[0]}: error against size", fontsize=11)
    off = [float(np.mean(np.abs(one))) if one else inf for one in errors]
    finding = f"{labels[off.index(min(off))]} is nearest: off by {min(off):.1f} % on average"
    about = f"left of 0: requests get refused; right: context is cut too early; band: ±{FAR:.0%}"
    return finished(figure, path, finding, about)


def _heat_map(labels: Sequence[str], texts: Sequence[Point], tokenizer: str, path: Path) -> Path:
    kinds = sorted({text.kind for text in texts})
    table = np.full((len(labels), max(1, len(kinds))), np.nan)
    for column, kind in enumerate(kinds):
        chosen = [text for text in texts if text.kind == kind]
        total = sum(text.tokens for text in chosen)
        for row in range(len(labels)):
            table[row, column] = 100 * (sum(text.estimates[row] for text in chosen) / total - 1)
    figure, axes = new_figure(1.0 * max(4, len(kinds)) + 3, 0.36 * len(labels) + 2.3)
    heat_map(axes, table.tolist(), "RdBu", (-60, 60), form="+z.0f")
    axes.set_xticks(range(len(kinds)), kinds, rotation=30, ha="right")
    axes.set_yticks(range(len(labels)), labels)
    about = f"error in % of all tokens of a kind, against {tokenizer}; red: too low; blue: too high"
    return finished(figure, path, "An estimator's error depends on what it counts", about)


def plot_calibration(
    points: Sequence[tuple[int, int, str]],
    ratio: float,
    path: Path,
    chars_of: str = "a text",
    tokens_are: str = "tokens, counted",
) -> Path:
    """Draw (chars, tokens, group) points: a scatter with the fitted and the chars/4 lines, and ratios per group.

    `chars_of` and `tokens_are` are the words for a point's values at the axes.
    """
    figure, (left, right) = new_figure(12.5, 5.5, columns=2)
    chars, tokens = np.array([(c, t) for c, t, _ in points if c > 0 and t > 0], dtype=float).T
    left.plot(chars, tokens, "o", color=COLORS[0], markersize=3, alpha=0.3, markeredgewidth=0)
    ends = np.array([chars.min(), chars.max()])
    fitted = f"characters / {ratio:.2f}, fitted"
    for divisor, color, name in ((ratio, COLORS[1], fitted), (4.0, "#555555", "characters / 4")):
        left.plot(ends, ends / divisor, color=color, linewidth=1.5, label=name)
    left.legend(frameon=False, loc="upper left")
    plain_axes(left, xscale="log", yscale="log", xlabel=f"characters of {chars_of}", ylabel=tokens_are)
    for axis in (left.xaxis, left.yaxis):
        axis.set_major_formatter(at_axis)
    groups: dict[str, list[float]] = {}
    for c, t, group in points:
        if t >= 20:
            groups.setdefault(group, []).append(c / t)
    largest = sorted(groups.items(), key=lambda pair: -len(pair[1]))[:12][::-1]
    if largest:
        boxes(right, [its for _, its in largest], [f"{name} ({len(its)})" for name, its in largest])
    right.axvline(4, color="#555555", linewidth=1, linestyle=":")
    plain_axes(right, xlabel="characters per token (box: middle half, whiskers: 5 to 95 %)")
    about = "left: a line estimates the points above it too low; right: the ratio depends on the content; dotted: 4"
    return finished(figure, path, f"{ratio:.2f} characters a token fit these {len(chars):,} points", about)
