"""Whole figures and whole answers of runs made by hand: of one session, which has no interval, and of several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from made_runs import made_run

from ctxsim.answers.advice import advice as rules
from ctxsim.answers.advice.advice import SETTLED, Advice, advise, candidates
from ctxsim.answers.advice.baseline import AsSetRun
from ctxsim.answers.advice.figures import Figures, Share
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.answers.advice.refetch import SEEN, TURNS_SEEN, Again, even_rate
from ctxsim.answers.forecast.ranges import anew, spread
from ctxsim.errors import UnknownName
from ctxsim.results import Run
from ctxsim.results.run_info import Recorder

Rows = list[dict[str, Any]]


def rows(*costs: float | None, kept: float | None = 1.0, root: str | None = "one", **more: Any) -> Rows:
    """One transcript for each cost, all of one session; or each of its own."""
    own = {} if root is None else {"root": root}
    return [{"cost_usd": cost, "survival": kept, **own, **more} for cost in costs]


TABLE = {
    "keep-all": rows(10, 20, tokens_sum=1_000, tokens_peak=400, cost_frontier_usd=1.0),
    "a": [
        *rows(5, kept=0.9, tokens_sum=500, tokens_peak=300, overflows=1, first_failure="overflow", survival_low=0.8,
              survival_high=0.95, cost_frontier_usd=0.5, cost_refetch_usd=2.0, tokens_refetch=70),
        *rows(12, kept=0.8, tokens_sum=700, tokens_peak=200, cost_frontier_usd=0.25, cost_refetch_usd=1.0,
              tokens_refetch=30),
    ],
    "oracle": rows(1, 1, tokens_sum=100, tokens_peak=90),
}  # fmt: skip
BOUNDS = ("keep-all", "oracle")

NOTHING = Figures(
    "keep-all", True, 2, 2, 1, 20, 30.0, Share(1.0), 2.0, None, None, 0.0, 2_000, Share(1.0), 400, 400, Share(1.0),
    Share(1.0), None, None, 0, 0,
)  # fmt: skip
# 17 of 30 dollars, 1,200 of 2,000 tokens, largest requests of 300 and 200 beside 400. Kept are .9 and .8; had its
# summaries kept nothing it were .8 and .8, and .95 and .8 had they kept all. Of the second nothing else is known.
SOME = Figures(
    "a", False, 2, 2, 1, 20, 17.0, Share(17 / 30), 0.75, 3.0, 100, 0.0, 1_200, Share(0.6), 300, 250, Share(0.625),
    Share((0.9 + 0.8) / 2), 0.8, 0.875, 1, 1,
)  # fmt: skip


def test_all_figures_of_a_policy(tmp_path: Path) -> None:
    run = made_run(tmp_path / "r", TABLE, bounds=BOUNDS)
    found = Pooled(run)
    assert list(found.all) == ["keep-all", "a", "oracle"]
    assert found.all["keep-all"] == NOTHING and found.all["a"] == SOME
    assert (found.all["oracle"].bound, found.all["oracle"].usd, found.all["oracle"].refused) == (True, 2.0, 0)
    assert (found.ranges, found.by_dollars, found.sessions, found.stands_for) == ("", True, 1, 2.0)
    assert (found.refusals("a"), found.again("a", "usd"), found.again("a", "tokens"), found.again("a", "peak")) == (
        0.05, 3.0, 100.0, 0.0,
    )  # fmt: skip
    assert found.again("oracle", "usd") is None and found.interval("a", "usd") is None
    assert candidates(found) == ["keep-all", "a"]
    # Half of what is lost is fetched again: 1.50 dollars and 50 tokens more.
    half = Pooled(made_run(tmp_path / "half", TABLE, bounds=BOUNDS, refetch=0.5))
    assert half.all["a"] == msgspec.structs.replace(
        SOME, usd=18.5, usd_share=Share(18.5 / 30), tokens=1_250, tokens_share=Share(0.625), at_rate=0.5
    )
    # Refused where all are refused less.
    found_advice = advise(run)
    assert found_advice == Advice("dollars", "usd", NOTHING, nothing=NOTHING)


def test_shares_that_nobody_knows(tmp_path: Path) -> None:
    # The second has no price, the first no needs; a share of no tokens at all saves nothing.
    run = made_run(tmp_path, {"keep-all": [*rows(4, kept=None, tokens_sum=0, tokens_peak=0), *rows(None, kept=None)],
                              "a": [*rows(1, kept=None, tokens_sum=0), *rows(None, kept=None)]})  # fmt: skip
    found = Pooled(run)
    assert (found.priced, found.by_dollars) == (1, True) and found.value("a", "usd") == 0.25
    assert found.value("a", "kept") is None and found.seen("a", "kept") == 1.0 and found.share("a", "kept") is None
    assert found.all["a"].kept is None and found.all["a"].kept_low is None
    none = Pooled(made_run(tmp_path / "none", {"keep-all": rows(None, tokens_sum=0, tokens_peak=0), "a": rows(None)}))
    assert (none.priced, none.by_dollars, none.value("a", "usd")) == (0, False, None)
    assert none.value("a", "tokens") == 1.0 == none.value("a", "peak") and none.all["a"].usd_share is None
    assert (none.all["a"].usd, none.all["a"].usd_least, none.all["a"].usd_again) == (None, None, None)


def test_of_several_sessions_shares_have_ranges_of_what_nobody_has_seen(tmp_path: Path) -> None:
    # All alike, half as dear: what is drawn is the same each time, and what nobody has seen yet stretches the saving:
    # by exp(+-1.645 x spread), as a loss of odds for what is kept. As many sessions as `anew` says lose a tenth more.
    for sessions, said in ((7, "from other projects, as sessions are too few"), (8, "the next 8 sessions, 90 %")):
        all_kept = rows(*[10.0] * sessions, root=None)
        table = {
            "keep-all": all_kept,
            "a": rows(*[5.0] * sessions, root=None, kept=0.8),
            "idle": all_kept,
            "oracle": all_kept,
        }
        found = Pooled(made_run(tmp_path / f"{sessions}", table, bounds=BOUNDS))
        assert found.ranges == said and found.has_next and found.sessions == sessions
        reach = np.exp(1.645 * spread(sessions))
        kept = found.interval("a", "kept")
        least = 1 - 0.1 * float(anew(sessions, np.array(1.645)))
        assert kept == pytest.approx((least / (1 + 0.25 * reach), 1 / (1 + 0.25 / reach)), abs=0.005)
        usd = found.interval("a", "usd")
        assert usd is not None and usd[0] == pytest.approx(0.5**reach, abs=0.01)
        assert usd[1] == pytest.approx(1 - 0.5 / reach, abs=0.01)
        assert found.interval("keep-all", "usd") == (1.0, 1.0)
        # What has done nothing yet may do it later, but doing nothing and a bound lose nothing.
        low, high = found.interval("idle", "usd") or (1.0, 1.0)
        assert 0.97 < low < 0.995 and 1.005 < high < 1.03
        assert found.interval("idle", "kept") == pytest.approx((least, 1.0), abs=0.001)
        assert found.interval("keep-all", "kept") == found.interval("oracle", "kept") == (1.0, 1.0)
        # Beside another one the same draws are taken.
        assert found.interval("a", "usd", "a") == (0.0, 0.0)
        assert found.draws("a", "usd").shape == (10_000,)
        assert np.median(found.ways("a", "usd")) == pytest.approx(0.5, abs=0.02) and found.ways("a", "usd").std() > 0.1
    cheap = Pooled(made_run(tmp_path / "cheap", {"keep-all": rows(*[0.01] * 8, root=None)}))
    assert cheap.interval("keep-all", "usd") == (1.0, 1.0)
    many = Pooled(made_run(tmp_path / "many", {"keep-all": rows(*[10.0] * 400, root=None)}))
    assert many.draws("keep-all", "usd").shape == (5_000,)
    generated = made_run(tmp_path / "g", {"keep-all": rows(10, 10, root=None), "a": rows(5, 5, root=None)})
    generated.info = msgspec.structs.replace(generated.info, scenario="turns")
    assert not Pooled(generated).has_next and Pooled(generated).interval("a", "usd") is None
    found_advice = advise(generated)
    assert found_advice is not None and found_advice.generated and found_advice.wins == {}


def test_what_sessions_save_and_what_others_pay_more_vary_on_their_own(tmp_path: Path) -> None:
    # Of many half save 4 of 10 and half pay 5 more, so all together pay a twentieth more: later ones may save.
    table = {"keep-all": rows(*[10.0] * 64, root=None), "a": rows(*[6.0, 15.0] * 32, root=None)}
    both = Pooled(made_run(tmp_path / "both", table)).interval("a", "usd")
    assert both is not None and both[0] < 0.88 and both[1] > 1.25
    # What two of sixteen show is as little known as what two show.
    table = {"keep-all": rows(*[10.0] * 16, root=None), "a": rows(*[6.0] * 2, *[10.0] * 14, root=None)}
    few = Pooled(made_run(tmp_path / "few", table)).interval("a", "usd")
    assert few is not None and few[0] < 0.84


GOALS_TABLE = {
    "keep-all": rows(10, tokens_sum=1_000, tokens_peak=100),
    "bill": rows(5, kept=0.92, tokens_sum=900, tokens_peak=90), "all": rows(9, tokens_sum=950, tokens_peak=95),
    "short": rows(9.5, kept=0.93, tokens_sum=400, tokens_peak=80),
    "flat": rows(9.6, kept=0.94, tokens_sum=800, tokens_peak=30),
}  # fmt: skip


@pytest.mark.parametrize(("goal", "amount", "take", "losing_less", "cheaper"), [
    ("dollars", "usd", "bill", "all", None), ("kept", "usd", "all", None, "bill"),
    ("tokens", "tokens", "short", "all", None), ("window", "peak", "flat", "all", None),
])  # fmt: skip
def test_an_answer_for_each_goal(
    goal: str, amount: str, take: str, losing_less: str | None, cheaper: str | None, tmp_path: Path
) -> None:
    run = made_run(tmp_path, GOALS_TABLE)
    known = Pooled(run).all
    assert advise(run, goal) == Advice(
        goal, amount, known[take], losing_less=known.get(losing_less or ""), cheaper=known.get(cheaper or ""),
        nothing=known["keep-all"],
    )  # fmt: skip
    with pytest.raises(UnknownName, match="dollars"):
        advise(run, "dollar")


@pytest.mark.parametrize(("wins", "take"), [
    # All of 5 dollars loses too much, and is no answer however often it wins.
    ({"b": SETTLED}, "b"), ({"b": SETTLED - 0.01, "a": 0.1}, "a"), ({"loses": 0.9, "b": 0.1}, "a"), ({}, "a"),
])  # fmt: skip
def test_a_sound_one_that_wins_in_most_ways_is_taken(
    wins: dict[str, float], take: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "_wins", lambda *_: wins)
    table = {"keep-all": rows(10), "a": rows(6), "b": rows(7), "loses": rows(5, kept=0.1)}
    found = advise(made_run(tmp_path, table))
    assert found is not None and found.take.policy == take


@pytest.mark.parametrize(("kept", "named"), [(0.93, True), (0.929, False)])
def test_what_keeps_a_hundredth_more_loses_less(kept: float, named: bool, tmp_path: Path) -> None:
    table = {"keep-all": rows(10), "a": rows(5, kept=0.92), "b": rows(8, kept=kept)}
    found = advise(made_run(tmp_path, table))
    assert found is not None and found.take.policy == "a" and (found.losing_less is not None) is named


def thinking(
    folder: Path, vendor: str = "anthropic", rule: str = "none", policy: str = "a", **more: Any
) -> tuple[str, ...]:
    run = made_run(folder, {"keep-all": rows(10), policy: rows(5, **more)})
    run.info = msgspec.structs.replace(run.info, providers=({"vendor": vendor, "thinking": rule},))
    found = advise(run)
    assert found is not None
    return found.caveats


def test_what_becomes_of_thinking_is_said(tmp_path: Path) -> None:
    bound = (
        "The policy edits history. Opus 5.5, Sonnet 5.5, Haiku 5.5, Fable 5.1 and Fable 5.2 refuse requests whose "
        "thinking follows an edit: see --provider thinking."
    )
    assert thinking(tmp_path / "a", compactions=1) == (bound,) and thinking(tmp_path / "b") == ()
    assert thinking(tmp_path / "c", "openai", compactions=1) == ()
    # The replay has checked it, or the provider itself edits.
    assert thinking(tmp_path / "f", rule="refuse", compactions=1) == ()
    assert thinking(tmp_path / "g", policy="anthropic-compact:trigger=50000+clear-tool-uses", compactions=1) == ()
    assert thinking(tmp_path / "h", policy="anthropic-compact+mask", compactions=1) == (bound,)
    assert thinking(tmp_path / "d", compactions=1, tokens_thinking_dropped=12_345) == (
        "Thinking that follows edits is dropped: 12,345 tokens are lost.",
    )  # fmt: skip
    run = made_run(tmp_path / "e", {"keep-all": rows(10, overflows=9), "a": rows(5, invalid_thinking=3)})
    found = advise(run)
    assert found is not None and found.caveats == (
        "Refused for thinking that follows an edit: 3 of 10 calls. With --provider thinking=drop they are accepted, "
        "and that thinking is lost.",
    )  # fmt: skip


def test_rates_and_turns_are_those_that_were_published() -> None:
    # docs/advice.md: after recorded compactions, and over ten pairs of model and strategy.
    assert (SEEN, TURNS_SEEN) == ((0.20, 0.85), (0.86, 1.20))


def again(folder: Path, more: float, base: float = 0.0, cost: float = 6.0, refetch: float | None = None) -> Run:
    def of(spent: float, added: float, kept: float = 1.0) -> Rows:
        return rows(spent, kept=kept, cost_refetch_usd=added, tokens_refetch=0)

    return made_run(folder, {"keep-all": of(10.0, base), "a": of(cost, more, 0.95)}, refetch=refetch)


@pytest.mark.parametrize(("more", "base", "refetch", "even_at", "turns", "cost"), [
    # 6 + r x A = 10 + r x B. Where that is at no rate up to 1, what is left at rate 1.
    (5.0, 0.0, None, 0.8, 10 / 6, 6.0), (4.0, 0.0, None, 1.0, 10 / 6, 6.0), (3.9, 0.0, None, None, 10 / 9.9, 6.0),
    (5.0, 1.0, None, 1.0, 10 / 6, 6.0), (0.0, 0.0, None, None, 10 / 6, 6.0), (2.0, 2.0, None, None, 12 / 8, 6.0),
    # Of less than a dollar too: 0.6 + 18.8 r = 10.
    (18.8, 0.0, None, 0.5, 10 / 0.6, 0.6),
    # The same whatever the run's rate.
    (5.0, 0.0, 0.5, 0.8, 10 / 6, 6.0), (3.0, 0.0, 0.5, None, 10 / 9, 6.0),
    # Where doing nothing loses more, 10.5 + r saves beside 10 + 5 r from an eighth on: at rate 1 11.5 of 15.
    (1.0, 5.0, 0.5, 0.125, 15 / 11.5, 10.5),
])  # fmt: skip
def test_when_a_saving_is_eaten(
    more: float, base: float, refetch: float | None, even_at: float | None, turns: float, cost: float, tmp_path: Path
) -> None:
    found = advise(again(tmp_path, more, base, cost, refetch))
    assert found is not None and found.take.policy == "a" and found.again is not None
    assert found.again == Again(
        even_at and pytest.approx(even_at), pytest.approx(turns), found.again.instead, found.again.instead_at,
        above=cost > 10,
    )  # fmt: skip


def test_the_answer_turns_at_the_first_rate_that_changes_it(tmp_path: Path) -> None:
    # 6 + 10 r saves two per cent of 10 up to .38: from .39 on doing nothing is the answer.
    found = advise(again(tmp_path / "a", 10.0))
    assert found is not None and found.again is not None and found.again.instead is not None
    assert (found.again.instead.policy, found.again.instead_at) == ("keep-all", 0.39)
    # 6 + 20 r does so up to .19, which is less than any rate that was seen: at the least of these.
    found = advise(again(tmp_path / "b", 20.0))
    assert found is not None and found.again is not None and found.again.instead_at == 0.2
    # 6 + 4.4 r saves something up to .86: the answer stays.
    found = advise(again(tmp_path / "c", 4.4))
    assert found is not None and found.again is not None and found.again.instead is None
    # Where doing nothing loses something too: 6 + 8 r beside 98 % of 10 + 2 r, up to .629, whatever the run's rate.
    for rate in (None, 0.25, 0.5):
        found = advise(again(tmp_path / f"rate {rate}", 8.0, 2.0, refetch=rate))
        assert found is not None and found.take.policy == "a" and found.nothing is not None
        assert found.again is not None and found.again.instead_at == 0.63
        assert found.nothing.usd_share == Share(1.0), "beside itself it is all"
    # Who is dearer as long as nothing is fetched again may be the answer then: 10.20 beside 98 % of 10 + 2 r.
    found = advise(again(tmp_path / "dearer", 0.0, 2.0, cost=10.2))
    assert found is not None and found.take.policy == "keep-all" and found.again is not None
    assert found.again.instead is not None and found.again.instead.policy == "a" and found.again.instead_at == 0.21
    assert (found.again.even_at, found.again.turns) == (None, None)
    run = Pooled(again(tmp_path / "d", 5.0))
    assert even_rate(run, "a", "keep-all", "usd") == pytest.approx(0.8) == even_rate(run, "keep-all", "a", "usd")
    assert even_rate(run, "a", "a", "usd") is None
    # Amounts that rise alike are equal at no rate, though 0.1 + 0.2 + 0.3 isn't 0.3 + 0.2 + 0.1.
    alike = {"keep-all": rows(0.3, 0.2, 0.1, cost_refetch_usd=5.0), "a": rows(0.1, 0.2, 0.3, cost_refetch_usd=5.0)}
    assert even_rate(Pooled(made_run(tmp_path / "f", alike)), "a", "keep-all", "usd") is None
    without = made_run(tmp_path / "e", {"keep-all": rows(10, cost_refetch_usd=0.0), "a": rows(6)})
    assert even_rate(Pooled(without), "a", "keep-all", "usd") is None
    found = advise(without)
    assert found is not None and found.take.policy == "a" and found.again is None


def test_what_an_agent_as_it_is_set_fetches_again_is_in_what_others_are_beside(tmp_path: Path) -> None:
    def of(cost: float, more: float) -> Rows:
        return rows(cost, tokens_sum=int(100 * cost), cost_refetch_usd=more, tokens_refetch=int(100 * more))

    label = "as-set:given=claude-code/bashOutputMaxChars=4000"
    table = {"keep-all": of(20, 0), "as-set": of(10, 4), label: of(6, 6)}
    whole = made_run(tmp_path, table, recorders=[Recorder("t0", "claude-code")], refetch=0.5)
    found = Pooled(AsSetRun(whole, "as-set")).all
    # 10 + 2 dollars as it is set, 6 + 3 with the setting; as many tokens, by the hundred.
    assert (found["as-set"].usd, found["as-set"].usd_share, found["as-set"].tokens_share) == (12, Share(1), Share(1))
    assert (found[label].usd, found[label].usd_share, found[label].tokens_share) == (9, Share(0.75), Share(0.75))
    assert (found[label].tokens, found[label].usd_again, found[label].tokens_again) == (900, 6, 600)
