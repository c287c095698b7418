"""`ctxsim.replay` and `ctxsim.read`: one conversation as values."""

from __future__ import annotations

from pathlib import Path

import pytest
from invented import write_logs
from samples import conversation

import ctxsim
from ctxsim.errors import CtxsimError, InputError, UnknownName


def test_a_row_per_call() -> None:
    found = ctxsim.replay("documented-53k", "fifo:budget=20000")
    rows = found.frame()
    assert rows.call.tolist() == [1, 2, 3, 4, 5, 6, 7] and rows.tokens_full.iloc[-1] == 53_000
    assert (rows.refs_needed_strict.sum(), rows.refs_kept_strict.sum()) != (0, 0)
    assert found.calls.equals(rows) and rows.refs_needed_strict.sum() > 0
    assert found.summary.tokens_sum == rows.tokens_sent.sum() and found.transcript.name == "documented-53k"


def test_a_replay_agrees_with_the_run_on_disk(tmp_path: Path) -> None:
    run = ctxsim.bench("documented-53k", ["keep-all", "token-budget"], out=tmp_path / "run")
    label = run.labels[1]
    found = ctxsim.replay("documented-53k", "token-budget")
    assert found.policy == label
    for table in ("calls", "events", "losses"):
        on_disk = run.table(table, policy=[label]).reset_index(drop=True)
        assert getattr(found, table)[list(on_disk)].equals(on_disk), table
    assert found.needs.equals(run.table("needs"))
    row = run.of(label).iloc[0]
    assert {name: row[name] for name in ("tokens_sum", "cost_usd", "survival")} == {
        name: found.summary[name] for name in ("tokens_sum", "cost_usd", "survival")
    }
    assert set(found.losses.atom) <= set(found.needs.atom)
    again = ctxsim.read_run(tmp_path / "run")
    assert again.summary.equals(run.summary)


def test_fields_of_the_provider_go_before_the_scenarios() -> None:
    small = ctxsim.replay("documented-53k", window=30_000, rate_limit=None)
    assert small.provider.window == 30_000 and small.summary.overflows == 2 and small.summary.rate_limited == 0
    # The scenario's rate limit refuses the last call of keep-all; without one nothing does.
    assert ctxsim.replay("documented-53k").summary.rate_limited == 1
    assert ctxsim.replay("documented-53k", rate_limit=None).summary.rate_limited == 0
    assert ctxsim.bench("documented-53k", ["keep-all"], rate_limit=None).frame().rate_limited.sum() == 0
    with pytest.raises(CtxsimError, match="windo"):
        ctxsim.replay("documented-53k", windo=30_000)


def test_what_is_no_transcript_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no transcript")
    for what in ("documented-54k", tmp_path / "notes.txt", tmp_path / "missing.json", f"{tmp_path}/missing.json"):
        with pytest.raises(CtxsimError):
            ctxsim.replay(what)
    with pytest.raises(UnknownName):
        ctxsim.scenario("documented-54k")
    with pytest.raises(CtxsimError, match="replay takes a transcript in hand"):
        ctxsim.bench(conversation("x"))
    with pytest.raises(CtxsimError, match="fewer than 2"):
        ctxsim.replay(tmp_path / "one.json" if _one(tmp_path) else "", number=2)


def _one(folder: Path) -> bool:
    text = '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}'
    return bool((folder / "one.json").write_text(text))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Invented logs."""
    return write_logs(tmp_path_factory.mktemp("api") / "logs", count=1)


def test_what_is_read_is_a_list_with_a_frame(logs: Path) -> None:
    found = ctxsim.read(logs, logs / "chat-1.json")
    assert isinstance(found, list) and [one.format for one in found] == [
        "openai-chat", "claude-code", "codex-rollout", "openai-chat"
    ]  # fmt: skip
    frame = found.frame()
    assert frame.calls.tolist() == [6, 6, 6, 6] and frame.calls_with_usage.tolist() == [0, 6, 6, 0]
    assert frame.transcript.tolist() == [one.name for one in found]
    with pytest.raises(InputError, match="does not exist"):
        ctxsim.read(logs / "missing.json")
