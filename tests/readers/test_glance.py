"""What sources show before any is read: formats, and the largest request that a model accepted."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from ctxsim.readers import glance, sources
from ctxsim.readers.glance import accepted, formats_of, of_project


def said(model: str, *tokens: int, cwd: str = "/p") -> str:
    """A line of Claude Code: input, written to the cache, read from it."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    usage = dict(zip(names, tokens, strict=False))
    return json.dumps({"cwd": cwd, "message": {"model": model, "usage": usage}}, separators=(",", ":"))


def put(path: Path, *lines: str) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))


def test_the_largest_accepted_request_of_each_project_and_model_and_its_sessions(tmp_path: Path) -> None:
    # 1 + 20 + 300 and 4 + 50 + 600 in one session, 7 + 0 + 100 in another; a response without cache says nothing.
    put(tmp_path / "a.jsonl", said("m", 1, 20, 300), said("m", 4, 50, 600), said("m", 2, 3, 4), said("n", 9_999))
    put(tmp_path / "b.jsonl", said("m", 7, 0, 100), said("n", 5, 6, 7, cwd="/other"))
    put(tmp_path / "c.jsonl", said("m", 0, 0, 0), "no json")
    put(tmp_path / "d.json", said("m", 5_000, 1, 1))
    # The first line of a session says which project it is of.
    assert accepted(sources(str(tmp_path))) == {"m in /p": (654, 2), "n in /p": (18, 1)}
    assert of_project("/p", "m") == "m in /p"


def test_requests_count_wherever_the_log_lies_and_however_its_json_is_spaced(tmp_path: Path) -> None:
    line = json.dumps(json.loads(said("m", 1, 20, 300)))
    assert ": " in line
    put(tmp_path / "a.jsonl", line)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.write(tmp_path / "a.jsonl", "deep/a.jsonl")
    for name in ("a.jsonl", "b.zip"):
        assert accepted(sources(str(tmp_path / name))) == {"m in /p": (321, 1)}, name


@pytest.mark.parametrize("cwd", ["C:\\work", "/home/josé", '/a "b"'])
def test_a_project_keeps_its_name_however_json_writes_it(tmp_path: Path, cwd: str) -> None:
    put(tmp_path / "a.jsonl", said("m", 1, 2, 3, cwd=cwd))
    assert accepted(sources(str(tmp_path))) == {f"m in {cwd}": (6, 1)}


def test_usage_that_stands_first_in_a_line_counts(tmp_path: Path) -> None:
    # Only what follows the last `usage` is its numbers: 1 + 2 + 3.
    put(tmp_path / "a.jsonl", '"usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":3},'
        '"model":"m"')  # fmt: skip
    assert accepted(sources(str(tmp_path))) == {"m in ": (6, 1)}


@pytest.mark.parametrize("behind", [None, 7, "none", []])
def test_usage_that_holds_no_numbers_behind_the_model_s_hides_nothing(tmp_path: Path, behind: object) -> None:
    put(tmp_path / "a.jsonl", json.dumps({**json.loads(said("m", 1, 20, 300)), "result": {"usage": behind}}))
    assert accepted(sources(str(tmp_path))) == {"m in /p": (321, 1)}


def test_formats_are_named_once_in_order(tmp_path: Path) -> None:
    chat = json.dumps([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}])
    rollout = json.dumps({"type": "session_meta", "payload": {"id": "s"}, "timestamp": "2026-01-01T00:00:00Z"})
    for name, text in (("a.json", chat), ("b.jsonl", rollout), ("c.json", chat), ("d.json", "{}")):
        (tmp_path / name).write_text(text)
    assert formats_of(sources(str(tmp_path))) == ["openai-chat", "codex-rollout"]
    assert formats_of([]) == []


@pytest.mark.parametrize(("most", "seen"), [(4, 4), (3, 2), (2, 2), (1, 1)])
def test_of_many_sources_every_nth_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, seen: int
) -> None:
    # 4 sources: every one, then every second for at most 3 or 2, then every fourth.
    for number in range(4):
        (tmp_path / f"{number}.json").write_text(f"[{number}]")  # copies count once
    looked: list[object] = []
    monkeypatch.setattr(glance, "LOOKED_AT", most)
    monkeypatch.setattr(glance, "Sample", looked.append)
    monkeypatch.setattr(glance, "detect", lambda _: type("Format", (), {"NAME": "one"}))
    assert formats_of(sources(str(tmp_path))) == ["one"]
    assert len(looked) == seen
