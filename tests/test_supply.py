"""What is installed is locked, and no message names a package that somebody else could register."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest
from command_line import evidence
from project import ROOT

from ctxsim.errors import how_to_install
from evidence.lock import locked

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize(("name", "needed"), [("test", PROJECT["dependencies"]), ("test", None), ("docs", None)])
def test_everything_asked_for_is_locked_with_hashes(name: str, needed: list[str] | None) -> None:
    found = locked(name)
    for one in needed or PROJECT["optional-dependencies"][name]:
        assert re.split(r"[\[<>=;, ]", one)[0].lower().replace("_", "-") in found, one
    assert all(one.hashes for one in found.values())
    # An index is whoever installs it; a lock names none.
    assert "://" not in (ROOT / "requirements" / f"{name}.txt").read_text()


def test_the_list_of_licences_has_every_dependency() -> None:
    page = evidence("licences", cwd=ROOT).stdout
    known = {
        name.strip()
        for said, names in re.findall(r"^- ([^:]+):((?:.|\n  )+)", page, re.MULTILINE)
        for name in names.split(",")
        if said != "no licence stated"
    }
    for one in PROJECT["dependencies"]:
        assert re.split(r"[<>=]", one)[0] in known, one


def test_an_extra_is_installed_by_the_names_of_its_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: ctxsim\nVersion: 0\nRequires-Dist: click>=8.1\n"
        "Requires-Dist: distributed>=2024.1; extra == 'cluster'\nRequires-Dist: uvicorn>=0.30; extra == 'serve'\n"
    )
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: PathDistribution(tmp_path))
    assert how_to_install("cluster") == "pip install 'distributed>=2024.1'"


def test_no_message_names_ours_alone() -> None:
    for file in [*(ROOT / "ctxsim").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        assert not re.search(r"pip install '?ctxsim", file.read_text()), file
