"""Which file a setting goes into, and what can't be written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ctxsim.api import applying
from ctxsim.api.applying import apply, change
from ctxsim.errors import CtxsimError
from ctxsim.policies.agents import given, lines
from ctxsim.policies.agents.settings import CODE, Setting


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An agent with a file of the user's and one of a project's, in this folder."""

    def file(path: str, scope: str) -> Any:
        return SimpleNamespace(
            path=path, scope=scope, format="json", env="", place=lambda project: Path(project or tmp_path, path)
        )  # fmt: skip

    def setting(key: str, **more: Any) -> Setting:
        return Setting(key=key, source="", **more)

    known = SimpleNamespace(
        files=(file("user.json", "user"), file("own/user.json", "user"), file("project.json", "project")),
        settings=(
            setting("limit", file="user.json", env="LIMIT", bounds=(1, 9)),
            setting("mode", file="project.json", type="text"), setting("on", env="ON", type="bool"),
            setting("size", env="SIZE"), setting("keep", file=CODE), setting("deep.ID.limit", file="user.json"),
            setting("of.MODEL.x.ID", file="user.json"), setting("entry", file="user.json", in_list="hooks"),
        ),
    )  # fmt: skip
    monkeypatch.setattr(given, "settings_names", lambda: ["mine"])
    for module in (given, lines):
        monkeypatch.setattr(module, "settings_of", lambda agent: known)
    return tmp_path


def test_a_setting_goes_into_the_first_file_of_its_scope_that_holds_it(folder: Path) -> None:
    (found,) = change("mine", {"limit": 5})
    assert (found.path, found.before, found.after) == (folder / "user.json", None, b'{\n  "limit": 5\n}\n')
    project = folder / "project"
    assert change("mine", {"mode": "x"}, project=project)[0].path == project / "project.json"
    assert change("mine", {"limit": 5}, project=folder)[0].path == folder / "user.json", "no project's file holds it"
    with pytest.raises(CtxsimError, match="mine: no file of a user is known that holds mode"):
        change("mine", {"mode": "x"})
    assert change("mine", {"LIMIT": 5})[0].after == b'{\n  "limit": 5\n}\n', "by the name of its variable"


def test_names_stand_in_the_place_of_id_and_model() -> None:
    assert (
        change("mine", {"deep.my.own.limit": 5})[0].after.split() == b'{ "deep": { "my.own": { "limit": 5 } } }'.split()
    )
    assert change("mine", {"of.gpt-5.x.b": 5})[0].after.split() == b'{ "of": { "gpt-5": { "x": { "b": 5 } } } }'.split()
    with pytest.raises(CtxsimError, match=r"write names in the place of ID and MODEL in deep\.ID\.limit"):
        change("mine", {"deep.ID.limit": 5})


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("limit", 10, "mine: limit: 10 is outside 1 to 9"), ("on", True, "in a file: export ON=true"),
        ("size", 5, "mine: size is a variable of the shell, not in a file: export SIZE=5"),
        ("keep", 5, "mine: keep is an argument in your code; write it there"),
        ("entry", 5, "mine: entry stands in an entry of the list hooks; set it there by hand"),
        ("limits", 5, "mine has no setting 'limits'; did you mean limit?"),
        ("deep.limit", 5, "has no setting 'deep.limit'"), ("deepxyxlimit", 5, "has no setting"),
        ("deep..limit", 5, "mine has no setting 'deep..limit'"),
        ("x", 5, "known are limit, mode, on, size, keep, "),
    ],
)  # fmt: skip
def test_what_can_not_be_written_is_told(key: str, value: Any, said: str) -> None:
    with pytest.raises(CtxsimError) as told:
        change("mine", {key: value})
    assert said in str(told.value)


def test_nothing_is_written_where_nothing_changes_or_nobody_agrees(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Any] = []
    monkeypatch.setattr(applying, "write", lambda wanted: written.append(wanted) or "written")
    assert apply("mine", {"limit": 5}, agreed=lambda wanted: False) == () and not written
    assert apply("mine", {"limit": 5}) == "written" and written == [[*change("mine", {"limit": 5})]]  # type: ignore[comparison-overlap]
    (folder / "user.json").write_bytes(change("mine", {"limit": 5})[0].after)
    assert apply("mine", {"limit": 5}, agreed=lambda wanted: True) == () and len(written) == 1
