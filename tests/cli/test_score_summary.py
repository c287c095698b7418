"""What `ctxsim compactions` prints."""

from __future__ import annotations

from typing import Any

import pytest

from ctxsim.answers.compactions import SummaryScore
from ctxsim.cli.compactions import LOST_SHOWN, _lines


def score(**fields: Any) -> SummaryScore:
    plain: dict[str, Any] = {
        "transcript": "a.json", "call": 7, "tokens": 1_500, "tokens_history": 90_000, "identifiers": 1_200,
        "identifiers_kept": 300, "needed": {"strict": 4, "loose": 9}, "kept": {"strict": 1, "loose": 9}, "lost": (),
    }  # fmt: skip
    return SummaryScore(**(plain | fields))


HEAD = ["a.json: in place of what came before call 7", "  1,500 tokens for 90,000"]


def test_a_score_says_what_is_held_and_what_later_calls_used() -> None:
    kept = ["  strict: 1 of 4 that later calls used are kept", "  loose: 9 of 9 that later calls used are kept"]
    assert _lines(score()) == [*HEAD, "  holds 300 of 1,200 identifiers (25.0%)", *kept]
    assert _lines(score(identifiers=0, identifiers_kept=0))[2] == "  holds 0 of 0 identifiers"
    assert _lines(score(needed={"strict": 0, "loose": 0}, lost=(("value", "x"),))) == [
        *HEAD, "  holds 300 of 1,200 identifiers (25.0%)",
        "  no later call used anything that only this history had",
    ]  # fmt: skip


@pytest.mark.parametrize(("many", "more"), [(1, []), (20, []), (21, ["    ... and 1 more"])])
def test_what_was_lost_is_listed_up_to_twenty(many: int, more: list[str]) -> None:
    found = _lines(score(lost=tuple(("value", f"x{n}") for n in range(many))))[5:]
    assert found == ["  lost:", *(f"    value: x{n}" for n in range(min(many, 20))), *more] and LOST_SHOWN == 20
