"""`check run --again`: a finished run is made once more from what it says, and whatever differs is told."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pandas
import pyarrow.parquet
import pytest
from bench_runs import write
from command_line import ctxsim
from project import ROOT
from samples import ASK, TASK, chat

from ctxsim import bench
from ctxsim.api.trust import check
from ctxsim.errors import InputError
from ctxsim.readers.source import Source
from ctxsim.results import InputInfo, RunInfo
from ctxsim.results.checksums import sealed, sums
from ctxsim.results.run_info import __version__
from ctxsim.runs import rerun
from ctxsim.runs.rerun import SHOWN, _as_in_run, _changed, _changed_inputs, _differences, made_again
from ctxsim.runs.task import Setting

OWN = "from ctxsim.policies.mask import Mask\nclass Mine(Mask): pass\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two logs, and the logs."""
    folder = tmp_path_factory.mktemp("made")
    for name in "ab":
        said = f"zebra_{name}"
        write(folder / "logs", chat(TASK, ASK, ("tool_result", f"{said} " * 90), ("assistant", said)), name)
    labels = ["mask:keep=0", "summary:at=0.001"]
    with contextlib.chdir(folder):
        bench(["logs"], labels, out="run", window=9_000, estimator="chars:ratio=3", head=500)
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in the current folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Path("run")


def told(run: Path, *inputs: str) -> list[str]:
    return list(check("run", run, *inputs, again=True).violations)


def resealed(run: Path, change: Callable[[RunInfo], RunInfo]) -> None:
    """A run that says something else, with checksums that hold."""
    info = change(msgspec.json.decode((run / "run.json").read_bytes(), type=RunInfo))
    (run / "run.json").write_bytes(sealed(msgspec.structs.replace(info, files=sums(run))))


def test_it_is_the_same_to_the_byte(run: Path) -> None:
    assert told(run) == []
    for text in ("redacted", "kept", "none"):
        bench(["logs"], ["mask:keep=0"], out=text, text=text, sample=1, seed=3)  # type: ignore[arg-type]
        assert told(Path(text), *(["logs"] if text == "none" else [])) == []


def test_keys_in_names_of_files_are_redacted_and_names_stay_apart(run: Path) -> None:
    keys = ["sk-ant-api03-" + "aB3dE6gH9jK2mN5p" * 5 + end for end in ("AA", "BB")]
    for key, log in zip(keys, "ab", strict=True):
        Path("logs", f"{log}.jsonl").rename(Path("logs", f"{key}.jsonl"))
    for text, found in (("redacted", False), ("kept", True)):
        made = bench(["logs"], ["mask:keep=0"], out=text, text=text)  # type: ignore[arg-type]
        said = "".join(file.read_text("utf-8", "replace") for file in Path(text).iterdir())
        assert all((key in said) is found for key in keys) and made.transcripts == 2
        assert told(Path(text)) == []
    made = bench([Path("logs", f"{keys[0]}.jsonl")], ["mask:keep=0"], out="one")
    assert keys[0] not in Path("one/run.json").read_text() and "[redacted: Anthropic key]" in made.info.title


def test_a_scenario_needs_no_file(run: Path) -> None:
    bench("documented-53k", ["mask:keep=2"], out="made")
    assert told(Path("made")) == []


def test_it_has_the_prices_of_its_own_day(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paid = []
    for day in (date(2026, 11, 27), date(2027, 2, 1)):
        monkeypatch.setattr("ctxsim.runs.conduct.date", SimpleNamespace(today=lambda day=day: day))
        made = bench(["logs"], ["mask:keep=0"], out=f"{day}", model="gemini-3.8-flash")
        assert made.info.providers[0]["prices"]["on"] == str(day)
        paid.append(made.summary.cost_usd.sum())
    # From 2027-01-01 on it costs twice as much.
    assert paid[1] == pytest.approx(2 * paid[0]) and told(Path("2026-11-27")) == []


def test_a_column_that_differs_is_named(run: Path) -> None:
    table = pyarrow.parquet.read_table(run / "calls.parquet")
    values = table["tokens_sent"].to_pylist()
    values[1] += 7
    place = table.schema.get_field_index("tokens_sent")
    pyarrow.parquet.write_table(table.set_column(place, table.schema.field(place), [values]), run / "calls.parquet")
    resealed(run, lambda info: info)
    (line,) = (one for one in told(run) if "made again" in one)
    assert line == "table calls: when made again, other values in tokens_sent"


def test_inputs_that_are_missing_new_or_changed_are_named(run: Path) -> None:
    shutil.copy("logs/a.jsonl", "logs/c.jsonl")
    Path("logs/a.jsonl").unlink()
    with Path("logs/b.jsonl").open("a") as log:
        log.write("\n")
    assert told(run) == [
        "1 input missing: logs/a.jsonl", "1 input changed: logs/b.jsonl", "1 input new: logs/c.jsonl",
    ]  # fmt: skip
    shutil.rmtree("logs")
    assert told(run)[0].startswith("an input is missing: logs")


@pytest.mark.parametrize("text", ["redacted", "none"])
def test_recordings_that_have_moved_are_known_by_what_they_hold(text: str, run: Path) -> None:
    chat = (ROOT / "tests" / "found" / "chat.jsonl").read_text()
    for name in "cd":
        Path("logs", f"{name}.jsonl").write_text(chat + "\n" * (name == "d"))
    bench([Path("logs").absolute()], ["mask:keep=0"], out="moved", text=text)  # type: ignore[arg-type]
    Path("elsewhere").mkdir()
    for name, to in zip("abcd", "zyxw", strict=True):
        Path("logs", f"{name}.jsonl").rename(Path("elsewhere", f"{to}.jsonl"))
    assert told(Path("moved"), "elsewhere") == []
    Path("elsewhere/x.jsonl").unlink()
    (line,) = told(Path("moved"), "elsewhere")
    assert line.startswith("1 input missing: ") and line.endswith("source 3" if text == "none" else "logs/c.jsonl")


def test_code_that_a_run_names_asks_for_trust_and_is_the_same(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path.cwd() / "config"))
    Path("mine.py").write_text(OWN)
    bench(["logs"], ["mine.py:Mine:keep=0"], out="own")
    done = ctxsim("check", "run", "own", "--again", cwd=Path.cwd())
    assert done.returncode == 1 and "mine.py:Mine:keep=0' would run code" in done.stderr
    assert ctxsim("trust", "own/run.json", cwd=Path.cwd()).returncode == 0
    assert ctxsim("check", "run", "own", "--again", cwd=Path.cwd()).stdout == "own: keeps the contract\n"
    Path("mine.py").write_text(OWN + "# changed\n")
    assert "a policy or estimator file has changed since" in told(Path("own"))


def test_options_of_another_kind_are_refused(run: Path) -> None:
    for words in (("policy", "fifo", "--again"), ("run", "run", "--inputs", "logs")):
        done = ctxsim("check", *words, cwd=Path.cwd())
        assert done.returncode == 2 and "--again is for runs" in done.stderr


@pytest.mark.parametrize("field", ["code", "share", "strange"])
def test_a_setting_says_nothing_that_is_for_workers_alone(field: str, run: Path) -> None:
    """`code` holds pickled classes, and packages that are written to files."""
    resealed(run, lambda info: msgspec.structs.replace(info, setting={**(info.setting or {}), field: {}}))
    with pytest.raises(InputError, match=rf"doesn't say how it was made: .*unknown field `{field}`"):
        told(run)


def test_files_that_a_run_names_ask_for_trust(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path.cwd() / "config"))
    bench("one-prompt", ["keep-all"], out="made")
    made = msgspec.json.decode((Path("made") / "run.json").read_bytes(), type=RunInfo)
    model = {"id": "m", "vendor": "/abs/v.toml"}
    for change in (
        {"tokenizers": {"hf:/abs": ""}}, {"setting": {**(made.setting or {}), "overrides": {"cache": "/abs/v.toml"}}},
        {"setting": {**(made.setting or {}), "models": [model]}},
        {"scenario": {**(made.scenario or {}), "provider": {"vendor": "/abs/v.toml"}}},
    ):  # fmt: skip
        resealed(Path("made"), lambda info, change=change: msgspec.structs.replace(info, **change))  # type: ignore[misc]
        with pytest.raises(InputError, match=r"'/abs(/v\.toml)?' would"):
            told(Path("made"))
        (Path("made") / "run.json").write_bytes(sealed(made))


def test_a_model_without_a_vendor_is_read_back(run: Path) -> None:
    model = {"id": "m", "vendor": None, "window": 9_000, "prices": None, "effective": None, "source": ""}
    resealed(run, lambda info: msgspec.structs.replace(info, setting={**(info.setting or {}), "models": [model]}))
    assert told(run) == []


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


def test_only_tables_with_other_bytes_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"calls.csv": "1", "calls.parquet": "2", "events.parquet": "3", "needs.csv": "4", "summary.csv": "5"}
    rows = {"x": [None, 1.0], "y": ["u", "v"]}
    was = {name: pandas.DataFrame(rows) for name in ("calls", "draws", "needs")}
    made = {
        "calls": was["calls"], "draws": pandas.DataFrame(rows | {"y": ["u", "w"]}),
        "needs": pandas.DataFrame({"x": [None], "y": ["u"]}),
    }  # fmt: skip
    held = SimpleNamespace(info=SimpleNamespace(files=files), table=was.get)
    fresh = files | {"calls.parquet": "x", "draws.csv": "y", "needs.csv": "z"}
    now = SimpleNamespace(folder=fresh, table=made.get)
    monkeypatch.setattr(rerun, "sums", lambda folder: folder)
    assert list(_differences(held, now)) == [  # type: ignore[arg-type]
        "table calls: the same values in other bytes: another version of pyarrow wrote them",
        "table needs: 2 rows, but 1 when made again", "table draws: when made again, other values in y",
    ]  # fmt: skip


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
