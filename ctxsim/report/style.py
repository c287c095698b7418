"""One look for every picture: colours that colour-blind people can tell apart, direct labels, no clutter."""

from __future__ import annotations

from math import inf
from typing import Any

# Okabe and Ito (2008), "Color Universal Design", without yellow, which is too light for lines; then Tol's "muted".
COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00",
    "#332288", "#882255", "#117733", "#AA4499", "#44AA99", "#999933",
)  # fmt: skip
BOUND_COLOR = "#777777"
LIMIT_COLOR = "#B00020"


def color_of(label: str, labels: tuple[str, ...], bounds: tuple[str, ...]) -> str:
    """Return a policy's colour: the same in every picture of a run; bounds are grey."""
    if label in bounds:
        return BOUND_COLOR
    return COLORS[[other for other in labels if other not in bounds].index(label) % len(COLORS)]


def second_time(label: str, labels: tuple[str, ...], bounds: tuple[str, ...]) -> bool:
    """Whether a policy has a colour that another one has already; its lines are dotted."""
    return label not in bounds and [other for other in labels if other not in bounds].index(label) >= len(COLORS)


def short(label: str) -> str:
    """A label without the parameters' names, for use beside a line: `token-budget 40K/500`."""
    parts = []
    for part in label.split("+"):
        name, _, parameters = part.partition(":")
        values = [pair.partition("=")[2] for pair in parameters.split(",") if "=" in pair]
        parts.append(f"{name} {'/'.join(_short_number(value) for value in values)}".strip())
    return " + ".join(parts)


def _short_number(text: str) -> str:
    return f"{int(text) // 1000}K" if text.isdigit() and int(text) >= 1000 and int(text) % 1000 == 0 else text


def spread(positions: list[float], gap: float, low: float = -inf, high: float = inf) -> list[float]:
    """Move labels apart so that neighbours are at least `gap` apart, each as near to its own place as possible.

    All stay between `low` and `high` as long as there is room.
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    blocks: list[tuple[list[int], float]] = []

    def centred(members: list[int]) -> float:
        half = gap * (len(members) - 1) / 2
        return max(low + half, min(high - half, sum(positions[j] for j in members) / len(members)))

    for i in order:
        blocks.append(([i], centred([i])))
        while len(blocks) > 1 and blocks[-1][1] - blocks[-2][1] < gap * (len(blocks[-1][0]) + len(blocks[-2][0])) / 2:
            members = blocks[-2][0] + blocks[-1][0]
            blocks[-2:] = [(members, centred(members))]
    moved = list(positions)
    for members, centre in blocks:
        for rank, i in enumerate(members):
            moved[i] = centre + (rank - (len(members) - 1) / 2) * gap
    return moved


def plain_axes(axes: Any) -> None:
    """Thin grid, no box."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def direct_label(axes: Any, text: str, at: tuple[float, float], height: float, color: str) -> None:
    """Write a label right of the axes, `height` of them up, and join it to its point by a thin line."""
    # patchA: the line starts beside the text; matplotlib need not cut it there, which takes longer than drawing it.
    line = {"arrowstyle": "-", "patchA": None, "color": color, "lw": 0.5, "alpha": 0.6, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 2}  # fmt: skip # noqa: E501
    axes.annotate(
        text, at, xytext=(1.03, height), textcoords=axes.transAxes, color=color, va="center", fontsize=9,
        annotation_clip=False, arrowprops=line,
    )  # fmt: skip
