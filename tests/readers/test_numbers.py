"""Numbers that can't be: noted, and as if they weren't recorded."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest
from samples import conversation

from ctxsim.readers import read
from ctxsim.readers.assembly.anthropic_content import BilledUsage
from ctxsim.readers.assembly.chat_messages import ChatUsage
from ctxsim.readers.assembly.numbers import (
    LATEST_S,
    MOST_TOKENS,
    MOST_USD,
    dollars,
    in_parts,
    of_prompt,
    plausible,
    with_thoughts,
)
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.readers.source.values import json_document, json_values, time_s
from ctxsim.simulator.provider.rules import smallest_quota
from ctxsim.transcript import Compaction, Media, Transcript, Usage


def with_call(**fields: object) -> Transcript:
    made = conversation("one")
    return msgspec.structs.replace(made, calls=(msgspec.structs.replace(made.calls[0], **fields), *made.calls[1:]))


@pytest.mark.parametrize("tokens", [-1, -5_000_000, 2**63, 10**4000, MOST_TOKENS + 1])
def test_tokens_that_no_prompt_has(tokens: int) -> None:
    found = plausible(with_call(usage=Usage(tokens, 5)))
    assert found.calls[0].usage is None
    assert found.notes == ("1 x input_tokens that can't be: taken as not recorded",)
    for name in ("output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"):
        usage = Usage(100, 5, 50, 20, 3)
        found = plausible(with_call(usage=msgspec.structs.replace(usage, **{name: tokens})))
        assert found.calls[0].usage == msgspec.structs.replace(usage, **{name: None}) and len(found.notes) == 1


@pytest.mark.parametrize("usd", [-0.01, math.inf, -math.inf, math.nan, 1e12])
def test_dollars_that_nobody_paid(usd: float) -> None:
    found = plausible(with_call(usage=Usage(100, cost_usd=usd)))
    assert found.calls[0].usage == Usage(100) and len(found.notes) == 1
    assert plausible(msgspec.structs.replace(conversation("a"), cost_usd=usd)).cost_usd is None


@pytest.mark.parametrize("seconds", [-1.0, math.inf, math.nan, LATEST_S + 1, 1.7e15 / 1000 * 1000])
def test_times_beyond_all_dates(seconds: float) -> None:
    found = plausible(with_call(time_s=seconds, window=-5))
    assert found.calls[0].time_s is None and found.calls[0].window is None and len(found.notes) == 2


def test_times_of_every_form() -> None:
    assert time_s(1_700_000_000_000) == 1.7e9
    assert time_s(10**400) == math.inf and time_s("0001-01-01T00:00:00+23:59") in (math.inf, -62135683140.0)
    assert time_s("10000-01-01") is None


def test_integers_of_thousands_of_digits_are_read() -> None:
    digits = b"9" * 5000
    assert json_values(b'{"a": ' + digits + b"}")[0]["a"] > 2**64
    assert json_document(b'{"a": -' + digits + b"}", "x")["a"] < -(2**64)


@pytest.mark.parametrize("at_s", [math.inf, 1e300, math.nan, -math.inf])
def test_no_time_makes_the_quota_hang(at_s: float) -> None:
    assert smallest_quota([(0.0, 100), (at_s, 1000), (5.0, 50)]) >= 1


def test_nothing_negative_is_read(tmp_path: Path) -> None:
    wrong = with_call(usage=Usage(-5_000_000, 10), time_s=1e308)
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines(msgspec.structs.replace(wrong, cost_usd=-3.0))))
    (made,) = read(str(tmp_path / "a.jsonl"))
    assert (made.calls[0].usage, made.calls[0].time_s, made.cost_usd) == (None, None, None)


def test_the_largest_and_the_smallest_numbers_that_can_be_are_kept() -> None:
    for usage, time, window in ((Usage(MOST_TOKENS, MOST_TOKENS, cost_usd=1e9), LATEST_S, MOST_TOKENS),
                                (Usage(0, 0, 0, 0, 0, 0.0), 0.0, 1)):  # fmt: skip
        made = with_call(usage=usage, time_s=time, window=window)
        assert plausible(made) == made
    for fields in ({"window": 0}, {"window": MOST_TOKENS + 1}):
        assert plausible(with_call(**fields)).calls[0].window is None
    assert plausible(with_call(usage=Usage(5, cost_usd=1e9 + 1))).calls[0].usage == Usage(5)
    # All of a prompt may come from the cache, one token more can't.
    for name in ("cache_read_tokens", "cache_write_tokens"):
        for tokens, kept in ((100, 100), (101, None)):
            usage = msgspec.structs.replace(Usage(100), **{name: tokens})
            assert getattr(plausible(with_call(usage=usage)).calls[0].usage, name) == kept


def test_what_is_no_size_of_a_head_a_picture_or_a_compaction() -> None:
    made = conversation("one")
    media = (Media("image", 5), Media("image", -1), Media("image", 0))
    items = (msgspec.structs.replace(made.items[0], media=media), *made.items[1:])
    one = Compaction(2, 3, "auto", (), (), 5, -4, -1.0)
    head = msgspec.structs.replace(made.head, hidden=-1)
    found = plausible(msgspec.structs.replace(made, items=items, compactions=(one,), head=head, cost_usd=1.0))
    assert found.items[0].media == (media[0], media[2])
    assert found.compactions[0] == msgspec.structs.replace(one, tokens_after=None, seconds=None)
    assert (found.head.hidden, found.cost_usd) == (0, 1.0)
    assert found.notes == tuple(
        f"1 x {what} that can't be: taken as not recorded"
        for what in ("media tokens", "tokens after a compaction", "seconds of a compaction", "head tokens")
    )


@pytest.mark.parametrize(
    ("made", "usage"),
    [
        # The three parts of a prompt: 100 fresh, 20 read, 3 written.
        (in_parts(100, 7, 20, 3, 5, 0.5), Usage(123, 7, 20, 3, 5, 0.5)),
        (in_parts(0, None, 20, None), Usage(20, None, 20, None, None, None)),
        (in_parts(None, None, 20, None), Usage(-1, None, 20, None, None, None)),
        (in_parts(1, 0, None, 3, 0, 0), Usage(4, 0, None, 3, 0, None)),
        # A prompt that holds what was cached, exactly, and one that can't.
        (of_prompt(23, 7, 20, 3, 5, 2), Usage(23, 7, 20, 3, 5, 2.0)),
        (of_prompt(22, 7, 20, 3), Usage(45, 7, 20, 3)),
        (of_prompt(0, 7, 20, 3), Usage(23, 7, 20, 3)),
        (of_prompt(22, None, None, None), Usage(22, None, None, None)),
        # Gemini's output is without thoughts.
        (with_thoughts(9, 5, 4, 3), Usage(9, 8, 4, None, 3)),
        (with_thoughts(9, 5, None, None), Usage(9, 5, None, None, None)),
        # A response of thoughts alone, cut by its limit.
        (with_thoughts(9, None, None, 3), Usage(9, 3, None, None, 3)),
        (with_thoughts(9, None, None, None), Usage(9)),
    ],
)
def test_usage_as_vendors_count_it(made: Usage, usage: Usage) -> None:
    assert made == usage


@pytest.mark.parametrize("made", [
    in_parts(-30_000, 5, 40_000, 3), in_parts(9, 5, -30_000, 40_000), in_parts(-1, 5, 1, None),
    in_parts(10**15, 5, -(10**15), 3), of_prompt(-30_000, 5, 40_000, 3),
])  # fmt: skip
def test_an_impossible_part_of_a_prompt_is_not_hidden_by_the_others(made: Usage) -> None:
    found = plausible(with_call(usage=made))
    assert found.calls[0].usage is None
    assert found.notes == ("1 x input_tokens that can't be: taken as not recorded",)


def test_an_impossible_part_of_an_output_is_not_hidden_by_the_other() -> None:
    found = plausible(with_call(usage=with_thoughts(9, -30_000, None, 40_000)))
    assert found.calls[0].usage == Usage(9, None, None, None, 40_000)


@pytest.mark.parametrize(
    ("value", "usd"),
    [
        (2, 2.0),
        (0.5, 0.5),
        (0, None),
        (-1, None),
        (-0.5, None),
        (True, None),
        ("1", None),
        (None, None),
        (10**4000, math.inf),
    ],
)
def test_a_cost_is_a_number_over_zero(value: object, usd: float | None) -> None:
    assert dollars(value) == usd


def test_the_bounds_of_what_can_be() -> None:
    # A trillion tokens, a billion dollars, the end of the year 9999.
    assert (MOST_TOKENS, MOST_USD, LATEST_S) == (1_000_000_000_000, 1_000_000_000, 253_402_300_799)


def test_all_that_cant_be_is_counted_by_kind() -> None:
    made = conversation("one", "two")
    wrong = Usage(100, -1, 200, 300, cache_write_long_tokens=101)
    calls = tuple(msgspec.structs.replace(call, usage=wrong) for call in made.calls)
    beside = (msgspec.structs.replace(made.calls[0], usage=Usage(-1), window=0),)
    found = plausible(msgspec.structs.replace(made, calls=calls, beside=beside, notes=("two\nlines",)))
    assert [call.usage for call in found.calls] == [Usage(100)] * 3
    assert (found.beside[0].usage, found.beside[0].window) == (None, None)
    assert found.notes[0] == "two lines"
    assert sorted(found.notes[1:]) == [
        f"{count} x {what} that can't be: taken as not recorded"
        for count, what in (
            (1, "input_tokens"), (1, "window"), (3, "cache_read_tokens"), (3, "cache_write_long_tokens"),
            (3, "cache_write_tokens"), (3, "output_tokens"),
        )
    ]  # fmt: skip
    only_notes = plausible(msgspec.structs.replace(made, notes=("two\nlines",)))
    assert only_notes == msgspec.structs.replace(made, notes=("two lines",))


@pytest.mark.parametrize(("kept", "long"), [({"ephemeral_1h_input_tokens": 3, "ephemeral_5m_input_tokens": 1}, 3),
                                            ({"ephemeral_5m_input_tokens": 4}, None), (None, None)])  # fmt: skip
def test_what_anthropic_writes_for_an_hour(kept: dict[str, int] | None, long: int | None) -> None:
    counted = {"input_tokens": 10, "output_tokens": 2, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 5}
    billed = msgspec.convert(counted | {"cache_creation": kept}, BilledUsage)
    assert billed.whole() == Usage(19, 2, 5, 4, cache_write_long_tokens=long)
    chat = {"prompt_tokens": 19, "prompt_tokens_details": {"cache_creation_token_details": kept}}
    assert msgspec.convert(chat, ChatUsage).whole() == Usage(19, cache_write_long_tokens=long)


@pytest.mark.parametrize(("counted", "usage"), [
    # The first of three names of what was read; nothing at all without the prompt.
    ({"prompt_tokens": 9, "cache_read_input_tokens": 0, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(9, None,
    0)),
    ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}, "prompt_cache_hit_tokens": 5}, Usage(9, None,
    4)),
    ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 5, "cache_creation_input_tokens": 2}, Usage(9, None, 5, 2)),
    # Gemini's thoughts may be in the total alone; what is read from a cache may be beside the prompt, as the total or
    # its own size tells.
    ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 15}, Usage(9, 6)),
    ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}, Usage(9, 2)),
    ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 16, "cache_read_input_tokens": 4}, Usage(9, 2, 4)),
    ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 15, "cache_read_input_tokens": 4}, Usage(13, 2, 4)),
    ({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "cache_read_input_tokens": 4}, Usage(7, 2, 4)),
    ({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 12, "cache_read_input_tokens": 4,
      "cache_creation_input_tokens": 3}, Usage(10, 2, 4, 3)),
    # With the user's own key the cost is a fee.
    ({"prompt_tokens": 9, "cost": 0.25, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.5}},
     Usage(9, cost_usd=0.75)),
    ({"prompt_tokens": 9, "cost": 0.25, "is_byok": "", "cost_details": 1}, Usage(9, cost_usd=0.25)),
    ({"prompt_tokens": 9, "cost": 0.25, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.25}},
     Usage(9, cost_usd=0.25)),
    ({"prompt_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 3}, "cost": 0.5}, Usage(9, None, None,
    None, 3, 0.5)),
    ({"completion_tokens": 3}, None), ({"prompt_tokens": 0}, Usage(0)),
    # What OpenAI and OpenRouter wrote to the cache, and what Moonshot read from it.
    ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 7}}, Usage(9, None, 0,
    7)),
    ({"prompt_tokens": 9, "cached_tokens": 6}, Usage(9, None, 6)),
    # xAI's total is 9 + 2 + 5: reasoning stands beside the completion. OpenAI's is 9 + 7.
    ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 16, "completion_tokens_details": {"reasoning_tokens":
    5}}, Usage(9, 7, None, None, 5)),
    ({"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16, "completion_tokens_details": {"reasoning_tokens":
    5}}, Usage(9, 7, None, None, 5)),
])  # fmt: skip
def test_usage_of_a_chat_completion(counted: dict[str, object], usage: Usage | None) -> None:
    assert msgspec.convert(counted, ChatUsage).whole() == usage
