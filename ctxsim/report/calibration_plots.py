"""Pictures of a calibration: tokens against characters, and the ratio's spread per group."""

from collections.abc import Sequence
from pathlib import Path

from ctxsim.report.figure import entitle, new_figure, save
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
    chars = np.array([p[0] for p in points if p[0] > 0 and p[1] > 0], dtype=float)
    tokens = np.array([p[1] for p in points if p[0] > 0 and p[1] > 0], dtype=float)
    left.plot(chars, tokens, "o", color=COLORS[0], markersize=3, alpha=0.3, markeredgewidth=0)
    ends = np.array([chars.min(), chars.max()])
    for divisor, color, name in (
        (ratio, COLORS[1], f"characters / {ratio:.2f}, fitted"),
        (4.0, "#555555", "characters / 4"),
    ):
        left.plot(ends, ends / divisor, color=color, linewidth=1.5, label=name)
    left.set_xscale("log")
    left.set_yscale("log")
    left.legend(frameon=False, loc="upper left")
    left.set_xlabel(f"characters of {chars_of}")
    left.set_ylabel(tokens_are)
    for axis in (left.xaxis, left.yaxis):
        axis.set_major_formatter(at_axis)
    groups: dict[str, list[float]] = {}
    for c, t, group in points:
        if t >= 20:
            groups.setdefault(group, []).append(c / t)
    largest = sorted(groups.items(), key=lambda pair: -len(pair[1]))[:12][::-1]
    if largest:
        right.boxplot(
            [values for _, values in largest], orientation="horizontal", widths=0.6, showfliers=False, whis=(5, 95),
            medianprops={"color": COLORS[1]}, tick_labels=[f"{name} ({len(values)})" for name, values in largest],
        )  # fmt: skip
    right.axvline(4, color="#555555", linewidth=1, linestyle=":")
    right.set_xlabel("characters per token (box: middle half, whiskers: 5 to 95 %)")
    for axes in (left, right):
        plain_axes(axes)
    entitle(
        figure, f"{ratio:.2f} characters a token fit these {len(chars):,} points",
        "left: a line estimates the points above it too low; right: the ratio depends on the content; dotted: 4",
    )  # fmt: skip
    return save(figure, path)
