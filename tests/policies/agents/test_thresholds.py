"""Where agents compact by their own word: tokens, by the window and the settings."""

from __future__ import annotations

import pytest
from by_hand import Driven

CLAUDE = "claude-code:reserve=200,buffer=130,tail_factor=1"


@pytest.mark.parametrize(
    ("label", "window", "at"),
    [
        ("anthropic-compact", 1_000, 150_000),
        (CLAUDE, 1_000, 670), (CLAUDE, 331, 1), (CLAUDE, 330, 0), (CLAUDE, 100, 0),
        (f"{CLAUDE},auto_compact_enabled=False", 1_000, None), (f"{CLAUDE},proactive=False", 1_000, None),
        (f"{CLAUDE},proactive=False,auto_compact_window=900", 1_000, 570),
        (f"{CLAUDE},auto_compact_window=800", 1_000, 470), (f"{CLAUDE},auto_compact_window=9000", 1_000, 670),
        (f"{CLAUDE},max_output_tokens=50", 1_000, 820), (f"{CLAUDE},autocompact_pct_override=50", 1_000, 400),
        # A share may only be lower: 84 % of 800 are 672.
        (f"{CLAUDE},autocompact_pct_override=84", 1_000, 670), (f"{CLAUDE},autocompact_pct_override=10", 1_000, 80),
        # 200,000 - 64,000 = 136,000 for the input; of that the least of 64,000 and 15,000 stays free. Then 40,000 -
        # 14,000 = 26,000; the larger of 14,000 and 5,200 is under 15,000. Then a fifth of 99,000 is over 15,000.
        ("continue-cli", 200_000, 121_000), ("continue-cli", 40_000, 12_000),
        ("continue-cli:max_tokens=1000", 100_000, 84_000),
        ("gemini-cli:compression_threshold=0.4", 1_000, 400),
        ("kimi-cli", 40_000, 0), ("kimi-cli", 50_001, 1), ("kimi-cli", 200_000, 150_000),
        ("kimi-cli", 400_000, 340_000), ("kimi-cli", 1_000_000, 850_000),
        # A reserve that isn't below the window counts for nothing.
        ("kimi-code", 40_000, 34_000), ("kimi-code", 50_000, 42_500), ("kimi-code", 50_001, 1),
        ("kimi-code", 80_000, 30_000), ("kimi-code", 1_000_000, 850_000),
        # Half of a small window, 50,000 of a larger one; then the window less 60,000, at most 256,000.
        ("mistral-vibe", 16_000, 10_000), ("mistral-vibe", 80_000, 40_000), ("mistral-vibe", 105_000, 50_000),
        ("mistral-vibe", 200_000, 140_000), ("mistral-vibe", 1_000_000, 256_000),
        ("mistral-vibe:version=3.0.2", 80_000, 64_000), ("mistral-vibe:auto_compact_threshold=50000", 80_000, 50_000),
        # It could never fire; 0 is never.
        ("mistral-vibe:version=3.0.2,auto_compact_threshold=80000", 80_000, 64_000),
        ("mistral-vibe:auto_compact_threshold=0", 80_000, None),
        ("cline", 400_000, 360_000), ("cline:model=gpt-5.2-codex", 400_000, 244_800),
        ("cline:model=gpt-5.2-codex", 200_000, 180_000), ("cline:model=gpt-5.5", 1_050_000, 829_800),
        ("cline:model=claude-opus-5", 1_000_000, 900_000), ("cline:model=gpt-5.1-chat-latest", 128_000, 115_200),
        ("opencode:model=openai/gpt-5", 400_000, 252_000), ("opencode:model=gpt-5.4-mini", 400_000, 252_000),
        ("opencode:model=gpt-5.4", 1_050_000, 902_000), ("opencode:model=gpt-5.3-codex-spark", 128_000, 96_000),
        ("openai-compact", 1_001, 900), ("openai-compact:compact_threshold=7", 9, 7),
        # At most 32,000 of output are kept free; of a declared input at most 20,000, if nothing else is reserved.
        ("opencode:output=32000", 100_000, 68_000), ("opencode:output=32001", 100_000, 68_000),
        ("opencode:output=31999", 100_000, 68_001), ("opencode:output=0", 100_000, 68_000),
        ("opencode:output=40000,input=90000", 100_000, 70_000), ("opencode:output=19999,input=90000", 100_000, 70_001),
        ("opencode:output=40000,input=90000,reserved=30000", 100_000, 60_000), ("opencode:output=40000", 32_000, None),
        ("opencode:output=40000,input=10000", 32_000, None), ("opencode:output=40000,auto=False", 100_000, None),
        # With less than 33,000 the share holds: 0.85; with more what is left of them, if that is less.
        ("qwen-code", 20_000, 17_000), ("qwen-code", 33_000, 28_050), ("qwen-code", 33_001, 1),
        ("qwen-code", 80_000, 47_000), ("qwen-code", 220_000, 187_000), ("qwen-code", 1_000_000, 850_000),
    ],
)  # fmt: skip
def test_where_it_compacts(label: str, window: int, at: float | None) -> None:
    assert Driven(label, window).moments.links[0].fires_at() == at
