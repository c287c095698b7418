"""A figure in the common look, and its file."""

import io
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ctxsim.report.style import COLORS, middle_cut, plain_axes
from ctxsim.results.files import PICTURES, refuse_other, replacing

NOTEBOOK_DPI = 75
"""Low, because a notebook stores its pictures as text."""


def load_matplotlib() -> None:
    """Import matplotlib without the `matplotlibrc` of the current folder, which any cloned repository may hold.

    The user's own file, in the configuration folder or named by MATPLOTLIBRC, is used.
    """
    spec = None if "matplotlib" in sys.modules else find_spec("matplotlib")
    if spec is not None and spec.origin is not None:
        with chdir(Path(spec.origin).parent):
            import matplotlib as _  # noqa: F401


PAPER_INCHES = 5.2
"""Width of a picture for a paper's column of 8.5 cm. Scaled to that column, names of 9 points have 6 points."""

PAPER_NAME, PAPER_TITLE = 26, 36
"""Characters of a name, and of the axis titles of all panels in a row together, in such a picture."""

_FOR_PAPER: ContextVar[bool] = ContextVar("for_paper", default=False)


@contextmanager
def for_paper(on: bool = True) -> Iterator[None]:
    """If `on`, draw figures inside the block for a paper, which has captions: one column wide, without headlines."""
    token = _FOR_PAPER.set(on)
    try:
        yield
    finally:
        _FOR_PAPER.reset(token)


def is_for_paper() -> bool:
    """Return whether figures are drawn for a paper, where colours become greys."""
    return _FOR_PAPER.get()


def new_figure(width: float = 10.5, height: float = 6.0, columns: int = 1, rows: int = 1) -> tuple[Any, Any]:
    """Return a figure, which a notebook shows, and its axes in the common look."""
    load_matplotlib()
    # Made without pyplot, because the choice of its backend is the user's.
    from matplotlib import rcParams
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.text import Text

    class Picture(Figure):
        def draw(self, renderer: Any) -> None:
            # Names with dollar signs aren't formulas. Only matplotlib's own labels, at logarithmic axes, are.
            for text in self.findobj(Text):
                if "$" in text.get_text() and "\\mathdefault" not in text.get_text():
                    text.set_parse_math(False)
            engine = self.get_layout_engine()
            if self.canvas.is_saving() and isinstance(engine, ConstrainedLayoutEngine):
                # Matplotlib first draws a figure for its layout alone, then into the file: skip the first drawing.
                engine.execute(self)
            else:
                super().draw(renderer)

        def _repr_png_(self) -> bytes:
            png = io.BytesIO()
            self.savefig(png, format="png", dpi=NOTEBOOK_DPI, metadata={"Software": None})
            return png.getvalue()

    rcParams.update({"font.size": 10, "axes.titlesize": 12, "axes.titlelocation": "left"})
    figure = Picture(figsize=(PAPER_INCHES if is_for_paper() else width, height), layout="constrained")
    return figure, figure.subplots(rows, columns)


def panels(count: int, edge: float, height: float) -> tuple[Any, list[Any]]:
    """Return a figure of `count` panels, three in a row, and the panels. `edge` and `height`, of a row, are inches."""
    rows = -(-count // 3)
    figure, axes = new_figure(12, edge + height * rows, 3, rows)
    for unused in axes.flat[count:]:
        unused.set_axis_off()
    return figure, list(axes.flat[:count])


def heat_map(
    axes: Any, table: Sequence[Sequence[float]], cmap: str, ends: tuple[float, float], written: bool = True,
    form: str = ".0f",
) -> None:  # fmt: skip
    """Draw a table as coloured cells, with numbers if `written`."""
    image = axes.imshow(table, cmap=cmap, aspect="auto", vmin=ends[0], vmax=ends[1])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    for y, row in enumerate(table if written else ()):
        for x, value in enumerate(row):
            red, green, blue, _ = image.cmap(image.norm(value))
            ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.45 else "black"
            axes.text(x, y, f"{value:{form}}", ha="center", va="center", color=ink, fontsize=10)


def stacked_bars(
    axes: Any, names: Sequence[str], parts: Mapping[str, Sequence[float]], styles: Mapping[str, Mapping[str, Any]]
) -> None:
    """Draw a horizontal bar for each name, the first on top, in which `parts`, by their name, follow each other."""
    left = [0.0] * len(names)
    for part, widths in parts.items():
        axes.barh(range(len(names)), widths, 0.7, left=left, label=part, **styles[part])
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()


def boxes(axes: Any, values: Sequence[Sequence[float]], names: Sequence[str]) -> None:
    """Draw a row for each name, the last on top: a box for the middle half, whiskers from 5 to 95 %."""
    if names:
        axes.boxplot(
            values, orientation="horizontal", widths=0.6, showfliers=False, whis=(5, 95), tick_labels=names,
            medianprops={"color": COLORS[1], "linewidth": 1.6},
        )  # fmt: skip
    else:
        axes.set_yticks([])


ERROR_MARKS = "left of 0: too low, requests may be refused; right: too high, context is cut early; band: ±20 %"
"""What the sides of `error_boxes` mean."""


def error_boxes(axes: Any, errors: Sequence[Sequence[float]], names: Sequence[str], about: str) -> None:
    """Draw `boxes` of errors in per cent, on a band of 20 around a line at 0; `about` says what they are errors of."""
    boxes(axes, errors, names)
    axes.axvspan(-20, 20, color="#333333", alpha=0.06, linewidth=0)
    axes.axvline(0, color="#333333", linewidth=1)
    plain_axes(axes, xlabel=f"{about}\n(box: middle half, whiskers: 5 to 95 %)")


def legend_below(figure: Any, axes: Any, columns: int = 3) -> None:
    """Give a figure the legend of one panel, below all panels; for a paper above, as marks are explained below."""
    of, place = axes.get_legend_handles_labels(), "upper" if is_for_paper() else "lower"
    figure.legend(*of, loc=f"outside {place} center", ncols=columns, frameon=False, fontsize=9)


PAPER_LETTERS = 72
"""Characters of a line that explains marks below a picture for a paper."""


def told(marks: Mapping[str, bool]) -> str:
    """Return the explanations of those marks that a figure has."""
    return "; ".join(mark for mark, holds in marks.items() if holds)


def entitle(figure: Any, finding: str, about: str, marks: str = "") -> None:
    """Give a figure a bold headline, `finding`, and below it, smaller, what it shows, `about`, wrapped to its width.

    `marks` explains its marks. It follows `about`; for a paper, which has captions of its own, it stands alone below.
    """
    if is_for_paper():
        figure.supxlabel(textwrap.fill(marks, PAPER_LETTERS), fontsize=8.5, x=0.02, ha="left")
        return
    about = "; ".join(part for part in (about, marks) if part)
    width, height = figure.get_size_inches()
    top = height - 0.08
    for text, size, weight, letters in ((finding, 12, "bold", 10), (about, 9.5, "normal", 14)):
        lines = _wrapped(text, width - 0.16, size, weight, round(width * letters))
        figure.text(0.08 / width, top / height, "\n".join(lines), va="top", fontsize=size, fontweight=weight)
        top -= len(lines) * size * 1.3 / 72 + 0.04
    figure.get_layout_engine().set(rect=(0, 0, 1, (top - 0.04) / height))


@contextmanager
def _any_glyph() -> Iterator[None]:
    """Names may hold characters that the font lacks; a box is drawn for them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def _wrapped(text: str, inches: float, size: float, weight: str, letters: int) -> list[str]:
    """A text's lines, of at most `letters` characters, or of as many fewer as fit the width in this font."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight=weight)

    def wide(line: str) -> bool:
        with _any_glyph():
            points: float = text_to_path.get_text_width_height_descent(line, font, False)[0]
        return points > 72 * inches

    lines = textwrap.wrap(text, letters, break_on_hyphens=False)
    # With any number of letters from that of the longest line on, the lines are the same.
    longest = max(map(len, lines), default=0)
    return _wrapped(text, inches, size, weight, longest - 1) if longest > 1 and any(map(wide, lines)) else lines


def finished(figure: Any, path: Path, finding: str, about: str, marks: str = "") -> Path:
    """Give a figure its headline, write it and return its path: `entitle`, then `save`."""
    entitle(figure, finding, about, marks)
    return save(figure, path)


def _fit_paper(figure: Any) -> None:
    """Cut the names of rows, and wrap the titles of x axes, to the width of a column."""
    from matplotlib.ticker import FixedLocator

    columns = max(axes.get_subplotspec().colspan.stop for axes in figure.axes)
    for axes in figure.axes:
        axes.set_xlabel(textwrap.fill(axes.get_xlabel(), PAPER_TITLE // columns))
        if isinstance(axes.yaxis.get_major_locator(), FixedLocator):
            names = [middle_cut(one.get_text(), PAPER_NAME) for one in axes.get_yticklabels()]
            axes.set_yticks(axes.get_yticks(), names)


def save(figure: Any, path: Path) -> Path:
    """Write a figure under a temporary name, rename it, and return its path."""
    from matplotlib import rc_context

    refuse_other(path, PICTURES)
    form = path.suffix[1:].lower()
    if is_for_paper():
        _fit_paper(figure)
    # Left out: matplotlib's version in PNG and the date in SVG and PDF, so that equal figures are equal files.
    metadata = {{"png": "Software", "svg": "Date", "pdf": "CreationDate"}[form]: None}
    with rc_context({"svg.hashsalt": "ctxsim"}), _any_glyph(), replacing(path) as temporary:
        figure.savefig(temporary, dpi=150, format=form, metadata=metadata)
    return path
