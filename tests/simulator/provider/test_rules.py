"""What a provider's rules allow and cost, by tables."""

from __future__ import annotations

from datetime import time

import msgspec
import pytest
from samples import conversation

from ctxsim.simulator.provider import Provider, RateLimit
from ctxsim.simulator.provider.prices import Hours, Prices, rate_at
from ctxsim.simulator.provider.resolve import long_cache, no_cache, said, written_long
from ctxsim.simulator.provider.summaries import clairvoyant
from ctxsim.transcript import Transcript, Usage

PRICES = Prices(input=((0, 3.0), (1_000, 6.0)), output=15.0, cache_read=0.3, cache_write=3.75, cache_write_long=8.0)


@pytest.mark.parametrize(("changes", "tokens", "read", "write"), [
    ({"cache": "anthropic"}, 1_000, 0.3, 3.75), ({"cache": "anthropic", "long_cache": True}, 1_000, 0.3, 8.0),
    ({"cache": "none"}, 1_000, 3.0, 3.0), ({"cache": "none"}, 1_001, 6.0, 6.0),
    ({"cache": "openai", "prices": Prices(input=2.0, output=8.0)}, 10, 2.0, 2.0),
    # MiniMax bills no writes of its automatic cache; the price listed is that of its explicit one.
    ({"cache": "minimax"}, 1_000, 0.3, 3.0), ({"cache": "moonshot-paid-writes"}, 1_000, 0.3, 3.75),
    ({"cache": "anthropic", "long_cache": True, "prices": Prices(input=2.0, output=8.0, cache_write=2.5)}, 9, 2.0, 2.5),
    ({"cache": "anthropic", "prices": Prices(input=2.0, output=8.0, cache_write_long=4.0)}, 9, 2.0, 2.0),
])  # fmt: skip
def test_reading_and_writing_cost_by_class_and_lifetime(
    changes: dict[str, object], tokens: int, read: float, write: float
) -> None:
    provider = Provider(**{"prices": PRICES, **changes})  # type: ignore[arg-type]
    assert provider.read_and_write_usd(tokens) == pytest.approx((read / 1e6, write / 1e6))


def test_a_step_begins_above_its_tokens() -> None:
    assert [rate_at(PRICES.input, tokens) for tokens in (1, 1_000, 1_001)] == [3.0, 3.0, 6.0]
    assert rate_at(15.0, 1 << 40) == 15.0


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(("field", "allowed", "refused"), [
    ("window", 1, 0), ("window", 2**63 - 1, 2**63), ("reserved_output", 0, -1), ("pace_s", 0.0, -0.5),
    ("tokens_factor", 0.1, 0.0), ("usage_factor", 0.0, -0.1),
    *((field, 2.0, wrong) for field in ("pace_s", "tokens_factor", "usage_factor") for wrong in (NAN, INFINITE)),
])  # fmt: skip
def test_a_providers_bounds(field: str, allowed: float, refused: float) -> None:
    assert getattr(Provider(**{field: allowed}), field) == allowed  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=field.split("_")[0]):
        Provider(**{field: refused})  # type: ignore[arg-type]


@pytest.mark.parametrize(("start", "end", "hours"), [(9, 17, {9, 12, 16}), (22, 6, {22, 23, 0, 5}), (9, 9, set())])
def test_hours_hold_from_their_start_to_before_their_end(start: int, end: int, hours: set[int]) -> None:
    made = Hours(time(start), time(end), PRICES)
    asked = {9, 12, 16, 17, 22, 23, 0, 5, 6, 8}
    assert {hour for hour in asked if made.hold(time(hour))} == hours


def with_usage(*usages: Usage | None, times: tuple[float | None, ...] = ()) -> Transcript:
    made = conversation(*["result"] * (len(usages) - 1))
    calls = tuple(
        msgspec.structs.replace(call, usage=usage, time_s=at)
        for call, usage, at in zip(made.calls, usages, times or (None,) * len(usages), strict=True)
    )
    return msgspec.structs.replace(made, calls=calls)


def test_who_never_reads_a_cache_has_none() -> None:
    read, both = Usage(10, cache_read_tokens=0), Usage(10, cache_read_tokens=0, cache_write_tokens=0)
    assert no_cache(with_usage(read, read, read)) and not no_cache(with_usage(read, read, None))
    assert no_cache(with_usage(both, None)) and not no_cache(with_usage(Usage(10), Usage(10), Usage(10)))
    assert not no_cache(with_usage(read, read, read, Usage(10, cache_read_tokens=5)))
    assert not no_cache(with_usage(both, Usage(10, cache_read_tokens=0, cache_write_tokens=5)))


def test_the_lifetime_is_that_of_most_written_tokens() -> None:
    def written(long: int) -> Transcript:
        one = Usage(100, cache_write_tokens=10, cache_write_long_tokens=long)
        return with_usage(one, Usage(100, cache_write_tokens=99), one)

    assert (written_long(written(5)), written_long(written(6))) == (0.5, 0.6)
    assert [long_cache(written(long), "anthropic", "claude-opus-4-6") for long in (5, 6)] == [False, True]
    assert written_long(with_usage(Usage(100, cache_write_tokens=9), None)) is None
    assert written_long(with_usage(Usage(100, cache_write_tokens=0, cache_write_long_tokens=0), None)) is None


@pytest.mark.parametrize(("pauses", "reads", "long"), [
    # Five minutes and a slack of thirty seconds; one vote for and one against are no majority.
    ((331.0,), (51,), True), ((330.0,), (51,), False), ((331.0,), (50,), False), ((3_600.0,), (51,), True),
    ((3_601.0,), (51,), False), ((400.0, 400.0), (60, 0), False), ((400.0, 400.0, 400.0), (60, 0, 60), True),
])  # fmt: skip
def test_the_lifetime_is_seen_by_what_is_read_after_a_pause(
    pauses: tuple[float, ...], reads: tuple[int, ...], long: bool
) -> None:
    times = [0.0]
    for pause in pauses:
        times.append(times[-1] + pause)
    usages = [Usage(100, cache_read_tokens=read) for read in (0, *reads)]
    assert long_cache(with_usage(*usages, times=tuple(times)), "anthropic", "claude-opus-4-6") is long


@pytest.mark.parametrize(("room", "kept"), [(1, ""), (2, "a"), (3, "a"), (5, "a"), (6, "a\nccc"), (8, "a\nbbbbb")])
def test_a_clairvoyant_summary_takes_what_fits_in_order_of_use(room: int, kept: str) -> None:
    # Each a token a letter and one for the line's end: 2, 6 and 4.
    found = clairvoyant((), room, len, ["a", "bbbbb", "ccc"])
    assert found == kept if kept else found not in ("a", "bbbbb", "ccc")


def test_a_provider_in_one_line() -> None:
    assert Provider().describe() == (
        "window 200,000, tokenizer o200k_base, framing none, cache none, no rate limit, prices unknown [default]"
    )
    stated = Provider(
        window=1_000, reserved_output=50, tokens_factor=1.25, model="m", framing="openai", cache="openai",
        rate_limit=RateLimit(30_000), prices=Prices(1.0, 2.0), origin="said",
    )  # fmt: skip
    assert stated.describe() == (
        "m, window 1,000 (50 reserved for output), tokenizer 1.25 x o200k_base, framing openai, cache openai, "
        "30,000 input tokens per minute, prices: stated [said]"
    )


def test_none_says_nothing_but_that_there_is_no_rate_limit() -> None:
    assert said({"window": None, "rate_limit": None, "cache": "openai"}) == {"rate_limit": None, "cache": "openai"}
