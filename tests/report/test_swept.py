"""Pictures of a sweep: of one that was run, and of figures written by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from invented import write_logs
from matplotlib.colors import to_hex
from matplotlib.text import Text

from ctxsim.answers.advice.figures import Share
from ctxsim.answers.advice.settings import grids
from ctxsim.report import sweep_plots
from ctxsim.report.charts import OF_COMMAND, charts_of
from ctxsim.report.picture import CHOSEN, Picture, picture
from ctxsim.report.style import COLORS, LIMIT_COLOR, OTHER_COLOR
from ctxsim.report.sweep_plots import (
    FEWEST,
    LONGEST_TICK,
    MOST_CURVES,
    MOST_WRITTEN,
    curves_figure,
    curves_of,
    heat_map_figure,
    heat_maps_of,
    sweep_charts,
)
from ctxsim.results import read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.grid import expand
from ctxsim.runs.task import Setting

LINE = {"a:n=1000": (0.5, 0.9), "a:n=2000": (0.75, 1.0), "a:n=500": (1.25, None)}
MAP = {f"b:x={x},y={y}": (x * y / 10, x / 4) for x in (1, 2, 3) for y in (1, 2)}


def swept(
    rows: dict[str, tuple[float, float | None]], chosen: str | None = None, refused: str = "", **given: Any
) -> Any:
    """What pictures see of settings: each one's amount, from a tenth less to a tenth more, and what it keeps."""

    def around(value: float | None) -> Share | None:
        return None if value is None else Share(value, value - 0.1, value + 0.1)

    every = {label: SimpleNamespace(usd_share=around(amount), tokens_share=Share(amount / 2), kept=around(kept))
             for label, (amount, kept) in rows.items()}  # fmt: skip
    pooled = {"all": every, "by_dollars": True, "sessions": 2, "refusals": lambda label: float(label == refused)}
    pooled |= {key: given.pop(key) for key in list(given) if key in pooled}
    usual = {
        "run": SimpleNamespace(knows=lambda column: column == "survival"), "labels": tuple(rows), "chosen": chosen,
        "pooled": SimpleNamespace(**pooled), "headline": "An answer.", "title": "T", "many": "2 transcripts",
        "bound": lambda label: label == "bound",
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **given})


def texts(figure: Any) -> list[str]:
    return [" ".join(one.get_text().split()) for one in figure.texts]


def points(axes: Any) -> list[tuple[Any, ...]]:
    return [(*line.get_xdata(), *line.get_ydata(), line.get_gid(), line.get_color(), line.get_markersize(),
             line.get_clip_on()) for line in axes.lines if line.get_marker() == "o"]  # fmt: skip


def test_a_curve_has_a_panel_for_what_settings_cost_and_one_for_what_they_keep() -> None:
    one = swept(LINE, "a:n=1000", "a:n=2000")
    [grid] = curves_of(one)
    found = curves_figure(one, [grid])
    paid, kept = found.axes
    curve, dotted = paid.lines[:2]
    assert (list(curve.get_xdata()), list(curve.get_ydata()), curve.get_color()) == (
        [0, 1, 2],
        [125, 50, 75],
        OTHER_COLOR,
    )
    assert (list(dotted.get_ydata()), dotted.get_color(), dotted.get_linestyle()) == ([100, 100], OTHER_COLOR, ":")
    assert points(paid) == [
        (0, 125, "setting", OTHER_COLOR, 6, False), (1, 50, "chosen", COLORS[0], 10, False),
        (2, 75, "setting", LIMIT_COLOR, 6, False),
    ]  # fmt: skip
    ranges = [(list(line.get_xdata()), list(line.get_ydata()), line.get_color()) for line in paid.lines
              if line.get_gid() == "range"]  # fmt: skip
    assert ranges == [([0, 0], pytest.approx([115, 135]), OTHER_COLOR), ([1, 1], pytest.approx([40, 60]), COLORS[0]),
                      ([2, 2], pytest.approx([65, 85]), LIMIT_COLOR)]  # fmt: skip
    # What loses nothing that is known keeps all, and has no range.
    assert points(kept)[0][:2] == (0, 100) and [list(line.get_xdata()) for line in kept.lines
                                               if line.get_gid() == "range"] == [[1, 1], [2, 2]]  # fmt: skip
    for axes, name in ((paid, "dollars (modelled), % of keep-all's"), (kept, "kept, % of what later calls used")):
        assert [one.get_text() for one in axes.get_xticklabels()] == ["500", "1K", "2K"]
        assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_ylim()[0]) == ("a: n", name, 0)
    assert found.get_size_inches().tolist() == pytest.approx([10.5, 1.2 + 2.6])
    marks = "blue: named first in the answer; red: some calls refused; whiskers: ranges; dotted: keep-all"
    assert texts(found) == ["An answer.", f"T, 2 transcripts: a by n; {marks}"]


def test_without_prices_tokens_are_drawn_and_of_one_session_no_ranges() -> None:
    one = swept(LINE, by_dollars=False, sessions=1)
    found = curves_figure(one, curves_of(one))
    assert [point[1] for point in points(found.axes[0])] == [62.5, 25, 37.5]
    assert found.axes[0].get_ylabel() == "input tokens (counted), % of keep-all's"
    assert texts(found)[1] == "T, 2 transcripts: a by n; dotted: keep-all"
    half = swept(dict.fromkeys(LINE, (1.0, 1.0)))
    for figures in half.pooled.all.values():
        figures.usd_share, figures.kept = Share(1.0, None, 1.1), Share(1.0, 0.9, None)
    assert not [line for axes in curves_figure(half, curves_of(half)).axes for line in axes.lines
                if line.get_gid() == "range"], "an end without the other is no range"  # fmt: skip


def test_five_policies_are_drawn_and_the_others_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (FEWEST, LONGEST_TICK, MOST_CURVES, MOST_WRITTEN) == (3, 10, 5, 26)
    monkeypatch.setattr(sweep_plots, "MOST_CURVES", 2)
    rows = {f"{name}:n={n}": (0.5, 1.0) for name in "abc" for n in (1, 2, 3)}
    one = swept(rows)
    found = curves_figure(one, curves_of(one))
    assert [axes.get_xlabel() for axes in found.axes] == ["a: n", "a: n", "b: n", "b: n"]
    assert found.get_size_inches().tolist() == pytest.approx([10.5, 1.2 + 2 * 2.6])
    assert texts(found)[1] == (
        "T, 2 transcripts: a by n, b by n; whiskers: ranges; dotted: keep-all; the first 2 of 3 policies"
    )
    maps = swept({f"{name}:x={x},y={y}": (0.5, 1.0) for name in "abc" for x in (1, 2) for y in (1, 2)})
    found = heat_map_figure(maps, heat_maps_of(maps))
    assert len(found.axes) == 4 and texts(found)[1] == (
        "T, 2 transcripts: a by x and y, b by x and y; the first 2 of 3 policies; darker is better"
    )


@pytest.mark.parametrize(
    ("labels", "curves", "maps"),
    [
        (["a:n=1", "a:n=2"], 0, 0), (["a:n=1", "a:n=2", "a:n=3"], 1, 0),
        # A bound is no setting; ten characters find room below a curve, eleven don't.
        (["a:n=1", "a:n=2", "bound"], 0, 0),
        (["a:n=1234567890", "a:n=2", "a:n=3"], 1, 0), (["a:n=12345678901", "a:n=2", "a:n=3"], 0, 0),
        (["b:x=1,y=1", "b:x=1,y=2", "b:x=2,y=1"], 0, 0), (["b:x=1,y=1", "b:x=1,y=2", "b:x=2,y=1", "b:x=2,y=2"], 0, 1),
        ([f"c:x={n // 4},y={n // 2 % 2},z={n % 2}" for n in range(8)], 0, 0),
    ],
)  # fmt: skip
def test_curves_are_of_one_parameter_and_maps_of_two(labels: list[str], curves: int, maps: int) -> None:
    one = swept(dict.fromkeys(labels, (0.5, 1.0)))
    assert (len(curves_of(one)), len(heat_maps_of(one))) == (curves, maps)
    assert list(sweep_charts(one)) == ["sweep-curves"] * curves + ["sweep-heatmap"] * maps
    one.run.knows = lambda column: False
    assert sweep_charts(one) == {}


def test_each_chart_is_saved_under_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[Any] = []
    monkeypatch.setattr(sweep_plots, "save", lambda figure, path: saved.append(figure) or path)
    both = swept({**LINE, **MAP})
    assert [draw(both, Path(name)) for name, draw in sweep_charts(both).items()] == [
        Path("sweep-curves"), Path("sweep-heatmap")
    ]  # fmt: skip
    assert [len(figure.axes[0].images) for figure in saved] == [0, 1]


def test_a_map_has_a_cell_for_each_pair() -> None:
    one = swept(MAP, "b:x=3,y=2", "b:x=2,y=1")
    found = heat_map_figure(one, heat_maps_of(one))
    paid, kept = found.axes
    # x * y tenths, and x quarters.
    assert paid.images[0].get_array().tolist() == [pytest.approx(row) for row in ([10, 20], [20, 40], [30, 60])]
    assert kept.images[0].get_array().tolist() == [[25, 25], [50, 50], [75, 75]]
    assert [axes.images[0].get_clim() for axes in found.axes] == [pytest.approx((10, 60)), (25, 75)]
    assert [axes.images[0].get_cmap().name for axes in found.axes] == ["Blues_r", "Blues"]
    written = [(one.get_text(), one.get_position()) for one in paid.texts]
    assert written[:3] == [("10", (0, 0)), ("20", (1, 0)), ("20", (0, 1))] and len(written) == 6
    for axes, title in ((paid, "dollars (modelled), % of keep-all's"), (kept, "kept, % of what later calls used")):
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("b: y", "x")
        assert axes.get_title(loc="left") == title
        [frame] = axes.patches
        assert (frame.get_x(), frame.get_y(), frame.get_width(), frame.get_height()) == pytest.approx(
            (0.52, 1.52, 0.96, 0.96)
        )
        assert (to_hex(frame.get_edgecolor()), frame.get_fill(), frame.get_gid()) == (COLORS[1], False, "chosen")
        [cross] = axes.lines
        assert (*cross.get_xdata(), *cross.get_ydata()) == pytest.approx((0.36, 0.72))
        assert (cross.get_marker(), cross.get_color(), cross.get_gid()) == ("X", LIMIT_COLOR, "refused")
    assert texts(found) == [
        "An answer.", f"T, 2 transcripts: b by x and y; frame: {CHOSEN}; ×: some calls refused; darker is better",
    ]  # fmt: skip
    # Two values are as wide as can be; three rows and a title take 0.6 inches each.
    assert found.get_size_inches().tolist() == pytest.approx([9.5, 1.5 + 0.6 * 4])
    assert found.axes[0].get_gridspec().get_height_ratios() == [4]


@pytest.mark.parametrize(
    ("rows", "columns", "size"),
    # 3.2 inches and 1.5 for each column, up to 22; 1.5 and 0.6 for each row, and 0.6 more, up to 30.
    [(2, 5, (10.7, 3.9)), (4, 14, (22, 4.5)), (47, 2, (9.5, 30))],
)  # fmt: skip
def test_a_map_is_as_large_as_its_table(rows: int, columns: int, size: tuple[float, float]) -> None:
    one = swept({f"b:x={x},y={y}": (0.5, 1.0) for x in range(rows) for y in range(columns)})
    found = heat_map_figure(one, heat_maps_of(one))
    assert found.get_size_inches().tolist() == pytest.approx(size)
    # All alike: the colours have two ends all the same.
    low, high = found.axes[0].images[0].get_clim()
    assert low == 50 < high < 50.001


@pytest.mark.parametrize(("columns", "written"), [(26, 2), (27, 0)])
def test_figures_leave_where_cells_are_narrow(columns: int, written: int) -> None:
    one = swept({f"b:x={x},y={y}": (0.5, 1.0) for x in range(2) for y in range(columns)})
    [paid, _] = heat_map_figure(one, heat_maps_of(one)).axes
    assert len(paid.texts) == written * columns


BOUNDS = ("keep-all", "drop-all")
FRONT = expand("max-result-chars:chars=100..700@4")
DEEP = expand("head-tail:lines=2|4|8,bytes=100|900")


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Picture:
    folder = tmp_path_factory.mktemp("swept")
    write_logs(folder / "logs", 1)
    conduct(Setting("swept", "Swept", (*BOUNDS, *FRONT, *DEEP)), folder / "out", paths=[str(folder / "logs")])
    return picture(read_run(folder / "out"))


TITLES = ("dollars (modelled), % of keep-all's", "input tokens (counted), % of keep-all's",
          "kept, % of what later calls used")  # fmt: skip


def test_titles_of_maps_are_whole(one: Picture) -> None:
    """Inside the figure, and not over one another."""
    figure = heat_map_figure(one, heat_maps_of(one))
    figure.draw_without_rendering()
    shown = [text for axes in figure.axes for text in axes.findobj(Text) if text.get_text() in TITLES]
    left, right = (text.get_window_extent() for text in shown)
    assert left.x0 >= 0 and right.x1 <= figure.bbox.x1
    assert not left.overlaps(right)


def test_a_sweep_has_them(one: Picture) -> None:
    drawn = OF_COMMAND["sweep"]
    assert [name for name in charts_of(one) if name in drawn] == [*drawn[2:], *drawn[:2]]
    # Single settings have nothing to draw here.
    assert grids(["keep-all", "fifo:budget=1", "mask:keep=1"]) == []
