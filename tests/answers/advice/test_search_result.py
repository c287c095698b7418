"""What a search hands on and what it answers, on runs made by hand; and labels as people give them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from made_runs import made_run

from ctxsim.answers.advice.baseline import AsSetRun, advise, as_set_run
from ctxsim.answers.advice.comparison import compared, pairs_of, without_estimator
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.answers.advice.search_result import Tried, finalists, of_agent
from ctxsim.answers.advice.setting_names import added, given_in, name_of, title_of, told, who
from ctxsim.answers.advice.settings import label_in
from ctxsim.errors import CtxsimError, UnknownName
from ctxsim.policies.agents.given import Given
from ctxsim.results import Run
from ctxsim.results.run_info import Recorder

Row = dict[str, Any]


def rows(cost: float, kept: float = 0.9, **more: Any) -> list[Row]:
    """Twelve sessions, each of that cost."""
    return [{"cost_usd": cost, "survival": kept, "tokens_sum": int(cost * 1_000), "model": "m1", **more}] * 12


def window(size: int) -> Given:
    return Given("claude-code", "autoCompactWindow", size)


CUT = Given("claude-code", "bashOutputMaxChars", 4_000)
READ = Given("claude-code", "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", 2_500)
OTHER = Given("codex", "tool_output_token_limit", 2_500)
RECORDERS = [Recorder(f"t{n}", "claude-code", f"2.1.{330 + n % 3}", "m1" if n % 4 else "m2") for n in range(12)]


def label(*given: Given) -> str:
    return "as-set:given=" + ";".join(f"{one.agent}/{one.key}={one.value}" for one in given)


def run_of(folder: Path, *tried: tuple[tuple[Given, ...], list[Row]], recorders: Any = RECORDERS, **more: Any) -> Run:
    table = {"keep-all": rows(20, 1.0), "as-set": rows(10, **more), **{label(*given): of for given, of in tried}}
    return made_run(folder, table, recorders=recorders)


FIRST = (
    ((window(100_000),), rows(6, 0.6)), ((window(200_000),), rows(7)), ((window(150_000),), rows(6.5, 0.86)),
    ((CUT,), rows(9.5)), ((READ,), rows(10)), ((OTHER,), rows(1)),
)  # fmt: skip


def test_what_saves_most_without_losing_much_is_replayed_over_all_sessions(tmp_path: Path) -> None:
    run = run_of(tmp_path, *FIRST)
    # A window of 100,000 keeps .3 less than others, READ saves nothing. Of the others each alone, the best first, and
    # the values of the key that saves most beside the best of each other one.
    large, small = window(200_000), window(150_000)
    assert finalists(run, "claude-code", "dollars") == [(small,), (large,), (CUT,), (small, CUT), (large, CUT)]
    assert finalists(run, "pi", "dollars") == []
    nothing = run_of(tmp_path / "none", ((READ,), rows(10)))
    assert finalists(nothing, "claude-code", "dollars") == []


def test_what_keeps_most_is_replayed_too_though_it_costs_more(tmp_path: Path) -> None:
    # As set, .9 is kept: who followed an advice has lost some already. A step from there to .83 would look small.
    more, less = ((window(250_000),), rows(12, 0.97)), ((window(150_000),), rows(8, 0.83))
    assert finalists(run_of(tmp_path / "a", less, more), "claude-code", "dollars") == [less[0], more[0]]
    assert of_agent(run_of(tmp_path / "b", less), "claude-code", "dollars").settings == less[0]
    # From .97 it is .14.
    assert of_agent(run_of(tmp_path / "c", less, more), "claude-code", "dollars").settings == ()


def test_four_alone_and_three_beside_others(tmp_path: Path) -> None:
    sizes = [window(100_000 + 10_000 * n) for n in range(6)]
    tried = [((one,), rows(5 + n / 10)) for n, one in enumerate(sizes)]
    found = finalists(run_of(tmp_path, *tried, ((CUT,), rows(9.0)), ((READ,), rows(9.9))), "claude-code", "dollars")
    assert found == [
        *((one,) for one in sizes[:4]), *((one, other) for one in sizes[:3] for other in (READ, CUT)),
    ]  # fmt: skip


def test_sound_ones_come_before_those_that_save_more(tmp_path: Path) -> None:
    # Each of the sizes keeps .12 less than the .9 that keep most: more than the rule allows, not the first look.
    sizes = [window(100_000 + 10_000 * n) for n in range(4)]
    tried = [((one,), rows(5 + n / 10, 0.78)) for n, one in enumerate(sizes)]
    run = run_of(tmp_path, *tried, ((window(200_000),), rows(7)), ((CUT,), rows(9.5)))
    first = [window(200_000), *sizes]
    alone, beside = [(one,) for one in (first[0], CUT, *sizes[:2])], [(one, CUT) for one in first[:3]]
    assert finalists(run, "claude-code", "dollars") == [*alone, *beside]


@pytest.mark.parametrize(("kept", "refused", "taken"), [(0.751, 0, True), (0.749, 0, False), (0.9, 1, False)])
def test_what_may_be_lost_over_some_sessions(kept: float, refused: int, taken: bool, tmp_path: Path) -> None:
    # .1 less than the .9 that keep most, and .05 more over some sessions than over all; no more refusals than others.
    run = run_of(tmp_path, ((window(200_000),), rows(7, kept, overflows=refused)))
    assert finalists(run, "claude-code", "dollars") == ([(window(200_000),)] if taken else [])


def test_without_prices_tokens_are_saved(tmp_path: Path) -> None:
    table = {"keep-all": bare(rows(20)), "as-set": bare(rows(10)), label(CUT): bare(rows(8))}
    run = made_run(tmp_path, table, recorders=RECORDERS)
    assert finalists(run, "claude-code", "dollars") == [(CUT,)] == finalists(run, "claude-code", "tokens")
    found = of_agent(run, "claude-code", "dollars")
    assert (found.amount, found.settings, found.prediction) == ("tokens", (CUT,), None)


def test_an_agents_answer_has_all_that_was_tried(tmp_path: Path) -> None:
    first = run_of(tmp_path / "first", *FIRST)
    both = (window(200_000), CUT)
    last = run_of(tmp_path / "last", ((window(200_000),), rows(7)), ((CUT,), rows(9.5)), ((READ,), rows(10.04)),
                  (both, rows(6.9)))  # fmt: skip
    found = of_agent(last, "claude-code", "dollars", (first,))
    assert (found.agent, found.title, found.models) == ("claude-code", "Claude Code 2.1.330 to 2.1.332", ("m1", "m2"))
    assert (found.sessions, found.transcripts, found.goal, found.amount) == (12, 12, "dollars", "usd")
    # Both together save a hundredth more: the one is enough.
    assert found.settings == (window(200_000),) and found.take.policy == label(window(200_000))
    assert found.now.policy == "as-set" and found.share is not None and found.share.value == pytest.approx(0.7)
    assert found.lines == {"~/.claude/settings.json": ['  "autoCompactWindow": 200000']}
    (seen,) = found.seen
    assert (seen.key, seen.verdict, seen.version) == ("autoCompactWindow", "honoured", "2.1.332") and seen.seen_on
    # Those of the last run go before those of the first; what differs by less than half a per cent is idle.
    near = pytest.approx(0.9)
    assert found.tried == (
        Tried((window(100_000),), 0.6, pytest.approx(0.6), 12),
        Tried((window(150_000),), 0.65, pytest.approx(0.86), 12),
        Tried(both, pytest.approx(0.69), near, 12), Tried((CUT,), 0.95, near, 12),
        Tried((READ,), pytest.approx(1.004), near, 12, idle=True),
    )  # fmt: skip
    assert (found.wins, found.ahead, found.open, found.contradicted, found.caveats) == (1.0, 12, (), (), ())
    assert (found.off_recorded, found.defaults, found.sampled) == (None, False, False)
    assert found.prediction is not None and found.prediction.settings == {"autoCompactWindow": 200_000}


def bare(of: list[Row]) -> list[Row]:
    """The same as one session without prices: nothing to foretell."""
    return [{**row, "cost_usd": None, "root": "one"} for row in of]


@pytest.mark.parametrize(("alone", "kept", "settings"), [
    # Up to two per cent of all tokens and a hundredth of what is kept are hardly anything.
    (7.1, 0.9, 1), (7.11, 0.9, 2), (6.9, 0.891, 1), (6.9, 0.889, 2),
])  # fmt: skip
def test_fewer_settings_are_taken_where_more_hardly_save_or_keep(
    alone: float, kept: float, settings: int, tmp_path: Path
) -> None:
    both = (window(200_000), CUT)
    table = {
        "keep-all": bare(rows(20, 1.0)), "as-set": bare(rows(10)), label(window(200_000)): bare(rows(alone, kept)),
        label(CUT): bare(rows(9.9)), label(*both): bare(rows(6.9, 0.9)),
    }  # fmt: skip
    assert len(of_agent(made_run(tmp_path, table, recorders=RECORDERS), "claude-code", "tokens").settings) == settings
    # Of two that are each enough the cheaper one is taken, whatever it is called.
    table[label(CUT)] = bare(rows(7.05))
    found = of_agent(made_run(tmp_path / "both", table, recorders=RECORDERS), "claude-code", "tokens")
    assert found.settings == ((CUT,) if alone > 7.05 or kept < 0.89 else (window(200_000),))


def test_one_setting_is_as_sure_as_it_wins_or_stands_beside_two_that_do(tmp_path: Path) -> None:
    def by_turns(*costs: float) -> list[Row]:
        return [rows(cost)[0] for cost in costs] * 3

    both = (window(200_000), CUT)
    run = run_of(
        tmp_path, ((window(200_000),), by_turns(3, 6, 9.5, 9.9)), ((CUT,), rows(9.9)), (both, by_turns(9, 8.5, 6, 4.7))
    )
    found = of_agent(run, "claude-code", "dollars")
    # In about half of the ways both win by much: then they are another answer.
    assert found.settings == (window(200_000),) and found.wins == pytest.approx(0.51, abs=0.03)
    assert [one.settings for one in found.open] == [both]


def test_fewer_settings_are_taken_only_where_the_rule_allows_these(tmp_path: Path) -> None:
    # The window alone hardly saves or keeps less, but is refused at one call of each session.
    both = (window(200_000), CUT)
    table = {
        "keep-all": rows(20, 1.0), "as-set": rows(10), label(window(200_000)): rows(7, overflows=1),
        label(CUT): rows(9.9), label(*both): rows(6.9),
    }  # fmt: skip
    found = of_agent(made_run(tmp_path, table, recorders=RECORDERS), "claude-code", "dollars")
    assert len(found.settings) == 2 and found.take.refused == 0


def test_a_setting_is_idle_where_it_changes_nothing(tmp_path: Path) -> None:
    # Half a per cent of the amount and nothing of what is kept: by sizes of windows, in thousands.
    of = {101: (10.04, 0.9), 102: (9.96, 0.9), 103: (10.06, 0.9), 104: (9.94, 0.9), 105: (10.0, 0.91)}
    table = {label(window(1_000 * size)): bare(rows(*figures)) for size, figures in of.items()}
    made = made_run(tmp_path, {"keep-all": bare(rows(20, 1.0)), "as-set": bare(rows(10)), **table}, recorders=RECORDERS)
    tried = of_agent(made, "claude-code", "tokens").tried
    assert {int(one.settings[0].value) // 1_000: one.idle for one in tried} == {
        101: True, 102: True, 103: False, 104: False, 105: False,
    }  # fmt: skip


def test_where_nothing_is_worth_it_nothing_is_set(tmp_path: Path) -> None:
    recorders = [msgspec.structs.replace(one, fires_at=1_000, peak=5_000) for one in RECORDERS]
    run = run_of(tmp_path, ((CUT,), rows(9.9)), recorders=recorders, calls_recorded=5, tokens_full_recorded=90,
                 tokens_recorded_sum=100)  # fmt: skip
    found = of_agent(run, "claude-code", "dollars")
    assert (found.settings, found.lines, found.seen, found.share) == ((), {}, (), None)
    assert found.take.policy == "as-set" == found.now.policy and found.off_recorded == pytest.approx(-0.1)
    assert found.contradicted == (
        "Not as set: compaction expected at 1K tokens, but 12 of 12 transcripts grew larger without one.",
    )  # fmt: skip


def test_only_sessions_that_began_after_a_setting_can_contradict_it(tmp_path: Path) -> None:
    recorders = [msgspec.structs.replace(one, fires_at=1_000, peak=5_000) for one in RECORDERS]
    as_set = [{**row, "started": 100.0 + n if n else None} for n, row in enumerate(rows(10))]
    run = made_run(tmp_path, {"keep-all": rows(20, 1.0), "as-set": as_set, label(CUT): rows(9.9)}, recorders=recorders)
    for since, seen in ((0.0, "12 of 12"), (109.0, "3 of 3"), (111.5, "")):
        (line,) = of_agent(run, "claude-code", "dollars", (), since).contradicted or ("",)
        assert seen in line and bool(line) == bool(seen)


def test_without_a_version_of_the_agent_it_is_known_by_name_alone(tmp_path: Path) -> None:
    nameless = [msgspec.structs.replace(one, version="") for one in RECORDERS]
    found = of_agent(run_of(tmp_path, ((CUT,), rows(7)), recorders=nameless), "claude-code", "dollars")
    (seen,) = found.seen
    assert (found.title, seen.key, seen.version) == ("Claude Code", "bashOutputMaxChars", "")


def test_models_with_most_tokens_come_first(tmp_path: Path) -> None:
    second = {"model": "m2", "tokens_sum": 90_000}
    own = [{**row, **(second if n % 4 == 0 else {"tokens_sum": 1_000})} for n, row in enumerate(bare(rows(10)))]
    table = {"keep-all": bare(rows(20, 1.0)), "as-set": own, label(CUT): own}
    assert of_agent(made_run(tmp_path, table, recorders=RECORDERS), "claude-code", "dollars").models == ("m2", "m1")


def test_one_agents_run_has_its_own_transcripts_and_settings(tmp_path: Path) -> None:
    half = [msgspec.structs.replace(one, agent="codex") if n < 4 else one for n, one in enumerate(RECORDERS)]
    run = run_of(tmp_path, *FIRST, recorders=half)
    own = AsSetRun(run, "as-set", "codex")
    assert own.labels == ["as-set", label(OTHER)] and own.transcripts == 4 and own.nothing == "as-set"
    assert [one.transcript for one in own.recorders] == ["t0", "t1", "t2", "t3"]
    assert (
        list(own.of(label(OTHER)).cost_vs_keep_all) == [0.1] * 4
        and list(own.of("as-set").tokens_full_sum) == [10_000] * 4
    )
    # What failed on others' transcripts alone, or is no setting of this agent, isn't told of it.
    for mine, theirs, failed in ((4, 3, {}), (3, 12, {label(OTHER): 3}), (4, 12, {})):
        table = {"keep-all": rows(20), "as-set": rows(10), label(OTHER): rows(1)[:mine], label(CUT): rows(1)[:theirs]}
        part = made_run(tmp_path / f"{mine} {theirs}", table, recorders=half)
        assert AsSetRun(part, "as-set", "codex").partial == failed
    every = AsSetRun(run, "as-set")
    assert every.transcripts == 12 and len(every.labels) == 7 and len(every.recorders) == 12
    by_itself = as_set_run(run)
    assert by_itself is not None and by_itself.baseline == "as-set"
    found = advise(run, "dollars", "codex")
    assert found is not None and found.take.policy == label(OTHER) and found.take.transcripts == 4
    # As set with fewest settings is where it begins.
    more = made_run(tmp_path / "more", {"keep-all": rows(20), label(CUT, READ): rows(9), label(CUT): rows(10)},
                    recorders=RECORDERS)  # fmt: skip
    fewest = as_set_run(more)
    assert fewest is not None and fewest.baseline == label(CUT)
    bare = made_run(tmp_path / "bare", {"keep-all": rows(20), "mask": rows(9)}, recorders=RECORDERS)
    assert as_set_run(bare) is None


@pytest.mark.parametrize(("mask", "named"), [(6.85, True), (6.87, False)])
def test_builders_are_told_of_what_is_clearly_cheaper(mask: float, named: bool, tmp_path: Path) -> None:
    # Two per cent less than 7.00 are 6.86.
    table = {"keep-all": rows(20, 1.0), "as-set": rows(10), label(CUT): rows(7), "mask": rows(mask, 1.0)}
    run = made_run(tmp_path, table, recorders=RECORDERS)
    found: Any = advise(run)
    assert found.take.policy == label(CUT) and found.tried == (label(CUT),)
    assert (found.builders and found.builders.policy) == ("mask" if named else None)
    of_one: Any = advise(run, "dollars", "claude-code")
    assert of_one.builders is None


def test_where_nothing_was_tried_it_stays_as_it_is(tmp_path: Path) -> None:
    run = run_of(tmp_path, calls_recorded=5, tokens_full_recorded=110, tokens_recorded_sum=100)
    found: Any = advise(run, "window")
    assert (found.goal, found.amount, found.take.policy, found.tried) == ("window", "peak", "as-set", ())
    assert found.nothing == found.take and found.off_recorded == pytest.approx(0.1)
    assert Pooled(AsSetRun(run, "as-set")).all["as-set"] == found.take


def test_settings_and_agents_by_their_names() -> None:
    both = label(CUT, READ)
    assert given_in(both) == (CUT, READ) and given_in("as-set") == () == given_in("mask:keep=3")
    assert added(both, label(CUT)) == (READ,) and added(label(CUT), both) == ()
    assert (name_of("claude-code"), name_of("nobodys")) == ("Claude Code", "nobodys")
    assert (title_of("codex"), title_of("nobodys")) == ("Codex", "nobodys")
    ones = [Recorder("a", "codex", "0.9.0"), Recorder("b", "codex", "0.10.0"), Recorder("c", "codex", "main"),
            Recorder("d", "claude-code")]  # fmt: skip
    assert who(ones) == "Codex 0.9.0 to 0.10.0, Claude Code" and who(ones[:1]) == "Codex 0.9.0" and who([]) == ""
    early = [Recorder(f"t{n}", "copilot-cli", f"1.0.64-{n}") for n in range(9)]
    assert who([*early, Recorder("t", "copilot-cli", "1.0.64")]) == "Copilot CLI 1.0.64-0 to 1.0.64"
    assert told([CUT], files=False) == "bashOutputMaxChars = 4000"
    assert told([CUT]) == "bashOutputMaxChars = 4000 in ~/.claude/settings.json" and told([]) == ""
    assert told([Given("claude-code", "autoCompactEnabled", True)], False) == "autoCompactEnabled = true"


def test_a_policy_is_found_by_any_way_to_say_it(tmp_path: Path) -> None:
    run = made_run(tmp_path, {"keep-all": rows(20), "mask:keep=3,batch=1": rows(9), "as-set:x=1": rows(8)})
    run.info = msgspec.structs.replace(run.info, shown={"mask:keep=3,batch=1": "mask 3"})
    for given in ("mask:keep=3,batch=1", "mask 3", "mask:keep=3"):
        assert label_in(run, given) == "mask:keep=3,batch=1"
    assert label_in(run, "as-set:x=1") == "as-set:x=1"
    for given in ("mask:keep=4", "nobodys", "mask:nothing=1"):
        with pytest.raises(UnknownName):
            label_in(run, given)


def test_runs_without_a_policy_or_a_transcript_in_common_have_no_change(tmp_path: Path) -> None:
    one = made_run(tmp_path / "a", {"keep-all": rows(20), "mask:keep=1": rows(9)})
    other = made_run(tmp_path / "b", {"keep-all": [{**row, "transcript": f"u{n}"} for n, row in enumerate(rows(20))]})
    with pytest.raises(CtxsimError, match="have no transcript in common"):
        compared(one, other)
    bare = made_run(tmp_path / "c", {"keep-all": rows(20), "fifo": rows(9), "drop-all": rows(9)})
    bare.info = msgspec.structs.replace(bare.info, bounds=())
    assert pairs_of(one, bare) == [("keep-all", "keep-all")]
    two = [without_estimator(one) for one in ("mask:keep=1,estimator=chars-4", "mask:estimator=x,y=1", "mask:keep=1")]
    assert two == ["mask:keep=1", "mask", "mask:keep=1"]
    # What is asked for by name is compared, whatever else would be.
    named = compared(one, bare, [("mask:keep=1", "fifo")])
    assert {change.pair for change in named} == {("mask:keep=1", "fifo")} and named[0].policy == "mask:keep=1 -> fifo"
    cost = next(change for change in named if change.column == "cost_usd")
    assert (cost.before, cost.after, cost.difference, cost.transcripts, cost.interval) == (9, 9, 0, 12, (0, 0))
