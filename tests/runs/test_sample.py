"""What a sample is drawn from, and what is drawn, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from bench_runs import content, write
from command_line import ctxsim
from samples import ASK, TASK, chat, conversation, summarized

from ctxsim import bench
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.readers import sources
from ctxsim.results import read_run
from ctxsim.results.run_info import InputInfo, Sample
from ctxsim.runs.rows import Done
from ctxsim.runs.sizes import METHOD, draw, inclusion, keep_all, plan, steps
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


POLICIES = ("keep-all", "mask:keep=1", "drop-all")


def arguments(logs: Path, out: str, *more: str) -> list[str]:
    return ["bench", str(logs), "--out", out, *(part for label in POLICIES for part in ("--policy", label)), *more]


def test_probabilities_by_hand() -> None:
    """3 of sizes 3, 4, 5, 20, 24: 24 and then 20 are sure (2 * 20 / 32 > 1); one of 3, 4, 5 by 3/12, 4/12, 5/12."""
    assert inclusion([3, 4, 5, 20, 24], 3) == pytest.approx([3 / 12, 4 / 12, 5 / 12, 1, 1])
    assert inclusion([5, 5, 5, 5], 2) == pytest.approx([0.5] * 4)
    assert inclusion([1, 2], 2).tolist() == inclusion([1, 2], 3).tolist() == [1, 1]
    # What is small, or has no size, counts as a quarter of the mean of 4: one of 1, 1, 11.
    assert inclusion([0, 1, 11], 1) == pytest.approx([1 / 13, 1 / 13, 11 / 13])
    assert inclusion([0, 0.5, 11.5], 1) == pytest.approx([1 / 13.5, 1 / 13.5, 11.5 / 13.5])
    assert inclusion([0, 0], 1) == pytest.approx([0.5, 0.5])
    assert inclusion([2, 1, 1], 2) == pytest.approx([1, 0.5, 0.5]), "exactly 1 is sure"
    assert inclusion([], 2).tolist() == []


def test_each_start_takes_as_many_and_each_unit_by_its_probability() -> None:
    """Enumerated: starts in a grid finer than any probability; the same for every order of the units."""
    probabilities = np.asarray([0.1, 0.35, 0.8, 0.5, 0.25])
    starts = (np.arange(2000) + 0.5) / 2000
    for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1], [2, 3, 1, 0, 4]):
        taken = np.zeros(5)
        for start in starts:
            found = steps(probabilities[order], float(start))
            assert len(set(found.tolist())) == 2
            taken[np.asarray(order)[found]] += 1
        assert taken / 2000 == pytest.approx(probabilities, abs=1e-3)


def test_the_weighted_total_is_unbiased_over_seeds_and_the_largest_are_always_in() -> None:
    """With sizes for amounts the total is exact, whatever is drawn; of other amounts it is right on average."""
    sizes = np.asarray([2, 2, 3, 4, 5, 6, 7, 20.0])
    amounts = np.asarray([3, 1, 4, 1, 5, 9, 2, 6.0])
    probabilities = inclusion(sizes, 4)
    totals = []
    for seed in range(4000):
        drawn = draw(probabilities, seed)
        assert len(drawn) == 4 and 7 in drawn and drawn == sorted(drawn)
        assert (sizes[drawn] / probabilities[drawn]).sum() == pytest.approx(sizes.sum())
        totals.append(float((amounts[drawn] / probabilities[drawn]).sum()))
    assert np.mean(totals) == pytest.approx(amounts.sum(), abs=3 * np.std(totals) / 4000**0.5)
    assert draw(probabilities, 5) == draw(probabilities, 5)


@pytest.fixture(scope="module")
def sampled(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sampled")
    done = ctxsim(*arguments(logs, "one", "--sample", "8:seed=3", "--model", "gpt-5"), cwd=folder)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "8 of 24 transcripts, sampled" in said and "ranges: 95 %, sampling error" in said
    assert "Amounts are estimates of this folder, ranges their sampling error: no forecast." in said
    return folder


def test_the_run_says_what_was_drawn_and_keep_alls_totals_are_the_folders(
    logs: Path, sampled: Path, tmp_path: Path
) -> None:
    assert ctxsim(*arguments(logs, "all", "--model", "gpt-5"), cwd=tmp_path).returncode == 0
    every, some = read_run(tmp_path / "all"), read_run(sampled / "one")
    sample = some.info.sample
    assert isinstance(sample, Sample)
    whole = every.of("keep-all").set_index("transcript")
    assert (sample.asked, sample.seed, sample.transcripts, sample.priced) == (8, 3, 24, 24)
    assert sample.by == "keep-all's dollars" and "Hartley and Rao" in sample.method
    assert (sample.tokens, sample.calls) == (whole.tokens_sum.sum(), whole.calls.sum())
    assert sample.usd == pytest.approx(whole.cost_usd.sum(), abs=1e-9)
    known = dict(zip(whole.index, inclusion(whole.cost_usd.tolist(), 8), strict=True))
    assert [one.transcript for one in sample.drawn] == some.of("keep-all").transcript.tolist()
    assert {one.transcript: one.probability for one in sample.drawn} == pytest.approx(
        {one.transcript: known[one.transcript] for one in sample.drawn}
    )
    assert {name for name, probability in known.items() if probability == 1} <= {one.transcript for one in sample.drawn}
    # All sources are told, and a drawn transcript's rows are those of the whole run.
    assert [one.name for one in some.info.inputs] == [one.name for one in every.info.inputs] and some.info.complete
    names = some.of("keep-all").transcript.tolist()
    for label in some.labels:
        of_all = every.of(label).set_index("transcript").loc[names, "cost_usd"]
        assert some.of(label).cost_usd.tolist() == of_all.tolist()


def test_estimates_are_those_of_the_closed_form(sampled: Path) -> None:
    """By hand: ratio of weighted sums, times the known total; the variance of Deville with residuals of the ratio."""
    run = read_run(sampled / "one")
    sample, found = run.info.sample, Pooled(run)
    assert isinstance(sample, Sample) and sample.usd is not None
    taken = np.asarray([one.probability for one in sample.drawn])
    x = run.of("keep-all").cost_usd.to_numpy()
    for label in run.labels:
        y = run.of(label).cost_usd.to_numpy()
        ratio = (y / taken).sum() / (x / taken).sum()
        figures = found.all[label]
        assert figures.usd == pytest.approx(ratio * sample.usd) and figures.usd_share is not None
        chance = taken < 1
        one, m = ((y - ratio * x) / taken)[chance], int(chance.sum())
        c, of, drawn = (1 - taken[chance]) * m / (m - 1), (x / taken).sum(), (x / taken)[chance]
        one = one * of / (of - drawn)
        # As if half a transcript more had saved a fifth of its dollars.
        more = (0.2 * ((1 - taken[chance]) * drawn**2).sum() / drawn.sum()) ** 2 / 2 if label != "keep-all" else 0.0
        error = ((c * (one - (c * one).sum() / c.sum()) ** 2).sum() + more) ** 0.5 / of
        # Sizes are dollars, so that the drawn weigh the same.
        student = {4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365}[m - 1]
        assert figures.usd_share.value == pytest.approx(ratio)
        assert figures.usd_share.high - ratio == pytest.approx(student * error, rel=2e-3, abs=1e-12)
    assert found.total("keep-all", "tokens") == pytest.approx(sample.tokens)
    lines = (sampled / "one" / "estimates.csv").read_text().splitlines()
    assert lines[0] == "policy,measure,keep_all,estimated,share,low_of_this_folder,high_of_this_folder"
    assert len(lines) == 1 + 2 * len(run.labels)


@pytest.mark.slow
def test_the_same_bytes_for_any_number_of_workers(logs: Path, sampled: Path, tmp_path: Path) -> None:
    more = ("--sample", "8:seed=3", "--model", "gpt-5")
    assert ctxsim(*arguments(logs, "two", *more, "--jobs", "2"), cwd=tmp_path).returncode == 0
    assert content(tmp_path / "two") == content(sampled / "one")


def test_without_text_what_was_drawn_has_numbers(logs: Path, tmp_path: Path) -> None:
    quiet = ("--out", "quiet", "--policy", "keep-all", "--sample", "8", "--text", "none")
    assert ctxsim("bench", str(logs), *quiet, cwd=tmp_path).returncode == 0
    drawn = json.loads((tmp_path / "quiet" / "run.json").read_bytes())["sample"]["drawn"]
    assert [one["transcript"] for one in drawn] == [f"transcript {number}" for number in range(1, 9)]


def test_a_sample_of_everything_is_everything_and_said(few_logs: Path, tmp_path: Path) -> None:
    done = ctxsim(*arguments(few_logs, "all", "--sample", "4"), cwd=tmp_path)
    assert "--sample 4: there are 4 transcripts, all of them ran" in done.stderr
    run = read_run(tmp_path / "all")
    assert not run.info.sample and run.transcripts == 4 and not (tmp_path / "all" / "estimates.csv").exists()


def test_of_a_sample_that_needed_nothing_no_share_is_drawn(tmp_path: Path) -> None:
    for n in range(4):
        talk = [{"role": "user", "content": f"Hello {n}"}, {"role": "assistant", "content": "Good day."}]
        (tmp_path / f"talk{n}.json").write_text(json.dumps(talk))
    run = bench(tmp_path, ["keep-all"], sample=2, model="gpt-5")
    assert np.isnan(Pooled(run).draws("keep-all", "kept")).all()
