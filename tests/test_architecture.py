"""The rooms and their doors: who may import whom, how big a file may grow, what start-up may load."""

from __future__ import annotations

import ast

import pytest
from importlinter.cli import lint_imports
from project import ROOT

from ctxsim.policies import registered_policies

SOURCES = sorted((ROOT / "ctxsim").rglob("*.py"))


def test_rooms_import_only_from_rooms_above_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint_imports(str(ROOT / "pyproject.toml"), no_cache=True) == 0, capsys.readouterr().out


def test_one_policy_one_file() -> None:
    """In folders a file holds a family: what one framework ships."""
    modules = [cls.__module__ for cls in registered_policies().values() if cls.__module__.startswith("ctxsim.")]
    alone = [name for name in modules if name.count(".") == 2]
    assert len(alone) == len(set(alone))


def test_no_attic_and_no_drawer_for_everything() -> None:
    assert not {file.name for file in SOURCES} & {"utils.py", "helpers.py", "common.py", "base.py", "misc.py"}


def test_files_stay_readable() -> None:
    long = {str(file.relative_to(ROOT)): n for file in SOURCES if (n := len(file.read_text().splitlines())) > 350}
    assert not long


def test_public_things_say_what_they_are() -> None:
    missing = []
    for file in SOURCES:
        tree = ast.parse(file.read_text())
        if not ast.get_docstring(tree):
            missing.append(str(file))
        for node in tree.body:
            public = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            # What a claim says stands in its decorator.
            told = public and any(getattr(getattr(d, "func", None), "id", "") == "claim" for d in node.decorator_list)
            if public and not told and not ast.get_docstring(node):
                missing.append(f"{file}:{node.lineno} {node.name}")
    assert not missing
