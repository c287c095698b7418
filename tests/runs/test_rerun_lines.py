"""What differs between a run and the same run made again, a line each."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pandas
import pytest

from ctxsim.errors import InputError
from ctxsim.readers.source import Source
from ctxsim.results import InputInfo
from ctxsim.results.run_info import __version__
from ctxsim.runs import rerun
from ctxsim.runs.rerun import SHOWN, _as_in_run, _changed, _changed_inputs, _differences, _first_difference, made_again
from ctxsim.runs.task import Setting


def info(name: str, sha256: str) -> InputInfo:
    return InputInfo(name, sha256, 1, 1)


def test_recordings_are_missing_changed_or_new() -> None:
    inputs = [info(name, f"h{name}") for name in "abcdefgh"]
    here = {"a": "ha", "b": "x", "z": "hz", "y": "hy"}
    assert list(_changed_inputs(inputs, here)) == [
        "6 inputs missing: c, d, e and 3 more", "1 input changed: b", "2 inputs new: y, z"
    ]  # fmt: skip
    assert list(_changed_inputs(inputs[:3], {})) == ["3 inputs missing: a, b, c"] and SHOWN == 3
    assert list(_changed_inputs(inputs[:4], {})) == ["4 inputs missing: a, b, c and 1 more"]
    assert list(_changed_inputs(inputs[:1], {"a": "ha"})) == []


def run(**tables: dict[str, list[Any]]) -> Any:
    return SimpleNamespace(table=lambda name: pandas.DataFrame(tables[name]))


def test_the_first_value_that_differs_is_named_with_its_place() -> None:
    was = {"transcript": ["a", "b"], "call": [1, 2], "x": [None, 1.0], "y": ["u", "v"]}
    assert _first_difference(run(t=was), run(t=was), "t") == (
        "t: the same values in other bytes: another version of pyarrow wrote them"
    )
    assert _first_difference(run(t=was), run(t=was | {"y": ["u", "w"]}), "t") == "t.y, row 2 (b, 2): v, made again w"
    assert (
        _first_difference(run(t=was), run(t=was | {"x": [2.0, 1.0]}), "t") == "t.x, row 1 (a, 1): nan, made again 2.0"
    )
    assert _first_difference(run(t=was), run(t={key: value[:1] for key, value in was.items()}), "t") == (
        "t: 2 rows, made again 1"
    )
    bare: dict[str, list[Any]] = {"x": list(range(1_500))}
    assert _first_difference(run(t=bare), run(t={"x": [*range(1_499), 0]}), "t") == "t.x, row 1,500: 1499, made again 0"


def test_only_tables_with_other_bytes_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"calls.csv": "1", "calls.parquet": "2", "events.parquet": "3", "summary.csv": "4"}
    held = SimpleNamespace(info=SimpleNamespace(files=files))
    now = SimpleNamespace(folder=files | {"calls.parquet": "x", "draws.csv": "y"})
    monkeypatch.setattr(rerun, "sums", lambda folder: folder)
    monkeypatch.setattr(rerun, "_first_difference", lambda run, now, name: name)
    assert list(_differences(held, now)) == ["calls", "draws"]  # type: ignore[arg-type]


def test_recordings_that_moved_stand_where_they_stood() -> None:
    inputs = [info("one", "a"), info("two", "b"), info("three", "b"), info("four", "d")]
    found = [(name, name[-1], Source(name, None)) for name in ("x/d", "x/b", "y/b", "z/e", "w/a", "v/b")]
    named = _as_in_run(inputs, found, True)
    assert [name for name, *_ in named] == ["one", "two", "three", "four", "z/e", "v/b"]
    assert all(one.name == name for name, _, one in named) and "".join(sha256 for _, sha256, _ in named) == "abbdeb"
    found = [(name, name[-1], Source(name, None)) for name in ("x/b", "w/a")]
    assert [(name, one.name) for name, _, one in _as_in_run(inputs, found, False)] == [("one", "w/a"), ("two", "x/b")]


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source's hash is the letter behind its name."""
    monkeypatch.setattr(rerun, "source_sha256", lambda source: source.name[-1:])


def described(**fields: Any) -> Any:
    plain: dict[str, Any] = {
        "ctxsim": __version__, "tokenizers": {}, "others_code": msgspec.UNSET, "inputs": (info("a/x", "x"),),
        "scenario": None, "files": {"a": "b"}, "setting": {}, "complete": True,
    }  # fmt: skip
    return SimpleNamespace(**(plain | fields))


SETTING = Setting("a", "a", ("keep-all",), paths=("logs",))


def changes(info: Any, setting: Setting = SETTING, moved: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    found: list[Source] = []
    return list(_changed(info, setting, None, moved, found)), [one.name for one in found]


def test_what_a_run_was_made_with_is_looked_for_here(hashes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerun, "sources", lambda *paths: [Source(f"{path}/x", None) for path in paths])
    monkeypatch.setattr(rerun, "open_tokenizer", lambda name: SimpleNamespace(vocabulary_sha256=f"v{name}"))
    monkeypatch.setattr(rerun, "others_code", lambda specs: "code")
    here = described(inputs=(info("logs/x", "x"),))
    assert changes(here) == ([], ["logs/x"])
    assert changes(described(), moved=("there",)) == ([], ["a/x"]), "known by what it holds"
    assert changes(described(ctxsim="0")) == ([f"was made by ctxsim 0, this is {__version__}: install that one"], [])
    known = {"tokenizers": {"a": "va", "b": "other"}, "others_code": "code", "inputs": here.inputs}
    assert changes(described(**known))[0] == ["b has another vocabulary here"]
    assert changes(described(**known | {"others_code": "other", "tokenizers": {}}))[0] == [
        "a policy or estimator file has changed since"
    ]  # fmt: skip
    bare = msgspec.structs.replace(SETTING, paths=msgspec.UNSET)
    assert changes(here, bare)[0] == [
        "a run without text keeps no names of its recordings: say where they are by --inputs"
    ]
    assert changes(here, bare, ("logs",))[0] == []

    def missing(*paths: str) -> Any:
        raise InputError("logs", "does not exist")

    monkeypatch.setattr(rerun, "sources", missing)
    assert changes(here) == (["an input is missing: logs: does not exist"], [])


@pytest.mark.parametrize(
    ("fields", "said"),
    [({"complete": False}, "was stopped: bench --resume goes on"),
     ({"files": {}}, "is of a version that didn't keep how"),
     ({"setting": msgspec.UNSET}, "is of a version that didn't keep how"),
     ({"setting": {"name": 7}}, "doesn't say how it was made: ")],
)  # fmt: skip
def test_a_run_that_does_not_say_how_it_was_made_is_refused(fields: dict[str, Any], said: str, tmp_path: Path) -> None:
    held: Any = SimpleNamespace(folder=tmp_path, info=described(**fields))
    with pytest.raises(InputError, match=said):
        list(made_again(held))
