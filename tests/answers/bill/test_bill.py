"""The bill adds up: to recorded usage, to the token; parts to their request; and an index changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from corpus import FOLDER, here, recorded
from invented import claude_code, codex, write_logs
from samples import ASK, TASK, chat

from ctxsim.answers.bill.extract import facts_of
from ctxsim.answers.bill.facts import BESIDE, JOINED, OUTPUT, UNKNOWN, Session
from ctxsim.api.bill import Bill, bill, forget
from ctxsim.errors import UnknownName
from ctxsim.report.bill import older
from ctxsim.transcript import Usage


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ctxsim" / "bill" / "facts.msgpack"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write_logs(tmp_path / "logs", 1)


def test_totals_are_what_the_logs_state(logs: Path) -> None:
    found = bill(logs)
    total = found.total()
    # Codex: 1,000 + 300 a step in six responses, 900 of each but the first read. Claude Code: 5 uncached, 300 written,
    # 900 + 300 a step read. Both answer with 40.
    assert total.responses == 12 and total.output == 12 * 40
    assert total.read == 5 * 900 + 6 * 900 + 300 * 15
    assert total.write == 6 * 300
    assert total.plain == (6 * 1_000 + 300 * 15 - 5 * 900) + 6 * 5
    assert found.lines.unrecorded == 6, "the chat has no usage"
    # claude-sonnet-4-5: 0.30 read, 3.75 written, 3 uncached, 15 output, for a million tokens.
    by = found.by("model")
    assert by["claude-sonnet-4-5"].usd == pytest.approx((9_900 * 0.3 + 1_800 * 3.75 + 30 * 3 + 240 * 15) / 1e6)
    assert by["claude-sonnet-4-5"].usd_recorded == 0 and total.unpriced == 0
    assert sum(one.usd for one in by.values()) == pytest.approx(total.usd)
    assert list(found.by("agent")) == sorted(found.by("agent"), key=lambda name: -found.by("agent")[name].usd)
    assert list(found.by("day")) == ["2026-01-05"] and list(found.by("week")) == ["2026-01-05"]
    assert list(found.frame("model").columns)[:3] == ["model", "sessions", "responses"]
    with pytest.raises(UnknownName, match="unknown by 'year'"):
        found.by("year")  # type: ignore[arg-type]


def each(sessions: list[Session]) -> Iterator[tuple[Session, tuple[int, ...], tuple[int, int, int]]]:
    for session in sessions:
        for one in (*session.responses, *session.beside):
            yield session, one.parts, (one.read, one.write, one.plain)


def adds_up(found: Bill) -> None:
    for session, parts, classes in each(found.lines.sessions):
        groups = [parts[at : at + 4] for at in range(0, len(parts), 4)]
        assert tuple(sum(group[n] for group in groups) for n in (1, 2, 3)) == classes
        assert all(value >= 0 for value in parts)
        assert len({group[0] for group in groups}) == len(groups) and max(group[0] for group in groups) < len(
            session.parts
        )
    total = found.total()
    assert sum(sum(one[:3]) for part, one in total.parts.items() if part != OUTPUT) == total.input
    assert sum(one[3] for one in total.parts.values()) == pytest.approx(total.usd)


def test_parts_of_a_request_sum_to_it(logs: Path) -> None:
    found = bill(logs)
    adds_up(found)
    parts = found.total().parts
    assert {"user", "tool calls", "results of Bash", "results of shell", OUTPUT} <= set(parts)


def test_what_isnt_logged_is_named(tmp_path: Path) -> None:
    lines = [json.loads(json.dumps(line)) for line in claude_code(1)]
    # The last request has 50,000 tokens more than the log holds.
    lines[-1]["message"]["usage"]["input_tokens"] += 50_000
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = bill(tmp_path / "a.jsonl")
    adds_up(found)
    parts = found.total().parts
    assert sum(sum(parts.get(name, [0])[:3]) for name in (JOINED, UNKNOWN)) == pytest.approx(50_000, rel=0.05)


def test_responses_outside_the_conversation_are_paid_and_named(tmp_path: Path) -> None:
    lines = claude_code(1)
    usage = {"input_tokens": 7, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 700, "output_tokens": 1}
    message = {"id": "told", "model": "claude-sonnet-4-5", "usage": usage}
    data = {"type": "agent_progress", "agentId": "x7", "message": {"type": "assistant", "message": message}}
    told = {"type": "progress", "uuid": "p", "timestamp": "2026-01-05T09:00:30.000Z", "data": data}
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in [*lines, told, told]))
    found = bill(file)
    adds_up(found)
    assert found.total().parts[BESIDE][:3] == [70, 700, 7]
    # Once the sub-agent has a file of its own, that one tells.
    (tmp_path / "agent-x7.jsonl").write_text("")
    assert BESIDE not in bill(file, index=False).total().parts


def test_a_response_that_stands_in_two_files_counts_once(tmp_path: Path) -> None:
    said = claude_code(1)
    # One of them without recorded usage.
    next(line for line in said if line["type"] == "assistant")["message"].pop("usage")
    text = "".join(json.dumps(line) + "\n" for line in said)
    (tmp_path / "logs").mkdir()
    for name in ("first", "resumed"):
        (tmp_path / "logs" / f"{name}.jsonl").write_text(f'{text}{{"type": "{name}"}}\n')
    found = bill(tmp_path / "logs", days=None)
    assert (found.total().responses, found.lines.repeated) == (5, 5)
    assert (found.lines.unrecorded, found.lines.older) == (1, [])


def test_responses_of_a_model_without_a_known_price_are_counted(tmp_path: Path) -> None:
    lines = [json.dumps(line).replace("claude-sonnet-4-5", "nobodys-model") for line in claude_code(1)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    total = bill(tmp_path / "a.jsonl").total()
    assert (total.unpriced, total.responses, total.usd) == (6, 6, 0)


def test_a_users_text_after_a_response_begins_a_turn() -> None:
    made = chat(
        TASK, ASK, ("tool_result", "a"), ASK, ("tool_result", "b"), ("assistant", "c"), ("user", "And?"),
        ("assistant", "d"),
    )  # fmt: skip
    calls = tuple(msgspec.structs.replace(call, usage=Usage(100 * n, 5)) for n, call in enumerate(made.calls, 1))
    session = facts_of(msgspec.structs.replace(made, calls=calls))
    assert [one.turn for one in session.responses] == [False, False, False, True]


def test_the_last_days_are_those_that_the_logs_hold(tmp_path: Path) -> None:
    late = json.dumps(codex(1)).replace("2026-01-05", "2026-03-05")
    write_logs(tmp_path / "logs", 1)
    (tmp_path / "logs" / "late.jsonl").write_text("".join(json.dumps(line) + "\n" for line in json.loads(late)))
    assert bill(tmp_path / "logs").total().responses == 6
    assert bill(tmp_path / "logs", days=90).total().responses == 18
    # The newest is of 9:05. The others' six are of 9:00 to 9:05, 59 days before: one of each is no older than that.
    assert [bill(tmp_path / "logs", days=days).total().responses for days in (58, 59, 60)] == [6, 8, 18]
    assert bill(tmp_path / "logs", days=None).total().responses == 18


def test_an_index_changes_nothing_and_holds_no_text(
    logs: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = bill(logs, index=False)
    assert not own_cache.exists()
    first = bill(logs)
    assert oct(own_cache.stat().st_mode & 0o777) == "0o600"
    kept = own_cache.read_bytes()
    # No text of a recording: what was asked, what came back, what was answered.
    for text in (b"ticket-", b"Find what", b"Closed", b"commit", b"part_1"):
        assert text not in kept
    read_again: list[object] = []
    monkeypatch.setattr("ctxsim.api.bill._extract", read_again.append)
    again = bill(logs)
    assert not read_again
    assert msgspec.msgpack.encode(plain.lines) == msgspec.msgpack.encode(first.lines)
    assert msgspec.msgpack.encode(again.lines.sessions) == msgspec.msgpack.encode(first.lines.sessions)


@pytest.mark.parametrize("content", [b"", b"no index", b"\x93\x01\x80", b"\x94\x63\x80\xa0\x80"])
def test_an_index_that_cant_be_used_is_made_anew(logs: Path, own_cache: Path, content: bytes) -> None:
    own_cache.parent.mkdir(parents=True)
    own_cache.write_bytes(content)
    assert bill(logs).total().responses == 12
    assert forget() == own_cache and not own_cache.exists() and forget() is None


@here
@pytest.mark.corpus
@pytest.mark.parametrize("folder", ["claude-code-entire", "codex-agentv", "pi-mono", "mini-swe-agent", "cline-sdk"])
def test_real_bills_add_up(folder: str) -> None:
    found = bill(FOLDER / folder, days=None)
    adds_up(found)
    transcripts = [one for one in recorded(FOLDER / folder) if one.calls]
    total, usages = found.total(), [call.usage for one in transcripts for call in (*one.calls, *one.beside)]
    assert total.input == sum(usage.input_tokens for usage in usages if usage)
    assert found.lines.unrecorded == sum(usage is None for usage in usages)
    stated = sum(usage.cost_usd or 0.0 for usage in usages if usage)
    sessions = sum(one.cost_usd or 0.0 for one in transcripts
                   if not any(call.usage and call.usage.cost_usd is not None for call in one.calls))  # fmt: skip
    assert total.usd_recorded == pytest.approx(stated + sessions, abs=0.005)


def test_sessions_before_the_days_are_counted_and_an_agent_that_is_gone_is_named(tmp_path: Path) -> None:
    late = json.dumps(codex(1)).replace("2026-01-05", "2026-03-05")
    write_logs(tmp_path / "logs", 1)
    (tmp_path / "logs" / "late.jsonl").write_text("".join(json.dumps(line) + "\n" for line in json.loads(late)))
    lines = bill(tmp_path / "logs").lines
    assert [one.format for one in lines.older].count("claude-code") == 1
    assert [one.format for one in lines.sessions] == ["openai-chat", "codex-rollout"], "the chat has no time"
    left_out = "Left out: 2 older sessions, all sessions of Claude Code among them; --days 0 takes all."
    assert list(older(lines)) == [left_out]
    assert bill(tmp_path / "logs", days=None).lines.older == []
    # The next days go by all sessions that are known: three with usage here.
    ahead = bill(tmp_path / "logs").ahead()
    assert ahead is not None and ahead.known == 3
