"""When the recorded agent, as it is set, compacts: told once, by its own row."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from samples import ASK, TASK, chat

from ctxsim.policies import Spec, open_policy
from ctxsim.policies.agents.given import Given
from ctxsim.policies.agents.search import label_of
from ctxsim.runs.transcript_rows import rows_of
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.measure.summary import WhatIf
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Usage

LIMIT = Given("codex", "model_auto_compact_token_limit", 90_000)


def recorded(format: str) -> AsSent:
    made = chat(TASK, ASK, ("tool_result", "zebra_one " * 30), ASK, ("tool_result", "b"), ("assistant", "zebra_one"))
    calls = tuple(msgspec.structs.replace(call, usage=Usage(500)) for call in made.calls)
    return AsSent(msgspec.structs.replace(made, format=format, calls=calls), Provider())


def test_the_row_as_set_says_when_it_fires() -> None:
    specs = [open_policy(label) for label in ("keep-all", "token-budget:budget=900", label_of([LIMIT]), "as-set")]
    found = rows_of(recorded("codex-rollout"), specs[:3], [])
    assert found.recorder is not None and (found.recorder.agent, found.recorder.peak) == ("codex", 500)
    assert found.recorder.fires_at == 90_000
    # Beside the row as set, here or in another process, what is tried says nothing of it.
    for others, baseline, at in ((specs, None, 180_000), (specs[:2], None, None), (specs[:3], "as-set", None)):
        other = rows_of(recorded("codex-rollout"), others, [], baseline=baseline)
        assert other.recorder is not None and other.recorder.fires_at == at
    assert rows_of(recorded("openai-chat"), [open_policy("as-set")], []).recorder is None


def test_draws_are_made_only_where_some_are_asked_for() -> None:
    one, spec = recorded("openai-chat"), open_policy("mask:keep=1")
    plain = rows_of(one, [spec], [])
    assert plain.tables.draws.num_rows == 0
    drawn = rows_of(one, [spec], [], what_if=WhatIf(False, True, 0.5, 3))
    assert drawn.tables.draws.to_pydict()["draw"] == [1, 2, 3]


def test_what_is_least_is_looked_for_only_where_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    one, spec = recorded("openai-chat"), open_policy("mask:keep=1")
    whole = rows_of(one, [spec], [])
    asked: list[object] = []
    monkeypatch.setattr("ctxsim.simulator.measure.measured.frontiers", lambda *of: asked.append(of))
    part = rows_of(one, [spec], [], what_if=WhatIf(brackets=False))
    assert whole.tables.frontier.num_rows > 0 == part.tables.frontier.num_rows and not asked
    least = {name for name in whole.summaries[0] if "frontier" in name}
    assert len(least) == 4 and whole.summaries[0]["tokens_frontier"] is not None
    assert whole.summaries[0] | dict.fromkeys(least) == part.summaries[0]


def test_a_policy_apart_is_told_how_far_it_is_behind_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    one = recorded("openai-chat")
    first, second = open_policy("keep-all"), open_policy("drop-all")
    apart = rows_of(one, [second], [])
    asked: list[Any] = []

    def rows_apart(one: AsSent, spec: Any, failed: list[str], tell: Any, what_if: Any) -> Any:
        tell(2)
        asked.append((spec.label, what_if))
        return apart if spec is second else None

    third = open_policy("mask:keep=1")
    monkeypatch.setattr(Spec, "own", property(lambda spec: spec is first))
    monkeypatch.setattr("ctxsim.runs.own_process.others", lambda spec: frozenset("x"))
    monkeypatch.setattr("ctxsim.runs.own_process.rows_apart", rows_apart)
    heard: list[tuple[int, int]] = []
    what_if = WhatIf(False, False)
    found = rows_of(one, [first, third, second], [], lambda done, known: heard.append((done, known)), what_if)
    # Three policies of three calls: the second begins at 3, the third at 6.
    assert {(3, 9), (5, 9), (6, 9), (8, 9)} <= set(heard)
    assert [one["policy"] for one in found.summaries] == ["keep-all", "drop-all"]
    assert asked == [("mask:keep=1,batch=1", what_if), ("drop-all", what_if)]
    assert found.tables.calls.to_pydict()["policy"] == ["keep-all"] * 3 + ["drop-all"] * 3
    assert found.tables.items.num_rows == rows_of(one, [first], []).tables.items.num_rows
