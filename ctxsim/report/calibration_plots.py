"""Pictures of a calibration: tokens against characters, and the ratio's spread per group."""

from collections.abc import Sequence
from pathlib import Path

from ctxsim.report.figure import boxes, finished, new_figure
from ctxsim.report.style import COLORS, at_axis, plain_axes


def plot_calibration(
    points: Sequence[tuple[int, int, str]],
    ratio: float,
    path: Path,
    chars_of: str = "a text",
    tokens_are: str = "tokens, counted",
) -> Path:
    """Draw (chars, tokens, group) points: a scatter with the fitted and the chars/4 lines, and ratios per group.

    `chars_of` and `tokens_are` say what a point is.
    """
    import numpy as np

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
