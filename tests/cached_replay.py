"""Replays under Claude's cache and price ratios, on texts over every minimum."""

from __future__ import annotations

from pathlib import Path

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.readers.assembly import Assembly
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Transcript

# Claude's ratios: write 1.25, one-hour write 2, read 0.1 of input.
PRICES = Prices(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25, cache_write_long=2.0)


BIG = "word " * 1_500  # about 1,500 tokens: over every minimum of 1,024


def sent_of(transcript: Transcript, label: str = "keep-all", **rules: object) -> list[Sent]:
    """Replay with prompt caching, 10 s between calls."""
    provider = Provider(**{"cache": "anthropic", "breakpoints": "automatic", "prices": PRICES, "pace_s": 10, **rules})  # type: ignore[arg-type]
    return list(replay(transcript, open_policy(label), provider, Counter(open_tokenizer())))


DROP_ONCE = f"{Path(__file__).parent / 'drop_once.py'}:DropOnce"


def repeated(calls: int) -> Transcript:
    """The same large request again and again: nothing is added but empty responses."""
    assembly = Assembly("repeated")
    assembly.user(BIG)
    for _ in range(calls):
        assembly.response([])
    return assembly.transcript()
