"""What a sample is drawn from, and what is drawn, by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from bench_runs import write
from samples import ASK, TASK, chat, conversation, summarized

from ctxsim.readers import sources
from ctxsim.results.run_info import InputInfo, Sample
from ctxsim.runs.rows import Done
from ctxsim.runs.sizes import METHOD, keep_all, plan, steps
from ctxsim.runs.task import Common, Setting, Task, results_of
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices


def test_sizes_are_keep_alls_tokens_and_dollars() -> None:
    made = conversation("one two three", "four")
    plain = AsSent(made, Provider(framing="none"))
    tokens, usd = keep_all(plain)
    assert usd is None and tokens > 0
    # A dollar for each million tokens of input and two for output: of three calls.
    priced = AsSent(made, Provider(framing="none", cache="none", prices=Prices(input=1.0, output=2.0)))
    same, dollars = keep_all(priced)
    provider = priced.provider
    counter = provider.counter()
    outputs = sum(counter.item(item) for item in made.items if item.kind in ("tool_call", "assistant"))
    assert same == tokens and dollars == pytest.approx((tokens + 2 * outputs) / 1e6, abs=1e-9)
    # Requests of 12, 22 and 28 millionths of a millionth of a dollar are nothing each: rounded as in a run's rows.
    tiny = msgspec.structs.replace(provider, prices=Prices(input=0.000002, output=0.000002))
    row = summarized(made, "keep-all", tiny)
    assert keep_all(AsSent(made, tiny)) == (row.tokens_sum, row.cost_usd)


def test_a_source_has_the_sizes_of_those_with_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "logs", chat(TASK, ASK, ("tool_result", "a"), ("assistant", "b")), "a")
    (source,) = sources(str(tmp_path / "logs"))
    task = Task(source, Common(Setting("a", "a", ("no such policy",))), sizing=True)
    (done,) = results_of(task)
    assert isinstance(done, Done) and len(done.sizes) == 1 and done.info.calls == 2 and done.sizes[0][0] > 0

    def fails(one: AsSent) -> tuple[int, float | None]:
        raise KeyError("no")

    monkeypatch.setattr("ctxsim.runs.task.keep_all", fails)
    (done,) = results_of(task)
    assert isinstance(done, Done) and done.sizes == ((0, None),) and "KeyError" in done.info.failures[0]


def about(**fields: object) -> Sample:
    plain = {"asked": 2, "seed": 5, "method": METHOD, "by": "keep-all's dollars", "transcripts": 4, "priced": 4,
             "calls": 9, "tokens": 1_000, "usd": 10.0}  # fmt: skip
    return msgspec.convert(plain | fields, Sample)


def sized(calls: int, *sizes: tuple[int, float | None]) -> Done:
    return Done(InputInfo("a", "h", len(sizes), calls), sizes=sizes)


FOUR = [sized(4, (100, 1.0), (200, 2.0)), sized(0), sized(5, (300, 3.0), (400, 4.0))]


def test_a_plan_says_what_is_drawn_of_each_source() -> None:
    found = plan(FOUR, 2, 5)
    assert found is not None and found.about == about()
    drawn = {(number, at): chance for number, its in enumerate(found.by_source) for at, chance in its.items()}
    # Two of 10 dollars in all: 0.2, 0.4, 0.6 and 0.8.
    chances = {(0, 0): 0.2, (0, 1): 0.4, (2, 0): 0.6, (2, 1): 0.8}
    assert len(drawn) == 2 and drawn == pytest.approx({key: chances[key] for key in drawn})
    assert found.by_source[1] == {} and plan(FOUR, 2, 5) == found
    several = [plan(FOUR, 2, seed) for seed in range(9)]
    assert len({str(one and one.by_source) for one in several}) > 1


def test_of_as_many_as_there_are_nothing_is_drawn() -> None:
    assert plan(FOUR, 4, 0) is None and plan(FOUR, 5, 0) is None and plan(FOUR, 3, 0) is not None
    assert plan([], 1, 0) is None


def test_dollars_count_where_half_have_them_and_tokens_cost_the_average_then() -> None:
    half = [sized(4, (100, 1.0), (300, None), (100, None), (500, 5.0))]
    found = plan(half, 3, 0)
    assert found is not None and found.about == about(asked=3, seed=0, priced=2, calls=4, usd=6.0)
    # A hundredth of a dollar for a token: sizes of 1, 3, 1 and 5. Of three the largest is sure, of two of the rest's 5
    # that of 3 too; one of two is left.
    chances = [0.5, 1.0, 0.5, 1.0]
    assert found.by_source[0] == pytest.approx({at: chances[at] for at in found.by_source[0]})
    assert len(found.by_source[0]) == 3
    fewer = plan([sized(3, (100, 1.0), (300, None), (100, None))], 1, 0)
    assert fewer is not None and fewer.about == about(
        asked=1, seed=0, by="keep-all's tokens", transcripts=3, priced=1, calls=3, tokens=500, usd=1.0
    )  # fmt: skip
    (chance,) = fewer.by_source[0].values()
    assert chance in (pytest.approx(0.2), pytest.approx(0.6))
    free = plan([sized(2, (100, 0.0), (300, 0.0))], 1, 0)
    assert free is not None and (free.about.by, free.about.usd) == ("keep-all's tokens", 0.0)
    bare = plan([sized(2, (100, None), (300, None))], 1, 0)
    assert bare is not None and (bare.about.usd, bare.about.priced) == (None, 0)
    nothing = plan([sized(2, (0, 1.0), (0, 1.0))], 1, 0)
    assert nothing is not None and nothing.about.by == "keep-all's tokens"


def test_steps_lie_a_unit_apart() -> None:
    halves = np.asarray([0.5, 0.5, 0.5, 0.5])
    # Ends at 0.5, 1.0, 1.5, 2.0.
    assert steps(halves, 0.0).tolist() == [0, 2] and steps(halves, 0.49).tolist() == [0, 2]
    assert steps(halves, 0.5).tolist() == [1, 3] and steps(halves, 0.999).tolist() == [1, 3]
    assert steps(np.asarray([]), 0.3).tolist() == []
    # Sums that rounding leaves a little short are stretched.
    assert steps(np.asarray([0.3, 0.3, 0.4 - 1e-9]), 1.0 - 1e-10).tolist() == [2]
