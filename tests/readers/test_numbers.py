"""Numbers that can't be: noted, and as if they weren't recorded."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest
from command_line import ctxsim
from samples import conversation

from ctxsim.readers import read
from ctxsim.readers.assembly.numbers import LATEST_S, MOST_TOKENS, dollars, plausible
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.readers.source.values import json_document, json_values, time_s
from ctxsim.results import read_run
from ctxsim.simulator.provider.rules import smallest_quota
from ctxsim.transcript import Compaction, Transcript, Usage


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


def test_what_can_be_stays_as_it_is() -> None:
    usage = Usage(0, 0, 0, 0, 0, 0.0)
    made = with_call(usage=usage, time_s=LATEST_S, window=1)
    one = Compaction(2, 3, "auto", (), (), 5, 4, 1.0)
    made = msgspec.structs.replace(made, compactions=(one,))
    assert plausible(made) is made or plausible(made) == made
    # 1,800,000 tokens in the cache of a prompt of 100 are none of its own.
    assert plausible(with_call(usage=Usage(100, 1, 1_800_000))).calls[0].usage == Usage(100, 1)
    wrong = msgspec.structs.replace(made, compactions=(msgspec.structs.replace(one, tokens_before=-1),))
    assert plausible(wrong).compactions[0].tokens_before is None


def test_times_of_every_form() -> None:
    assert time_s(1_700_000_000_000) == 1.7e9
    assert time_s(10**400) == math.inf and time_s("0001-01-01T00:00:00+23:59") in (math.inf, -62135683140.0)
    assert time_s("10000-01-01") is None


def test_a_cost_of_thousands_of_digits_is_noted_later() -> None:
    assert dollars(10**4000) == math.inf and dollars(0) is None and dollars(0.5) == 0.5


def test_integers_of_thousands_of_digits_are_read() -> None:
    digits = b"9" * 5000
    assert json_values(b'{"a": ' + digits + b"}")[0]["a"] > 2**64
    assert json_document(b'{"a": -' + digits + b"}", "x")["a"] < -(2**64)


@pytest.mark.parametrize("at_s", [math.inf, 1e300, math.nan, -math.inf])
def test_no_time_makes_the_quota_hang(at_s: float) -> None:
    assert smallest_quota([(0.0, 100), (at_s, 1000), (5.0, 50)]) >= 1


def test_nothing_negative_gets_into_a_run(tmp_path: Path) -> None:
    made = with_call(usage=Usage(-5_000_000, 10), time_s=1e308, model="gpt-4o")
    wrong = msgspec.structs.replace(made, cost_usd=-3.0)
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines(wrong)))
    assert next(one.notes for one in read(str(tmp_path / "a.jsonl")))[0] == (
        "1 x input_tokens that can't be: taken as not recorded"
    )
    done = ctxsim("bench", "a.jsonl", "--policy", "keep-all", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = read_run(tmp_path / "out")
    assert (run.summary.cost_usd.dropna() >= 0).all() and (run.table("calls").tokens_sent >= 0).all()
