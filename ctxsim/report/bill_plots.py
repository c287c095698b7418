"""The picture of a bill: dollars of each row as a bar, by what they were paid for."""

from collections.abc import Mapping
from pathlib import Path

from ctxsim.answers.bill.sums import Sum
from ctxsim.report.bill import ANSWERS, HEAD, RESULTS, group, names_of, usd
from ctxsim.report.figure import entitle, legend_below, new_figure, save
from ctxsim.report.style import COLORS, OTHER_COLOR, plain_axes

MOST_BARS = 20
REST = "user, summaries, rest"
PAID_FOR = {
    HEAD: "the head (system prompt and tools)", RESULTS: "tools' results", ANSWERS: "the assistant's answers",
    REST: "the user, summaries and the rest",
}  # fmt: skip


def plot_bill(found: Mapping[str, Sum], path: Path) -> Path:
    """Draw the sums of a grouping into a PNG or SVG file, and return its path."""
    rows = dict(list(found.items())[:MOST_BARS])
    names = names_of("project", list(rows))
    figure, axes = new_figure(10, 1.8 + 0.36 * max(4, len(rows)))
    left, sums = [0.0] * len(rows), dict.fromkeys(PAID_FOR, 0.0)
    for kind, color in zip(PAID_FOR, (*COLORS[:3], OTHER_COLOR), strict=True):
        of_each = [_paid_for(kind, one) for one in found.values()]
        sums[kind], widths = sum(of_each), of_each[: len(rows)]
        axes.barh(range(len(rows)), widths, 0.7, left=left, color=color, label=kind)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(rows)), [names[name] for name in rows])
    axes.invert_yaxis()
    axes.set_xlabel("USD")
    plain_axes(axes)
    legend_below(figure, axes)
    total, most = sum(one.usd for one in found.values()), max(sums, key=lambda kind: sums[kind])
    share = f", {sums[most] / sum(sums.values()):.0%} of it for {PAID_FOR[most]}" if sums[most] else ""
    entitle(figure, f"{usd(total)} USD{share}", "by what was paid for; parts fitted to recorded usage")
    return save(figure, path)


def _paid_for(kind: str, one: Sum) -> float:
    wanted = "" if kind == REST else kind
    return sum(held[3] for part, held in one.parts.items() if group(part) == wanted)
