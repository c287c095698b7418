"""One look for every picture: colours that colour-blind people can tell apart, direct labels, no clutter."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
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
            pairs = (one.rpartition("/")[2].partition("=") for one in given)
            told = [f"{key.rpartition('.')[2]}={short_number(value)}" for key, _, value in pairs]
            room = LONGEST_NAME if len(" + ".join(told)) <= LONGEST_NAME else LONGEST_NAME // len(told) - 2
            parts += [middle_cut(one, room) for one in told]
            continue
        parts.append(f"{name} {'/'.join(short_number(value) for value in values)}".strip())
    return middle_cut(" + ".join(parts), LONGEST_NAME)


def day(time_s: float, zone: tzinfo | None = UTC) -> str:
    """Return the day of a time in seconds, UTC or in another time zone, None for the local one: 3 February 2026."""
    when = datetime.fromtimestamp(time_s, zone)
    return f"{when.day} {when:%B %Y}"


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

NAMES_APART = 0.042
"""The least distance of such names, in heights of the axes."""

Label = tuple[str, float, float, str]
"""A name, x and y of its line's end or of its point, and its colour."""


def thinned(labels: Sequence[Label], most: int) -> tuple[list[Label], str]:
    """Return at most `most` names, and a text on the others. Of too many, the lowest grey ones go, but no bound."""
    grey = [one for one in labels if one[3] == OTHER_COLOR and not one[0].endswith(BOUND)]
    gone = sorted(grey, key=lambda one: one[2])[: max(0, len(labels) - most)]
    rest = f"lines without a name: {len(gone)}, see the table" if gone else ""
    return [one for one in labels if one not in gone], rest


def spread(positions: list[float], gap: float, low: float, high: float) -> list[float]:
    """Move labels up so that neighbours are at least `gap` apart, and down again as far as they would pass `high`."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    moved = list(positions)
    least, most = low, high
    for i in order:
        moved[i] = max(moved[i], least)
        least = moved[i] + gap
    for i in reversed(order):
        moved[i] = min(moved[i], most)
        most = moved[i] - gap
    return moved


def plain_axes(axes: Any, **properties: Any) -> None:
    """Set a thin grid and no box. `properties` are those of `Axes.set`: labels, limits, scales."""
    axes.set(**properties)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def direct_labels(axes: Any, labels: Sequence[Label]) -> None:
    """Write names to the right of axes, and join each to its point by a thin line. All else must have been drawn."""
    from matplotlib.collections import LineCollection

    axes.autoscale_view()
    points = (axes.transScale + axes.transLimits).transform([(x, y) for _, x, y, _ in labels])
    heights = spread([height for _, height in points], NAMES_APART, 0.02, 0.985)
    # Plain lines, no arrows: matplotlib takes longer to cut an arrow at its text than to draw everything else.
    joins = LineCollection(
        [((NAMES_AT - 0.003, height), point) for point, height in zip(points, heights, strict=True)],
        colors=[color for *_, color in labels], linewidths=0.5, alpha=0.6, zorder=3,
        transform=axes.transAxes, clip_on=False,
    )  # fmt: skip
    axes.add_collection(joins)
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
    """Break a label over lines after a comma, colon, plus, slash or space, and a long piece after an equals sign,
    else after an underscore, a hyphen or a dot.
    """
    lines = [""]
    pieces = re.findall(r"[^,:+/ ]*[,:+/ ]?", label)
    for mark in "=_-.":
        broken = ([one] if len(one) < width - 1 else re.split(rf"(?<=\{mark})", one) for one in pieces)
        pieces = [part for parts in broken for part in parts]
    for piece in pieces:
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append("  ")
        lines[-1] += piece
    return "\n".join(lines)
