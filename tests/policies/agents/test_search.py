"""Which values are tried: those to begin with, and those between them."""

from __future__ import annotations

import pytest

from ctxsim.policies.agents.given import Given
from ctxsim.policies.agents.search import alone, around, begin, policy_label, searched, usual

WINDOW = ("claude-code", "autoCompactWindow")


def values(given: list[Given]) -> list[tuple[str, bool | int | float | str]]:
    return [(one.key.rpartition(".")[2], one.value) for one in given]


def test_an_agent_without_values_has_none() -> None:
    assert searched("zed") == searched("nobody") == []
    assert begin("zed") == alone("zed") == usual("zed") == []


def test_values_to_begin_with_and_those_halfway_between_them() -> None:
    first = [(f"compaction_{name}", value) for name, value in (("trigger_ratio", 0.5), ("trigger_ratio", 0.65))]
    first += [
        ("compaction_trigger_ratio", 0.75),
        ("reserved_context_size", 100_000),
        ("reserved_context_size", 150_000),
    ]
    assert values(begin("kimi-cli")) == first
    # 0.575 and 0.7 by two digits; of each setting's own values alone.
    between = [
        ("compaction_trigger_ratio", 0.57),
        ("compaction_trigger_ratio", 0.7),
        ("reserved_context_size", 125_000),
    ]
    assert values(alone("kimi-cli")) == first + between


def test_a_bench_tries_all_of_three_values_and_leaves_the_ends_of_more() -> None:
    assert [one.value for one in usual("kimi-cli")] == [0.5, 0.65, 0.75]
    assert [one.value for one in usual("goose")] == [0.5, 0.65]
    assert [one.key for one in usual("goose")] == ["GOOSE_AUTO_COMPACT_THRESHOLD"] * 2


@pytest.mark.parametrize(
    ("key", "best", "tried", "found"),
    [
        # Two digits; three from 100,000 on.
        (WINDOW, 133_333, (100_000, 133_333), [117_000]),
        (("codex", "tool_output_token_limit"), 33_333, (10_000, 33_333), [22_000]),
        (("codex", "tool_output_token_limit"), 9, (9, 17), [13]),
        # Whole numbers with none between them; what nobody tried; what is no number; what is no setting.
        (("codex", "tool_output_token_limit"), 9, (9, 10), []), (WINDOW, 150_000, (100_000, 200_000), []),
        (WINDOW, 150_000, ("auto", 150_000, True), []), (("codex", "nothing"), 1, (1, 9), []),
        (("codex", "model_auto_compact_token_limit"), 0, (-1, 0), []),
        (("goose", "GOOSE_AUTO_COMPACT_THRESHOLD"), 0, (0, 0.5), [0.25]),
        (("strands", "SlidingWindowConversationManager.window_size"), 0, (-1, 0, 1), []),
        (("strands", "SlidingWindowConversationManager.window_size"), 5, (-5, 5), [0]),
    ],
)  # fmt: skip
def test_values_around_one(
    key: tuple[str, str], best: int, tried: tuple[bool | int | float | str, ...], found: list[float]
) -> None:
    assert [one.value for one in around(Given(*key, best), tried)] == found


def test_labels_of_policies() -> None:
    assert (
        policy_label()
        == policy_label(Given("codex", "nothing", 1))
        == policy_label(Given(*WINDOW, 1), Given("x", "y", 1))
        == ""
    )
    assert policy_label(Given(*WINDOW, 150_000)) == "claude-code:auto_compact_window=150000"
    trigger = Given("langchain", "ClearToolUsesEdit.trigger", 9)
    assert policy_label(trigger, Given("langchain", "ClearToolUsesEdit.keep", 2)) == "langchain-clear:trigger=9,keep=2"
