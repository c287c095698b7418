"""Archives and commits are read as the folder that they hold: from copies, which nobody sees and which don't stay."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import zipfile
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from command_line import process
from read_back import text, write

import ctxsim
from ctxsim.answers.bill.index import key_of, known, load
from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers import read, read_source, sources
from ctxsim.readers.source import placed
from ctxsim.readers.source.limits import MOST_DEEP, MOST_FILES, SOURCE_BYTES
from ctxsim.transcript import Transcript

CHAT = [{"role": "user", "content": "Any mail?"}, {"role": "assistant", "content": "Two."}]
USAGE = {"inputOther": 9, "output": 3, "inputCacheRead": 0, "inputCacheCreation": 0}


def wire(said: str) -> list[Any]:
    events: list[Any] = [
        {"type": "step.begin", "uuid": "s1"}, {"type": "content.part", "part": text(said)},
        {"type": "step.end", "uuid": "s1", "usage": USAGE},
    ]  # fmt: skip
    return [
        {"type": "metadata", "protocol_version": "1.4", "created_at": 1000},
        {"type": "context.append_message", "message": {"role": "user", "content": [text("Go.")]}},
        {"type": "llm.request", "kind": "loop", "model": "claude-sonnet-4-5", "time": 1_700_000_000_000},
        *({"type": "context.append_loop_event", "event": event} for event in events),
    ]


def request(time_s: float) -> dict[str, Any]:
    usage = {"prompt_tokens": 10, "completion_tokens": 3}
    response = {"id": "x", "model": "claude-sonnet-4-5", "choices": [{"message": CHAT[1]}], "usage": usage}
    return {
        "messages": CHAT[:1],
        "response": response,
        "kwargs": {"metadata": {"session_id": "s"}},
        "timestamp": time_s,
    }


def task(model: str = "") -> list[Any]:
    user = {"role": "user", "content": [text(f"Any mail?{model}")]}
    return [[user, {"role": "assistant", "content": [text("Two.")]}]]


SHOWN = {"ts": 5, "type": "say", "say": "api_req_started", "text": json.dumps({"tokensIn": 20, "tokensOut": 2})}
MESSAGE = {"sessionID": "ses_1", "time": {"created": 1}, "modelID": "m"}
AGENTS = {"main": {"parentAgentId": None}, "agent-0": {"parentAgentId": "main"}}

RECORDINGS: dict[str, list[Any]] = {
    "chats/a.json": [CHAT],
    "kimi/s/state.json": [{"agents": AGENTS}],
    "kimi/s/agents/main/wire.jsonl": wire("One."), "kimi/s/agents/agent-0/wire.jsonl": wire("Two."),
    "grok/chat_history.jsonl": [{"type": "user", "content": "Go.", "prompt_index": 0},
                                {"type": "assistant", "content": "One.", "model_id": "m"}],
    "grok/sub/chat_history.jsonl": [{"type": "user", "content": "Go on.", "prompt_index": 0},
                                    {"type": "assistant", "content": "Two.", "model_id": "m"}],
    "grok/summary.json": [{}],
    "storage/session/p/ses_1.json": [{"id": "ses_1", "version": "1.0.1"}],
    "storage/message/ses_1/msg_1.json": [{"id": "msg_1", "role": "user", **MESSAGE}],
    "storage/message/ses_1/msg_2.json": [{"id": "msg_2", "role": "assistant", **MESSAGE}],
    "storage/part/msg_1/prt_1.json": [text("Any mail?")], "storage/part/msg_2/prt_2.json": [text("Two.")],
    "events/1.json": [{"id": 1, "source": "user", "action": "message", "args": {"content": "Go."}}],
    "events/10.json": [{"id": 10, "source": "agent", "action": "message", "args": {"content": "Done."}}],
    "runs/one/m-1700000001.5.json": [request(1_700_000_001.5)], "runs/one/m-1700000002.5.json": [request(2.5)],
    "tasks/1/api_conversation_history.json": task(), "tasks/1/ui_messages.json": [[SHOWN]],
    "tasks/2/api_conversation_history.json": task("<environment_details>\n<model>m</model>\n</environment_details>"),
    "tasks/2/ui_messages.json": [[SHOWN]],
    "tasks/2/notes.txt": ["what no reader reads"],
}  # fmt: skip


def packed(folder: Path) -> Path:
    """An archive of a folder, with the folder's own entries."""
    with zipfile.ZipFile(folder.with_suffix(".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder))
    return folder.with_suffix(".zip")


def committed(folder: Path) -> str:
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], check=True)
    return f"git:{folder}"


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """One recording of each format whose conversation is a folder, one that is a file, and a database."""
    for name, lines in RECORDINGS.items():
        write(tmp_path / "all" / name, *lines)
    with closing(sqlite3.connect(tmp_path / "all" / "state.db")) as made:
        made.executescript((Path(__file__).parent / "formats/stores/opencode.sql").read_text())
    return tmp_path / "all"


def told(path: str, root: str) -> list[Transcript]:
    """The transcripts of a path, whose names begin with `root`, with names from there on."""
    found = (msgspec.json.encode(one).decode().replace(root, "") for one in read(path))
    return [msgspec.json.decode(one, type=Transcript) for one in found]


def test_an_archive_and_a_commit_are_read_as_the_folder_that_they_hold(recordings: Path) -> None:
    archive = packed(recordings)
    expected = told(str(recordings), f"{recordings}/")
    assert {one.format for one in expected} == {
        "openai-chat", "kimi", "grok", "opencode", "openhands-events", "openhands-completions", "cline", "roo-code",
    }  # fmt: skip
    assert len(expected) == 12 and all(one.calls for one in expected)
    assert told(str(archive), f"{archive}!") == expected
    commit = committed(recordings)
    assert told(commit, f"{commit}@HEAD:") == expected
    assert told(f"{commit}:kimi", f"{commit}@HEAD:") == [one for one in expected if one.format == "kimi"]
    sums = [ctxsim.bill(path).total() for path in (str(recordings), str(archive), commit)]
    assert sums[0].responses > 5
    for one in sums:
        one.sessions.clear()
    assert sums[0] == sums[1] == sums[2]


def test_an_archive_that_is_one_recording_has_its_own_name(recordings: Path) -> None:
    for name, sub in (("kimi/s", "#agent-0"), ("grok", "/sub"), ("runs/one", ""), ("tasks/1", "")):
        folder = recordings / name
        archive = packed(folder)
        (source,) = sources(str(archive))
        assert (source.name, source.named, source.held) == (str(archive), True, (archive, str(archive)))
        names = [one.name for one in read_source(source)]
        expected = [one.name.replace(str(folder), str(archive)) for one in read(str(folder))]
        assert names == [one.replace("/sub", "!sub") for one in expected] and names[-1].endswith(sub.replace("/", "!"))
    write(recordings / "kimi/s/state.json", {"agents": 3})
    archive = packed(recordings / "kimi/s")
    with pytest.raises(InputError) as raised:
        list(read(str(archive)))
    assert str(raised.value).startswith(f"{archive}!state.json: Expected `object`")


def test_archives_within_a_commit_are_read_and_those_within_archives_are_not(recordings: Path) -> None:
    commit = recordings.parent / "in"
    commit.mkdir()
    packed(recordings).rename(commit / "all.zip")
    packed(commit).rename(commit / "more.zip")
    git = committed(commit)
    found = list(sources(git))
    assert [one.name for one in read(git)] == [
        one.name.replace(f"{recordings}/", f"{git}@HEAD:all.zip!") for one in read(str(recordings))
    ]
    assert {one.held[0] for one in found} == {None}
    (inner,) = (one for one in found if "more.zip" in one.name)
    assert inner.name == f"{git}@HEAD:more.zip!all.zip"
    with pytest.raises(NotATranscript, match=r"more\.zip!all\.zip: is no transcript format.*: a zip archive"):
        list(read_source(inner))


def test_a_recording_of_which_a_file_is_damaged_is_refused_as_a_whole(recordings: Path) -> None:
    archive = packed(recordings)
    data = archive.read_bytes()
    with zipfile.ZipFile(archive) as opened:
        at = opened.getinfo("kimi/s/agents/agent-0/wire.jsonl").header_offset + 70
    archive.write_bytes(data[:at] + bytes(20) + data[at + 20 :])
    refused = [one for one in sources(str(archive)) if one.refused]
    assert [(one.name, one.named) for one in refused] == [(f"{archive}!kimi/s", True)]
    with pytest.raises(InputError, match=r"kimi/s/agents/agent-0/wire\.jsonl: can't be decompressed"):
        list(read_source(refused[0]))


@pytest.mark.slow
def test_no_path_of_a_copy_is_shown_and_none_stays(recordings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies, cache = recordings.parent / "copies", recordings.parent / "cache"
    copies.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    write(recordings / "kimi/t/state.json", {"agents": 3})
    write(recordings / "kimi/t/agents/main/wire.jsonl", *wire("Three."))
    write(recordings / "runs/one/m-1700000003.5.json", '{"messages": [')
    archive = packed(recordings)
    for path in (str(archive), committed(recordings)):
        bench = ("bench", path, "--policy", "keep-all", "--jobs", "2", "--out", "out", "--force")
        for command in (bench, ("bill", path)):
            done = process(*command, cwd=recordings.parent, TMPDIR=str(copies))
            assert done.returncode == 1 and "kimi/t/state.json" in done.stderr, done.stderr
            assert str(copies) not in done.stdout + done.stderr and list(copies.iterdir()) == [], command
        results = [file for file in (recordings.parent / "out").rglob("*") if file.is_file()]
        assert results and not any(str(copies).encode() in file.read_bytes() for file in results)
    # A bill finds the archive's recordings in its index, wherever the copies are, and never a commit's.
    index = load(cache / "ctxsim/bill/facts.msgpack")
    billed = [one for one in sources(str(archive)) if one.name.endswith(("kimi/s", "a.json"))]
    assert index.files.keys() == {str(archive)} and [known(index, key_of(one)) is None for one in billed] == [False] * 2


def chats(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, json.dumps([*CHAT, {"role": "user", "content": name}]))
    return path


def test_names_that_cannot_be_placed_are_refused_and_the_others_are_read(tmp_path: Path) -> None:
    deep, deeper = ("d/" * depth + "a.json" for depth in (MOST_DEEP, MOST_DEEP + 1))
    names = ("b", "b/c.json", "../up.json", "/root.json", "x//y.json", deep, deeper, "n" * 300 + ".json")
    archive = chats(tmp_path / "a.zip", *names)
    found = {one.name.partition("!")[2]: one for one in sources(str(archive))}
    why = {name: one.refused.what for name, one in found.items() if one.refused}
    assert why == {
        **dict.fromkeys(("../up.json", "/root.json", "x//y.json"), "can't be copied: its name is no path"),
        "b/c.json": "can't be copied: File exists", names[-1]: "can't be copied: File name too long",
        deeper: f"can't be copied: it is more than {MOST_DEEP} folders deep",
    }  # fmt: skip
    assert found.keys() - why.keys() == {deep} and len(list(read_source(found[deep]))) == 1


def test_files_and_folders_of_an_archive_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (placed.MOST_FILES, MOST_FILES) == (1_000_000, 1_000_000)
    archive = chats(tmp_path / "a.zip", "a/b/1.json", "a/b/2.json", "a/c/3.json", "4.json")
    monkeypatch.setattr(placed, "MOST_FILES", 7)
    assert len(list(sources(str(archive)))) == 4
    monkeypatch.setattr(placed, "MOST_FILES", 6)
    (refused,) = sources(str(archive))
    assert str(refused.refused) == f"{archive}: holds more than 6 files and folders: give it in parts"


def test_no_more_is_copied_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = chats(tmp_path / "a.zip", "a.json", "b.json")
    with zipfile.ZipFile(archive) as opened:
        size = sum(info.file_size for info in opened.infolist())
    free = SimpleNamespace(free=size)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: free)
    assert len(list(sources(str(archive)))) == 2
    free.free -= 1
    (refused,) = sources(str(archive))
    said = "takes 0.0 GB in the temporary folder, more than is free there or than 20 GB: give it in parts"
    assert str(refused.refused) == f"{archive}: {said}" and SOURCE_BYTES == 20_000_000_000
    write(tmp_path / "in" / "a.json", CHAT)
    free.free = (tmp_path / "in" / "a.json").stat().st_size - 1
    commit = committed(tmp_path / "in")
    with pytest.raises(InputError, match=f"^{commit}@HEAD: takes 0.0 GB in the temporary folder"):
        list(sources(commit))


def test_a_full_disk_and_no_temporary_folder_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = chats(tmp_path / "a.zip", "a.json")

    def full(*given: object) -> int:
        raise OSError(28, "No space left on device", str(tmp_path))

    monkeypatch.setattr(Path, "write_bytes", full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (refused,) = sources(str(archive))
    assert str(refused.refused) == f"{archive}: can't be copied to the temporary folder: No space left on device"
    assert list(tmp_path.iterdir()) == [archive]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    (refused,) = sources(str(archive))
    assert str(refused.refused) == "the temporary folder: can't be made: No such file or directory"


def test_an_archive_of_other_things_is_left_out_of_a_folder(tmp_path: Path) -> None:
    chats(tmp_path / "pictures.zip", "a.png")
    write(tmp_path / "a.json", CHAT)
    assert [one.name for one in read(str(tmp_path))] == [f"{tmp_path}/a.json"]
    with pytest.raises(
        NotATranscript, match=r"pictures\.zip: is no transcript format that ctxsim knows: a zip archive"
    ):
        list(read(str(tmp_path / "pictures.zip")))
