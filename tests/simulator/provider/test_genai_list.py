"""Prices of a day, of an hour of the day, and all that a model was ever listed at."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from importlib.metadata import version
from types import SimpleNamespace

import corpus
import msgspec
import pytest
from samples import call_rows

from ctxsim.readers import read_source, sources
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.provider.listed import from_list
from ctxsim.simulator.provider.models import Model, candidates, find_model
from ctxsim.simulator.provider.prices import Hours, Prices, Split, cost_of
from ctxsim.simulator.provider.resolve import resolve

NIGHT = Prices(1.0, 1.0)
MORNING = datetime(2026, 10, 1, 1, 30, tzinfo=UTC).timestamp()
EVENING = datetime(2026, 10, 1, 20, 0, tzinfo=UTC).timestamp()


def test_the_date_is_that_of_the_price_not_of_the_call() -> None:
    found = find_model("deepseek-v4-pro", date(2026, 11, 1))
    assert found and found.prices
    assert found.prices.effective is not None and found.prices.effective < date(2026, 11, 1)
    claude = find_model("claude-sonnet-4-5", date(2026, 11, 1))
    assert claude and claude.prices and claude.prices.effective is None, "the list names no first day"


def test_hours_by_hand() -> None:
    prices = Prices(2.0, 2.0, hours=(Hours(time(22), time(6), NIGHT),))
    assert prices.at(0) is prices, "nobody knows when the clock began"
    for zero_s, expected in ((EVENING, 2.0), (MORNING, 1.0)):
        assert Prices(2.0, 2.0, hours=prices.hours, zero_s=zero_s).at(0).input == expected
    # 2 h and 1 s after 20:00 it is night.
    assert Prices(2.0, 2.0, hours=prices.hours, zero_s=EVENING).at(7_201).input == 1.0


def test_deepseeks_peak_hours_are_on_weekdays() -> None:
    for day, price in ((date(2026, 11, 20), 0.3), (date(2026, 11, 21), 0.15), (date(2026, 11, 22), 0.15),
                       (date(2026, 11, 23), 0.3)):  # fmt: skip
        found = find_model("deepseek-flash", day)
        peak = datetime(day.year, day.month, day.day, 6, 30, tzinfo=UTC).timestamp()
        assert found and found.prices and found.prices.hours
        assert msgspec.structs.replace(found.prices, zero_s=0.0).at(peak).input == price
    # Until 2025 they were on every day.
    found = find_model("deepseek-chat", date(2025, 8, 2))
    assert found and found.prices and not any(hours.weekdays for hours in found.prices.hours)


@pytest.mark.parametrize("hour", range(24))
@pytest.mark.parametrize("model", ["deepseek-flash", "deepseek-v4-pro"])
def test_each_hour_costs_what_genai_prices_says(model: str, hour: int) -> None:
    from genai_prices import Usage, calc_price

    moment = datetime(2026, 11, 3, hour, 30, tzinfo=UTC)
    assembly = Assembly("hourly")
    assembly.user("go")
    assembly.response([Part("assistant", "ok")], model=model, time_s=moment.timestamp())
    prices = resolve({}, None, assembly.transcript()).prices
    assert prices
    ours = cost_of(prices.at(0), Split(read=500, write=0, uncached=500), 100).total
    usage = Usage(input_tokens=1_000, cache_read_tokens=500, output_tokens=100)
    assert ours == pytest.approx(float(calc_price(usage, model, genai_request_timestamp=moment).total_price), rel=1e-9)


def test_the_bill_goes_by_the_hour_of_each_call() -> None:
    assembly = Assembly("across")
    assembly.user("go")
    for shift in (0, 7_200):
        assembly.response([Part("assistant", "ok")], time_s=EVENING + shift)
        assembly.user("on")
    prices = Prices(2.0, 2.0, hours=(Hours(time(22), time(6), NIGHT),), zero_s=EVENING)
    rows = call_rows(assembly.transcript(), "keep-all", prices=prices)
    assert [row.cost_usd / (row.tokens_sent + row.tokens_output) for row in rows] == pytest.approx([2e-6, 1e-6])  # type: ignore[operator]


def test_all_that_a_model_was_listed_at() -> None:
    found = candidates("deepseek-chat")
    shown = [(one.input, one.cache_read, one.output, one.effective) for one in found]
    assert (0.28, 0.028, 0.42, date(2025, 9, 29)) in shown and (0.56, 0.07, 1.68, date(2025, 9, 5)) in shown
    assert (0.135, 0.035, 0.55, None) in shown, "the list's hours are candidates too"
    assert len(found) == len(set(found)) and all(one.source for one in found)
    kimi = candidates("kimi-k3")
    assert kimi[0].cache_write_long == 6.0 and "genai-prices" in kimi[0].source
    assert candidates("no-such-model-anywhere") == []


def test_a_window_has_its_date_too() -> None:
    days = (date(2025, 8, 20), date(2025, 8, 21), date(2026, 4, 23), date(2026, 4, 24))
    windows = [find_model("deepseek-chat", day) for day in days]
    assert [found and found.window for found in windows] == [64_000, 128_000, 128_000, 1_000_000]


@pytest.mark.parametrize(("model", "day", "rates"), [
    ("deepseek-reasoner", date(2026, 4, 23), (0.28, 0.028, 0.42)),
    ("deepseek-chat", date(2026, 4, 24), (0.14, 0.028, 0.28)),
    ("deepseek-chat", date(2026, 4, 26), (0.14, 0.0028, 0.28)), ("claude-sonnet-5-5", date(2026, 10, 6), (2, 0.2, 10)),
    ("claude-sonnet-5-5", date(2026, 10, 7), (2, 0.1, 10)),
])  # fmt: skip
def test_changes_of_price_that_the_list_lacks(model: str, day: date, rates: tuple[float, float, float]) -> None:
    found = find_model(model, day)
    assert found and found.window and found.prices
    assert (found.prices.input, found.prices.cache_read, found.prices.output) == rates


def test_a_price_names_its_list_and_its_steps_begin_at_nothing() -> None:
    for day in (None, date(2026, 11, 1)):
        found = find_model("gemini-2.5-pro", day)
        assert found and found.prices and found.prices.source == f"genai-prices {version('genai-prices')}"
        assert found.prices.input == ((0, 1.25), (200_000, 2.5))


def test_a_price_holds_from_its_first_day_on_and_ours_of_that_day_only_fills_gaps() -> None:
    for day, price in ((date(2025, 9, 4), 0.27), (date(2025, 9, 5), 0.56), (date(2025, 9, 28), 0.56)):
        found = find_model("deepseek-chat", day)
        assert found and found.prices and found.prices.input == price
    # Of the user's entries, too, the newest that has begun.
    entries = tuple(
        Model("m", window=window, prices=Prices(usd, usd), effective=since)
        for window, usd, since in ((10, 1.0, None), (20, 2.0, date(2026, 1, 2)), (30, 3.0, date(2026, 1, 3)))
    )
    for day, window in ((date(2026, 1, 1), 10), (date(2026, 1, 2), 20), (date(2026, 1, 3), 30)):
        found = find_model("m", day, entries)
        assert found and (found.window, found.prices and found.prices.input) == (window, window / 10)


def test_a_price_to_come_holds_from_its_day_on() -> None:
    for day, price in ((date(2026, 11, 27), 0.75), (date(2027, 1, 1), 1.5)):
        prices = resolve({"model": "gemini-3.8-flash"}, today=day).prices
        assert prices and prices.input == price and f" on {day}" in prices.describe()


def test_no_price_is_made_of_one_half() -> None:
    whole = {"cache_read_mtok": None, "cache_write_mtok": None}
    for input_mtok, output_mtok in ((1.0, None), (None, 1.0)):
        assert from_list(SimpleNamespace(input_mtok=input_mtok, output_mtok=output_mtok, **whole), date.today()) is None
    made = from_list(SimpleNamespace(input_mtok=1.0, output_mtok=2.0, **whole), date.today())
    assert made and (made.input, made.output, made.cache_read, made.effective) == (1.0, 2.0, None, None)


@corpus.here
@pytest.mark.corpus
def test_deepseeks_prices_give_the_recorded_cost() -> None:
    """USD of recorded tokens under the prices of the day, against what mini-swe-agent recorded: 4 runs."""
    recorded = {"1154": 0.04888772, "1359": 0.059571764, "1072": 0.006691356, "1606": 0.001055488}
    found = {}
    for source in sources(str(corpus.FOLDER / "mini-swe-agent")):
        for transcript in read_source(source):
            prices = resolve({}, None, transcript).prices
            run_id = transcript.name.split(".traj")[0][-4:]
            if run_id not in recorded or prices is None:
                continue
            used = [call.usage for call in transcript.calls if call.usage]
            found[run_id] = sum(
                cost_of(
                    prices,
                    Split(one.cache_read_tokens or 0, 0, one.input_tokens - (one.cache_read_tokens or 0)),
                    one.output_tokens or 0,
                ).total
                for one in used
            )
    assert found == pytest.approx(recorded, rel=1e-6)
