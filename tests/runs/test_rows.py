"""Rows of several shares, put together as one process would have given them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ASK, TASK, chat

from ctxsim.errors import CtxsimError, InputError
from ctxsim.policies import Spec, open_policy
from ctxsim.policies.agents.given import Given
from ctxsim.policies.agents.search import label_of
from ctxsim.results import InputInfo
from ctxsim.results.run_info import Recorder
from ctxsim.runs.conduct import conduct
from ctxsim.runs.rows import LEAST_POLICIES, OF_ALL, Done, Rows, Share, rows_together, shares, tables_together, together
from ctxsim.runs.task import Setting
from ctxsim.runs.transcript_rows import _recorder, rows_alone, rows_of, told_in
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.measure.summary import WhatIf
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Call, Usage

ONE = AsSent(
    chat(TASK, ASK, ("tool_result", "zebra_one " * 30), ASK, ("tool_result", "b"), ("assistant", "zebra_one")),
    Provider(),
)
LABELS = ("keep-all", "drop-all", "mask:keep=1")


def rows(*labels: str) -> Rows:
    return rows_of(ONE, [open_policy(label) for label in labels], [])


def told(one: Rows) -> dict[str, Any]:
    return {name: table.to_pylist() for name, table in one.tables.items()}


def test_shares_put_together_are_the_whole() -> None:
    whole = rows(*LABELS)
    made = rows_together([rows(*LABELS[:1]), rows(*LABELS[1:])])
    assert told(made) == told(whole) and made.summaries == whole.summaries
    assert OF_ALL == ("needs", "items", "frontier") and LEAST_POLICIES == 4
    assert told(msgspec.structs.replace(whole, tables=tables_together([whole.tables]))) == told(whole)
    assert [one["policy"] for one in whole.summaries] == ["keep-all", "drop-all", "mask:keep=1,batch=1"]
    assert (whole.transcript, whole.parent, whole.number, whole.recorder) == ("chat", None, 0, None)


def test_who_recorded_is_told_by_the_share_that_knows_when_it_fires() -> None:
    plain, knows = Recorder("chat", "codex"), Recorder("chat", "codex", fires_at=9)
    first, second = rows("keep-all"), rows("drop-all")
    for one, other, expected in (
        (plain, knows, knows),
        (plain, None, plain),
        (None, plain, None),
        (knows, plain, knows),
    ):
        found = rows_together(
            [msgspec.structs.replace(first, recorder=one), msgspec.structs.replace(second, recorder=other)]
        )
        assert found.recorder == expected


def done(error: str | None = None, failed: tuple[str, ...] = ()) -> Done:
    return Done(InputInfo("a", "h", 1, 1, (), error, failed or msgspec.UNSET), "beside")


def test_failures_of_all_shares_are_told_in_order_and_an_error_stands() -> None:
    (found,) = together([iter([done(failed=("b", "a"))]), iter([done(failed=("a", "c"))])])
    assert found == done(failed=("a", "b", "c"))
    assert list(together([iter([done()]), iter([done()])])) == [done()]
    # A share whose process was killed has no rows: none are taken.
    killed = together([iter([rows("keep-all"), done()]), iter([done("killed", ("x",))])])
    assert list(killed) == [done("killed", ("x",))]
    alone = [done(failed=("b", "a"))]
    assert list(together([iter(alone)])) == alone


def test_progress_is_of_all_policies_and_calls() -> None:
    heard: list[tuple[int, int]] = []
    rows_of(ONE, [open_policy(label) for label in LABELS], [], lambda done, known: heard.append((done, known)))
    # Three policies of three calls.
    assert {known for _, known in heard} == {9} and heard[0][0] == 0
    assert {0, 3, 6} <= {done for done, _ in heard} and max(done for done, _ in heard) <= 9


def test_rows_of_one_policy_are_those_of_it_among_others() -> None:
    alone = rows_alone(ONE.basis(), open_policy("drop-all"))
    whole = told(rows("keep-all", "drop-all"))
    assert told(alone)["calls"] == [one for one in whole["calls"] if one["policy"] == "drop-all"]
    assert told(alone)["needs"] == told(alone)["items"] == [] and whole["items"]


@pytest.mark.parametrize(
    ("error", "line"),
    [(InputError("f", "is bad"), "f: is bad"), (CtxsimError("no"), "a: no"), (KeyError("x"), "a: p: KeyError: 'x' (")],
)  # fmt: skip
def test_what_goes_wrong_is_a_line_and_takes_nothing_else_with_it(error: Exception, line: str) -> None:
    lines: list[str] = []
    with told_in(lines, "a", "p"):
        raise error
    assert len(lines) == 1 and lines[0].startswith(line)
    with told_in(lines, "a"):
        raise KeyError("x")
    assert lines[1].startswith("a: KeyError: 'x' (test_rows.py:")
    with pytest.raises(KeyboardInterrupt), told_in(lines, "a"):
        raise KeyboardInterrupt


def test_a_recorder_is_an_agent_that_we_know_with_its_largest_request() -> None:
    made = ONE.transcript
    sizes = (Usage(500), Usage(900), None)
    calls = tuple(msgspec.structs.replace(call, usage=usage) for call, usage in zip(made.calls, sizes, strict=True))
    codex = msgspec.structs.replace(made, format="codex-rollout", version="1.2", compacted_at=800, calls=calls)
    assert _recorder(codex) == Recorder("chat", "codex", "1.2", "", None, 800, 900)
    beside = msgspec.structs.replace(codex, beside=(Call(0, 0, usage=Usage(9, cost_usd=0.5)),))
    assert _recorder(beside) == Recorder("chat", "codex", "1.2", "", None, 800, 900, 0.5)
    unlike = (calls[0], msgspec.structs.replace(calls[1], comparable=False), calls[2])
    found = _recorder(msgspec.structs.replace(codex, calls=unlike))
    assert found is not None and found.peak == 500
    bare = _recorder(msgspec.structs.replace(codex, calls=made.calls))
    assert bare is not None and bare.peak is None
    for format in ("", "synthetic", "openai-chat"):
        assert _recorder(msgspec.structs.replace(codex, format=format)) is None


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
    assert plain.tables["draws"].num_rows == 0
    drawn = rows_of(one, [spec], [], what_if=WhatIf(False, True, 0.5, 3))
    assert drawn.tables["draws"].to_pydict()["draw"] == [1, 2, 3]


def test_what_is_least_is_looked_for_only_where_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    one, spec = recorded("openai-chat"), open_policy("mask:keep=1")
    whole = rows_of(one, [spec], [])
    asked: list[object] = []
    monkeypatch.setattr("ctxsim.simulator.measure.measured.frontiers", lambda *of: asked.append(of))
    part = rows_of(one, [spec], [], what_if=WhatIf(brackets=False))
    assert whole.tables["frontier"].num_rows > 0 == part.tables["frontier"].num_rows and not asked
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
    assert found.tables["calls"].to_pydict()["policy"] == ["keep-all"] * 3 + ["drop-all"] * 3
    assert found.tables["items"].num_rows == rows_of(one, [first], []).tables["items"].num_rows


FAILS = """
from dataclasses import dataclass
from ctxsim.policies import Policy

@dataclass
class Fails(Policy):
    def before_call(self, view):
        raise ValueError("never")
"""


@given(st.integers(1, 40), st.integers(1, 9))
def test_shares_are_all_of_it_once_in_order(count: int, of: int) -> None:
    parts = [Share(number, of).among(range(count)) for number in range(of)]
    assert [one for part in parts for one in part] == list(range(count))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize(
    ("jobs", "sources", "policies", "count"),
    [
        (1, 1, 100, 1),
        (4, 1, 100, 4),
        (4, 4, 100, 1),
        # Two processes for each of three sources, so that eight have work.
        (8, 3, 100, 3),
        (8, 1, 2 * LEAST_POLICIES, 2),
        (8, 1, LEAST_POLICIES - 1, 1),
        (8, 0, 100, 8),
    ],
)
def test_as_many_shares_as_there_are_processes_for_each_source(
    jobs: int, sources: int, policies: int, count: int
) -> None:
    assert shares(jobs, sources, policies) == [Share(number, count) for number in range(count)]


@pytest.mark.slow
@pytest.mark.usefixtures("opened_at_once")
def test_two_processes_for_one_file_give_the_same_bytes(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a policy fails, where it is the second share that has one, and of a program that imports another."""
    (tmp_path / "beside.py").write_text("ANSWER = '{\"unchanged\": true}'")
    (tmp_path / "program.py").write_text(
        "import sys, beside\nfor n, _ in enumerate(sys.stdin): print(beside.ANSWER if n else '{}', flush=True)\n"
    )
    policy = tmp_path / "fails.py"
    policy.write_text(FAILS)
    one = tmp_path / "one"
    one.mkdir()
    shutil.copy(next(logs.iterdir()), one / "log.jsonl")
    labels = ("keep-all", "drop-all", "mask:keep=1", "token-budget:budget=300", "summary:at=0.1", "head-tail",
              f"{policy}:Fails", f"pipe:{sys.executable} {tmp_path}/program.py")  # fmt: skip
    setting = Setting("b", "b", labels, overrides={"window": 3_000})
    for jobs in (1, 2):
        conduct(setting, tmp_path / f"out{jobs}", paths=[str(one)], jobs=jobs)
    made = [{path.name: path.read_bytes() for path in (tmp_path / f"out{jobs}").iterdir()} for jobs in (1, 2)]
    assert made[0] == made[1]
    assert b"never" in made[0]["run.json"] and b"beside" not in made[0]["run.json"]
