"""What installed agents did, as recorded: formulas of today against brackets of then, and earlier runs."""

from __future__ import annotations

import json
from collections import Counter as Frequencies

import msgspec
import pytest

pytest.importorskip("starlette")

from ctxsim.live.agent import load_agent
from ctxsim.live.probe.expected import Situation, expected
from evidence.settings_honoured import BEGIN, PAGE, cases, name_of, seen, table, version_of

ROWS = seen()
SONNET, OPUS = "claude-sonnet-4-5-20250929", "claude-opus-5-5"
EARLIER = [
    # agent, model, key, value, beside, tokens of the last request before the summary, of runs made by hand
    ("claude-code", SONNET, "autoCompactWindow", 100_000, {}, 66_309),
    ("claude-code", SONNET, "autoCompactWindow", 150_000, {}, 115_850),
    ("claude-code", SONNET, "autoCompactWindow", 199_000, {}, 164_564),
    ("claude-code", SONNET, "autoCompactWindow", 1_000_000, {}, 165_561),
    ("claude-code", OPUS, "autoCompactWindow", 300_000, {}, 265_650),
    ("claude-code", OPUS, "autoCompactWindow", "auto", {}, 965_600),
    ("claude-code", SONNET, "CLAUDE_CODE_AUTO_COMPACT_WINDOW", 50_000, {}, 66_309),
    ("claude-code", SONNET, "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "auto", {"autoCompactWindow": 150_000}, 115_850),
    ("claude-code", SONNET, "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", 80, {"autoCompactWindow": 200_000}, 142_700),
    ("claude-code", SONNET, "CLAUDE_CODE_MAX_OUTPUT_TOKENS", 8_000, {"autoCompactWindow": 200_000}, 177_531),
    ("codex", "mock", "model_auto_compact_token_limit", 60_000, {}, 58_868),
    ("codex", "mock", "model_auto_compact_token_limit", 120_000, {}, 118_848),
    ("codex", "mock", "model_auto_compact_token_limit", 240_000, {}, 239_369),
    ("codex", "mock", "model_auto_compact_token_limit", 300_000, {}, 244_100),
    ("codex", "mock", "model_auto_compact_token_limit", 60_000,
     {"model_auto_compact_token_limit_scope": "body_after_prefix"}, 66_951),
    ("opencode", "mock", "compaction.reserved", 20_000, {"provider.ID.models.ID.limit.input": 100_000}, 80_256),
    ("opencode", "mock", "compaction.reserved", 50_000, {"provider.ID.models.ID.limit.input": 100_000}, 50_577),
    ("qwen-code", "mock", "context.autoCompactThreshold", 0.5, {}, 65_100),
    ("qwen-code", "mock", "context.autoCompactThreshold", 0.7, {}, 90_600),
    ("qwen-code", "mock", "context.autoCompactThreshold", 0.95, {}, 96_900),
    ("pi", "mock", "compaction.reserveTokens", 40_000, {}, 40_608),
]  # fmt: skip


def test_enough_was_seen() -> None:
    assert len(ROWS) >= 250 and len({row["agent"] for row in ROWS}) >= 8
    assert [name_of(row) for row in ROWS] == [case.name for case in cases()]


def test_formulas_of_today_are_inside_the_brackets_of_then() -> None:
    outside = []
    for row in ROWS:
        agent = msgspec.structs.replace(load_agent(row["agent"]), version=row["version"])
        given = {row["key"]: json.loads(row["value"]), **json.loads(row["beside"])}
        if row["unit"] == "characters":
            inside = row["inside"] == "1"
        else:
            now = expected(Situation(agent, row["model"], int(row["window"]), int(row["first"])), given)
            inside = now.firing == row["firing"]
            if now.threshold is not None and row["lower"]:
                inside = int(row["lower"]) < now.threshold <= int(row["upper"])
        if not inside:
            outside.append(name_of(row))
    assert len(outside) <= 0.02 * len(ROWS), outside


@pytest.mark.parametrize("earlier", EARLIER, ids=lambda one: f"{one[0]} {one[2]}={one[3]}")
def test_what_was_seen_earlier_is_seen_again(earlier: tuple) -> None:  # type: ignore[type-arg]
    agent, model, key, value, beside, before = earlier
    wanted = (agent, version_of(agent), model, key, json.dumps(value), json.dumps(beside))
    row = next(row for row in ROWS if name_of(row) == wanted)
    # Either run grew by steps of a result: the brackets lie beside one another.
    assert int(row["lower"]) - 1_300 <= before <= int(row["upper"]) + 1_300


def test_since_which_version_sonnet_compacts_only_after_a_refusal() -> None:
    auto = [
        row for row in ROWS if row["model"] == SONNET and row["key"] == "autoCompactWindow" and "auto" in row["value"]
    ]
    assert {row["version"]: row["firing"] for row in auto} == {
        "2.1.150": "proactive", "2.1.152": "proactive", "2.1.153": "only after a refusal",
        "2.1.221": "only after a refusal", "2.1.330": "only after a refusal",
    }  # fmt: skip


def test_windows_below_the_models_do_not_switch_compaction_off() -> None:
    # Reported of 100K to 199K.
    rows = [row for row in ROWS if row["agent"] == "claude-code" and row["key"] == "autoCompactWindow"]
    small = [row for row in rows if row["value"].isdigit() and 100_000 <= int(row["value"]) < 200_000]
    assert Frequencies(row["firing"] for row in small) == {"proactive": len(small)} and len(small) >= 20


def test_the_page_shows_what_was_seen() -> None:
    assert f"{BEGIN}\n\n{table(ROWS)}\n" in PAGE.read_text(encoding="utf-8")
