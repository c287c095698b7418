"""Pictures of a sweep: what they show of each setting, and of the advised one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from invented import write_logs
from matplotlib.text import Text

from ctxsim.answers.advice.settings import family, grids, in_order, parameters
from ctxsim.report.charts import OF_COMMAND, charts_of
from ctxsim.report.figure import for_paper
from ctxsim.report.picture import Picture, picture
from ctxsim.report.style import COLORS
from ctxsim.report.sweep_plots import curves_figure, curves_of, heat_map_figure, heat_maps_of
from ctxsim.results import read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.grid import expand
from ctxsim.runs.task import Setting

BOUNDS = ("keep-all", "drop-all")
FRONT = expand("max-result-chars:chars=100..700@4")
MAP = expand("head-tail:lines=2|4|8,bytes=100|900")


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Picture:
    folder = tmp_path_factory.mktemp("swept")
    write_logs(folder / "logs", 1)
    conduct(Setting("swept", "Swept", (*BOUNDS, *FRONT, *MAP)), folder / "out", paths=[str(folder / "logs")])
    return picture(read_run(folder / "out"))


def chosen(one: Picture, label: str) -> Picture:
    """The same run if this setting were advised."""
    assert one.advice is not None
    return msgspec.structs.replace(
        one, advice=msgspec.structs.replace(one.advice, take=one.pooled.all[label]), colors={}
    )


def test_settings_are_told_apart_by_what_varies() -> None:
    assert family("a:b=1+c") == "a + c"
    assert parameters("a:b=1,d=x+c:b=2") == {"a b": "1", "a d": "x", "c b": "2"}
    assert parameters("a:b=1+a:b=2") == {"a 1 b": "1", "a 2 b": "2"}
    # An estimator's own commas belong to it.
    assert parameters("a:b=1,estimator=e:x=1,y=2") == {"b": "1", "estimator": "e:x=1,y=2"}
    assert in_order(["900", "1000", "20"]) == ("20", "900", "1000") and in_order(["b", "a", "b"]) == ("b", "a")
    labels = ["keep", "a:x=9,y=1", "a:x=10,y=1", "b:x=1,y=1", "b:x=2,y=1", "b:x=1,y=2", "c:x=1", "c:x=2"]
    flat, deep, third = grids(labels)
    assert (flat.name, flat.varied, flat.values, flat.full) == ("a", ("x",), (("9", "10"),), True)
    # Three of four pairs of values are no map.
    assert (deep.varied, deep.full) == (("x", "y"), False) and third.name == "c"


def test_one_parameter_is_a_curve_over_its_values_with_ranges(one: Picture) -> None:
    [grid] = curves_of(one)
    assert grid.values == (("100", "300", "500", "700"),)
    figure = curves_figure(chosen(one, grid.labels[("500",)]), [grid])
    for axes, name in zip(figure.axes, ("usd_share", "kept"), strict=True):
        shares = [one_share(one, label, name) for label in FRONT]
        [line] = [line for line in axes.lines if len(line.get_xdata()) == 4]
        assert list(line.get_ydata()) == pytest.approx([100 * share.value for share in shares])
        assert [text.get_text() for text in axes.get_xticklabels()] == ["100", "300", "500", "700"]
        ranges = [line.get_ydata() for line in axes.lines if line.get_gid() == "range"]
        assert ranges == [pytest.approx([100 * share.low, 100 * share.high]) for share in shares]
        [advised] = [line for line in axes.lines if line.get_gid() == "chosen"]
        # The third of four values.
        assert (advised.get_xdata()[0], advised.get_color()) == (2, COLORS[0])
    told = " ".join(figure.texts[1].get_text().split())
    assert "max-result-chars by chars; blue: named first in the title; whiskers: ranges; dotted: keep-all" in told
    with for_paper():
        paper = curves_figure(one, [grid])
    assert [text.get_text() for text in paper.texts] == ["whiskers: ranges; dotted: keep-all"]


def test_two_parameters_are_maps_of_what_each_pair_costs_and_keeps(one: Picture) -> None:
    [grid] = heat_maps_of(one)
    assert (grid.varied, grid.values) == (("lines", "bytes"), (("2", "4", "8"), ("100", "900")))
    label = grid.labels[("4", "900")]
    figure = heat_map_figure(chosen(one, label), [grid])
    paid, kept = figure.axes
    for axes, share in ((paid, "usd_share"), (kept, "kept")):
        shares = [[one_share(one, grid.labels[(row, column)], share) for column in grid.values[1]] for row in "248"]
        [image] = axes.images
        assert image.get_array().tolist() == [pytest.approx([100 * cell.value for cell in row]) for row in shares]
        texts = [text.get_text() for text in axes.texts]
        cells = [cell for row in shares for cell in row]
        wanted = [f"{100 * cell.value:.0f}" for cell in cells]
        wanted += [f"{100 * cell.low:.0f}-{100 * cell.high:.0f}" for cell in cells]
        assert texts == wanted
        assert [text.get_text() for text in axes.get_xticklabels()] == ["100", "900"]
        assert [text.get_text() for text in axes.get_yticklabels()] == ["2", "4", "8"]
        [frame] = [patch for patch in axes.patches if patch.get_gid() == "chosen"]
        # Its cell is the second row and column, whose middle is (1, 1).
        assert (frame.get_x() + frame.get_width() / 2, frame.get_y() + frame.get_height() / 2) == pytest.approx((1, 1))
    # Darker is better: the least dollars and the most kept have the darkest cells.
    for axes, best in ((paid, min), (kept, max)):
        [image] = axes.images
        table = [value for row in image.get_array().tolist() for value in row]
        shades = [sum(image.cmap(image.norm(value))[:3]) for value in table]
        assert table[shades.index(min(shades))] == best(table)


def one_share(one: Picture, label: str, name: str) -> Any:
    return getattr(one.pooled.all[label], name)


def test_titles_of_maps_are_whole(one: Picture) -> None:
    """Inside the figure, and not over one another."""
    figure = heat_map_figure(one, heat_maps_of(one))
    figure.draw_without_rendering()
    shown = [text for axes in figure.axes for text in axes.findobj(Text) if "better" in text.get_text()]
    left, right = (text.get_window_extent() for text in shown)
    assert left.x0 >= 0 and right.x1 <= figure.bbox.x1
    assert not left.overlaps(right)


def test_a_sweep_has_them(one: Picture) -> None:
    drawn = OF_COMMAND["sweep"]
    assert [name for name in charts_of(one) if name in drawn] == [*drawn[2:], *drawn[:2]]
    # Single settings have nothing to draw here.
    assert grids(["keep-all", "fifo:budget=1", "mask:keep=1"]) == []
