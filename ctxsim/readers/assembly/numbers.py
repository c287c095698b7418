"""Recorded numbers: usage and cost as `Usage`. Impossible ones are noted, and count as not recorded."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ctxsim.errors import one_line
from ctxsim.transcript import Call, Compaction, Item, Transcript, Usage

MOST_TOKENS = 10**12
"""Most tokens of one request, response or window. Sums of larger numbers could exceed 64 bits."""

MOST_USD = 1e9
LATEST_S = 253_402_300_799.0
"""The end of the year 9999, the last possible date. Microseconds read as milliseconds exceed it."""

S = TypeVar("S", bound=msgspec.Struct)

_RANGES: Mapping[type, Mapping[str, tuple[str, int, float]]] = {
    Usage: {
        name: (name, 0, MOST_TOKENS)
        for name in ("output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_long_tokens",
                     "reasoning_tokens", "output_begun_tokens", "web_searches")
    } | {"cost_usd": ("cost_usd", 0, MOST_USD)},
    Call: {"time_s": ("time", 0, LATEST_S), "window": ("window", 1, MOST_TOKENS)},
    Compaction: {
        "tokens_before": ("tokens before a compaction", 0, MOST_TOKENS),
        "tokens_after": ("tokens after a compaction", 0, MOST_TOKENS),
        "seconds": ("seconds of a compaction", 0, LATEST_S),
    },
    Transcript: {"cost_usd": ("cost", 0, MOST_USD)},
}  # fmt: skip
"""Numbers that may be missing, by struct and field: their name in notes, their least and their greatest value."""


def plausible(transcript: Transcript) -> Transcript:
    """Return a transcript without its impossible tokens, dollars and times; notes count them by kind.

    A usage with an impossible prompt is removed as a whole. Notes become one line each.
    """
    found: Counter[str] = Counter()
    calls, beside = (tuple(_call(call, found) for call in some) for some in (transcript.calls, transcript.beside))
    items = tuple(_item(item, found) for item in transcript.items)
    compactions = tuple(_in_range(one, found) for one in transcript.compactions)
    head = transcript.head
    if not possible(head.hidden):
        found["head tokens"] += 1
        head = msgspec.structs.replace(head, hidden=0)
    transcript = _in_range(transcript, found)
    notes = [one_line(note) for note in transcript.notes]
    notes += [f"{count} x {what} that can't be: taken as not recorded" for what, count in found.items()]
    return msgspec.structs.replace(
        transcript, calls=calls, items=items, compactions=compactions, head=head, notes=tuple(notes), beside=beside
    )


def _in_range(held: S, found: Counter[str]) -> S:
    """Return a struct without its impossible numbers, which are counted in `found`."""
    wrong = {
        name: what
        for name, (what, least, most) in _RANGES[type(held)].items()
        if (value := getattr(held, name)) is not None and not least <= value <= most
    }
    found.update(wrong.values())
    return msgspec.structs.replace(held, **dict.fromkeys(wrong)) if wrong else held


def _call(call: Call, found: Counter[str]) -> Call:
    usage = call.usage and _usage(call.usage, found)
    return _in_range(call if usage is call.usage else msgspec.structs.replace(call, usage=usage), found)


def _usage(usage: Usage, found: Counter[str]) -> Usage | None:
    if not possible(usage.input_tokens):
        found["input_tokens"] += 1
        return None
    usage = _in_range(usage, found)
    for name in ("cache_read_tokens", "cache_write_tokens", "cache_write_long_tokens"):
        if (getattr(usage, name) or 0) > usage.input_tokens:
            found[name] += 1
            usage = msgspec.structs.replace(usage, **{name: None})
    return usage


def _item(item: Item, found: Counter[str]) -> Item:
    sane = tuple(media for media in item.media if possible(media.tokens))
    if len(sane) == len(item.media):
        return item
    found["media tokens"] += 1
    return msgspec.structs.replace(item, media=sane)


Count = int | None


def possible(tokens: int) -> bool:
    """Return whether one request, response or window can have so many tokens."""
    return 0 <= tokens <= MOST_TOKENS


def added(*parts: Count) -> int:
    """Return the sum of a number's parts. An impossible part is returned instead, so that `plausible` notes it."""
    known = [part or 0 for part in parts]
    return next((part for part in known if not possible(part)), sum(known))


def in_parts(
    fresh: Count, output: Count, read: Count, written: Count, reasoning: Count = None, cost: Any = None
) -> Usage:
    """Return usage of a prompt in three parts: neither read from the cache nor written to it, read, written.

    If the first part is a recorded `null`, which is no 0, the sum is impossible, so that `plausible` notes it.
    """
    prompt = -1 if fresh is None else added(fresh, read, written)
    return Usage(prompt, output, read, written, reasoning, dollars(cost))


def of_prompt(
    prompt: int, output: Count, read: Count, written: Count, reasoning: Count = None, cost: Any = None
) -> Usage:
    """Return usage of a `prompt` that may lack the cached tokens: it does if they are more than it."""
    cached = (read or 0) + (written or 0)
    return Usage(prompt + cached if 0 <= prompt < cached else prompt, output, read, written, reasoning, dollars(cost))


_STANDARD = (
    "auto", "default", "standard", "global", "not_available", "unspecified", "on_demand", "traffic_type_unspecified",
)  # fmt: skip
"""What the APIs of Anthropic, OpenAI and Google say of a request that was served in the standard way."""


def as_served(usage: Usage, *stated: Any, searches: Any = None) -> Usage:
    """Return usage with how the request was served too, by what its response `stated` (a tier, a speed, where it ran),
    and with its web searches. What isn't one word says nothing.
    """
    words = (word.lower().removeprefix("on_demand_") for word in stated if isinstance(word, str))
    named = (word for word in words if re.fullmatch(r"[a-z][a-z0-9_-]{0,29}", word) and word not in _STANDARD)
    served = " ".join(dict.fromkeys([*usage.served.split(), *named]))
    counted = searches if isinstance(searches, int) and searches else usage.web_searches
    return msgspec.structs.replace(usage, served=served, web_searches=counted)


def dollars(value: Any) -> float | None:
    """Return a recorded cost in dollars; None for no number, and for 0 or less: agents write 0 for unknown prices.

    Never raises: a bad cost must not keep a file from being read.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if value > 0 else None
    except OverflowError:  # thousands of digits: infinity is impossible, and `plausible` notes it
        return math.inf


def with_thoughts(prompt: int, candidates: Count, cached: Count, thoughts: Count) -> Usage:
    """Return usage as Gemini counts it: `candidates` is the output without thoughts, left out if it is 0."""
    counted = [count for count in (candidates, thoughts) if count is not None]
    return Usage(prompt, added(*counted) if counted else None, cached, None, thoughts)


def summed(usages: Iterable[tuple[str, Usage]]) -> dict[str, Usage]:
    """Return the sum of usage by name. A count that no usage of a name states stays None, and dollars that not all of
    them state. How they were served is left out.
    """
    by_name: dict[str, list[Usage]] = defaultdict(list)
    for name, usage in usages:
        by_name[name].append(usage)
    return {name: _sum(some) for name, some in by_name.items()}


def _sum(usages: Sequence[Usage]) -> Usage:
    names = [name for name in Usage.__struct_fields__ if name != "served"]
    stated = {name: [count for one in usages if (count := getattr(one, name)) is not None] for name in names}
    whole = Usage(**{name: sum(counts) for name, counts in stated.items() if counts})
    return whole if all(usage.cost_usd is not None for usage in usages) else whole.costing(None)
