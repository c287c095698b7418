"""Pictures of a sweep: what they show of each setting, and of the advised one."""

from __future__ import annotations

import pytest
from invented import write_logs
from matplotlib.text import Text

from ctxsim.answers.advice.settings import grids
from ctxsim.report.charts import OF_COMMAND, charts_of
from ctxsim.report.picture import Picture, picture
from ctxsim.report.sweep_plots import heat_map_figure, heat_maps_of
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
