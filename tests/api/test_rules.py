"""Rules that a comparison can break."""

from __future__ import annotations

import pytest

from ctxsim.api.rules import Rule, parse_rules
from ctxsim.errors import CtxsimError, UnknownName

KNOWN = ("cost", "survival")


def rule(text: str) -> Rule:
    return parse_rules([text], "figure", KNOWN, "cost > 10%")[0]


def test_a_rule_is_a_figure_a_side_and_a_value() -> None:
    assert rule("cost > +2%") == Rule("cost", True, 2.0, True)
    assert rule(" survival < -0.01 ") == Rule("survival", False, -0.01, False)
    assert rule("cost<-5") == Rule("cost", False, -5.0, False)
    for wrong in ("cost", "cost >> 2", "cost > x"):
        with pytest.raises(CtxsimError, match=f"'{wrong}' is no rule. Rules: cost > 10%"):
            rule(wrong)
    with pytest.raises(UnknownName, match="unknown figure 'cost_usd'"):
        rule("cost_usd > 10%")


def test_what_goes_beyond_it_breaks_it() -> None:
    assert rule("cost > 10").broken_by("cost", 10.1) and not rule("cost > 10").broken_by("cost", 10.0)
    assert rule("cost < -1").broken_by("cost", -1.1) and not rule("cost < -1").broken_by("cost", -1.0)
    assert not rule("cost > 10").broken_by("survival", 11.0)


def test_a_share_is_of_what_was_before_even_if_that_is_nothing() -> None:
    assert rule("cost > 10%").broken_by("cost", 0.6, 5.0) and not rule("cost > 10%").broken_by("cost", 0.5, 5.0)
    assert rule("cost > 10%").broken_by("cost", 0.6, 0.0) and not rule("cost > 10%").broken_by("cost", 0.0, 0.0)
    assert rule("cost < -10%").broken_by("cost", -0.6, 5.0) and not rule("cost < -10%").broken_by("cost", 0.6, 0.0)
