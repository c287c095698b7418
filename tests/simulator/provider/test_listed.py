"""Models of an invented price list: which price holds when, whose a model is, and all that it ever cost."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import pytest

from ctxsim.simulator.provider.listed import from_list
from ctxsim.simulator.provider.models import Model, all_models, candidates, find_model
from ctxsim.simulator.provider.prices import Hours, Prices

LIST = f"genai-prices {version('genai-prices')}"
NIGHT = (time(22), time(6))
NOON = (time(11), time(13, 30))
FIRST, SECOND = date(2026, 1, 2), date(2026, 1, 3)


def listed(usd: Any, since: date | None = None, hours: tuple[time, time] | None = None, **more: Any) -> SimpleNamespace:
    """An entry of the list: input, and twice as much for output."""
    prices = SimpleNamespace(
        **{"input_mtok": usd, "output_mtok": usd * 2, "cache_read_mtok": None, "cache_write_mtok": None, **more}
    )
    times = {"start_time": hours[0], "end_time": hours[1]} if hours else {}
    return SimpleNamespace(prices=prices, constraint=SimpleNamespace(start_date=since, **times))


ENTRIES = [
    listed(1), listed(2, None, NIGHT), listed(3, FIRST), listed(4, FIRST, NIGHT), listed(5, SECOND, NOON),
    listed(6, SECOND),
]  # fmt: skip


def priced(usd: float, since: date | None = None, source: str = LIST, hours: tuple[Hours, ...] = ()) -> Prices:
    return Prices(usd, usd * 2, source=source, effective=since, hours=hours)


@pytest.mark.parametrize(("on", "found"), [
    (date(2026, 1, 1), priced(1, None, LIST, (Hours(*NIGHT, Prices(2.0, 4.0)),))),
    (FIRST, priced(3, FIRST, LIST, (Hours(*NIGHT, Prices(4.0, 8.0)),))),
    # The hours before a change of price ended with it.
    (SECOND, priced(6, SECOND)),
])  # fmt: skip
def test_the_price_of_a_day_and_its_hours(on: date, found: Prices) -> None:
    assert from_list(ENTRIES, on) == found
    assert from_list(ENTRIES[2:], date(2026, 1, 1)) == priced(3, FIRST), "before the first day its price holds"


def test_of_hours_the_last_one_listed_decides() -> None:
    made = from_list([listed(1), listed(2, None, NIGHT), listed(3, FIRST, NOON), listed(4, SECOND, NOON)], FIRST)
    hours = (Hours(*NOON, Prices(3.0, 6.0)), Hours(*NIGHT, Prices(2.0, 4.0)))
    assert made == priced(1, None, LIST, hours)


def test_a_price_in_steps_and_by_class() -> None:
    steps = SimpleNamespace(base=Decimal("1.5"), tiers=[SimpleNamespace(start=200_000, price=Decimal(3))])
    more = {"output_mtok": Decimal(9), "cache_read_mtok": 0.5, "cache_write_mtok": 2, "cache_write_1h_mtok": 4}
    one = SimpleNamespace(input_mtok=steps, **more)
    assert from_list(one, FIRST) == Prices(((0, 1.5), (200_000, 3.0)), 9.0, 0.5, 2.0, 4.0, source=LIST)
    free = SimpleNamespace(input_mtok=0, output_mtok=0, cache_read_mtok=0, cache_write_mtok=None)
    assert from_list(free, FIRST) == Prices(0.0, 0.0, 0.0, source=LIST)


class Host:
    """A host of models by name."""

    def __init__(self, id: str, **prices: Any) -> None:
        self.id = id
        self.models = [
            SimpleNamespace(id=name.replace("_", "-"), context_window=4_000, prices=price)
            for name, price in prices.items()
        ]

    def find_model(self, name: str) -> SimpleNamespace | None:
        return next((one for one in self.models if one.id == name), None)


@pytest.fixture(autouse=True)
def snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of two hosts and a maker, which finds names of one host only."""
    paid = listed(7, cache_write_mtok=9).prices
    hosts = [
        Host("zother", house_1=listed(8).prices, gpt_8=listed(6).prices),
        Host("openai", gpt_9=ENTRIES, gpt_9_paid=paid, gpt_8=listed(5).prices),
        Host("host", gpt_9=listed(9).prices), Host("zai", glm_77=listed(5).prices),
    ]  # fmt: skip

    def find(name: str, *rest: None) -> tuple[Host, SimpleNamespace]:
        found = next(((host, one) for host in hosts[:3] if (one := host.find_model(name))), None)
        if found is None:
            raise LookupError(name)
        return found

    made = SimpleNamespace(providers=hosts, find_provider_model=find)
    monkeypatch.setattr("genai_prices.data_snapshot.get_snapshot", lambda: made)


def test_every_price_of_a_model_its_makers_first() -> None:
    hours = f"{LIST}, 22:00 to 06:00 UTC"
    own = [
        priced(1), priced(2, None, hours), priced(3, FIRST), priced(4, FIRST, hours),
        # An hour that is listed before a change of price is of the price before it.
        priced(5, FIRST, f"{LIST}, 11:00 to 13:30 UTC"), priced(6, SECOND),
    ]  # fmt: skip
    assert candidates("gpt-9") == [*own, priced(9, None, f"{LIST}, host")]
    entries = (
        Model("gpt-*", prices=Prices(1.0, 1.0), effective=FIRST, source="a bill"),
        Model("gpt-9", prices=Prices(2.0, 1.0, source="mine", effective=SECOND), effective=FIRST),
        Model("gpt-9", prices=Prices(3.0, 1.0)), Model("gpt-9", window=5), Model("o3", prices=Prices(4.0, 1.0)),
    )  # fmt: skip
    assert candidates("openai/gpt-9", entries)[:4] == [
        Prices(1.0, 1.0, source="a bill", effective=FIRST), Prices(2.0, 1.0, source="mine", effective=SECOND),
        Prices(3.0, 1.0, source="override file"), own[0],
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "day", "found"), [
    ("gpt-9", FIRST, Model("gpt-9", "openai", 4_000, from_list(ENTRIES, FIRST))),
    # Who sells writing to the cache has the rules of it.
    ("gpt-9-paid", FIRST, Model("gpt-9-paid", "openai-paid-writes", 4_000, Prices(7.0, 14.0, None, 9.0, source=LIST))),
    # Its maker's price, though the list's finder looks at another seller first.
    ("gpt-8", FIRST, Model("gpt-8", "openai", 4_000, priced(5))),
    # No list says whose it is; and the list's finder doesn't know the name, its maker's entry does.
    ("house-1", FIRST, Model("house-1", "none", 4_000, priced(8))),
    ("glm-77", FIRST, Model("glm-77", "zai", 4_000, priced(5))), ("glm-78", FIRST, None), ("", FIRST, None),
])  # fmt: skip
def test_what_is_known_of_a_model_on_a_day(name: str, day: date | None, found: Model | None) -> None:
    assert find_model(name, day) == found


def test_without_a_day_the_price_is_that_of_the_run_and_names_it() -> None:
    for today, usd in ((FIRST, 3), (SECOND, 6)):
        found = find_model("gpt-9", today=today)
        assert found and found.prices and (found.prices.input, found.prices.on) == (usd, today)
        assert found.prices.describe().startswith(f"prices: {LIST} on {today}, since {today}")
        assert found == find_model("gpt-9", today=today, overrides=(Model("gpt-9", window=4_000),))
    for since, day in ((None, None), (FIRST, date.today())):
        mine = find_model("gpt-9", None, (Model("gpt-9", prices=Prices(1.0, 2.0), effective=since),))
        assert mine and mine.prices and mine.prices.on == day, "an entry without a date holds on every day"


def test_a_recorded_name_existed_whoever_lists_it() -> None:
    assert find_model("glm-78", FIRST, recorded=True) == Model("glm-78", "zai", None, None)
    assert find_model("nobody-1", FIRST, recorded=True) is None


@pytest.mark.parametrize(("entry", "vendor", "window", "prices"), [
    # What the user's file doesn't say the list says.
    (Model("gpt-9", window=50), "openai", 50, priced(1, None, LIST, (Hours(*NIGHT, Prices(2.0, 4.0)),))),
    (Model("gpt-9", prices=Prices(1.0, 2.0), source="mine"), "openai", 4_000, Prices(1.0, 2.0, source="mine")),
    (Model("gpt-9", vendor="none"), "none", 4_000, priced(1, None, LIST, (Hours(*NIGHT, Prices(2.0, 4.0)),))),
    (Model("gpt-9", vendor="zai", window=7, prices=Prices(1.0, 2.0)), "zai", 7,
     Prices(1.0, 2.0, source="override file")),
])  # fmt: skip
def test_the_users_file_goes_first(entry: Model, vendor: str, window: int, prices: Prices) -> None:
    assert find_model("gpt-9", date(2026, 1, 1), (entry,)) == Model("gpt-9", vendor, window, prices)


def test_all_models_of_the_list_in_its_order() -> None:
    found = [(host, model.id, model.prices and model.prices.input) for host, model in all_models()]
    assert found == [
        ("zother", "house-1", 8.0), ("zother", "gpt-8", 6.0), ("openai", "gpt-9", 6.0), ("openai", "gpt-9-paid", 7.0),
        ("openai", "gpt-8", 5.0), ("host", "gpt-9", 9.0), ("zai", "glm-77", 5.0),
    ]  # fmt: skip
