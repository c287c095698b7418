"""Reading: the two message formats, pairing, and what a stranger gets for a file that can't be read."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow
import pytest
from command_line import ctxsim
from hypothesis import given, settings
from hypothesis import strategies as st
from invented import codex
from samples import run

from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers import read
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.reader import detect, load_reader
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import Transcript, problems

OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Any mail?"},
                                 {"type": "image_url", "image_url": {"url": "x"}}]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q":  "mail"}'}},
        {"id": "c2", "type": "function", "function": {"name": "clock", "arguments": "not json"}}]},
    {"role": "tool", "tool_call_id": "c2", "content": "noon"},
    {"role": "tool", "tool_call_id": "c1", "content": "2 messages"},
    {"role": "assistant", "content": "Two."},
]  # fmt: skip

ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "Any mail?"},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Look.", "signature": "s"}, {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "mail"}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "2 messages"}]},
        {"type": "text", "text": "Be quick."}]},
    {"role": "assistant", "content": "Two."},
]  # fmt: skip


def only(path: Path) -> Transcript:
    found = list(read(str(path)))
    assert len(found) == 1
    assert problems(found[0]) == []
    return found[0]


def kinds(transcript: Transcript) -> list[str]:
    return [item.kind for item in transcript.items]


@pytest.mark.parametrize("form", ["list", "object", "jsonl-messages", "jsonl-objects", "gz", "zst", "zst-lines", "zip"])
def test_openai_chat_in_every_container(form: str, tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    match form:
        case "list":
            path.write_text(json.dumps(OPENAI, indent=2))
        case "object":
            path.write_text(json.dumps({"messages": OPENAI, "tools": [{"type": "function"}]}))
        case "jsonl-messages":
            path.write_text("\n".join(map(json.dumps, OPENAI)))
        case "jsonl-objects":
            path.write_text(json.dumps({"messages": OPENAI}) + "\n")
        case "gz":
            path = tmp_path / "chat.json.gz"
            path.write_bytes(gzip.compress(json.dumps(OPENAI).encode()))
        case "zst" | "zst-lines":
            import pyarrow

            path = tmp_path / "chat.json.zst"
            text = json.dumps(OPENAI) if form == "zst" else "\n".join(map(json.dumps, OPENAI))
            with pyarrow.CompressedOutputStream(str(path), "zstd") as stream:
                stream.write(text.encode())
        case "zip":
            path = tmp_path / "chats.zip"
            with ZipFile(path, "w") as archive:
                archive.writestr("a/chat.json", json.dumps(OPENAI))
    transcript = only(path)
    assert transcript.format == "openai-chat"
    assert transcript.head.system == "Be brief."
    assert kinds(transcript) == ["user", "tool_call", "tool_call", "tool_result", "tool_result", "assistant"]
    assert [(call.start, call.end) for call in transcript.calls] == [(1, 3), (5, 6)]
    assert transcript.items[0].media[0].kind == "image"
    assert [item.text for item in transcript.items[1:5]] == ['{"q":  "mail"}', "not json", "noon", "2 messages"]
    # Results came in the other order than the calls.
    assert [item.answers for item in transcript.items[3:5]] == [2, 1]
    assert len({item.message for item in transcript.items[3:5]}) == 1


def test_a_custom_tool_of_a_chat_is_given_a_text(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "2 files"}
    (tmp_path / "m.json").write_text(json.dumps([OPENAI[1], {"role": "assistant", "tool_calls": [call]}, result]))
    transcript = only(tmp_path / "m.json")
    assert [(item.tool, item.text) for item in transcript.items[1:]] == [("sh", "ls -l"), ("sh", "2 files")]
    assert transcript.notes == ()


def test_what_a_chat_message_holds_beyond_the_api_is_told(tmp_path: Path) -> None:
    made = {"toolInvocations": [{"toolName": "f"}], "annotations": [], "audio": None, "id": "x"}
    refused = {"role": "assistant", "content": None, "refusal": "I can't."}
    (tmp_path / "m.json").write_text(json.dumps([OPENAI[1], {"role": "assistant", "content": "", **made}, refused]))
    transcript = only(tmp_path / "m.json")
    assert [item.text for item in transcript.items if item.kind == "assistant"] == ["I can't."]
    assert transcript.notes == ("left out: 1 x field toolInvocations of a message",)


def test_anthropic_messages(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"system": [{"type": "text", "text": "Be brief."}], "messages": ANTHROPIC}))
    transcript = only(path)
    assert transcript.format == "anthropic-messages"
    assert kinds(transcript) == ["user", "reasoning", "assistant", "tool_call", "tool_result", "user", "assistant"]
    assert transcript.items[3].text == '{"q":"mail"}'
    assert transcript.items[4].text == "2 messages" and transcript.items[4].answers == 3
    assert transcript.head.system == "Be brief."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x00\x01\x02binary", "no transcript format"),
        (b"[]", "no transcript format"),
        (b"null", "no transcript format"),
        (b'{"messages": []}', "no transcript format"),
        (b'[{"role": "user", "content": "cut', "is not complete JSON"),
        (b'[{"role": "user", "content": "\xff"}]', "m.json:1: invalid UTF-8 at byte 30"),
        (b'\n[{"role": "user", "content": "\xff"}]', "m.json:2: invalid UTF-8 at byte 31"),
        (b'[{"role": "user", "content": 5}, {"role": "tool"}]', "message 0: Expected `str | array | null`"),
        (b'[{"role": "user"}, {"role": "wizard", "content": "x"}]', "message 1: Invalid enum value 'wizard'"),
        (b'[{"role": "user"}, {"role": "assistant", "tool_calls": [{"function": {}}]}]', "required field `name`"),
        (b"PK\x03\x04 damaged", "zip archive"),
        (b'[' * 100_000, "is not complete JSON|nested too deeply"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_with_file_and_place(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        list(read(str(path)))
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_jsonl_torn_at_the_end_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text("// a comment\n" + "\n".join(map(json.dumps, OPENAI)) + '\n{"role": "user", "cont')
    transcript = only(path)
    assert len(transcript.calls) == 2
    assert any("line 8 skipped, not JSON" in note for note in transcript.notes)


def test_what_was_skipped_at_the_end_is_noted_by_the_last_conversation(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps({"messages": OPENAI}) + "\n" for _ in range(2)) + '{"messages": [{"ro')
    first, last = read(str(path))
    assert (first.name, last.name) == (f"{path}#1", f"{path}#2")
    assert not first.notes and any("line 3 skipped" in note for note in last.notes)


CHAT = {"messages": [{"role": "user", "content": "Any mail?"}, {"role": "assistant", "content": "None."}]}
BLOCKS = {"messages": [
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}]}  # fmt: skip
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Any mail?"}]}, {"role": "model", "parts": []}]}
ITEMS = {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Any mail?"}]}]}
ATIF = {"schema_version": "ATIF-v1.4", "agent": {}, "steps": [{"source": "agent", "message": "None."}]}
RUN = {"instance_id": "i", "test_result": {}, "history": [
    {"id": 0, "source": "user", "action": "message", "args": {"content": "Any mail?"}}]}  # fmt: skip


@pytest.mark.parametrize(("good", "bad", "told"), [
    (CHAT, {"messages": []}, ":2: has no messages"), (CHAT, {"messages": [{"role": 5}]}, ":2 message 0: Expected"),
    (BLOCKS, {"messages": 5}, ":2: has no messages"), (CONTENTS, {"contents": [{"parts": 5}]}, ":2"),
    (ITEMS, {"input": 5, "output": 5}, ":2"), (ATIF, {"steps": 5}, ":2: "), (RUN, {"history": 5}, ":2: Expected"),
])  # fmt: skip
def test_one_bad_conversation_among_many_is_left_out(good: Any, bad: Any, told: str, tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (good, bad, good, good)))
    *first, last = read(str(path))
    assert len(first) == 2
    assert [note for note in last.notes if note.startswith(f"left out: {path}{told}")], last.notes


def test_jsonl_with_glued_objects_and_strange_separators(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    tail = [{"role": "user", "content": "line\u2028separator\u0085and\x0cfeed"}, {"role": "assistant", "content": "ok"}]
    glued = json.dumps(OPENAI[1]) + json.dumps(OPENAI[5])
    lines = [json.dumps(OPENAI[0]), glued, *(json.dumps(m, ensure_ascii=False) for m in tail)]
    path.write_bytes(b"\xef\xbb\xbf" + "\n\n".join(lines).encode())
    transcript = only(path)
    assert kinds(transcript) == ["user", "assistant", "user", "assistant"]
    assert transcript.items[2].text == tail[0]["content"]


@pytest.mark.parametrize("code", ["utf-16-le", "utf-16-be"])
def test_a_log_that_windows_powershell_redirected_is_read(tmp_path: Path, code: str) -> None:
    path, again = tmp_path / "m.jsonl", tmp_path / "utf-16.jsonl"
    words = [{"role": "user", "content": f"{'ü漢😀' * 50_000}{n}\u2028"} for n in range(4)]
    path.write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in (*words, OPENAI[1])), "utf-8")
    again.write_bytes(f"\ufeff{path.read_text('utf-8')}\r\n".encode(code))
    assert only(again).items == only(path).items


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("user"), st.just("")),
            st.tuples(st.just("response"), st.sampled_from(["", "a", "aa", "ab"])),
            st.tuples(st.just("result"), st.sampled_from(["", "a", "b", "zz"])),
        ),
        max_size=25,
    )
)
def test_whatever_was_recorded_becomes_a_valid_transcript(records: list[tuple[str, str]]) -> None:
    assembly = Assembly("any")
    for kind, ids in records:
        if kind == "user":
            assembly.user("hello")
        elif kind == "response":
            assembly.response([Part("assistant", "text"), *(Part("tool_call", "{}", "tool", id) for id in ids)])
        else:
            assembly.result("found", ids)
    transcript = assembly.transcript()
    assert problems(transcript) == []
    results = [item.answers for item in transcript.items if item.kind == "tool_result"]
    assert len(results) == len(set(results))
    assert {sent.status for sent in run(transcript, "keep-all")} <= {"ok"}


@pytest.mark.parametrize("form", ["jsonl", "document"])
def test_half_an_emoji_in_arguments(form: str, tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "x"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "sh", "input": {"c": "echo \ud83d"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok \udc00"}]},
    ]
    file = tmp_path / "m.json"
    file.write_text("\n".join(map(json.dumps, messages)) if form == "jsonl" else json.dumps(messages))
    (transcript,) = read(str(file))
    assert transcript.items[1].text == '{"c":"echo \ufffd"}' and transcript.items[2].text == "ok \ufffd"
    converted = ctxsim("transcripts", "convert", str(file), "--out", "out.jsonl", cwd=tmp_path)
    assert converted.returncode == 0, converted.stderr


@pytest.mark.parametrize("form", ["ctxsim", "atif"])
def test_where_nothing_could_be_read_nothing_is_written(form: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('[{"role": ')
    (tmp_path / "out.jsonl").write_text("of yesterday")
    for out in ("out.jsonl", "new.jsonl"):
        done = ctxsim("transcripts", "convert", "bad.json", "--to", form, "--out", out, cwd=tmp_path)
        assert (done.returncode, "written" in done.stdout + done.stderr) == (1, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.json", "out.jsonl"]
    assert (tmp_path / "out.jsonl").read_text() == "of yesterday"


def test_lines_of_a_new_type_before_a_log_hide_it_if_they_are_more_than_half() -> None:
    own = "".join(json.dumps(line) + "\n" for line in codex(1)[:3])
    for many in (3, 4):
        sample = Sample(Source("x", data=('{"type": "mine"}\n' * many + own).encode()))
        if many > 3:
            with pytest.raises(NotATranscript, match="no transcript format"):
                detect(sample)
        else:
            assert detect(sample) is load_reader("codex-rollout") and len(sample.records) == 3


def test_a_source_in_a_traceback_shows_no_conversation() -> None:
    assert "secret" not in repr(Source("x", data=b"secret"))


def zstandard(data: bytes) -> bytes:
    packed: bytes = pyarrow.Codec("zstd").compress(data, asbytes=True)
    return packed


def behind_a_skippable_frame(data: bytes) -> bytes:
    return b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"skip" + zstandard(data)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard, behind_a_skippable_frame])
def test_compressed_data_is_told_by_its_first_bytes(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    packed = pack(json.dumps(OPENAI).encode())
    (tmp_path / "chat.json").write_bytes(packed)
    with ZipFile(tmp_path / "chats.zip", "w") as archive:
        archive.writestr("chat.json.gz", packed)
    for name in ("chat.json", "chats.zip"):
        assert len(only(tmp_path / name).calls) == 2
    assert Source("standard input", data=packed).content() == json.dumps(OPENAI).encode()
    with pytest.raises(InputError, match="expands to more than 100 times its size"):
        Source("bomb", data=pack(bytes(5_000_000))).content()
    plain = tmp_path / "plain.json.gz"
    plain.write_text(json.dumps(OPENAI))
    assert len(only(plain).calls) == 2


def test_all_that_a_torn_gzip_file_holds_is_read_before_the_error(tmp_path: Path) -> None:
    dice = random.Random(1)
    lines = [json.dumps({"a": dice.getrandbits(400)}).encode() for _ in range(3_000)]
    torn = gzip.compress(b"\n".join(lines))[:-20_000]
    (tmp_path / "torn.jsonl.gz").write_bytes(torn)
    held = zlib.decompressobj(wbits=31).decompress(torn).split(b"\n")[:-1]
    found = Source("torn", tmp_path / "torn.jsonl.gz").lines()
    assert [line for _, line in islice(found, len(held))] == held == lines[: len(held)] and len(held) > 2_000
    with pytest.raises(InputError, match="torn: cannot be read: Compressed file ended"):
        next(found)
    (tmp_path / "torn.jsonl.gz").write_bytes(torn[:10] + b"\xff")
    with pytest.raises(InputError, match=r"torn.jsonl.gz: cannot be read: Error -3 while decompressing data"):
        list(read(str(tmp_path / "torn.jsonl.gz")))


def test_anthropics_system_prompt_stands_beside_the_messages(tmp_path: Path) -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
    bare = [{"role": "user", "content": [block]}, {"role": "assistant", "content": "Done."}]
    systems = []
    beside: list[Any] = [{"messages": bare, "system": "Be brief."}, {"messages": bare, "system": ""}]
    for value in (*beside, {"messages": bare}, bare):
        (tmp_path / "m.json").write_text(json.dumps(value))
        systems.append(only(tmp_path / "m.json").head.system)
    assert systems == ["Be brief.", "", "", ""]
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, bare)))
    assert kinds(only(tmp_path / "m.jsonl")) == ["assistant"]
