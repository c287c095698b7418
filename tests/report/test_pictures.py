"""What is drawn: each chart holds the texts and the numbers that it is about (SVG is text)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from invented import write_logs
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from project import ROOT

from ctxsim.answers.advice.verdict import usd
from ctxsim.errors import InputError
from ctxsim.report import charts, figure, plots, tradeoff
from ctxsim.report.page import page_data
from ctxsim.report.picture import picture
from ctxsim.results import Run, read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("drawn")
    write_logs(folder / "logs")
    labels = ("keep-all", "drop-all", "mask:keep=1", "head-tail:lines=4,bytes=200")
    title = f"Recorded transcripts in {folder / 'logs'}"
    conduct(Setting("drawn", title, labels), folder / "out", paths=[str(folder / "logs")])
    return read_run(folder / "out")


@contextmanager
def noted() -> Iterator[dict[str, str]]:
    """All texts of each figure that is saved: titles, labels, ticks, legends."""
    found: dict[str, str] = {}
    write = figure.save

    def save(figure_: pyplot.Figure, path: Path) -> Path:
        figure_.canvas.draw()
        texts = [one.get_text() for one in figure_.findobj(match=pyplot.Text)]
        # A drawn axis keeps the texts of its ticks to itself: matplotlib 3.11 gives them empty to who looks for texts.
        for axes in figure_.axes:
            texts += [one.get_text() for one in (*axes.get_xticklabels(), *axes.get_yticklabels())]
        found[path.stem] = "\n".join(text for text in texts if text)
        return write(figure_, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure, "save", save)
        yield found


@pytest.fixture(scope="module")
def every(run: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], dict[str, str]]:
    """All charts of the run, and their texts."""
    with noted() as found:
        return charts.plot_all(picture(run), tmp_path_factory.mktemp("every"), ("svg",)), found


def test_every_chart_of_a_run(run: Run, every: tuple[list[Path], dict[str, str]]) -> None:
    paths, written = every
    assert [path.stem for path in paths] == [
        "token-growth", "estimates", "survival-tokens", "survival-age", "survival-dollars", "dollars",
        "cache",
    ]  # fmt: skip
    assert all(path.read_text().startswith("<?xml") for path in paths)
    assert {path.suffix for path in paths[0].parent.iterdir()} == {".svg"}
    assert "mask 1" in written["survival-age"] and "1-2\n(n=18)" in written["survival-age"]
    assert "left out" not in written["survival-age"], "four policies have room"
    total = run.of("keep-all").cost_usd.sum()
    assert f" {usd(total)}" in written["dollars"] and "where the dollars go" in written["dollars"]
    assert "read from the cache" in written["cache"] and "drop-all" in written["cache"]


@pytest.mark.parametrize("form", ["svg", "png"])
def test_a_chart_is_drawn_with_the_same_bytes_again(form: str, run: Run, tmp_path: Path) -> None:
    first, second = (charts.dollars(picture(run), tmp_path / f"{name}.{form}").read_bytes() for name in "ab")
    assert first == second


def test_pictures_are_headed_by_the_verdict_and_name_no_folder(
    run: Run, every: tuple[list[Path], dict[str, str]]
) -> None:
    one = picture(run)
    assert page_data(run)["title"] == "Recorded transcripts"
    told = {**every[1], "token-growth": "\n".join(text.get_text() for text in plots.growth_of(one).texts)}
    for name in ("token-growth", "survival-age", "dollars", "cache"):
        assert one.headline in " ".join(told[name].split())
        assert str(run.folder.parent) not in "".join(told[name].split())


def test_a_picture_for_a_paper_has_a_column_s_width_no_headline_and_whole_names(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []

    def kept(*shape: Any, **named: Any) -> Any:
        made = figure.new_figure(*shape, **named)
        drawn.append(made[0])
        return made

    for module in (charts, plots, tradeoff):
        monkeypatch.setattr(module, "new_figure", kept)
    with figure.for_paper():
        paths = charts.plot_all(picture(run), tmp_path, ("pdf",))
    names = [path.name for path in paths]
    assert "survival-dollars.pdf" in names and "estimates.pdf" in names and "rounds.pdf" not in names
    assert all(path.read_bytes().startswith(b"%PDF") for path in paths) and len(drawn) == len(paths)
    for one in drawn:
        # No headline, but what marks mean is said below.
        assert one.get_size_inches()[0] == figure.PAPER_INCHES and len(one.texts) <= 1
        assert all(text.get_position()[1] < 0.1 and run.info.title not in text.get_text() for text in one.texts)
        one.canvas.draw()
        below = [text.get_window_extent() for text in one.texts]
        boxes = [legend.get_window_extent() for legend in one.legends]
        assert all(box.y0 >= text.y1 for box in boxes for text in below), "the legend lies beside what marks mean"
        for axes in one.axes:
            ticks = [tick.get_window_extent() for tick in axes.get_xticklabels() if tick.get_text()]
            assert all(left.x1 <= right.x0 for left, right in pairwise(ticks)), "x labels overprint each other"
        for axes in one.axes:
            # A pixel for rounding.
            reach = axes.xaxis.label.get_window_extent()
            assert reach.x0 >= -1 and reach.x1 <= one.bbox.x1 + 1, axes.get_xlabel()


def test_an_axis_has_room_for_two_names() -> None:
    def counted(names: str, *sizes: str) -> str:
        info: Any = SimpleNamespace(tokenizers=dict.fromkeys(names), providers=[{"size": size} for size in sizes])
        return plots.counted_by(info)

    assert counted("ab", "counted") == "counted by a and b" and counted("abc", "counted") == "counted by 3 tokenizers"
    # Where sizes were matched with recorded ones, the tokenizer isn't all that made them.
    assert counted("a", "fitted") == "counted by a, sizes fitted"
    assert counted("a", "prior", "fitted", "fitted") == "counted by a, sizes fitted and prior"


@pytest.mark.parametrize("form", ["svg", "png"])
def test_a_figure_is_drawn_once_as_matplotlib_draws_it(
    form: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    draws: list[Axes] = []
    monkeypatch.setattr(Axes, "draw", lambda self, renderer, draw=Axes.draw: draws.append(self) or draw(self, renderer))

    def saved(draw: Callable[..., None] | None) -> bytes:
        one, axes = figure.new_figure()
        axes.plot([1, 2], [300_000, 4])
        axes.set_ylabel("long numbers take room")
        figure.entitle(one, "A finding", "what it is of")
        if draw:
            monkeypatch.setattr(type(one), "draw", draw)
        return figure.save(one, tmp_path / f"a.{form}").read_bytes()

    assert saved(None) == saved(Figure.draw)
    # Left to itself, matplotlib draws it once more beforehand, for its layout.
    assert len(draws) == 1 + 2


def test_a_figure_that_cannot_be_saved_leaves_nothing(tmp_path: Path) -> None:
    one, _ = figure.new_figure()
    with pytest.raises(InputError, match=r"a\.nonsense: .* ends in \.png"):
        figure.save(one, tmp_path / "a.nonsense")
    assert not list(tmp_path.iterdir()) and not pyplot.get_fignums()


def test_report_modules_import_in_one_direction() -> None:
    folder = ROOT / "ctxsim" / "report"
    imports: dict[str, set[str]] = {}
    for file in folder.glob("*.py"):
        nodes = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)]
        imports[file.stem] = {
            node.module.rpartition(".")[2] for node in nodes if "ctxsim.report." in (node.module or "")
        }
    while ready := [name for name, others in imports.items() if not others & set(imports)]:
        for name in ready:
            del imports[name]
    assert not imports, "a circle"
