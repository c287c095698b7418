"""Thresholds against installed agents: 188 runs in which tool results grew until the agent compacted.

The last request before the summary was under the threshold, and with the result that waited it was not. Agents that
look at the usage of a step once it is done were over it with that request, and under it with the one before.
"""

from __future__ import annotations

import pytest

from ctxsim.policies import Policy, Surroundings, open_policy
from ctxsim.transcript import Usage
from ctxsim.view import View

STEP = 1_500
"""Tokens of a result, with its call; 1,200 mostly."""

AFTER_A_STEP = ("opencode", "pi")

SONNET = "model=claude-sonnet-4-5-20250929"
OPUS = "model=claude-opus-5-5"
ONCE = "version=2.1.330"
SEEN: list[tuple[str, int, float]] = [
    # label, the model's window, tokens of the last request before the summary
    (f"claude-code:{ONCE},{SONNET},autoCompactWindow=100000", 200_000, 66_309),
    (f"claude-code:{ONCE},{SONNET},autoCompactWindow=150000", 200_000, 115_850),
    (f"claude-code:{ONCE},{SONNET},autoCompactWindow=199000", 200_000, 164_564),
    (f"claude-code:{ONCE},{SONNET},autoCompactWindow=200000", 200_000, 165_561),
    (f"claude-code:{ONCE},{SONNET},autoCompactWindow=1000000", 200_000, 165_561),
    (f"claude-code:{ONCE},{OPUS},autoCompactWindow=300000", 1_000_000, 265_650),
    (f"claude-code:{ONCE},{OPUS},autoCompactWindow=1000000", 1_000_000, 965_600),
    (f"claude-code:{ONCE},{OPUS}", 1_000_000, 965_600),
    (f"claude-code:{ONCE},model=claude-sonnet-4-6", 200_000, 165_757),
    (f"claude-code:{ONCE},{SONNET},autoCompactWindow=200000,CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50", 200_000, 89_100),
    (f"claude-code:{ONCE},{SONNET},autoCompactWindow=200000,CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=80", 200_000, 142_700),
    (f"claude-code:{ONCE},{SONNET},autoCompactWindow=200000,CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=95", 200_000, 165_600),
    (f"claude-code:{ONCE},{SONNET},autoCompactWindow=200000,max_output_tokens=8000", 200_000, 177_531),
    ("codex:model_auto_compact_token_limit=60000", 272_000, 58_868),
    ("codex:model_auto_compact_token_limit=120000", 272_000, 118_848),
    ("codex:model_auto_compact_token_limit=240000", 272_000, 239_369),
    ("codex:model_auto_compact_token_limit=300000", 272_000, 244_100),
    ("codex", 272_000, 244_100),
    ("codex:model_auto_compact_token_limit=60000,model_auto_compact_token_limit_scope=body_after_prefix", 272_000,
     66_951),
    ("codex:model_auto_compact_token_limit=120000,model_auto_compact_token_limit_scope=body_after_prefix", 272_000,
     126_829),
    ("opencode:compaction.reserved=20000,input=100000", 200_000, 80_256),
    ("opencode:compaction.reserved=50000,input=100000", 200_000, 50_577),
    ("qwen-code:context.autoCompactThreshold=0.5", 131_072, 65_100),
    ("qwen-code:context.autoCompactThreshold=0.7", 131_072, 90_600),
    ("qwen-code:context.autoCompactThreshold=0.95", 131_072, 96_900),
    ("qwen-code", 131_072, 96_900),
    ("pi:compaction.reserveTokens=40000", 80_000, 40_608),
    ("pi", 80_000, 64_397),
]  # fmt: skip

NEVER = [
    # Requests of 254,000 tokens and more were sent without a compaction.
    f"claude-code:{ONCE},{SONNET}",
    f"claude-code:{ONCE},model=claude-haiku-4-5-20251001",
    f"claude-code:{ONCE},{SONNET},CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50",
    f"claude-code:version=2.1.153,{SONNET}",
    "claude-code:version=2.1.221,model=claude-opus-5[1m]",
    "claude-code:version=2.1.221,model=claude-opus-5[1m],CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=33",
    f"claude-code:{ONCE},autoCompactEnabled=False",
]


def made(label: str, window: int) -> Policy:
    """The policy of a label, told of a window, after a first request of 7,800 tokens."""
    (policy,) = open_policy(label).create()
    policy.attach(Surroundings(window=window))
    policy.start()
    policy.after_call(View(()), Usage(7_800, 0, 0, 0))
    return policy


@pytest.mark.parametrize(("label", "window", "before"), SEEN)
def test_the_threshold_lies_where_it_was_seen(label: str, window: int, before: float) -> None:
    at = made(label, window).fires_at()
    assert at is not None
    if label.partition(":")[0] in AFTER_A_STEP:
        assert before - STEP < at <= before
    else:
        assert before < at <= before + STEP


@pytest.mark.parametrize("label", NEVER)
def test_before_a_refusal_nothing_happens_where_nothing_was_seen(label: str) -> None:
    assert made(label, 200_000).fires_at() is None


def test_opus_with_a_share_of_its_window() -> None:
    # (1,000,000 - 20,000) x 0.33
    label = f"claude-code:{ONCE},model=claude-opus-5[1m],CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=33"
    assert made(label, 1_000_000).fires_at() == pytest.approx(323_400)


def test_without_limit_input_what_is_reserved_is_ignored() -> None:
    # Seen: 101,000 and more were sent; context less output decides.
    assert made("opencode:reserved=50000,output=4096", 128_000).fires_at() == 128_000 - 4_096
