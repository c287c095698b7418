"""What an agent makes of a value that somebody sets."""

from __future__ import annotations

import pytest

from ctxsim.live.agent import Agent, load_agent
from ctxsim.live.probe.check import _window
from ctxsim.live.probe.expected import Situation, departure, expected
from ctxsim.live.probe.verdict import Awaited
from ctxsim.policies.agents.settings import Setting, Value


def setting(**given: object) -> Setting:
    return Setting(key="limit", source="invented", **{"type": "int", **given})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "value", "acting", "how"),
    [
        # Between bounds as it is, the bounds with it.
        (setting(bounds=(10, 20)), 10, 10, ""), (setting(bounds=(10, 20)), 20, 20, ""),
        # Outside: to the nearest bound, or to nothing.
        (setting(bounds=(10, 20), outside="clamped"), 9, 10, "clamped"),
        (setting(bounds=(10, 20), outside="clamped"), 21, 20, "clamped"),
        (setting(type="ratio", bounds=(0.5, 0.9), outside="clamped"), 0.95, 0.9, "clamped"),
        (setting(type="ratio", bounds=(0.5, 0.9), outside="clamped"), 2, 0.9, "clamped"),
        (setting(bounds=(10, 20), outside="ignored"), 21, None, "ignored"),
        (setting(bounds=(10, 20), outside="refused"), 21, None, "refused"),
        (setting(bounds=(10, 20)), 21, None, "ignored"),
        # Text of a variable is a number where it is one; a thousand where the agent knows that.
        (setting(env="LIMIT"), "15", 15, ""), (setting(env="LIMIT"), "x", None, "ignored"),
        (setting(env="LIMIT", thousands=True), "300k", 300_000, ""),
        (setting(env="LIMIT", thousands=True), "2K", 2_000, ""),
        (setting(env="LIMIT"), "300k", None, "ignored"),
        (setting(type="ratio", env="LIMIT"), "0.5", 0.5, ""),
        (setting(env="LIMIT", words=("off",)), "off", "off", ""),
        # In a file a text is no number.
        (setting(), "15", None, "ignored"),
        (setting(bounds=(10, 20), outside="clamped"), "15", None, "ignored"),
    ],
)  # fmt: skip
def test_a_value_within_its_bounds_and_outside(one: Setting, value: Value, acting: Value | None, how: str) -> None:
    assert departure(one, value) == how
    found = one.taken(one.typed(str(value)) if one.env else value)
    assert found == acting and type(found) is type(acting)


@pytest.mark.parametrize(
    ("model", "window"),
    # Seen in 2.1.332: Opus 4.6 compacts at 167,000 without [1m], Opus 4.7 and unknown models at 967,000.
    [("claude-opus-4-5-20251101", 200_000), ("claude-opus-4-1", 200_000), ("claude-opus-4-20250514", 200_000),
     ("claude-3-7-sonnet-20250219", 200_000), ("claude-opus-4-6", 200_000), ("claude-sonnet-4-6", 200_000),
     ("claude-opus-4-6[1m]", 1_000_000), ("claude-opus-4-7", 1_000_000), ("claude-haiku-5-5", 1_000_000)],
)  # fmt: skip
def test_the_window_that_claude_code_assumes_for_a_model(model: str, window: int) -> None:
    assert _window(load_agent("claude-code"), model) == window


def test_when_a_policy_compacts() -> None:
    # Sonnet 4.5 is compacted after a refusal alone, unless a window is set: 150,000 - 20,000 - 13,000. aider never is.
    claude = Situation(load_agent("claude-code"), "claude-sonnet-4-5", 200_000)
    assert expected(claude, {}) == Awaited("only after a refusal")
    assert expected(claude, {"autoCompactWindow": 150_000}) == Awaited("proactive", 117_000)
    assert expected(claude, {"autoCompactEnabled": False}) == Awaited("never")
    # Outside of its bounds a window is ignored. As it is: 50,000 - 33,000, and of more than the model has 200,000.
    for window, threshold in ((50_000, 17_000), (5_000_000, 167_000)):
        assert expected(claude, {"autoCompactWindow": window}) == Awaited("only after a refusal")
        assert expected(claude, {"autoCompactWindow": window}, bounds=False) == Awaited("proactive", threshold)
    # A variable that turns it off, and one that doesn't.
    for value, awaited in ((True, Awaited("never")), (False, Awaited("proactive", 117_000))):
        assert expected(claude, {"DISABLE_COMPACT": value, "autoCompactWindow": 150_000}) == awaited
    assert expected(Situation(Agent("kilo-code"), "mock", 200_000), {}) == Awaited("never"), "it has no policy"
