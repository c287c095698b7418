"""One task: what is handed on of each transcript, and of its source."""

from __future__ import annotations

import gzip
import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench_runs import write
from samples import ASK, TASK, chat, conversation

from ctxsim.errors import InputError
from ctxsim.readers import sources
from ctxsim.readers.source import Source
from ctxsim.readers.source.placed import Copies, Placed
from ctxsim.results import InputInfo
from ctxsim.runs import task as room
from ctxsim.runs.anonymous import Numbers, info_without_secrets, info_without_text
from ctxsim.runs.rows import Done, Rows, Share
from ctxsim.runs.task import (
    Common,
    Setting,
    Task,
    content_of,
    lost,
    names_beside,
    results_of,
    source_sha256,
    specs_of,
    what_if_of,
)
from ctxsim.runs.transcript_rows import rows_of
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.measure.summary import WhatIf
from ctxsim.simulator.provider import Provider
from ctxsim.synthesis import load_scenario, synthesize

SECRET = "sk-ant-api03-" + "aB3dE6gH9jK2mN5p" * 5 + "AA"
PLAIN = Setting("a", "a", ("keep-all",))


def sent(*names: str, **fields: Any) -> Iterator[AsSent]:
    for name in names:
        made = msgspec.structs.replace(conversation("one", name=name), **fields)
        yield AsSent(made if name != "empty" else msgspec.structs.replace(made, calls=(), items=()), Provider())


@pytest.fixture
def of(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a task gives of a source that holds these transcripts; `bad` and `half` fail."""

    def made(one: AsSent, specs: Any, failed: list[str], *more: Any) -> Rows:
        if one.transcript.name == "bad":
            raise KeyError("no")
        if one.transcript.name == "half":
            failed.append("half: mask: no")
        return rows_of(one, specs, failed)

    def results(found: Iterable[AsSent], setting: Setting = PLAIN, **wanted: Any) -> tuple[list[Rows], Done]:
        def of_source(source: Source, common: Common, notes: list[str]) -> Iterator[AsSent]:
            notes.append("m")
            yield from found

        monkeypatch.setattr(room, "_of_source", of_source)
        monkeypatch.setattr(room, "rows_of", made)
        *rows, last = room.results_of(Task(Source("s", None, b""), Common(setting), **wanted))
        assert all(isinstance(one, Rows) for one in rows) and isinstance(last, Done)
        return rows, last  # type: ignore[return-value]

    return results


def test_each_transcript_is_counted_and_those_with_calls_are_numbered(of: Any) -> None:
    rows, last = of(sent("a", "empty", "bad", "half", "b", notes=("n",)))
    assert [(one.transcript, one.number) for one in rows] == [("a", 0), ("half", 2), ("b", 3)]
    info = last.info
    assert (info.name, info.transcripts, info.calls, info.error) == ("s", 5, 8, None)
    assert (info.sha256, last.beside, last.sizes) == (hashlib.sha256(b"").hexdigest(), "", ())
    named = ("a: n", "empty: left out: no call to replay", "empty: n", "bad: n", "half: n", "b: n")
    assert info.notes == ("m", *named)
    assert len(info.failures) == 2 and info.failures[0].startswith("bad: KeyError: 'no' (")
    assert info.failures[1] == "half: mask: no" and info.keys is msgspec.UNSET


def test_what_is_not_drawn_has_no_rows_but_counts(of: Any) -> None:
    rows, last = of(sent("empty", "a", "b", "c"), drawn=(1,))
    assert [(one.transcript, one.number) for one in rows] == [("b", 1)]
    assert (last.info.transcripts, last.info.calls) == (4, 6)


def test_a_source_that_breaks_off_keeps_what_was_done(of: Any) -> None:
    def broken() -> Iterator[AsSent]:
        yield from sent("a")
        raise InputError("f", "is cut")

    rows, last = of(broken())
    assert len(rows) == 1
    assert (last.info.error, last.info.transcripts, last.info.failures) == ("f: is cut", 1, ())


@pytest.mark.parametrize(
    ("fields", "kept", "keys"),
    [({}, False, {"Anthropic": 1}), ({"keep_secrets": True}, True, {"Anthropic": 1}), ({"text": False}, False, None)],
)
def test_likely_keys_are_counted_and_redacted_unless_all_is_kept(
    fields: dict[str, Any], kept: bool, keys: dict[str, int] | None, of: Any
) -> None:
    setting = msgspec.structs.replace(PLAIN, **fields)
    talk = chat(TASK, ASK, ("tool_result", f"the key is {SECRET} here"), ("assistant", "ok"))
    (rows,), last = of([AsSent(talk, Provider())], setting)
    assert (SECRET in str(rows.tables["items"].to_pylist())) is kept
    assert (last.info.keys or None) == keys and (rows.transcript == "chat") is (keys is not None)


def test_what_is_handed_on_of_a_source_has_no_more_than_is_asked_for() -> None:
    info = InputInfo("n", "h", 1, 2, (f"note {SECRET}",), f"error {SECRET}", (f"failed {SECRET}",))
    assert room._handed_on(info, msgspec.structs.replace(PLAIN, keep_secrets=True)) == info
    usual = room._handed_on(info, PLAIN)
    assert usual == info_without_secrets(info) and SECRET not in str(usual) and "note" in str(usual)
    silent = room._handed_on(info, msgspec.structs.replace(PLAIN, text=False))
    assert silent == info_without_text(info) and SECRET not in str(silent)
    plain = InputInfo("n", "h", 1, 2)
    assert info_without_secrets(plain) == plain


def test_without_text_there_are_numbers_in_the_place_of_words() -> None:
    hashed = hashlib.sha256(b"n").hexdigest()
    info = InputInfo("n", "h", 1, 2, ("x", "y"), "broken", ("p", "q"))
    assert info_without_text(info) == InputInfo(
        hashed, "h", 1, 2, ("2 note(s): --text none keeps none, `ctxsim transcripts check` shows them",),
        "a source can't be read: --text none keeps no reason, `ctxsim transcripts check` tells it",
        ("a transcript or policy that failed: --text none keeps no reason",) * 2,
    )  # fmt: skip
    assert info_without_text(InputInfo("n", "h", 1, 2)) == InputInfo(hashed, "h", 1, 2)
    numbers = Numbers()
    assert [numbers.info(info).name for _ in range(2)] == ["source 1", "source 2"]


def test_transcripts_are_numbered_in_the_order_in_which_they_come(of: Any) -> None:
    numbers = Numbers()
    (rows,), _ = of(sent("a"))
    for name, parent, expected in (("x", None, ("transcript 1", None)), ("y", "z", ("transcript 2", "transcript 3")),
                                   ("z", "x", ("transcript 3", "transcript 1"))):  # fmt: skip
        found = numbers.rows(msgspec.structs.replace(rows, transcript=name, parent=parent))
        assert (found.transcript, found.parent) == expected
        assert set(found.tables["calls"].column("transcript").to_pylist()) == {expected[0]}


def test_a_scenario_is_a_source_of_one_transcript() -> None:
    scenario = load_scenario("documented-53k")
    common = Common(msgspec.structs.replace(PLAIN, policies=("keep-all", "drop-all")))
    rows, last = results_of(Task(scenario, common, Share(1, 2)))
    assert isinstance(rows, Rows) and isinstance(last, Done)
    assert [one["policy"] for one in rows.summaries] == ["drop-all"] and rows.provider.rate_limit is not None
    digest = content_of(scenario)
    assert last == Done(InputInfo("documented-53k", digest, 1, 7))
    assert digest == hashlib.sha256(msgspec.json.encode(synthesize(scenario))).hexdigest()


def test_a_source_is_told_who_follows(tmp_path: Path) -> None:
    write(tmp_path / "logs", conversation("one"), "a")
    (source,) = sources(str(tmp_path / "logs"))
    heard: list[Any] = []
    rows, last = results_of(Task(source, Common(PLAIN)), lambda *one: heard.append(one))
    assert isinstance(rows, Rows) and rows.transcript == "a"
    assert isinstance(last, Done) and last == Done(
        InputInfo(source.name, source_sha256(source), 1, 2), names_beside(source)
    )  # fmt: skip
    assert heard and {name for name, *_ in heard} == {source.name}


def test_a_stranger_is_left_out_and_an_error_where_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"name": "x"}')
    for named in (True, False):
        (source,) = sources(str(tmp_path / "x.json" if named else tmp_path))
        (last,) = results_of(Task(source, Common(PLAIN)))
        assert isinstance(last, Done) and last.info.transcripts == 0
        said = "x.json: left out: is no transcript format"
        assert (last.info.error is not None) is named and any(said in note for note in last.info.notes) is not named


def test_a_transcript_without_a_call_is_left_out_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    (source,) = sources(str(tmp_path))
    (last,) = results_of(Task(source, Common(PLAIN)))
    assert isinstance(last, Done) and (last.info.transcripts, last.info.calls) == (1, 0)
    said = ("left out: no call to replay", "no response of the model is recorded")
    assert last.info.notes == tuple(f"{source.name}: {note}" for note in said)


def test_each_share_knows_the_agent_as_set_among_all_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "logs", conversation("one"), "a")
    (source,) = sources(str(tmp_path / "logs"))
    heard: list[Any] = []
    monkeypatch.setattr(room, "rows_of", lambda one, specs, *more: heard.append((len(specs), more[-1])))
    common = Common(msgspec.structs.replace(PLAIN, policies=("keep-all", "as-set", "mask", "drop-all")))
    for number in (0, 1):
        list(results_of(Task(source, common, Share(number, 2))))
    assert heard == [(2, "as-set")] * 2


def test_requests_that_other_sources_show_go_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "logs", conversation("one"), "a")
    (source,) = sources(str(tmp_path / "logs"))
    heard: list[Any] = []
    monkeypatch.setattr(room, "as_sent", lambda *asked, **more: heard.append(asked[-1]) or ())
    for shown in ({"m in p": (9, 1)}, {}):
        assert len(list(results_of(Task(source, Common(PLAIN, accepted=shown))))) == 1
    assert heard == [{"m in p": (9, 1)}, None]


def test_a_source_whose_worker_died_is_said_to_be_lost(tmp_path: Path) -> None:
    found = lost(Task(Source("a.json", tmp_path), Common(PLAIN)))
    assert (found.info.name, found.info.transcripts, found.info.calls, found.beside) == ("a.json", 0, 0, "")
    assert found.info.error is not None and found.info.error.startswith(
        "a.json: the process that replayed it was killed;"
    )


def test_names_beside_are_of_its_folder_and_the_one_above(tmp_path: Path) -> None:
    folder = tmp_path / "up" / "in"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text("{}")
    source = Source("a", folder / "a.json")
    found = [names_beside(source)]
    for other in (folder / "b.jsonl", folder.parent / "c.json", tmp_path / "d.json", folder / "e.txt"):
        other.write_text("")
        found.append(names_beside(source))
    # What lies further up, and what is no transcript, is nothing to it.
    assert len(set(found)) == 3 and found[2] == found[3] == found[4] and found[0] != found[1] != found[2]
    assert content_of(source) == source_sha256(source) + found[2]
    assert names_beside(Source("x", None)) == names_beside(Source("x", folder)) == ""
    placed = Placed("a", str(tmp_path), "", Copies(), path=folder / "a.json")
    placed.beside = "said"
    assert names_beside(placed) == "said"


def test_a_hash_is_of_what_a_source_holds(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    assert source_sha256(Source("a", tmp_path / "a")) == hashlib.sha256(b"one").hexdigest()
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "b").write_bytes(b"two")
    (tmp_path / "in" / "deep" / "a").write_bytes(b"three")
    assert source_sha256(Source("in", tmp_path / "in")) == hashlib.sha256(b"twothree").hexdigest()
    with (tmp_path / "in" / "large.bin").open("wb") as file:
        # More than a reader takes, and more than memory holds.
        file.truncate(1 << 43)
    assert source_sha256(Source("in", tmp_path / "in")) == hashlib.sha256(b"twothree").hexdigest()
    assert source_sha256(Source("none", tmp_path / "none")) == ""
    for damaged in (b"\xff", b""):
        (tmp_path / "a.gz").write_bytes(gzip.compress(b"one")[:10] + damaged)
        assert source_sha256(Source("a", tmp_path / "a.gz")) == ""
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=wal")
        writer.execute("CREATE TABLE t (a)")
        beside = [file for file in tmp_path.glob("x.db-wal") if file.stat().st_size]
        expected = hashlib.sha256((tmp_path / "x.db").read_bytes())
        for file in beside:
            expected.update(hashlib.sha256(file.read_bytes()).digest())
        assert len(beside) == 1 and source_sha256(Source("x", tmp_path / "x.db")) == expected.hexdigest()


def test_files_of_other_kinds_count_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXSIM_MAX_MB", "0.000004")
    for name, size in (("a.json", 5), ("b.bin", 4), ("c.bin", 5)):
        (tmp_path / name).write_bytes(b"x" * size)
    assert [file.name for file in room.files_below(tmp_path)] == ["a.json", "b.bin"]


@pytest.mark.parametrize(
    ("fields", "what_if"),
    [({}, WhatIf(True, True, 0.0, 0)), ({"brackets": False}, WhatIf(False, True, 0.0, 0)),
     ({"refetch": 0.0}, WhatIf(True, False, 0.0, 0)), ({"refetch": 0.5, "draws": 3}, WhatIf(True, True, 0.5, 3))],
)  # fmt: skip
def test_which_replays_are_made_beside(fields: dict[str, Any], what_if: WhatIf) -> None:
    assert what_if_of(msgspec.structs.replace(PLAIN, **fields)) == what_if


def test_keep_all_is_first_where_it_is_no_policy_of_its_own() -> None:
    def labels(*asked: str, estimator: str | None = None) -> list[str]:
        return [one.label for one in specs_of(Setting("a", "a", asked, estimator))]

    assert labels("mask:keep=1", "keep-all", "mask:keep=1") == ["mask:keep=1,batch=1", "keep-all"]
    assert labels("mask+keep-all") == ["keep-all", "mask:keep=10,batch=1+keep-all"]
    assert labels("mask:keep=1", estimator="words") == [
        "keep-all:estimator=words",
        "mask:keep=1,batch=1,estimator=words",
    ]
