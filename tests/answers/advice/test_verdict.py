"""The answer in lines, of advice made by hand: each of its sentences, and what makes them come or go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ctxsim.answers.advice.advice import Advice
from ctxsim.answers.advice.baseline import AsSetAdvice
from ctxsim.answers.advice.figures import Figures, Share
from ctxsim.answers.advice.refetch import Again
from ctxsim.answers.advice.verdict import as_values, changed, kept_percent, percent, ranges_of, size, verdict, weak
from ctxsim.policies.agents.given import Given
from ctxsim.results.run_info import Recorder


def figures(
    policy: str, usd: float | None = None, share: float = 1.0, low: float | None = None, high: float | None = None,
    kept: float | None = 1.0, **more: Any,
) -> Figures:  # fmt: skip
    """Of twelve sessions with 1,200 calls and a million tokens as they are; the largest requests have 80,000."""
    of = Share(share, low, high)
    values: dict[str, Any] = {
        "policy": policy, "bound": False, "transcripts": 12, "priced": 12, "sessions": 12, "calls": 1_200, "usd": usd,
        "usd_share": of, "usd_least": None, "usd_again": None, "tokens_again": None, "at_rate": 0.0,
        "tokens": round(1_000_000 * share), "tokens_share": of, "peak": 90_000, "peak_mean": round(80_000 * share),
        "peak_share": of, "kept": None if kept is None else Share(kept, kept - 0.02, kept + 0.01), "kept_low": None,
        "kept_high": None, "refused": 0, "failing": 0,
    }  # fmt: skip
    return Figures(**(values | more))


def advice(take: Figures, goal: str = "dollars", amount: str = "usd", **more: Any) -> Advice:
    return Advice(goal, amount, take, **({"nothing": NOTHING} | more))


def as_set(take: Figures, agents: tuple[str, ...] = ("claude-code",) * 12, **more: Any) -> AsSetAdvice:
    recorders = tuple(Recorder(f"t{n}", agent, f"2.1.{n % 3}") for n, agent in enumerate(agents))
    return AsSetAdvice("dollars", "usd", take, **({"nothing": SET, "recorders": recorders} | more))


NOTHING, SET = figures("keep-all", 10.0), figures("as-set", 10.0, kept=0.95)
MASK = figures("mask:keep=3", 6.0, 0.6, 0.55, 0.66, 0.953, usd_least=4.2, usd_again=1.5, refused=3)
DEAR, CHEAP = figures("dear", 8.0, 0.8, kept=0.99), figures("cheap", 3.0, 0.3, 0.2, 0.4, kept=0.8)
PLAIN = figures("x", 6.0, 0.6, kept=0.97)
WINDOW = figures("as-set:given=claude-code/autoCompactWindow=200000", 6.0, 0.6, 0.55, 0.66, 0.95, usd_again=1.5)
OWN = figures("as-set:given=claude-code/bashOutputMaxChars=9000", 10.0, kept=0.95)
BOTH = figures(
    "as-set:given=claude-code/autoCompactWindow=200000;claude-code/bashOutputMaxChars=4000", 5.0, 0.5, kept=0.94
)


CASES: dict[str, Advice] = {
    "all is said of a saving": advice(
        MASK,
        wins={"mask:keep=3": 0.87},
        ahead=12,
        losing_less=DEAR,
        cheaper=CHEAP,
        again=Again(0.73, 1.67, figures("c", 7.0, 0.7, kept=0.97), 0.4),
        alike=("d", "e", "f", "g", "h"),
        off_recorded=-0.08,
        caveats=("So.",),
    ),
    "summaries keep a range, of one session": advice(
        figures("x", None, 0.6, priced=0, kept=0.97, tokens_again=200_000, kept_low=0.9, kept_high=0.985),
        "tokens",
        "tokens",
        nothing=figures("keep-all", priced=0),
        again=Again(None, 1.25, None, None),
    ),
    "some prices are known and nothing was used later": advice(
        figures("x", None, 0.6, priced=5, kept=None), amount="tokens", ahead=5, wins={"x": 1.0}, alike=("d", "e", "f")
    ),
    "no price is known": advice(figures("x", None, 0.6, priced=0), amount="tokens"),
    "the largest request of a sample": advice(
        figures("x", 6.0, 0.6, 0.5, 0.7, priced=7), "window", "peak", sampled=True
    ),
    "one transcript of a sample": advice(
        figures("x", 6.0, 0.6, transcripts=1, priced=1),
        "window",
        "peak",
        nothing=figures("keep-all", 10.0, transcripts=1),
        sampled=True,
    ),
    "doing nothing loses more": advice(
        figures("x", 6.0, 0.6, usd_again=1.0, at_rate=0.5), again=Again(0.12, 1.3, None, None, above=True)
    ),
    "a few without a price, and nobody could pay less": advice(
        figures("x", 6.0, 0.6, priced=11, usd_least=6.0), again=Again(None, None, None, None)
    ),
    "nothing saves surely": advice(
        NOTHING, "kept", cheaper=figures("b", 3.0, 0.3, 0.2, 1.0, kept=0.8), ahead=12, wins={"keep-all": 0.9}
    ),
    "a generated conversation": advice(
        NOTHING, "kept", cheaper=figures("b", 3.0, 0.3, 0.2, 0.99, kept=0.8), generated=True
    ),
    "nothing saves of a sample of which one was drawn": advice(
        figures("keep-all", 10.0, kept=None), "tokens", "tokens", cheaper=figures("b", 3.0, 0.3, kept=0.8), sampled=True
    ),
    "nothing saves of the largest requests": advice(
        NOTHING, "window", "peak", cheaper=figures("b", 3.0, 0.3, 0.2, 0.99, kept=None)
    ),
    "open between three": advice(
        MASK,
        open=(NOTHING, figures("z", 7.0, 0.7, kept=0.9)),
        wins={"mask:keep=3": 0.5, "keep-all": 0.3, "z": 0.2},
        more=120,
        ahead=12,
    ),
    "open, and many more sessions are needed": advice(
        MASK, open=(NOTHING,), wins={"mask:keep=3": 0.5, "keep-all": 0.3}, more=121, ahead=12
    ),
    "none gets through": advice(figures("x", 5.0, 0.5, kept=0.8, failing=7, refused=99), open=(NOTHING,)),
    "doing nothing is refused least": advice(figures("keep-all", 10.0, failing=12, refused=99)),
    "half of the transcripts fail": advice(figures("x", 5.0, 0.5, kept=0.9, failing=6, refused=99)),
    "nobody keeps enough": advice(figures("x", 5.0, 0.5, kept=0.8955), nothing=None),
    "nobody with fewer refusals keeps enough": advice(
        figures("x", 5.0, 0.5, kept=0.88), nothing=figures("keep-all", 10.0, refused=425)
    ),
    "amounts at a rate of their own": advice(
        figures("x", 6.0, 0.6, kept=0.95, usd_again=2.0, at_rate=0.5), again=Again(0.9, 1.5, None, None)
    ),
    "nothing is added, another answer later": advice(
        figures("x", 6.0, 0.6, kept=0.95, usd_again=0.0), again=Again(0.9, 1.5, DEAR, 0.2)
    ),
    "nothing is added and nothing else said": advice(
        figures("x", 6.0, 0.6, kept=0.95, usd_again=0.0), again=Again(0.9, 1.5, None, None)
    ),
    "what is fetched again makes it cheaper": advice(
        figures("x", 6.0, 0.6, kept=0.95, usd_again=-0.1), again=Again(0.9, 1.5, None, None)
    ),
    "a setting": as_set(
        WINDOW,
        wins={WINDOW.policy: 0.9},
        ahead=12,
        tried=("a", "b"),
        again=Again(0.73, 1.67, None, None),
        losing_less=BOTH,
        off_recorded=0.12,
    ),
    "two settings, and what a builder could have": as_set(
        BOTH, tried=("a", "b"), builders=figures("mask", 2.0, 0.2, kept=0.96, refused=2)
    ),
    "no setting of five sessions": as_set(OWN, nothing=OWN, tried=("a", "b", "c"), ahead=5, wins={OWN.policy: 1.0}),
    "nothing was tried, by two agents": as_set(OWN, ("claude-code",) * 5 + ("codex",) * 5, nothing=OWN),
    "no setting of a sample": as_set(SET, tried=("a",), sampled=True),
    "open between settings": as_set(
        WINDOW,
        tried=("a", "b"),
        open=(SET, BOTH),
        wins={WINDOW.policy: 0.5, "as-set": 0.3, BOTH.policy: 0.2},
        more=30,
        ahead=12,
    ),
    "a setting beside nothing": as_set(WINDOW, nothing=None),
}
SHORT = {
    "all is said of a saving": {"mask:keep=3": "mask 3", "d": "D"},
    "two settings, and what a builder could have": {"mask": "Mask"},
}
"""Of these labels in a shorter form."""


@pytest.fixture(scope="module")
def lines() -> dict[str, list[str]]:
    """By case the lines that were looked at."""
    parts = Path(__file__).with_name("verdicts.txt").read_text().split("\n\n")
    return {one.splitlines()[0].removeprefix("# "): one.splitlines()[1:] for one in parts if one}


@pytest.mark.parametrize("case", CASES)
def test_each_answer_in_its_lines(case: str, lines: dict[str, list[str]]) -> None:
    assert verdict(CASES[case], SHORT.get(case)) == lines[case]


def test_without_an_answer() -> None:
    assert verdict(None) == ["Nothing to advise: only bounds ran."] and as_values(None) is None
    assert verdict(advice(PLAIN)) == verdict(advice(PLAIN), {})


def test_answers_for_programs() -> None:
    values = as_values(as_set(BOTH))
    assert values is not None and values["says"] == verdict(as_set(BOTH)) and values["goal"] == "dollars"
    assert values["settings"] == [
        {"agent": "claude-code", "key": "autoCompactWindow", "value": 200_000},
        {"agent": "claude-code", "key": "bashOutputMaxChars", "value": 4_000},
    ]  # fmt: skip
    plain = as_values(advice(PLAIN))
    assert plain is not None and "settings" not in plain and plain["take"]["policy"] == "x"
    assert changed(as_set(BOTH), WINDOW) == (Given("claude-code", "autoCompactWindow", 200_000),)
    assert changed(as_set(BOTH, nothing=WINDOW)) == (Given("claude-code", "bashOutputMaxChars", 4_000),)
    assert len(changed(as_set(BOTH, nothing=None))) == 2


@pytest.mark.parametrize(("off", "line"), [
    (None, ""), (0.05, ""), (-0.05, ""), (0.051, "+5"), (-0.2, "-20"), (1.0, "+100"),
])  # fmt: skip
def test_what_is_far_from_what_was_recorded_is_weak(off: float | None, line: str) -> None:
    assert weak(off) == (line and f"Weak: keep-all is {line} % off what was recorded, so all figures may be off.")


@pytest.mark.parametrize(("share", "said", "kept"), [
    (0.0, "0", "0"), (-0.004, "0", "0"), (0.344, "34", "34"), (0.346, "35", "35"), (0.8899, "89", "89"),
    (0.8949, "89", "89"), (0.8951, "90", "89.5"), (0.89995, "90", "89.9"), (0.9, "90", "90"), (0.9049, "90", "90"),
    (0.9851, "99", "98.5"), (0.98999, "99", "98.9"), (0.9951, "100", "100"),
])  # fmt: skip
def test_shares_are_whole_but_where_that_would_lift_them_to_what_must_be_kept(
    share: float, said: str, kept: str
) -> None:
    assert (percent(share), kept_percent(share)) == (said, kept)


def test_sizes_are_of_the_amount() -> None:
    assert [size(PLAIN, amount) for amount in ("usd", "tokens", "peak")] == [
        "6.00 USD", "600,000 tokens", "48,000 tokens in the largest request of a transcript on average",
    ]  # fmt: skip
    assert size(msgspec.structs.replace(PLAIN, usd=None, transcripts=1), "usd") == "600,000 tokens"


def test_from_eight_sessions_on_ranges_are_told_from_them() -> None:
    few = "7 sessions are too few for intervals: the ranges' width comes from other projects."
    many = "With 90 % probability, a range contains the next 1,000 sessions' figure."
    assert ranges_of(7) == few and ranges_of(1_000) == many and ranges_of(8) == many.replace("1,000", "8")
    # What was the answer in none of the ways has no share there.
    assert "This stays the answer in 0 % of resamples" in verdict(advice(PLAIN, ahead=8, wins={"y": 1.0}))[-1]


def test_the_least_of_a_sample_is_no_bound() -> None:
    assert "No policy can cost less than 4.20 USD" in " ".join(verdict(advice(MASK)))
    assert "No policy can" not in " ".join(verdict(advice(MASK, sampled=True)))
