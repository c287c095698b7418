"""Two runs compared: change and noise told apart."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from made_runs import made_run

from ctxsim.answers.advice.comparison import Change, compared, pairs_of, same_transcripts, unpaired
from ctxsim.api.runs import compare
from ctxsim.errors import CtxsimError
from ctxsim.results import InputInfo, Run
from ctxsim.results.run_info import Sample
from ctxsim.testing import kept_not_under


def test_one_refused_call_of_many_sessions_is_no_noise(tmp_path: Path) -> None:
    # One of 12 sessions: the interval of the mean has 0 in it, as that of its cost has.
    rows = [{"cost_usd": 1.0} for _ in range(12)]
    before = made_run(tmp_path / "before", {"keep-all": rows})
    after = made_run(tmp_path / "after", {"keep-all": [{"cost_usd": 2.0, "overflows": 1}, *rows[1:]]})
    found = {one.column: one for one in compare(before, after, fail_if=["refused > 0", "cost_usd > 0"]).broken}
    assert list(found) == ["refused"] and found["refused"].difference * 12 == 1


def test_policies_are_paired_by_label_then_without_their_estimator_and_the_others_named(tmp_path: Path) -> None:
    one = made_run(tmp_path / "a", {"keep-all": [{}], "mask:keep=1": [{}], "fifo:budget=9": [{}], "drop-all": [{}]})
    other = made_run(tmp_path / "b", {"keep-all": [{}], "mask:keep=1": [{}], "fifo:budget=9,estimator=chars-4": [{}]})
    pairs = [("keep-all",) * 2, ("mask:keep=1",) * 2, ("fifo:budget=9", "fifo:budget=9,estimator=chars-4")]
    assert pairs_of(one, other) == pairs
    assert unpaired(one, other, pairs) == ["only in A: drop-all"]


def test_a_share_of_nothing_fails_and_a_figure_that_nobody_has_is_no_pass(tmp_path: Path) -> None:
    before = made_run(tmp_path / "before", {"keep-all": [{"cost_usd": None}] * 3})
    after = made_run(tmp_path / "after", {"keep-all": [{"cost_usd": None, "overflows": 1}] * 3})
    assert [one.column for one in compare(before, after, fail_if=["refused > 1%"]).broken] == ["refused"]
    with pytest.raises(CtxsimError, match="nothing for --fail-if to judge: no transcript has cost_usd in both runs"):
        compare(before, after, fail_if=["cost_usd > 1%"])


def test_where_no_call_used_an_old_result_nothing_is_lost(tmp_path: Path) -> None:
    rules = ["survival < -2%", "survival_loose < -2%"]
    none = [{"survival": None, "survival_loose": None}] * 3
    before, after = (made_run(tmp_path / name, {"keep-all": none}) for name in "ab")
    assert compare(before, after, fail_if=rules).broken == ()
    # In one run alone it can't be judged.
    known = made_run(tmp_path / "known", {"keep-all": [{}] * 3})
    with pytest.raises(CtxsimError, match="no transcript has survival in both runs"):
        compare(known, after, fail_if=rules)


@pytest.mark.parametrize(("rule", "holds"), [
    ("cost_usd > -10%", True), ("cost_usd < 10%", True), ("refused < 1", True), ("cost_usd > 0", False),
    ("cost_usd < 0", False),
])  # fmt: skip
def test_a_rule_holds_by_its_figures_also_where_nothing_changed(tmp_path: Path, rule: str, holds: bool) -> None:
    for sessions in (3, 8):
        run = made_run(tmp_path / f"{sessions}", {"keep-all": [{"cost_usd": 2.0}] * sessions})
        assert bool(compare(run, run, fail_if=[rule]).broken) == holds


def test_what_changed_has_an_interval_without_0_and_a_small_p(tmp_path: Path) -> None:

    def change(*usd: float) -> Change:
        before = made_run(tmp_path / f"before{usd}", {"keep-all": [{"cost_usd": 10.0}] * len(usd)})
        after = made_run(tmp_path / f"after{usd}", {"keep-all": [{"cost_usd": 10 + more} for more in usd]})
        return {one.column: one for one in compared(before, after)}["cost_usd"]

    # The sum is 19. As far of 2^6 are 19, 21 and their negatives: 4 / 64 = .06.
    six = change(4, 4, 4, 4, 4, -1)
    assert six.interval is not None and (six.chance, six.verdict) == (4 / 64, "noise")
    # A resample of eight has a mean of 0 with (3 / 8)^8 = .0004. No five that differ could have a smaller p than .06.
    eight = change(4, 4, 4, 4, 4, 0, 0, 0)
    assert eight.interval is not None and eight.interval[0] > 0 and (eight.chance, eight.verdict) == (2 / 32, "noise")
    nine = change(4, 4, 4, 4, 4, 4, 0, 0, 0)
    assert (nine.chance, nine.verdict) == (2 / 64, "changed")


@pytest.mark.parametrize("dearer", [(0.1, 0.1), (1.0, 0.2, -0.5, 0.3, 0.1)])
def test_of_fewer_than_six_sessions_every_difference_is_told_and_judged_as_it_is(
    tmp_path: Path, dearer: tuple[float, ...]
) -> None:
    before = made_run(tmp_path / "before", {"keep-all": [{"cost_usd": 1.0}] * len(dearer)})
    after = made_run(tmp_path / "after", {"keep-all": [{"cost_usd": 1.0 + more} for more in dearer]})
    (found,) = compare(before, after, fail_if=["cost_usd > +2%"]).broken
    assert (found.column, found.interval, found.chance, found.verdict) == ("cost_usd", None, None, "changed")
    assert not compare(before, after, fail_if=["cost_usd > +50%"]).broken


@pytest.mark.parametrize(("column", "before", "after", "interval", "verdict", "percent"), [
    ("cost_usd", 2.0, 2.0, None, "same", 0.0), ("cost_usd", 2.0, 2.0, (0.0, 0.0), "same", 0.0),
    ("cost_usd", 2.0, 2.0, (-1.0, 1.0), "noise", 0.0), ("cost_usd", 2.0, 3.0, (0.0, 1.0), "noise", 50.0),
    ("cost_usd", 2.0, 1.0, (-2.0, 0.0), "noise", -50.0), ("cost_usd", 2.0, 3.0, (0.1, 1.0), "changed", 50.0),
    ("cost_usd", 2.0, 1.0, (-2.0, -0.1), "changed", -50.0), ("cost_usd", 0.0, 1.0, None, "changed", None),
    ("refused", 2.0, 3.0, (-1.0, 1.0), "changed", 50.0),
])  # fmt: skip
def test_a_change_is_one_where_its_interval_is_off_zero(
    column: str, before: float, after: float, interval: tuple[float, float] | None, verdict: str, percent: float | None
) -> None:
    one = Change(("a", "a"), column, before, after, interval, 12, None)
    assert (one.verdict, one.percent) == (verdict, percent)


def test_one_candidate_of_each_run_is_compared_where_nothing_else_is(tmp_path: Path) -> None:
    def run(name: str, *labels: str) -> Run:
        return made_run(tmp_path / name, {"keep-all": [{}], **{label: [{}] for label in labels}})

    one, other, two = run("a", "drop-all"), run("b", "mask:keep=1"), run("c", "mask:keep=1", "mask:keep=2")
    assert pairs_of(one, other) == [("keep-all", "keep-all"), ("drop-all", "mask:keep=1")]
    assert pairs_of(one, two) == [("keep-all", "keep-all")] == pairs_of(two, one)
    assert unpaired(one, two, pairs_of(one, two)) == ["only in A: drop-all", "only in B: mask:keep=1, mask:keep=2"]
    # Where a candidate has its like the others stay alone.
    assert pairs_of(run("d", "mask:keep=1", "drop-all"), two) == [("keep-all",) * 2, ("mask:keep=1",) * 2]


@pytest.mark.parametrize(("chance", "verdict"), [(None, "changed"), (0.05, "changed"), (0.0501, "noise")])
def test_a_change_may_be_chance_in_one_of_twenty(chance: float | None, verdict: str) -> None:
    one = Change(("a", "b"), "cost_usd", 2.0, 3.0, (0.5, 1.5), 12, chance)
    assert (one.verdict, one.policy, one.difference, one.percent) == (verdict, "a -> b", 1.0, 50.0)
    assert Change(("a", "a"), "refused", 2.0, 3.0, (0.5, 1.5), 12, chance).verdict == "changed"


def test_transcripts_of_the_same_bytes_are_the_same_whatever_their_names(tmp_path: Path) -> None:

    def run(name: str, usd: dict[str, float], files: str, text: bool = True) -> Run:
        """Transcripts of 10 calls each; a letter of `files` stands for a file's bytes, twice for two in one file."""
        inputs = tuple(InputInfo(one, one, files.count(one), 10 * files.count(one)) for one in dict.fromkeys(files))
        rows = [{"transcript": name, "root": name, "cost_usd": cost} for name, cost in usd.items()]
        return made_run(tmp_path / name, {"keep-all": rows}, inputs=inputs, setting={"text": text})

    def paired(before: Run, after: Run) -> tuple[float, float, int]:
        (one,) = [one for one in compared(before, after) if one.column == "cost_usd"]
        return one.before, one.after, one.transcripts

    named = run("named", {"x": 1.0, "y1": 2.0, "y2": 3.0}, "xyy")
    numbered = run("numbered", {"t 1": 9.0, "t 2": 1.0, "t 3": 2.0, "t 4": 3.0}, "axyy", text=False)
    assert paired(named, numbered) == (2.0, 2.0, 3) == paired(numbered, named)
    # A number is no name: whatever else is first, these two have only y in common.
    assert paired(numbered, run("fewer", {"t 1": 7.0, "t 2": 2.0, "t 3": 3.0}, "byy", text=False)) == (2.5, 2.5, 2)
    assert same_transcripts(named, run("moved", {"x": 1.0}, "y"))[0] == {"y1": "x"}
    # Of the same name, but shorter.
    assert same_transcripts(named, run("cut", {"x": 0.5, "y1": 2.0}, "zy")) == ({"y1": "y1", "x": "x"}, ["x"])
    # One file, cut at another place: those of one name are paired, not the second with the second.
    two, three = run("two", {"y1": 2.0, "y2": 3.0}, "yy"), run("three", {"y1": 2.0, "y3": 4.0, "y2": 3.0}, "yyy")
    assert same_transcripts(two, three) == ({"y1": "y1", "y2": "y2"}, [])
    # One of y failed in both: the file of a row can't be told, and names are all there is.
    failed = run("failed", {"x": 1.0, "y2": 3.0}, "xyy")
    assert same_transcripts(named, failed) == ({"x": "x", "y2": "y2"}, [])
    unnamed = run("unnamed", {"t 1": 1.0, "t 2": 3.0}, "xyy", text=False)
    assert same_transcripts(unnamed, unnamed) == ({"t 1": "t 1", "t 2": "t 2"}, [])
    with pytest.raises(CtxsimError, match="no transcript in common"):
        compared(numbered, unnamed)
    # Two samples of one folder have all its files, and other transcripts; one has the same as itself.
    drawn = [Sample(2, seed, "", "usd", 9, 9, 90, 900, 9.0) for seed in (1, 2)]
    first, second = (Run(unnamed.folder, msgspec.structs.replace(unnamed.info, sample=one)) for one in drawn)
    assert same_transcripts(first, first) == ({"t 1": "t 1", "t 2": "t 2"}, [])
    assert same_transcripts(first, second) == ({}, [])


def test_survival_is_the_share_that_the_assertion_tests(tmp_path: Path) -> None:
    summed = [{"survival": 0.6, "survival_low": 0.2, "survival_high": 1.0}, {"survival": 0.7}]
    run = made_run(tmp_path / "a", {"keep-all": [{}] * 2, "summary": summed})
    (one,) = [one for one in compare(run, policies=("keep-all", "summary")) if one.column == "survival"]
    assert one.after == pytest.approx((0.2 + 0.7) / 2)
    kept_not_under(run, "summary", 0.44)
    with pytest.raises(AssertionError, match=r"summary: keeps 45\.00%"):
        kept_not_under(run, "summary", 0.46)


def test_amounts_are_those_at_each_runs_refetch_rate(tmp_path: Path) -> None:
    rows = [{"cost_usd": 4.0, "cost_refetch_usd": 2.0, "tokens_sum": 100, "tokens_refetch": 50}] * 6
    free = made_run(tmp_path / "a", {"keep-all": rows})
    half = made_run(tmp_path / "b", {"keep-all": rows}, refetch=0.5)
    found = {one.column: (one.before, one.after) for one in compared(free, half)}
    assert (found["cost_usd"], found["tokens_sum"]) == ((4.0, 5.0), (100.0, 125.0))
    assert found["cost_refetch_usd"] == (2.0, 2.0)
