"""Numbers that a recording states: usage and cost in our words. What can't be is noted, and counts as not recorded."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from ctxsim.errors import one_line
from ctxsim.transcript import Call, Compaction, Item, Transcript, Usage

MOST_TOKENS = 10**12
"""Of one request, response or window; beyond it sums of a few leave 64 bits behind."""

MOST_USD = 1e9
LATEST_S = 253_402_300_799.0
"""The end of the year 9999, after which there is no date. Microseconds taken for milliseconds are beyond it."""

_OPTIONAL = ("output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_long_tokens",
             "reasoning_tokens", "output_begun_tokens")  # fmt: skip

Judge = Callable[[Any], bool]


def _tokens(value: int) -> bool:
    return 0 <= value <= MOST_TOKENS


def _usd(value: float) -> bool:
    return 0 <= value <= MOST_USD


def _time(value: float) -> bool:
    return 0 <= value <= LATEST_S


def plausible(transcript: Transcript) -> Transcript:
    """Return a transcript without the tokens, dollars and times that can't be, each kind noted with how often.

    A usage whose prompt can't be is missing as a whole. Notes are one line each.
    """
    found: Counter[str] = Counter()
    calls = tuple(_call(call, found) for call in transcript.calls)
    beside = tuple(_call(call, found) for call in transcript.beside)
    items = tuple(_item(item, found) for item in transcript.items)
    compactions = tuple(_compaction(one, found) for one in transcript.compactions)
    head = transcript.head
    if not _tokens(head.hidden):
        found["head tokens"] += 1
        head = msgspec.structs.replace(head, hidden=0)
    cost = _kept(transcript.cost_usd, _usd, "cost", found)
    notes = [one_line(note) for note in transcript.notes]
    notes += [f"{count} x {what} that can't be: taken as not recorded" for what, count in found.items()]
    if not found and notes == list(transcript.notes):
        return transcript
    return msgspec.structs.replace(
        transcript, calls=calls, items=items, compactions=compactions, head=head, cost_usd=cost, notes=tuple(notes),
        beside=beside,
    )  # fmt: skip


def _kept(value: Any, judge: Judge, what: str, found: Counter[str]) -> Any:
    if value is None or judge(value):
        return value
    found[what] += 1
    return None


def _call(call: Call, found: Counter[str]) -> Call:
    usage = call.usage and _usage(call.usage, found)
    time_s = _kept(call.time_s, _time, "time", found)
    window = _kept(call.window, lambda value: 0 < value <= MOST_TOKENS, "window", found)
    if usage is call.usage and time_s is call.time_s and window is call.window:
        return call
    return msgspec.structs.replace(call, usage=usage, time_s=time_s, window=window)


def _usage(usage: Usage, found: Counter[str]) -> Usage | None:
    if not _tokens(usage.input_tokens):
        found["input_tokens"] += 1
        return None
    wrong = {name: None for name in _OPTIONAL if (value := getattr(usage, name)) is not None and not _tokens(value)}
    for name in ("cache_read_tokens", "cache_write_tokens", "cache_write_long_tokens"):
        if name not in wrong and (getattr(usage, name) or 0) > usage.input_tokens:
            wrong[name] = None
    if usage.cost_usd is not None and not _usd(usage.cost_usd):
        wrong["cost_usd"] = None
    found.update(wrong.keys())
    return msgspec.structs.replace(usage, **wrong) if wrong else usage


def _item(item: Item, found: Counter[str]) -> Item:
    if not item.media or all(_tokens(media.tokens) for media in item.media):
        return item
    found["media tokens"] += 1
    return msgspec.structs.replace(item, media=tuple(media for media in item.media if _tokens(media.tokens)))


def _compaction(one: Compaction, found: Counter[str]) -> Compaction:
    return msgspec.structs.replace(
        one,
        tokens_before=_kept(one.tokens_before, _tokens, "tokens before a compaction", found),
        tokens_after=_kept(one.tokens_after, _tokens, "tokens after a compaction", found),
        seconds=_kept(one.seconds, _time, "seconds of a compaction", found),
    )


def in_parts(
    fresh: int | None,
    output: int | None,
    read: int | None,
    written: int | None,
    reasoning: int | None = None,
    cost: Any = None,
) -> Usage:
    """Return usage of a prompt in three parts: neither read from the cache nor written to it, read, written."""
    return Usage((fresh or 0) + (read or 0) + (written or 0), output, read, written, reasoning, dollars(cost))


def of_prompt(
    prompt: int,
    output: int | None,
    read: int | None,
    written: int | None,
    reasoning: int | None = None,
    cost: Any = None,
) -> Usage:
    """Return usage of a prompt that is whole, or without the cached tokens: where these are more than it."""
    cached = (read or 0) + (written or 0)
    return Usage(prompt if cached <= prompt else prompt + cached, output, read, written, reasoning, dollars(cost))


def dollars(value: Any) -> float | None:
    """Return a recorded cost in dollars; None for what is no number, and for zero: agents write it for unknown prices.

    A cost stands beside the conversation: whatever it is, it must not keep a file from being read.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if value > 0 else None
    except OverflowError:  # thousands of digits: noted where it is held against what can be
        return math.inf


def with_thoughts(prompt: int, candidates: int | None, cached: int | None, thoughts: int | None) -> Usage:
    """Return usage as Gemini counts it: its output is without thoughts."""
    return Usage(prompt, None if candidates is None else candidates + (thoughts or 0), cached, None, thoughts)
