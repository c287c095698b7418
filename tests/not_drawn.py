"""The command line without charts, as `python not_drawn.py bench ...`: drawing takes nine tenths of a small run.

Tests of the report draw them, and `ctxsim(..., drawn=True)` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ctxsim.cli import main
from ctxsim.report.charts import OF_COMMAND, charts_of
from ctxsim.report.figure import save
from ctxsim.report.picture import Picture, picture
from ctxsim.results import Run


def plot(run: Run, command: str, goal: str = "dollars") -> list[Path]:
    """What bench and sweep draw: the files, empty."""
    known = charts_of(picture(run, goal))
    return _empty(run.folder / f"{name}.png" for name in OF_COMMAND[command] if name in known)


def plot_all(one: Picture, folder: Path, formats: Sequence[str]) -> list[Path]:
    """What `report --only pictures` draws."""
    folder.mkdir(parents=True, exist_ok=True)
    return _empty(folder / f"{name}.{form}" for name in charts_of(one) for form in formats)


def saved(figure: Any, path: Path) -> Path:
    """What other commands draw: all is made but the file, which is empty."""
    figure.savefig = lambda file, **said: file.touch()
    return save(figure, path)


def _empty(paths: Iterable[Path]) -> list[Path]:
    made = list(paths)
    for path in made:
        path.touch()
    return made


@contextmanager
def not_drawn() -> Iterator[None]:
    """Charts are empty files within it."""
    charts, figure = "ctxsim.report.charts", "ctxsim.report.figure"
    with patch(f"{charts}.plot", plot), patch(f"{charts}.plot_all", plot_all), patch(f"{figure}.save", saved):
        yield


if __name__ == "__main__":
    with not_drawn():
        main()
