"""Rows of several shares, put together as one process would have given them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from samples import ASK, TASK, chat

from ctxsim.errors import CtxsimError, InputError
from ctxsim.policies import open_policy
from ctxsim.results import InputInfo
from ctxsim.results.run_info import Recorder
from ctxsim.runs.rows import LEAST_POLICIES, OF_ALL, Done, Rows, rows_together, tables_together, together
from ctxsim.runs.transcript_rows import _recorder, prepared, rows_alone, rows_of, told_in
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Usage

ONE = AsSent(
    chat(TASK, ASK, ("tool_result", "zebra_one " * 30), ASK, ("tool_result", "b"), ("assistant", "zebra_one")),
    Provider(),
)
LABELS = ("keep-all", "drop-all", "mask:keep=1")


def rows(*labels: str) -> Rows:
    return rows_of(ONE, [open_policy(label) for label in labels], [])


def told(one: Rows) -> dict[str, Any]:
    return {name: getattr(one.tables, name).to_pylist() for name in one.tables.__struct_fields__}


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
    alone = rows_alone(prepared(ONE), open_policy("drop-all"))
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
    unlike = (calls[0], msgspec.structs.replace(calls[1], comparable=False), calls[2])
    found = _recorder(msgspec.structs.replace(codex, calls=unlike))
    assert found is not None and found.peak == 500
    bare = _recorder(msgspec.structs.replace(codex, calls=made.calls))
    assert bare is not None and bare.peak is None
    for format in ("", "synthetic", "openai-chat"):
        assert _recorder(msgspec.structs.replace(codex, format=format)) is None
