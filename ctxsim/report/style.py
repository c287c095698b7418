"""One look for every picture: colours that colour-blind people can tell apart, direct labels, no clutter."""

import re
from collections.abc import Sequence
from math import inf
from typing import Any
from zlib import crc32

from ctxsim.plugins.labels import BOUND, chain, named

# Seven that differ by at least 17 in CIE Lab for ordinary, red-blind and green-blind eyes (Machado et al. 2009), each
# with a contrast of 4.5 to its ground, so that names can be written in them.
COLORS = ("#3077be", "#ce450a", "#387d6f", "#490dff", "#5d0505", "#b0149c", "#2b224c")
DARK_COLORS = ("#6ca2d7", "#ffbf80", "#1a9c08", "#bc4dff", "#d7d70b", "#eb4770", "#47ebd7")
"""The same on a dark ground."""

OTHER_COLOR = "#737373"
"""Bounds, and policies beyond the seventh."""

LIMIT_COLOR = "#B00020"


def colors_of(labels: Sequence[str], first: Sequence[str] = ()) -> dict[str, int]:
    """Return the number of a colour for at most seven labels: first those in `first`, then the others in order.

    A label has the same colour in every picture, unless an earlier label of the picture has that colour.
    """
    found: dict[str, int] = {}
    for label in list(dict.fromkeys([*first, *labels]))[: len(COLORS)]:
        number = crc32(label.encode("utf-8", "surrogateescape")) % len(COLORS)
        while number in found.values():
            number = (number + 1) % len(COLORS)
        found[label] = number
    return found


LONGEST_NAME = 40
"""Characters of a name beside a line; longer ones lose their middle."""


def short(label: str) -> str:
    """Return a label without the parameters' names, for use beside a line: `token-budget 40K/500`."""
    parts = []
    for part in chain(label):
        name, parameters = named(part)
        values = [pair.partition("=")[2] for pair in parameters.split(",") if "=" in pair]
        given = [one for value in values if "=" in value for one in value.split(";")]
        if given:
            # Settings of agents, AGENT/KEY=VALUE, differ in the end of the key and in the value.
            parts += [_short_setting(one, SETTING_NAME if len(given) > 1 else LONGEST_NAME) for one in given]
            continue
        parts.append(f"{name} {'/'.join(short_number(value) for value in values)}".strip())
    return middle_cut(" + ".join(parts), LONGEST_NAME)


SETTING_NAME = 12
"""Characters of a key in a name with several settings."""


def _short_setting(text: str, most: int) -> str:
    key, _, value = text.rpartition("/")[2].partition("=")
    return f"{middle_cut(key.rpartition('.')[2], most)}={short_number(value)}"


def middle_cut(text: str, most: int) -> str:
    """Return a text of at most `most` characters: a longer one loses its middle."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def short_number(text: str) -> str:
    """Return a parameter's value in few characters: 40000 is 40K."""
    return f"{int(text) // 1000}K" if text.isdigit() and int(text) >= 1000 and int(text) % 1000 == 0 else text


NAMES_AT = 1.03
"""The x position at which names beside lines begin, in widths of the axes."""

Label = tuple[str, float, float, str]
"""A name, x and y of its line's end or of its point, and its colour."""


def thinned(labels: Sequence[Label], most: int) -> tuple[list[Label], str]:
    """Return at most `most` names, and a text on the others. The grey names that are nearest to another go first."""
    grey = {n for n, (name, *_, color) in enumerate(labels) if color == OTHER_COLOR and not name.endswith(BOUND)}
    order = sorted(range(len(labels)), key=lambda n: labels[n][2])
    while len(order) > most and grey:
        heights = [-inf, *(labels[n][2] for n in order), inf]
        gaps = {n: min(heights[at + 1] - heights[at], heights[at + 2] - heights[at + 1]) for at, n in enumerate(order)}
        gone = min(grey, key=lambda n: (gaps[n], n))
        order.remove(gone)
        grey.remove(gone)
    left = len(labels) - len(order)
    return [labels[n] for n in sorted(order)], f"; lines without a name: {left}, see the table" if left else ""


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


def plain_axes(axes: Any, **properties: Any) -> None:
    """Set a thin grid and no box. `properties` are those of `Axes.set`: labels, limits, scales."""
    axes.set(**properties)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def direct_labels(axes: Any, labels: Sequence[Label], gap: float, low: float = -inf, high: float = inf) -> None:
    """Write names to the right of axes, and join each to its point by a thin line. All else must have been drawn.

    Names are at least `gap` apart and stay between `low` and `high`, in units of the y axis.
    """
    from matplotlib.collections import LineCollection

    axes.autoscale_view()
    places = spread([y for _, _, y, _ in labels], gap, low, high)
    in_axes = (axes.transScale + axes.transLimits).transform
    heights = [in_axes((1, place))[1] for place in places]
    # Plain lines, no arrows: matplotlib takes longer to cut an arrow at its text than to draw everything else.
    joins = LineCollection(
        [((NAMES_AT - 0.003, height), in_axes((x, y))) for (_, x, y, _), height in zip(labels, heights, strict=True)],
        colors=[color for *_, color in labels], linewidths=0.5, alpha=0.6, zorder=3,
        transform=axes.transAxes, clip_on=False,
    )  # fmt: skip
    joins.set_in_layout(False)
    axes.add_collection(joins, autolim=False)
    for (text, _, _, color), height in zip(labels, heights, strict=True):
        axes.text(NAMES_AT, height, text, transform=axes.transAxes, color=color, va="center", fontsize=9)


def compact(tokens: float) -> str:
    """Return a token count in few characters: 950, 45.2K, 1.31M; - for NaN."""
    if tokens != tokens:
        return "-"
    for limit, form, divisor in ((1e4, "{:,.0f}", 1), (1e6, "{:,.1f}K", 1e3), (1e9, "{:,.2f}M", 1e6)):
        if abs(tokens) < limit:
            return form.format(tokens / divisor)
    return f"{tokens / 1e9:,.2f}G"


def at_axis(tokens: float, _: object = None) -> str:
    """Return a round token count for an axis: 500, 5K, 20K, 1.5M."""
    limit, unit = (1e6, "M") if abs(tokens) >= 1e6 else (1e3, "K") if abs(tokens) >= 1e3 else (1, "")
    return f"{tokens / limit:g}{unit}"


def wrap_label(label: str, width: int) -> str:
    """Break a label over lines after a comma, colon, plus, slash or space, and a long piece after an equals sign."""
    lines = [""]
    pieces = re.findall(r"[^,:+/ ]*[,:+/ ]?", label)
    for piece in (part for one in pieces for part in ([one] if len(one) < width - 1 else re.split("(?<==)", one))):
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append("  ")
        lines[-1] += piece
    return "\n".join(lines)
