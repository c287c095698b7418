"""The bill of requests by how they were served, and of web searches."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from billed import PRICES, RATES, response, session
from read_back import Json, write

import ctxsim
from ctxsim.answers.bill.changes import Effect, as_recorded, compacted_at
from ctxsim.answers.bill.dollars import listed
from ctxsim.answers.bill.extract import _missed
from ctxsim.answers.bill.facts import SEARCHES
from ctxsim.answers.bill.sums import billed, key_of
from ctxsim.recorded.price_fit import charged
from ctxsim.report.bill import opening
from ctxsim.transcript import Call, Head, Transcript, Usage

NOVEMBER = "2026-11-20T12:00:00Z"


def asked(model: str, when: str, **usage: Any) -> Json:
    """A million tokens of input."""
    said = [{"type": "text", "text": "Yes."}]
    counted = {"input_tokens": 1_000_000, "cache_read_input_tokens": 0, "output_tokens": 0} | usage
    return {
        "timestamp": when,
        "request": {"model": model, "messages": [{"role": "user", "content": f"Go {when} {usage}."}]},
        "response": {"model": model, "content": said, "usage": counted},
    }


def bill_of(folder: Path, *lines: Json) -> ctxsim.Bill:
    return ctxsim.bill(write(folder / "log.jsonl", *lines), days=None, index=False)


@pytest.mark.parametrize(("model", "when", "usage", "usd"), [
    ("claude-opus-5-5", NOVEMBER, {}, 4.0), ("claude-opus-5-5", NOVEMBER, {"speed": "fast"}, 8.0),
    ("claude-opus-5-5", NOVEMBER, {"speed": "fast", "inference_geo": "us"}, 8.8),
    ("claude-opus-5-5", NOVEMBER, {"service_tier": "batch"}, 2.0),
    # A cent for a search, wherever and however its request is served.
    ("claude-opus-5-5", NOVEMBER, {"server_tool_use": {"web_search_requests": 5}, "inference_geo": "us"}, 4.45),
    ("claude-opus-4-7", "2026-05-20T12:00:00Z", {"speed": "fast"}, 30.0),
])  # fmt: skip
def test_what_a_request_costs_as_it_was_served(model: str, when: str, usage: Json, usd: float, tmp_path: Path) -> None:
    found = bill_of(tmp_path, asked(model, when, **usage))
    total = found.total()
    assert (total.usd, total.standard) == (pytest.approx(usd), {})
    searches = 0.05 if "server_tool_use" in usage else 0
    assert total.parts.get(SEARCHES, [0, 0, 0, 0]) == [0, 0, 0, pytest.approx(searches)]
    assert sum(part[3] for part in total.parts.values()) == pytest.approx(usd)


def test_one_line_names_what_is_at_standard_rates_although_the_log_says_otherwise(tmp_path: Path) -> None:
    lines = [asked("claude-opus-5-5", NOVEMBER, service_tier="priority"),
             asked("claude-opus-5-5", NOVEMBER[:-1] + "+01:00", service_tier="priority", inference_geo="us"),
             asked("claude-opus-5-5", NOVEMBER[:-1] + "+02:00"), asked("nobodys", NOVEMBER, service_tier="batch"),
             asked("claude-opus-5-5", "2026-10-01T12:00:00Z", service_tier="batch")]  # fmt: skip
    found = bill_of(tmp_path, *lines)
    total = found.total()
    assert (total.usd, total.unpriced) == (pytest.approx(4 + 4.4 + 4 + 4), 1)
    told = [line for line in opening(found.lines, total, (0, 0.0), (0, 0.0)) if "standard" in line]
    line = "ctxsim knows no price for batch or priority: 3 responses served this way are billed at standard prices."
    assert told == [line]
    assert {name: one.responses for name, one in found.by("model").items()} == {
        "claude-opus-5-5": 1, "claude-opus-5-5 (priority)": 1, "claude-opus-5-5 (priority us)": 1,
        "claude-opus-5-5 (batch)": 1, "nobodys (batch)": 1,
    }  # fmt: skip


def test_stated_dollars_are_of_whatever_the_log_says() -> None:
    usual = msgspec.structs.replace(RATES["x-dear"], unpriced="flex")
    prices: Any = SimpleNamespace(of=lambda model, time_s, served="": usual if served else RATES[model])
    made = session(response(10, 0, served="flex"), response(10, 0, served="flex", usd=1.0), response(10, 0))
    assert billed([made], prices, None).total().standard == {"flex": 1}


def test_searches_are_a_part_of_what_a_log_states() -> None:
    rates = msgspec.structs.replace(RATES["x-dear"], search=90.0)
    prices: Any = SimpleNamespace(of=lambda model, time_s, served="": rates)
    # 10 x 1 and 10 x 50, and a search for 90: 600.
    one = response(10, 0, searches=1)
    assert listed(one, rates).usd == 600
    (line,) = billed([session(msgspec.structs.replace(one, usd=60.0))], prices, None).lines
    assert (line.paid.read, line.paid.output, line.paid.searches, line.paid.usd) == (1, 50, 9, pytest.approx(60))
    assert key_of("model")(line) == "x-dear"


def test_changes_leave_how_a_request_was_served_and_its_searches() -> None:
    made = session(response(300, 0, served="fast", searches=2))
    (request,) = as_recorded(made)
    assert (request.served, request.searches) == ("fast", 2)
    assert listed(request, RATES["x-dear"]) == listed(made.responses[0], RATES["x-dear"])
    first, added = compacted_at(200, 10, made, [request], Effect())
    assert [(one.served, one.searches) for one in (first, added)] == [("fast", 2), ("fast", 0)]
    assert PRICES.of("x-dear", None, "fast") == RATES["x-dear"]


def test_a_cache_isnt_read_by_what_is_served_otherwise() -> None:
    last, this = response(0, 9_000), response(0, 9_000, served="fast")
    assert [_missed(one, last, 9_000)[1] for one in (last, this)] == [3, 2]


def test_prices_are_fitted_to_the_tokens_of_requests_that_were_served_alike() -> None:
    usages = [Usage(9, 1, 0, cost_usd=1.0, served="fast"), Usage(8, 1, 0, cost_usd=1.0),
              Usage(7, 1, 0, cost_usd=1.0, served="fast", web_searches=1)]  # fmt: skip
    calls = tuple(Call(0, 0, one, model="m") for one in usages)
    assert charged(Transcript("t", Head(), (), calls)) == usages[:1]
