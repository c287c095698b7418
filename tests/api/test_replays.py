"""`ctxsim.replay` and `ctxsim.read`: one conversation as values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from invented import write_logs
from samples import conversation

import ctxsim
from ctxsim.api.replays import HEADLINES
from ctxsim.errors import ContractError, CtxsimError, InputError, UnknownName
from ctxsim.policies import registered_policies
from ctxsim.synthesis import load_scenario
from ctxsim.transcript import Usage


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
    assert ctxsim.read([logs, logs / "chat-1.json"]) == found
    with pytest.raises(InputError, match="does not exist"):
        ctxsim.read(logs / "missing.json")


def test_a_list_of_transcripts_has_a_row_for_each() -> None:
    made = conversation("one")
    used = msgspec.structs.replace(made.calls[0], usage=Usage(9), model="m")
    child = msgspec.structs.replace(
        made, name="b", parent="a", format="x", notes=("n", "o"), calls=(used, *made.calls[1:])
    )  # fmt: skip
    assert ctxsim.Transcripts([made, child]).frame().fillna("").to_dict("records") == [
        {"transcript": "sample", "format": "", "model": "", "calls": 2, "items": 4, "calls_with_usage": 0,
         "parent": "", "notes": ""},
        {"transcript": "b", "format": "x", "model": "m", "calls": 2, "items": 4, "calls_with_usage": 1, "parent": "a",
         "notes": "n; o"},
    ]  # fmt: skip


def test_a_replay_is_of_one_policy_beside_keep_all() -> None:
    found = ctxsim.replay("documented-53k", "fifo:budget=20000")
    assert repr(found) == "<documented-53k under fifo:budget=20000>"
    assert found.calls.call.tolist() == [1, 2, 3, 4, 5, 6, 7] and found.calls.tokens_full.iloc[-1] == 53_000
    assert set(found.calls.policy) == set(found.events.policy) == {"fifo:budget=20000"} and len(found.calls) == 7
    # What a loss is about is the need of that number.
    needs = found.needs.atom.tolist()
    assert len(found.losses) and found.losses.atom.tolist() == [needs[number] for number in found.losses.need]
    assert (found.summary.name, found.summary.transcript, found.summary.calls) == (found.policy, "documented-53k", 7)
    plain = ctxsim.replay("documented-53k")
    assert plain.policy == "keep-all" and plain.losses.empty and plain.summary.cost_vs_keep_all == 1
    assert found.summary.cost_vs_keep_all == pytest.approx(found.summary.cost_usd / plain.summary.cost_usd)
    shown = found._repr_html_()
    assert "tokens_peak" in shown and "cost_vs_keep_all" in shown and "first_failure" not in shown
    assert HEADLINES[0] == "calls" and len(HEADLINES) == 11


def test_what_has_no_call_is_not_replayed() -> None:
    made = msgspec.structs.replace(conversation("one"), calls=(), items=())
    with pytest.raises(CtxsimError, match="sample has no call to replay"):
        ctxsim.replay(made)


def test_a_policy_that_fails_is_an_error_here() -> None:
    class Fails(ctxsim.Policy):
        """Never answers."""

        def before_call(self, view: Any) -> Any:
            raise ValueError("never")

    with pytest.raises(ContractError, match="before_call raised ValueError: never"):
        ctxsim.replay(conversation("one"), Fails)
    registered_policies().pop("fails")


def test_a_number_and_a_head_choose_what_is_replayed(logs: Path) -> None:
    second = ctxsim.replay(logs, number=2)
    assert second.transcript.name.endswith("claude-1.jsonl")
    fitted, bare = (ctxsim.replay(logs / "rollout-1.jsonl", head=head) for head in ("fitted", "none"))
    assert fitted.calls.tokens_sent.sum() > bare.calls.tokens_sent.sum()
    assert ctxsim.scenario("one-prompt") == ctxsim.scenario(Path("one-prompt")) == load_scenario("one-prompt")


def test_frames_without_a_row_have_their_columns(tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "Any mail?"}]')
    one = ctxsim.read(tmp_path)
    with ctxsim.serve("one-prompt") as endpoint:
        frames = [endpoint.frame(), ctxsim.Transcripts().frame(), ctxsim.bill([], index=False).frame("week")]
    frames += [ctxsim.compactions(one).frame(), ctxsim.validate(one).frame()]
    assert [len(frame) for frame in frames] == [0] * 5
    firsts = [list(frame.columns)[:2] for frame in frames]
    assert firsts == [
        ["session", "number"], ["transcript", "format"], ["week", "sessions"], ["transcript", "root"],
        ["format", "model"],
    ]  # fmt: skip
    made = ctxsim.Transcripts(one * 2).frame()
    assert list(made.columns) == list(frames[1].columns) and len(made) == 2
