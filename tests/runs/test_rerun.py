"""`check run --again`: a finished run is made once more from what it says, and whatever differs is told."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow.parquet
import pytest
from bench_runs import write
from command_line import ctxsim
from project import ROOT
from samples import ASK, TASK, chat

from ctxsim import bench
from ctxsim.api.trust import check
from ctxsim.errors import InputError
from ctxsim.results import RunInfo
from ctxsim.results.checksums import sealed, sums

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


def test_the_first_column_that_differs_is_named(run: Path) -> None:
    table = pyarrow.parquet.read_table(run / "calls.parquet")
    values = table["tokens_sent"].to_pylist()
    values[1] += 7
    place = table.schema.get_field_index("tokens_sent")
    pyarrow.parquet.write_table(table.set_column(place, table.schema.field(place), [values]), run / "calls.parquet")
    resealed(run, lambda info: info)
    (line,) = (one for one in told(run) if "made again" in one)
    assert (
        line
        == f"calls.tokens_sent, row 2 (a, keep-all:estimator=chars:ratio=3, 2): {values[1]}, made again {values[1] - 7}"
    )


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
