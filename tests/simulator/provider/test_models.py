"""Models of one's own in an override file."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import conversation

from ctxsim.errors import InputError
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.results import read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.simulator.provider.models import find_model, read_overrides
from ctxsim.simulator.provider.prices import Split, cost_of

WORDY = "word " * 400


def test_override_ids_may_have_a_prefix(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text('[[model]]\nid = "openai/gpt-4o"\nwindow = 1234\nvendor = "none"\n')
    entries = read_overrides(file)
    for name in ("openai/gpt-4o", "gpt-4o"):
        found = find_model(name, None, entries)
        assert found and found.window == 1234 and found.vendor == "none"


def test_fast_modes_have_prices_of_their_own() -> None:
    # Recorded by Cline in August 2026: 34,334 tokens written and 741 of output for 0.46623 USD.
    found = find_model("anthropic/claude-opus-4.8-fast")
    assert found and found.prices and found.id == "claude-opus-4-8"
    assert cost_of(found.prices, Split(0, 34_334, 0), 741).total == pytest.approx(0.466225)
    for name, price in (("claude-opus-4.6-fast", 30), ("claude-opus-5-fast", 10), ("claude-opus-4.8", 5)):
        known = find_model(name)
        assert known and known.prices and known.prices.input == price


def test_prices_in_no_steps_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text('[[model]]\nid = "x"\nprices = {input = [], output = 1.0}\n')
    with pytest.raises(InputError, match="at least one"):
        read_overrides(file)


def test_a_cache_without_known_prices(tmp_path: Path) -> None:
    setting = Setting("a", "a", ("keep-all", "mask:keep=1"), overrides={"cache": "anthropic"})
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines(conversation(WORDY, WORDY, "c", "d"))))
    conduct(setting, tmp_path / "out", paths=[str(tmp_path / "a.jsonl")])
    assert read_run(tmp_path / "out").summary.cost_usd.isna().all()
