"""The status line by hand: what each setting does, what of a log is heard, and how much is read and remembered."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from ctxsim.answers.bill import status
from ctxsim.policies.agents.settings_file import values_for

LATE = "claude-sonnet-4-5-20250929"


@pytest.mark.parametrize(("keys", "variables", "proactive", "limit"), [
    # Of 200,000 tokens 20,000 are kept for an answer and 13,000 beside them.
    ({}, {}, True, 167_000), ({}, {}, False, 0), ({"autoCompactWindow": 150_000}, {}, False, 117_000),
    # A window below 100,000 or above a million is none; a variable's is moved there. None is above the model's.
    ({"autoCompactWindow": 100_000}, {}, True, 67_000), ({"autoCompactWindow": 99_999}, {}, True, 167_000),
    ({"autoCompactWindow": 1_000_000}, {}, False, 167_000), ({"autoCompactWindow": 1_000_001}, {}, False, 0),
    ({}, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "1k"}, True, 67_000),
    ({}, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "120k"}, False, 87_000),
    ({}, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "2000000"}, True, 167_000),
    ({"autoCompactWindow": 150_000}, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "120000"}, True, 87_000),
    # A shorter answer keeps less, a longer one no more.
    ({}, {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8000"}, True, 179_000),
    ({}, {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "64000"}, True, 167_000),
    # A share is of the window without the answer, from 1 to 100 %, and never above the usual limit.
    ({}, {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, True, 90_000),
    ({}, {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "1"}, True, 1_800),
    ({}, {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "0"}, True, 167_000),
    ({}, {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "100"}, True, 167_000),
    ({}, {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "101"}, True, 167_000),
    # Off is off.
    ({"autoCompactEnabled": False}, {}, True, 0), ({"autoCompactEnabled": True}, {}, True, 167_000),
    ({}, {"DISABLE_AUTO_COMPACT": "1"}, True, 0), ({}, {"DISABLE_COMPACT": "True"}, True, 0),
    ({}, {"DISABLE_COMPACT": "0"}, True, 167_000), ({"env": {"DISABLE_COMPACT": True}}, {}, True, 0),
])  # fmt: skip
def test_where_it_compacts(keys: Any, variables: dict[str, str], proactive: bool, limit: float, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(keys))
    assert status._limit(200_000, [file], variables, proactive) == limit
    # As comments may stand in it.
    file.write_text(f"/* so */ {json.dumps(keys)} // and so")
    assert status._limit(200_000, [file], variables, proactive) == limit


def test_without_saying_it_compacts_before_a_refusal(tmp_path: Path) -> None:
    assert status._limit(1_000_000, [tmp_path / "none"], {}) == 967_000
    for text in ("[1]", "no JSON", "\ufeff{}"):
        (tmp_path / "one").write_text(text)
        assert status._limit(200_000, [tmp_path / "one"], {}) == 167_000


@pytest.mark.parametrize(("version", "model", "proactive"), [
    ("2.1.152", LATE, True), ("2.1.153", LATE, False), ("2.1.154", LATE, False), ("2.2", LATE, False), ("", LATE, True),
    ("2.1.153", "claude-opus-4-6", False), ("2.1.163", "claude-opus-4-6", True),
    ("2.1.332", "claude-opus-4-6[1m]", False), ("3.0.0", "claude-haiku-4-5-20251001", False),
    ("2.1.152-beta.9", LATE, True), ("2.1.153-beta.1", LATE, False),
])  # fmt: skip
def test_which_models_compact_late(version: str, model: str, proactive: bool) -> None:
    assert status._proactive({"version": version, "model": {"id": model}}) is proactive
    if version:
        assert values_for("claude-code", version, model)["proactive"] is proactive


@pytest.mark.parametrize(("value", "number"), [
    (5, 5.0), (0.5, 0.5), (0, 0.0), (-1, 0.0), (True, 0.0), ("5", 0.0), (None, 0.0), (1e12, 0.0),
    (999_999_999_999, 999_999_999_999.0),
])  # fmt: skip
def test_what_counts_as_a_number(value: Any, number: float) -> None:
    assert status._number(value) == number


def told(tmp_path: Path, **said: Any) -> str:
    return status.line(said, tmp_path / "home", tmp_path / "cache")


def test_each_part_of_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert told(tmp_path) == "ctxsim: nothing to tell yet" == status.line([], tmp_path, tmp_path)
    assert told(tmp_path, model={"id": "m"}) == "m" and told(tmp_path, model={"id": "m", "display_name": "M"}) == "M"
    assert told(tmp_path, cost={"total_cost_usd": 0}) == "0.00 USD"
    assert told(tmp_path, cost={"total_cost_usd": 1_234.567}) == "1,234.57 USD"
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300,
             "output_tokens": 4_000, "service_tier": "x"}  # fmt: skip
    # 4,321 of 200,000 tokens; of a million.
    assert told(tmp_path, context_window={"current_usage": usage}) == "2% of 200K"
    window = {"current_usage": {"input_tokens": 50_000}, "context_window_size": 1_000_000}
    assert told(tmp_path, context_window=window) == "5% of 1,000K"
    full = {"current_usage": {"input_tokens": 167_000}}
    assert told(tmp_path, context_window=full) == "84% of 200K · compaction at the next call"
    # A file of the project's goes before the user's.
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"autoCompactEnabled": false}')
    assert told(tmp_path, context_window=full) == "84% of 200K"
    (tmp_path / ".claude" / "settings.local.json").write_text('{"autoCompactEnabled": true}')
    assert told(tmp_path, context_window=full).endswith("next call")
    elsewhere = {"project_dir": str(tmp_path / "other")}
    assert told(tmp_path, context_window=full, workspace=elsewhere).endswith("next call")


def usage(tokens: int, name: str | None = None, **more: Any) -> bytes:
    message = {"usage": {"input_tokens": tokens, "output_tokens": 9}, **({"id": name} if name else {})}
    return json.dumps({"type": "assistant", "message": message, **more}).encode()


def heard(*lines: bytes) -> tuple[int, str, list[int]]:
    found: Any = {"tokens": 0, "id": "", "growths": []}
    for one in lines:
        status._hear(found, one)
    return found["tokens"], found["id"], found["growths"]


@pytest.mark.parametrize(("lines", "known"), [
    ((usage(100, "a"),), (100, "a", [])), ((usage(100, "a"), usage(150, "b")), (150, "b", [50])),
    # One message in several lines counts once; without a name each does.
    ((usage(100, "a"), usage(150, "a")), (100, "a", [])), ((usage(100), usage(150)), (150, "", [50])),
    # A request's id tells it apart too.
    ((usage(100, "a", requestId="r"), usage(150, "a", requestId="s")), (150, "a s", [50])),
    ((usage(100, requestId="r"), usage(150, requestId="r")), (100, "r", [])),
    # What is as large grows by nothing, what is smaller was compacted.
    ((usage(100, "a"), usage(100, "b")), (100, "b", [0])), ((usage(100, "a"), usage(99, "b")), (99, "b", [])),
    ((usage(100, "a"), usage(0, "b")), (100, "a", [])), ((usage(100, "a", isSidechain=True),), (0, "", [])),
    ((usage(100, "a", type="user"),), (0, "", [])), ((b"[]", b"{", b"{}"), (0, "", [])),
    ((b'{"type": "assistant", "message": {"usage": null}}', b'{"type": "assistant", "usage": 1}'), (0, "", [])),
])  # fmt: skip
def test_what_a_line_of_a_log_says(lines: tuple[bytes, ...], known: tuple[int, str, list[int]]) -> None:
    assert heard(*lines) == known


def test_a_log_is_read_in_whole_lines_from_where_it_was(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    first, second = usage(100, "a") + b"\n", usage(130, "b") + b"\n"
    log.write_bytes(first + second[:20])

    def one() -> Any:
        return {"at": len(first), "tokens": 100, "id": "a", "growths": []}

    def two() -> Any:
        return {"at": len(first + second), "tokens": 130, "id": "b", "growths": [30]}

    assert status._read(log, {}, None) == one()
    log.write_bytes(first + second)
    assert status._read(log, one(), None) == two() == status._read(log, two(), None)
    # So many bytes at most, of which a piece of a line is none.
    assert status._read(log, {}, len(first)) == one() == status._read(log, {}, len(first + second) - 1)
    # A file that is shorter than what is known was written anew.
    log.write_bytes(first)
    assert status._read(log, two(), None) == one()
    log.write_bytes(b"".join(usage(100 + n, f"m{n}") + b"\n" for n in range(402)))
    assert status._read(log, {}, None)["growths"] == [1] * 400


def test_of_other_sessions_the_newest_twenty_and_two_million_bytes_at_once(tmp_path: Path) -> None:
    for number in range(24):
        log = tmp_path / f"{number:02}.jsonl"
        log.write_bytes(usage(100 + number, "a") + b"\n")
        os.utime(log, (number, number))
    (tmp_path / "no.txt").write_text("")
    # One that can't be read is none of the others' business.
    (tmp_path / "folder.jsonl").mkdir()
    os.utime(tmp_path / "folder.jsonl", (22.5, 22.5))
    known: Any = {"gone.jsonl": {"at": 1}, "00.jsonl": {"at": 1}, "23.jsonl": {"at": 0}}
    status._beside(tmp_path / "23.jsonl", known)
    assert sorted(known) == [f"{number:02}.jsonl" for number in range(4, 24)] and known["23.jsonl"] == {"at": 0}
    assert known["22.jsonl"]["tokens"] == 122
    # The newest first: what is left of two million bytes is another's.
    line = usage(5, "a") + b" " * 949_000 + b"\n"
    for number, log in enumerate((tmp_path / "22.jsonl", tmp_path / "21.jsonl")):
        log.write_bytes(line * 2)
        os.utime(log, (900 - number, 900 - number))
    some: Any = {}
    status._beside(tmp_path / "23.jsonl", some)
    assert [some[name]["at"] for name in ("22.jsonl", "21.jsonl")] == [2 * len(line), 0]
    assert "20.jsonl" in some, "a shorter one has room"
    again: Any = dict(some)
    status._beside(tmp_path / "23.jsonl", again)
    assert again["21.jsonl"]["at"] == 2 * len(line)
    # A line that is longer than that, as one with a picture, is passed over.
    log = tmp_path / "22.jsonl"
    log.write_bytes(usage(5, "a") + b" " * 2_000_000 + b"\n" + usage(70, "b") + b"\n")
    os.utime(log, (999, 999))
    long: Any = {}
    for _ in range(2):
        status._beside(tmp_path / "23.jsonl", long)
    assert (long["22.jsonl"]["at"], long["22.jsonl"]["tokens"]) == (log.stat().st_size, 70)


def test_what_is_remembered_is_kept_by_folder(tmp_path: Path) -> None:
    log, cache = tmp_path / "logs" / "a.jsonl", tmp_path / "cache"
    assert status._remembered(cache, None) == {} == status._remembered(cache, log)
    status._remember(cache, log, {"a.jsonl": {"at": 1}})
    assert status._remembered(cache, log.with_name("b.jsonl")) == {"a.jsonl": {"at": 1}}
    assert status._remembered(cache, tmp_path / "a.jsonl") == {}
    (file,) = (cache / "ctxsim" / "status").iterdir()
    assert file.name == status._place(cache, log).name and file.name.endswith(f"{len(str(log.parent))}.json")
    assert file.parent.stat().st_mode & 0o777 == 0o700
    for text in ("[]", "{", '{"a": 1}'):
        file.write_text(text)
        assert status._remembered(cache, log) == {}
    # A folder that can't be written keeps nothing.
    status._remember(file, log, {"a.jsonl": {"at": 1}})
    assert file.read_text() == '{"a": 1}'


@pytest.mark.parametrize(("given", "shown"), [
    (b'{"model": {"id": "m\\u0007\\n"}}', "m??"), (b"", "ctxsim: nothing to tell yet"),
    (b"{", "ctxsim: JSONDecodeError"),
    (b'{"model": {"id": "' + b"m" * 300 + b'"}}', "m" * 200),
])  # fmt: skip
def test_one_line_whatever_is_said(given: bytes, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out = io.StringIO()
    monkeypatch.setattr(status.sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    monkeypatch.setattr(status.sys, "stdout", out)
    status.main()
    assert out.getvalue() == f"{shown}\n"


def test_nobody_reads_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(status.sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    monkeypatch.setattr(status.sys, "stdout", Closed())
    status.main()
    assert status.sys.stdout.name == os.devnull
    status.sys.stdout.close()
