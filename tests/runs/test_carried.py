"""What goes to a worker of a source, and where it puts that."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench_runs import write
from samples import conversation

from ctxsim.errors import CtxsimError, InputError, NotATranscript
from ctxsim.readers import sources
from ctxsim.readers.source import Source
from ctxsim.readers.source.placed import Copies, Placed
from ctxsim.runs import sent_to_workers as room
from ctxsim.runs.identity import own_code
from ctxsim.runs.parts import read_part
from ctxsim.runs.rows import Done, Rows
from ctxsim.runs.sent_to_workers import Carried, Job, Shared, carried, job, part, shared
from ctxsim.runs.task import Common, Setting, Task, names_beside, results_of
from ctxsim.synthesis import load_scenario

PLAIN = Common(Setting("a", "a", ("keep-all",)), accepted={"m in p": (9, 1)})


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "up").mkdir()
    write(tmp_path / "up" / "logs", conversation("one"), "a")
    monkeypatch.chdir(tmp_path / "up")
    return tmp_path / "up" / "logs"


def test_a_source_is_its_files_and_what_no_label_shows_of_its_path(logs: Path) -> None:
    file = logs / "a.jsonl"
    data = {os.fsencode(file): file.read_bytes()}
    (relative,) = sources("logs")
    assert carried(relative) == Carried(
        "logs/a.jsonl", False, path=os.fsencode(file), files=data, hidden=f"{logs.parent}/",
        beside=names_beside(relative),
    )  # fmt: skip
    (whole,) = sources(str(file))
    assert carried(whole) == Carried(
        str(file), True, path=os.fsencode(file), files=data, beside=names_beside(whole)
    )  # fmt: skip
    placed = Placed("shown/a.jsonl", str(logs), "shown", Copies(), path=file)
    assert (carried(placed).hidden, carried(placed).shown) == (str(logs), "shown")
    stream = Source("-", None, b"data")
    assert carried(stream) == Carried("-", False, data=b"data")
    whole.column, whole.reader = "c", "r"
    assert (carried(whole).column, carried(whole).reader) == ("c", "r")
    for name in ("large.bin", "large.jsonl"):
        folder = carried(Source("logs", logs))
        assert folder.files == data and folder.data is None
        with (logs / name).open("wb") as large:
            large.truncate(1 << 43)
    assert carried(Source("logs", logs)).refused == ("logs", "is too large to be sent", False)
    (logs / "large.jsonl").unlink()
    folder = carried(Source("logs", logs))
    assert folder.files == data and folder.data is None


def test_what_all_tasks_share_is_code_setting_and_names_in_both_folders(logs: Path) -> None:
    (logs / "b.json").write_text("")
    (logs / "c.txt").write_text("")
    (logs / "sub.json").mkdir()
    (logs.parent / "d.jsonl").write_text("")
    (logs.parent.parent / "e.jsonl").write_text("")
    (source,) = sources("logs/a.jsonl")
    tasks = [Task(what, PLAIN) for what in (source, load_scenario("one-prompt"), Source("-", None))]
    found = msgspec.msgpack.decode(shared(tasks), type=Shared)
    assert (found.code, found.common) == (own_code(), PLAIN)
    assert found.names == tuple(
        os.fsencode(one) for one in (logs.parent / "d.jsonl", logs / "a.jsonl", logs / "b.json")
    )


def test_a_job_is_what_it_is_of_and_what_is_wanted(logs: Path) -> None:
    (source,) = sources("logs")
    for task, expected in (
        (Task(source, PLAIN, drawn=(1, 3)), Job(carried(source), None, (1, 3), False)),
        (Task(source, PLAIN, sizing=True), Job(carried(source), None, None, True)),
    ):
        assert msgspec.msgpack.decode(job(task), type=Job) == expected
    scenario = load_scenario("one-prompt")
    found = msgspec.msgpack.decode(job(Task(scenario, PLAIN)), type=Job)
    assert found.source is None and found.scenario is not None and found.scenario.synthesis == scenario.synthesis


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """As in a process that was told nothing yet; what it ends."""
    ended: list[str] = []
    monkeypatch.setattr(room, "_last", None)
    monkeypatch.setattr(room, "end_apart", lambda: ended.append("ended"))
    return ended


def done(asked: bytes, common: bytes, folder: Path) -> list[Any]:
    (folder / "part").write_bytes(part(asked, common))
    return list(read_part(folder / "part"))


def test_a_worker_gives_the_part_and_keeps_empty_files(
    logs: Path, worker: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (logs / "b.json").write_text("{}")
    task = Task(next(iter(sources("logs"))), PLAIN, drawn=(0,))
    asked, common = job(task), shared([task])
    heard: list[Any] = []
    monkeypatch.setattr(room, "results_of", lambda task: heard.append(task) or results_of(task))
    here = logs.parent / "was"
    (expected,) = [one for one in results_of(task) if isinstance(one, Done)]
    logs.rename(here)
    monkeypatch.chdir(tmp_path)
    rows, last = done(asked, common, tmp_path)
    assert isinstance(rows, Rows) and last == expected and worker == ["ended"]
    place = Path(str(heard[0].what.path))
    assert place.read_bytes() == b"" and (place.parent / "b.json").read_bytes() == b"", "as empty as its neighbours"
    assert str(place).endswith(str(logs / "a.jsonl")) and (heard[0].common, heard[0].drawn) == (PLAIN, (0,))
    done(asked, common, tmp_path)
    assert Path(str(heard[1].what.path)) == place and len(worker) == 2, "the same place for the same bench"
    done(asked, common.replace(b"keep-all", b"drop-all"), tmp_path)
    assert Path(str(heard[2].what.path)) != place


def test_what_lies_beside_a_source_goes_again(logs: Path, worker: list[str], tmp_path: Path) -> None:
    one = carried(next(iter(sources("logs"))))
    extra = msgspec.structs.replace(one, files=one.files | {os.fsencode(logs / "a.jsonl-wal"): b"more"})
    place = room._Place(Shared(own_code(), PLAIN, ()))
    with place.put(extra) as source:
        assert source.path is not None and (source.path.parent / "a.jsonl-wal").read_bytes() == b"more"
        assert (source.name, source.named, source.beside) == (one.name, False, one.beside)
    assert source.path.read_bytes() == b"" and not (source.path.parent / "a.jsonl-wal").exists()
    folder = Carried("logs", True, path=os.fsencode(logs), files=one.files)
    with place.put(folder) as source:
        assert source.path is not None and source.path.is_dir() and source.named
    assert not source.path.exists()
    for refused, kind in ((("w", "x", True), NotATranscript), (("w", "x", False), InputError)):
        with place.put(Carried("x", False, column="c", reader="r", refused=refused)) as source:
            assert type(source.refused) is kind and str(source.refused) == "w: x" and source.path is None
            assert (source.column, source.reader) == ("c", "r")


def test_scenarios_sizes_and_other_code(worker: list[str], logs: Path, tmp_path: Path) -> None:
    scenario = Task(load_scenario("documented-53k"), PLAIN)
    rows, last = done(job(scenario), shared([scenario]), tmp_path)
    assert isinstance(rows, Rows) and rows.transcript == last.info.name == "documented-53k"
    sizes = Task(next(iter(sources("logs"))), PLAIN, sizing=True)
    (found,) = done(job(sizes), shared([sizes]), tmp_path)
    assert len(found.sizes) == 1 and found.info.calls == 2
    other = msgspec.msgpack.encode(Shared("ctxsim 0", PLAIN, ()))
    with pytest.raises(CtxsimError, match="numbers of two versions would mix"):
        part(job(sizes), other)
    assert len(worker) == 2
