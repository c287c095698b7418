"""Measured tables: which entry a model gets, how they are measured, and what a lost cache read costs."""

from __future__ import annotations

import pytest

from ctxsim.answers.validation.validation import Compared
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.provider.prices import expected_loss, load_losses
from ctxsim.simulator.provider.priors import (
    head_prior,
    load_priors,
    tokens_factor,
    tokens_per_counted,
    tokens_per_default,
)
from ctxsim.transcript import Usage
from evidence import priors
from evidence.priors import Measured, factors, family, heads, losses, measured, public


def session(name: str, model: str, counted: list[int], recorded: list[int], reads: list[int]) -> list[Measured]:
    return [
        Measured(
            Compared(name, "some-agent", model, number, count, 0, record, record, 4_000, 4_000, read, "", False),
            None if number == 1 else 5.0,
        )
        for number, (count, record, read) in enumerate(zip(counted, recorded, reads, strict=True), 1)
    ]


GROWN = session("a", "gemini-x-9-20260101", [1_000, 3_000, 5_000], [7_000, 11_000, 15_000], [0, 4_000, 2_000])


def test_a_factor_is_the_slope_and_the_head_what_it_leaves() -> None:
    # 2,000 counted are 4,000 recorded: factor 2. The first call's 7,000 are 2 x 1,000 and a head of 5,000.
    (factor,) = factors([GROWN])
    assert (factor.model, factor.tokens, factor.calls, factor.sessions) == ("gemini-x-9*", 2.0, 3, 1)
    (head,) = heads([GROWN], [factor])
    assert (head.format, head.model, head.tokens, head.sessions) == ("some-agent", "gemini-x-9*", 5_000, 1)


def test_one_session_of_a_public_tokenizer_tells_no_factor_but_a_head() -> None:
    short = session("b", "gpt-4.1", [1_000, 3_000, 5_000], [1_500, 4_500, 7_500], [0, 0, 0])
    assert factors([short]) == []
    (head,) = heads([short], [])
    assert (head.model, head.tokens) == ("gpt-4-1*", 500)


def test_a_switch_of_models_within_a_session_bends_no_slope() -> None:
    other = session("a", "voxtral-small", [90_000], [100], [0])
    assert factors([GROWN + other]) == factors([GROWN])


def test_a_loss_has_an_interval_as_wide_as_its_sessions_are_few() -> None:
    # Of 4,000 predicted, 4,000 and 2,000 were read: half of one of two calls is lost. The first call doesn't count.
    (one,) = losses([GROWN])
    assert (one.vendor, one.gap_s, one.mean, one.calls, one.sessions) == ("google", 10.0, 0.25, 2, 1)
    assert one.low < 0.05 and one.high > 0.8


def test_a_pause_is_that_before_the_call_also_behind_a_compaction(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Assembly("s.jsonl")
    for n, time_s in enumerate((0.0, 7.0, 1_000.0, 1_040.0)):
        if n == 2:
            made.compacted("auto", ["We read files."], (), 167_000, 2_000)
        made.user("Go on.")
        usage = Usage(9_000 + 100 * n, 5, 8_000)
        made.response([Part("assistant", "Fine.")], usage, time_s=time_s, model="claude-opus-4-6")
    monkeypatch.setattr(priors, "sources", lambda *_: ["s.jsonl"])
    monkeypatch.setattr(priors, "read_source", lambda _: [made.transcript()])
    (found,) = measured("recordings")
    assert [(one.call.call, one.gap_s) for one in found] == [(1, None), (2, 7.0), (1, None), (2, 40.0)]


def test_names_lose_date_and_prefix() -> None:
    assert family("anthropic/claude-opus-4-5-20251101") == "claude-opus-4-5*"
    assert family("anthropic.claude-3-5-sonnet-20241022-v2:0") == "claude-3-5-sonnet*"
    assert family("gpt-4o-2024-08-06") == "gpt-4o*"
    assert public("gpt-4-1*") and public("claude-opus-4-8*") and not public("gemini-3-pro*")


def test_the_longest_pattern_decides() -> None:
    sonnet = tokens_per_counted("anthropic/claude-sonnet-4-5-20250929")
    assert sonnet and sonnet.model == "claude-sonnet-4-5*" and 1.0 < sonnet.low <= sonnet.tokens <= sonnet.high < 2.0
    assert tokens_per_counted("nobody-knows") is None


def test_a_head_of_another_model_of_the_format_is_better_than_none() -> None:
    known, unknown = head_prior("claude-code", "claude-opus-4-6"), head_prior("claude-code", "claude-never-7")
    assert known and known.model == "claude-opus-4-6*"
    assert unknown and unknown.sessions == max(
        one.sessions for one in load_priors().head if one.format == "claude-code"
    )
    assert head_prior("no-such-format", "claude-opus-4-6") is None


def test_losses_by_pause() -> None:
    soon, late = expected_loss("anthropic", 3), expected_loss("anthropic", 200)
    assert soon and late and soon.mean < late.mean
    assert expected_loss("openai", 86_400) is None and expected_loss("none", 1) is None
    assert all(0 <= one.low <= one.mean <= one.high <= 1 for one in load_losses())


def test_tokens_are_those_of_the_vocabulary_times_what_was_measured() -> None:
    measured = tokens_per_counted("claude-opus-4-6")
    assert measured and tokens_factor("claude-opus-4-6") == measured.tokens != 1.0 == tokens_factor("qwen3-coder")
    # claude_3 has 1.175 tokens for one of o200k_base, qwen3 1.059.
    assert tokens_per_default("claude-opus-4-6") == measured.tokens * 1.175
    assert tokens_per_default("qwen3-coder") == 1.059
