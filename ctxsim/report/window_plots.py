"""The picture of a window: what fills it, over all transcripts and call by call in the largest one."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ctxsim.report.figure import entitle, new_figure, save
from ctxsim.report.style import COLORS, OTHER_COLOR, compact, middle_cut, plain_axes

MOST_BARS = 12


def plot_window(
    shares: Mapping[str, tuple[float, float | None]],
    growth: Mapping[str, Sequence[float]],
    largest: str,
    title: tuple[str, str],
    path: Path,
) -> Path:
    """Draw each part's share of input tokens and of dollars as bars, largest first, and the tokens of each call of the
    largest transcript as areas. `title`: what it shows, and of what it is.
    """
    figure, (left, right) = new_figure(13, 6.2, columns=2)
    names = list(shares)[:MOST_BARS]
    colors = dict(zip(names, COLORS, strict=False))
    heights = range(len(names))
    left.barh(
        [height - 0.2 for height in heights], [100 * shares[name][0] for name in names], 0.38,
        color=[colors.get(name, OTHER_COLOR) for name in names],
    )  # fmt: skip
    priced = [(height, 100 * usd) for height, name in zip(heights, names, strict=True) if (usd := shares[name][1])]
    left.barh(
        [height + 0.2 for height, _ in priced], [usd for _, usd in priced], 0.38, color="none",
        edgecolor=[colors.get(names[height], OTHER_COLOR) for height, _ in priced], hatch="////", linewidth=0.8,
    )  # fmt: skip
    left.set_yticks(list(heights), [middle_cut(name, 34) for name in names])
    left.invert_yaxis()
    left.set_xlabel("% of input tokens (full), % of dollars (hatched), over all calls")
    left.set_title("All transcripts", fontsize=11)
    shown = [name for name in colors if name in growth]
    calls = range(1, 1 + max((len(values) for values in growth.values()), default=0))
    rest = [sum(values[n - 1] for name, values in growth.items() if name not in shown) for n in calls]
    layers = [*((growth[name], colors[name]) for name in shown), (rest, OTHER_COLOR)]
    right.stackplot(calls, [values for values, _ in layers], colors=[color for _, color in layers], alpha=0.85)
    right.yaxis.set_major_formatter(lambda value, _: compact(value))
    right.set_xlabel("call; colours as at the left, grey is everything else")
    right.set_ylabel("input tokens")
    right.set_title(f"The largest: {middle_cut(largest, 46)}", fontsize=11)
    right.set_ylim(0)
    right.set_xlim(1, max(2, len(calls)))
    for axes in (left, right):
        plain_axes(axes)
    left.grid(axis="x", color="#dddddd", linewidth=0.6)
    left.grid(axis="y", visible=False)
    entitle(figure, *title)
    return save(figure, path)
