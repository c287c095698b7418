"""A sample by size: exact probabilities, unbiased, the largest always in, and told in full."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from bench_runs import content
from command_line import ctxsim

from ctxsim import bench
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.results import read_run
from ctxsim.results.run_info import Sample
from ctxsim.runs.sizes import draw, inclusion, steps

POLICIES = ("keep-all", "mask:keep=1", "drop-all")


def arguments(logs: Path, out: str, *more: str) -> list[str]:
    return ["bench", str(logs), "--out", out, *(part for label in POLICIES for part in ("--policy", label)), *more]


def test_probabilities_by_hand() -> None:
    """3 of sizes 1, 2, 3, 10, 100: 100 and then 10 are sure (2 * 10 / 16 > 1); one of 1, 2, 3 by 1/6, 2/6, 3/6."""
    assert inclusion([1, 2, 3, 10, 100], 3) == pytest.approx([1 / 6, 2 / 6, 3 / 6, 1, 1])
    assert inclusion([5, 5, 5, 5], 2) == pytest.approx([0.5] * 4)
    assert inclusion([1, 2], 2).tolist() == inclusion([1, 2], 3).tolist() == [1, 1]
    # What has no size counts as the smallest: 1 of 1, 1, 2.
    assert inclusion([0, 1, 2], 1) == pytest.approx([1 / 4, 1 / 4, 2 / 4])
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
    sizes = np.asarray([1, 2, 3, 4, 5, 6, 7, 100.0])
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
        c = (1 - taken[chance]) * m / (m - 1)
        error = ((c * (one - (c * one).sum() / c.sum()) ** 2).sum()) ** 0.5 / (x / taken).sum()
        student = {4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365}[m - 1]
        assert figures.usd_share.value == pytest.approx(ratio)
        assert figures.usd_share.high - ratio == pytest.approx(student * error, rel=2e-3, abs=1e-12)
    assert found.total("keep-all", "tokens") == pytest.approx(sample.tokens)
    lines = (sampled / "one" / "estimates.csv").read_text().splitlines()
    assert lines[0] == "policy,measure,keep_all,estimated,share,low_of_this_folder,high_of_this_folder"
    assert len(lines) == 1 + 2 * len(run.labels)


@pytest.mark.slow
def test_the_same_bytes_for_any_number_of_workers_and_after_a_stop(logs: Path, sampled: Path, tmp_path: Path) -> None:
    more = ("--sample", "8:seed=3", "--model", "gpt-5")
    assert ctxsim(*arguments(logs, "two", *more, "--jobs", "2"), cwd=tmp_path).returncode == 0
    assert content(tmp_path / "two") == content(sampled / "one")
    quiet = ("--sample", "8", "--model", "gpt-5", "--text", "none")
    assert ctxsim(*arguments(logs, "quiet", *quiet), cwd=tmp_path).returncode == 0
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
