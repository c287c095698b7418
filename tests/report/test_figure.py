"""A figure's parts in the common look, and its file."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib import rcParams

from ctxsim.report import figure
from ctxsim.report.figure import (
    boxes,
    entitle,
    for_paper,
    heat_map,
    is_for_paper,
    legend_below,
    new_figure,
    panels,
    save,
    stacked_bars,
    told,
)
from ctxsim.report.style import COLORS


def test_a_figure_has_its_size_and_on_paper_a_column_s_width() -> None:
    found, axes = new_figure()
    assert found.get_size_inches().tolist() == [10.5, 6] and found.axes == [axes]
    assert (rcParams["font.size"], rcParams["axes.titlesize"], rcParams["axes.titlelocation"]) == (10, 12, "left")
    found, axes = new_figure(8, 4, 3, 2)
    assert found.get_size_inches().tolist() == [8, 4] and axes.shape == (2, 3)
    assert not is_for_paper()
    with for_paper():
        assert is_for_paper() and new_figure(8, 4)[0].get_size_inches().tolist() == [5.2, 4]
    with pytest.raises(ZeroDivisionError), for_paper():
        assert 1 / 0
    assert not is_for_paper()


@pytest.mark.parametrize(
    ("loaded", "spec", "changes"),
    [(False, SimpleNamespace(origin="/x/matplotlib/__init__.py"), [Path("/x/matplotlib")]),
     (True, SimpleNamespace(origin="/x/matplotlib/__init__.py"), []), (False, None, []),
     (False, SimpleNamespace(origin=None), [])],
)  # fmt: skip
def test_settings_of_the_current_folder_are_not_matplotlib_s(
    loaded: bool, spec: Any, changes: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    went: list[Path] = []
    monkeypatch.setattr(figure, "sys", SimpleNamespace(modules={"matplotlib": 1} if loaded else {}))
    monkeypatch.setattr(figure, "find_spec", lambda name: spec if name == "matplotlib" else None)
    monkeypatch.setattr(figure, "chdir", lambda folder: went.append(folder) or nullcontext())
    figure.load_matplotlib()
    assert went == changes


@pytest.mark.parametrize(("count", "rows"), [(1, 1), (3, 1), (4, 2)])
def test_panels_stand_three_beside_each_other(count: int, rows: int) -> None:
    found, axes = panels(count, 0.8, 2.1)
    assert found.get_size_inches().tolist() == pytest.approx([12, 0.8 + 2.1 * rows]) and len(found.axes) == 3 * rows
    assert axes == found.axes[:count] and [one.axison for one in found.axes] == [True] * count + [False] * (
        3 * rows - count
    )


def test_a_map_writes_its_numbers_in_the_ink_of_each_cell() -> None:
    _, axes = new_figure(2, 2)
    heat_map(axes, [[0, 50.4], [100, 99.6]], "Greys", (0, 100), form=".1f")
    written = [(one.get_text(), one.get_position(), one.get_color()) for one in axes.texts]
    assert written == [("0.0", (0, 0), "black"), ("50.4", (1, 0), "black"), ("100.0", (0, 1), "white"),
                       ("99.6", (1, 1), "white")]  # fmt: skip
    assert axes.get_aspect() == "auto" and not any(one.get_visible() for one in axes.spines.values())
    assert axes.xaxis.get_ticklines()[0].get_markersize() == 0
    _, axes = new_figure(2, 2)
    heat_map(axes, [[0, 100]], "Greys", (0, 100), written=False)
    assert not axes.texts
    _, axes = new_figure(2, 2)
    heat_map(axes, [[0.6]], "Greys", (0, 1))
    assert [one.get_text() for one in axes.texts] == ["1"]


def test_ink_is_black_on_what_is_bright() -> None:
    from matplotlib.colors import ListedColormap

    # Brightness by BT.601: 0.299 of red, 0.587 of green, 0.114 of blue; from 0.45 on the ink is black.
    inks = {
        "#ff0000": "white", "#00ff00": "black", "#0000ff": "white", "#ff00ff": "white", "#00c400": "black",
        "#00c300": "white", "#ff4200": "black", "#ff4100": "white", "#00abff": "black", "#009000": "white",
        "#0092ff": "black", "#0090ff": "white",
    }  # fmt: skip
    _, axes = new_figure(1, 1)
    every: Any = ListedColormap(list(inks))
    heat_map(axes, [range(len(inks))], every, (0, len(inks)))
    assert [one.get_color() for one in axes.texts] == list(inks.values())


def test_bars_of_a_row_follow_each_other() -> None:
    _, axes = new_figure(2, 2)
    stacked_bars(axes, ["x", "y"], {"a": [1, 2], "b": [3, 4]}, {"a": {"color": "red"}, "b": {"color": "blue"}})
    bars = [(one.get_x(), one.get_width(), one.get_y(), one.get_height()) for one in axes.patches]
    assert bars == [pytest.approx(one) for one in ((0, 1, -0.35, 0.7), (0, 2, 0.65, 0.7), (1, 3, -0.35, 0.7),
                                                   (2, 4, 0.65, 0.7))]  # fmt: skip
    assert [one.get_label() for one in axes.containers] == ["a", "b"] and axes.yaxis_inverted()
    assert [one.get_text() for one in axes.get_yticklabels()] == ["x", "y"] and list(axes.get_yticks()) == [0, 1]


def test_a_box_is_the_middle_half_and_whiskers_reach_from_5_to_95_per_cent() -> None:
    _, axes = new_figure(2, 2)
    boxes(axes, [range(101)], ["x"])
    box, *whiskers, _, _, middle = axes.lines
    assert sorted({*box.get_xdata()}) == [25, 75] and sorted({*box.get_ydata()}) == pytest.approx([0.7, 1.3])
    assert [sorted(one.get_xdata()) for one in whiskers] == [[5, 25], [75, 95]]
    assert (list(middle.get_xdata()), middle.get_color(), middle.get_linewidth()) == ([50, 50], COLORS[1], 1.6)
    assert [one.get_text() for one in axes.get_yticklabels()] == ["x"]
    _, empty = new_figure(2, 2)
    boxes(empty, [], [])
    assert not len(empty.get_yticks())


def test_a_legend_lies_below_and_on_paper_above() -> None:
    def made() -> tuple[Any, Any]:
        found, axes = new_figure(4, 4)
        axes.plot([1], [1], label="a")
        axes.plot([1], [1], label="b")
        legend_below(found, axes)
        return found, found.legends[0]

    found, legend = made()
    assert legend._ncols == 3 and not legend.get_frame_on() and legend.get_texts()[0].get_fontsize() == 9
    found.draw_without_rendering()
    assert legend.get_window_extent().y1 < found.axes[0].get_window_extent().y0
    with for_paper():
        found, legend = made()
        found.draw_without_rendering()
    assert legend.get_window_extent().y0 > found.axes[0].get_window_extent().y1


def test_marks_that_hold_are_told() -> None:
    assert told({"a": True, "b": False, "c": True}) == "a; c" and told({}) == ""


def test_a_headline_is_broken_to_the_width_and_the_axes_lie_below() -> None:
    found, _ = new_figure(4, 3)
    entitle(found, "word " * 20, "more " * 20, "a mark")
    headline, about = found.texts
    # At most ten letters of the headline in an inch, fourteen of what stands below it; these are wider than most.
    assert [max(map(len, one.get_text().splitlines())) for one in (headline, about)] == [34, 49]
    assert about.get_text().replace("\n", " ").endswith("more ; a mark")
    # From 0.08 inches below the top; lines of 12 and of 9.5 points and 30 % between them, and 0.04 inches.
    assert headline.get_position() == pytest.approx((0.02, 2.92 / 3))
    second = 2.92 - 3 * 12 * 1.3 / 72 - 0.04
    assert about.get_position() == pytest.approx((0.02, second / 3))
    below = second - 3 * 9.5 * 1.3 / 72 - 0.04 - 0.04
    assert found.get_layout_engine().get()["rect"] == pytest.approx((0, 0, 1, below / 3))
    assert (headline.get_fontsize(), headline.get_fontweight(), headline.get_va()) == (12, "bold", "top")
    assert (about.get_fontsize(), about.get_fontweight()) == (9.5, "normal")
    found, _ = new_figure(4, 3)
    entitle(found, "five words and then one some-thing-that-is-long", "")
    assert [one.get_text() for one in found.texts] == ["five words and then one\nsome-thing-that-is-long", ""]


def test_on_paper_marks_alone_stand_below() -> None:
    with for_paper():
        found, _ = new_figure(4, 3)
        entitle(found, "A finding", "about", "word " * 20)
    [below] = found.texts
    assert below.get_text() == ("word " * 14).strip() + "\n" + ("word " * 6).strip()
    assert (below.get_fontsize(), below.get_position()[0], below.get_ha()) == (8.5, 0.02, "left")


def test_names_are_no_formulas() -> None:
    found, axes = new_figure(2, 2)
    odd, own = axes.text(0, 0, "$x_{$"), axes.text(0, 1, "$\\mathdefault{10^{2}}$")
    found.draw_without_rendering()
    assert (odd.get_parse_math(), own.get_parse_math()) == (False, True)


def test_a_picture_in_a_notebook_has_75_dots_an_inch() -> None:
    found, _ = new_figure(2, 1)
    png = found._repr_png_()
    # Width and height stand in the first chunk.
    assert [int.from_bytes(png[at : at + 4]) for at in (16, 20)] == [150, 75] and b"Software" not in png


@pytest.mark.parametrize(("form", "begin", "without"), [("png", b"\x89PNG", b"Software"), ("svg", b"<?xml", b"dc:date"),
                                                        ("pdf", b"%PDF", b"CreationDate")])  # fmt: skip
def test_a_file_says_neither_when_nor_by_what_it_was_drawn(
    form: str, begin: bytes, without: bytes, tmp_path: Path
) -> None:
    found, _ = new_figure(2, 1)
    path = tmp_path / f"a.{form.upper()}"
    assert save(found, path) == path and list(tmp_path.iterdir()) == [path]
    data = path.read_bytes()
    assert data.startswith(begin) and without not in data
    if form == "png":
        assert [int.from_bytes(data[at : at + 4]) for at in (16, 20)] == [300, 150]


def test_on_paper_names_lose_their_middle_and_titles_are_broken(tmp_path: Path) -> None:
    with for_paper():
        found, (left, right) = new_figure(4, 3, columns=2)
        for axes in (left, right):
            axes.set_xlabel("words of a title that is longer than its panel")
        left.set_yticks([0, 1], ["x" * 27, "y" * 26])
        right.set_ylim(0, 5)
        save(found, tmp_path / "a.svg")
    # Of two panels each has half of 36 characters.
    assert left.get_xlabel() == right.get_xlabel() == "words of a title\nthat is longer\nthan its panel"
    assert [one.get_text() for one in left.get_yticklabels()] == ["x" * 12 + "…" + "x" * 13, "y" * 26]
    assert list(left.get_yticks()) == [0, 1] and len(right.get_yticks()) > 2
    with for_paper():
        found, axes = new_figure(4, 3)
        axes.set_xlabel("words of a title that is longer than its panel")
        save(found, tmp_path / "b.svg")
    assert axes.get_xlabel() == "words of a title that is longer than\nits panel"
