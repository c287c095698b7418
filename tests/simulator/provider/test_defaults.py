"""What holds where nobody says otherwise, written out."""

from __future__ import annotations

import msgspec

from ctxsim.simulator.provider import Provider, RateLimit
from ctxsim.simulator.provider.prices import Cost, Prices
from ctxsim.simulator.provider.vendor import Vendor


def test_a_vendor_without_rules() -> None:
    told = {"source": "", "date": None}
    assert msgspec.to_builtins(Vendor("x")) == {
        "name": "x", "models": (), "listed_as": "", "windows": {}, "weekdays_since": None,
        "framing": told | {
            "request": 0, "message": 0, "results_apart": False, "reasoning": 0, "calls": 0, "call": 0, "parallel": 0,
            "answer": 0, "results": 0, "result": 0, "named_results": False, "arguments": "json", "parameter": 0,
            "schemas": 1.0, "schemas_source": "", "tools": {}, "by_model": {},
        },
        "cache": told | {
            "kind": "none", "minimum_tokens": 0, "minimum_by_model": {}, "step": 1, "step_by_model": {},
            "partial_items": False, "responses": (), "paid_writes": False, "lifetime_s": 0, "lifetime_by_model": {},
            "long_lifetime_s": 0, "max_breakpoints": 4, "implicit": False, "lookback": 20, "readable": 1_000_000,
        },
        "rate": told | {"counts_cache_reads": True, "reserves_max_tokens": False, "failed_requests_count": False},
        "reasoning": told | {"resend": "never", "by_model": {}}, "thinking": told | {"by_model": {}, "latest": False},
        "served": told | {"us": 1.0},
        "overflow": told | {"message": "{tokens} tokens exceed the window of {window}"},
    }  # fmt: skip


def test_a_provider_a_limit_prices_and_costs() -> None:
    assert msgspec.to_builtins(Provider()) == {
        "tokenizer": "o200k_base", "window": 200_000, "reserved_output": 0, "tokens_factor": 1.0, "size": "counted",
        "model": "", "vendor": "none", "framing": "none", "cache": "none", "breakpoints": "last-two-user",
        "long_cache": False, "reasoning": "never", "thinking": "none", "misses": "none", "rate_limit": None,
        "prices": None, "usage_factor": 1.0, "pace_s": 0.0, "summaries": "extractive", "others": (),
        "origin": "default",
    }  # fmt: skip
    assert msgspec.to_builtins(RateLimit(5)) == {
        "tokens_per_minute": 5, "requests_per_minute": None, "counts_cache_reads": True, "reserves_max_tokens": 0,
        "failed_requests_count": False,
    }  # fmt: skip
    assert msgspec.structs.astuple(Prices(1.0, 2.0)) == (1.0, 2.0, None, None, None, "", None, (), None, None, "")
    assert msgspec.structs.astuple(Cost()) == (0.0, 0.0, 0.0, 0.0)
