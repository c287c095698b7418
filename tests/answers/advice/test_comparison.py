"""Two runs compared: change and noise told apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_runs import SOURCES

from ctxsim.answers.advice.comparison import compared, parse_rule
from ctxsim.errors import CtxsimError, UnknownName
from ctxsim.results import Run, read_run


def test_the_same_run_has_no_change(undisturbed: Path) -> None:
    run = read_run(undisturbed)
    assert {change.verdict for change in compared(run, run)} == {"same"}


def test_change_and_noise_are_told_apart(pair: tuple[Run, Run]) -> None:
    found = {(change.policy, change.column): change for change in compared(*pair)}
    grown = found["keep-all", "tokens_sum"]
    assert grown.verdict == "changed" and grown.difference > 0 and grown.transcripts == SOURCES
    assert grown.interval is not None and grown.interval[0] > 0
    assert found["keep-all", "survival"].verdict == "same"
    verdicts = {change.verdict for change in found.values()}
    assert verdicts <= {"same", "changed", "noise"}


def test_rules() -> None:
    rule = parse_rule("cost_usd > +2%")
    assert (rule.column, rule.above, rule.value, rule.percent) == ("cost_usd", True, 2.0, True)
    assert parse_rule(" survival < -0.01 ").value == -0.01
    with pytest.raises(CtxsimError, match="is no rule"):
        parse_rule("cost_usd >> 2")
    with pytest.raises(UnknownName, match="cost_usd"):
        parse_rule("cost > 2%")


def test_rules_break_on_change_only(pair: tuple[Run, Run]) -> None:
    changes = {(change.policy, change.column): change for change in compared(*pair)}
    grown = changes["keep-all", "tokens_sum"]
    assert grown.percent is not None
    assert parse_rule(f"tokens_sum > {grown.percent - 0.5:.3f}%").breaks(grown)
    assert not parse_rule(f"tokens_sum > {grown.percent + 0.5:.3f}%").breaks(grown)
    assert not parse_rule("tokens_sum < -1%").breaks(grown)
    assert not parse_rule("tokens_peak > 0%").breaks(grown)
    assert not any(
        parse_rule("survival < 0").breaks(change) for change in changes.values() if change.verdict == "noise"
    )
