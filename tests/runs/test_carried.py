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
from ctxsim.runs.parts import read_part, read_sizes
from ctxsim.runs.rows import Done, Rows, Sizes
from ctxsim.runs.sent_to_workers import KINDS, Carried, Job, Shared, carried, job, part, shared
from ctxsim.runs.sizes import source_sizes
from ctxsim.runs.task import Setting, names_beside, scenario_rows, source_rows
from ctxsim.synthesis import load_scenario

PLAIN = Setting("a", "a", ("keep-all",))


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
    drawn = msgspec.structs.replace(PLAIN, drawn=(1,))
    tasks: list[Any] = [(source_rows, (one, drawn)) for one in sources("logs/a.jsonl")]
    tasks += [(scenario_rows, (load_scenario("one-prompt"), PLAIN)), (source_rows, (Source("-", None), PLAIN))]
    found = msgspec.msgpack.decode(shared(tasks), type=Shared)
    assert (found.code, found.setting) == (own_code(), PLAIN)
    assert found.names == tuple(
        os.fsencode(one) for one in (logs.parent / "d.jsonl", logs / "a.jsonl", logs / "b.json")
    )


def test_a_job_is_a_kind_and_what_it_is_of(logs: Path) -> None:
    (source,) = sources("logs")
    drawn = msgspec.structs.replace(PLAIN, drawn=(1, 3))
    for task, expected in (
        ((source_rows, (source, drawn)), Job("source", carried(source), drawn=(1, 3))),
        ((source_sizes, (source, PLAIN)), Job("sizes", carried(source))),
    ):
        assert msgspec.msgpack.decode(job(task), type=Job) == expected
    scenario = load_scenario("one-prompt")
    found = msgspec.msgpack.decode(job((scenario_rows, (scenario, PLAIN))), type=Job)
    assert (found.kind, found.source, found.drawn) == ("scenario", None, msgspec.UNSET)
    assert found.scenario is not None and found.scenario.synthesis == scenario.synthesis
    assert list(KINDS) == ["source", "sizes", "scenario"]


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
    task = (source_rows, (next(iter(sources("logs"))), PLAIN))
    asked, common = job(task), shared([task])
    heard: list[Any] = []

    def rows_of(source: Source, setting: Setting) -> Any:
        heard.append((source, setting))
        return source_rows(source, setting)

    monkeypatch.setitem(KINDS, "source", rows_of)
    here = logs.parent / "was"
    (expected,) = [one for one in source_rows(next(iter(sources("logs"))), PLAIN) if isinstance(one, Done)]
    logs.rename(here)
    monkeypatch.chdir(tmp_path)
    rows, last = done(asked, common, tmp_path)
    assert isinstance(rows, Rows) and last == expected and worker == ["ended"]
    place = Path(str(heard[0][0].path))
    assert place.read_bytes() == b"" and (place.parent / "b.json").read_bytes() == b"", "as empty as its neighbours"
    assert str(place).endswith(str(logs / "a.jsonl")) and heard[0][1] == PLAIN
    done(asked, common, tmp_path)
    assert Path(str(heard[1][0].path)) == place and len(worker) == 2, "the same place for the same bench"
    done(asked, common.replace(b"keep-all", b"drop-all"), tmp_path)
    assert Path(str(heard[2][0].path)) != place


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
    scenario = (scenario_rows, (load_scenario("documented-53k"), PLAIN))
    rows, last = done(job(scenario), shared([scenario]), tmp_path)
    assert isinstance(rows, Rows) and rows.transcript == "documented-53k" and last.info.name == "a"
    sizes = (source_sizes, (next(iter(sources("logs"))), PLAIN))
    (tmp_path / "part").write_bytes(part(job(sizes), shared([sizes])))
    found, _ = read_sizes(tmp_path / "part")
    assert isinstance(found, Sizes) and found.calls == 2
    other = msgspec.msgpack.encode(Shared("ctxsim 0", PLAIN, ()))
    with pytest.raises(CtxsimError, match="numbers of two versions would mix"):
        part(job(sizes), other)
    assert len(worker) == 2
