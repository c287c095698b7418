"""A project's defaults: which file says them, what they may say, and where their paths lead."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxsim.api.project import ABOUT, Settings, found
from ctxsim.errors import InputError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An inner folder of a project, which is the current one."""
    inner = tmp_path / "project" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    monkeypatch.chdir(inner)
    return inner


def test_the_nearest_file_holds_up_to_the_projects_own_folder(folder: Path) -> None:
    assert found() == Settings() and found(folder).file == ""
    (folder.parents[1] / "ctxsim.toml").write_text("jobs = 9")
    assert found() == Settings(), "what is above the project belongs to somebody else"
    (folder.parent / "pyproject.toml").write_text("[tool.ctxsim]\njobs = 3")
    assert (found().jobs, found().file) == (3, str(folder.parent / "pyproject.toml"))
    (folder.parent / "ctxsim.toml").write_text("jobs = 2")
    assert found().jobs == 2, "the file of our own goes first"
    (folder / "pyproject.toml").write_text("[tool.other]\nx = 1")
    assert found(folder).jobs == 2, "a nearer file that says nothing of ctxsim"
    (folder / "ctxsim.toml").write_text("window = 1")
    assert (found().window, found().jobs) == (1, None)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [("ctxsim.toml", "goal = 'speed'", "goal = 'speed' is none of: "), ("ctxsim.toml", "window = 0", "window = 0 is"),
     ("ctxsim.toml", "jobs = -1", "jobs = -1 is less than 1"), ("ctxsim.toml", "file = 'x'", "file is no setting"),
     ("ctxsim.toml", "colour = 1", "colour.*ctxsim list config"), ("ctxsim.toml", "jobs = 'x'", "jobs.*list config"),
     ("ctxsim.toml", "jobs", "is no TOML"), ("pyproject.toml", "tool.ctxsim = 1", "tool.ctxsim is no table"),
     ("pyproject.toml", "tool.ctxsim", "is no TOML")],
)  # fmt: skip
def test_what_is_no_setting_is_said(folder: Path, name: str, text: str, said: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(InputError, match=said):
        found()


def test_the_header_of_another_file_may_stand_in_our_own(folder: Path) -> None:
    (folder / "ctxsim.toml").write_text("[tool.ctxsim]\njobs = 2")
    assert found().jobs == 2
    for text in ("window = 9\n[tool.ctxsim]\njobs = 2", "[tool.ctxsim]\njobs = 2\n[tool.other]\nx = 1"):
        (folder / "ctxsim.toml").write_text(text)
        with pytest.raises(InputError, match="unknown field `tool`"):
            found()


def test_what_is_not_trusted_may_be_shown(folder: Path) -> None:
    (folder / "ctxsim.toml").write_text("policies = ['mine.py:FirstLine']")
    assert found(to_show=True).policies == ("mine.py:FirstLine",)
    with pytest.raises(InputError, match="would run code"):
        found()


@pytest.mark.parametrize("text", ["broken [", "tool = 1", "[project]\nname = 'x'"])
def test_a_projects_file_that_says_nothing_of_it_sets_nothing(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    assert found() == Settings()


def test_paths_are_beside_the_file(folder: Path) -> None:
    (folder.parent / "ctxsim.toml").write_text(
        "paths = ['logs', '-']\nmodels = 'own.toml'\npolicies = ['keep-all']\ngoal = 'tokens'"
    )
    said = found()
    assert (said.paths, said.models) == (("../logs", "-"), "../own.toml")
    assert (said.policies, said.goal, said.grids, said.estimator) == (("keep-all",), "tokens", (), None)


def test_every_setting_has_a_word_on_it() -> None:
    assert set(ABOUT) == set(Settings.__struct_fields__) - {"file"} and all(ABOUT.values())


@pytest.mark.parametrize("path", ["-", "@list"])
def test_these_paths_are_no_files(folder: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxsim.api.project.refuse", lambda *given: None)
    (folder.parent / "ctxsim.toml").write_text(f"paths = ['{path}', '~/logs']")
    assert found().paths[0] == path


def test_what_a_path_is_beside_the_file_means_nothing_more(folder: Path) -> None:
    """`./` says that a file is meant, and is still said where the path is taken from here."""
    (folder / "ctxsim.toml").write_text(
        "paths = ['./@list', './git:/a', './reader:mine.py:logs', './-', './~/a', 'x/../@found', './logs']"
    )
    assert found().paths == ("./@list", "./git:/a", "./reader:mine.py:logs", "./-", "./~/a", "./@found", "logs")


def test_a_home_stands_for_itself_and_one_is_enough(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxsim.api.project.refuse", lambda *given: None)
    monkeypatch.setenv("HOME", str(folder.parent))
    (folder / "ctxsim.toml").write_text(
        "paths = ['~/inner/logs']\njobs = 1\nwindow = 1\nestimator = 'words'\nhead = 0\n"
    )
    said = found()
    assert (said.paths, said.jobs, said.window, said.estimator, said.head) == (("logs",), 1, 1, "words", 0)


@pytest.mark.parametrize(
    "text", ["policies = ['mine.py:Mine']", "estimator = 'calibrated:file=/abs'", "cache = '/abs/v.toml'",
             "tokenizer = 'hf:/abs'", "models = 'theirs.toml'",
             "model = '/abs/v.toml:m'", "model = 'theirs.toml:m'",
             "grids = ['mine.py:Mine']", "estimator = 'mine.py:Mine'",
             "paths = ['../../outside']", "models = '/elsewhere/own.toml'"],
)  # fmt: skip
def test_what_runs_code_or_leaves_the_project_asks_for_trust(
    folder: Path, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (folder / "ctxsim.toml").write_text(text)
    (folder / "theirs.toml").write_text("[[model]]\nid = 'm'\nvendor = '/abs/v.toml'\n")
    if "outside" in text:
        (folder / "ctxsim.toml").write_text("paths = ['../beside']")
        assert found().paths == ("../beside",), "within the repository"
        (folder / "ctxsim.toml").write_text(text)
    with pytest.raises(InputError, match="trust"):
        found()


def test_a_file_that_can_not_be_read_is_told_and_a_folder_of_its_name_is_none(folder: Path) -> None:
    (folder / "ctxsim.toml").mkdir()
    assert found() == Settings()
    (folder / "ctxsim.toml").rmdir()
    (folder / "ctxsim.toml").symlink_to("ctxsim.toml")
    with pytest.raises(InputError, match="can't be read"):
        found()
