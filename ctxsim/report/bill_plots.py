"""The picture of a bill: dollars of each row as a bar, by what they were paid for."""

from collections.abc import Mapping
from pathlib import Path

from ctxsim.answers.bill.sums import Sum
from ctxsim.report.bill import ANSWERS, HEAD, RESULTS, group, names_of, usd
from ctxsim.report.figure import entitle, legend_below, new_figure, save
from ctxsim.report.style import COLORS, OTHER_COLOR, plain_axes

MOST_BARS = 20
REST = "user, summaries, rest"


def plot_bill(found: Mapping[str, Sum], path: Path) -> Path:
    """Draw the sums of a grouping into a PNG or SVG file, and return its path."""
    rows = dict(list(found.items())[:MOST_BARS])
    names = names_of("project", list(rows))
    figure, axes = new_figure(10, 1.8 + 0.36 * max(4, len(rows)))
    left = [0.0] * len(rows)
    for kind, color in zip((HEAD, RESULTS, ANSWERS, REST), (*COLORS[:3], OTHER_COLOR), strict=True):
        wanted = "" if kind == REST else kind
        widths = [sum(held[3] for part, held in one.parts.items() if group(part) == wanted) for one in rows.values()]
        axes.barh(range(len(rows)), widths, 0.7, left=left, color=color, label=kind)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(rows)), [names[name] for name in rows])
    axes.invert_yaxis()
    axes.set_xlabel("USD")
    plain_axes(axes)
    legend_below(figure, axes)
    total = sum(one.usd for one in found.values())
    entitle(figure, f"{usd(total)} USD", "by what was paid for; parts fitted to recorded usage")
    return save(figure, path)
