"""What a set of transcripts holds: calls, sizes, kinds of content, and how our counts compare with recorded usage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from statistics import median

import msgspec

from ctxsim.counting.tokenizers import Tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.readers.assembly.segments import segments
from ctxsim.recorded.content import content_kind
from ctxsim.recorded.usage import comparisons, growth, recorded_calls
from ctxsim.simulator.measure.totals import nearest_rank
from ctxsim.transcript import Transcript


class Checked(msgspec.Struct, frozen=True):
    """One transcript in numbers. `tokens` are counted: head and all items once."""

    name: str
    format: str
    model: str
    calls: int
    messages: int
    results: int
    tokens: int
    calls_with_usage: int
    notes: tuple[str, ...]


def check(transcript: Transcript, tokenizer: Tokenizer) -> Checked:
    """Return a transcript's numbers."""
    counter = Counter(tokenizer)
    counter.learn_transcript(transcript)
    return Checked(
        name=transcript.name,
        format=transcript.format,
        model=transcript.model,
        calls=len(transcript.calls),
        messages=len({item.message for item in transcript.items}),
        results=sum(item.kind == "tool_result" for item in transcript.items),
        tokens=counter.head(transcript.head) + sum(map(counter.item, transcript.items)),
        calls_with_usage=sum(call.usage is not None for call in transcript.calls),
        notes=transcript.notes,
    )


class Against(msgspec.Struct, frozen=True):
    """Our counts against recorded input tokens. Relative differences: (ours - recorded) / recorded.

    `whole` compares whole requests, where the source holds the head with its tools; `growth` compares what was added
    since the segment's first comparable call, which cancels the head. `calls` have usage of their own request; which of
    them compare, `recorded.usage` says. Framing is not in our side. Missing: no call can be compared that way.
    """

    format: str
    model: str
    calls: int
    whole: tuple[float, ...]
    growth: tuple[float, ...]


def against_usage(transcript: Transcript, tokenizer: Tokenizer) -> Against:
    """Return one transcript's comparison, segment by segment."""
    counter = Counter(tokenizer)
    counter.learn_transcript(transcript)
    whole: list[float] = []
    grown: list[float] = []
    calls = 0
    for segment in segments(transcript):
        # Reasoning mostly isn't sent again: see docs/formats.md for what that costs in accuracy.
        items = (0 if item.kind == "reasoning" else counter.item(item) for item in segment.items)
        sizes = list(accumulate(items, initial=counter.head(segment.head)))
        ours = [sizes[call.start] for call in segment.calls]
        calls += sum(1 for _ in recorded_calls(segment))
        whole += [ours[one.call - 1] / one.recorded - 1 for one in comparisons(segment) if one.base is None]
        grown += [(ours[one.call - 1] - ours[one.base - 1]) / one.recorded - 1 for one in growth(segment)]
    return Against(transcript.format, transcript.model, calls, tuple(whole), tuple(grown))


def per_format(found: Iterable[Against]) -> Iterator[tuple[str, int, float | None, float | None]]:
    """Return per format: calls compared, median relative difference of whole requests, and of growth."""
    groups: dict[str, list[Against]] = {}
    for one in found:
        if one.calls:
            groups.setdefault(one.format, []).append(one)
    for name, members in sorted(groups.items()):
        whole = [value for one in members for value in one.whole]
        growth = [value for one in members for value in one.growth]
        yield (
            name,
            sum(one.calls for one in members),
            median(whole) if whole else None,
            median(growth) if growth else None,
        )


class Sizes(msgspec.Struct, frozen=True):
    """How big a group of tool results is, in characters and tokens."""

    group: str
    results: int
    median_chars: float
    p90_chars: float
    max_chars: int
    tokens: int
    chars_per_token: float | None


def sizes(transcripts: Iterable[Transcript], tokenizer: Tokenizer, by: str) -> list[Sizes]:
    """Return the sizes of tool results by `tool` or by content `kind`, largest share of tokens first."""
    chars: dict[str, list[int]] = {}
    tokens: dict[str, int] = {}
    for transcript in transcripts:
        counter = Counter(tokenizer)
        counter.learn_transcript(transcript)
        for item in transcript.items:
            if item.kind == "tool_result":
                group = (item.tool or "?") if by == "tool" else content_kind(item.text)
                chars.setdefault(group, []).append(len(item.text))
                tokens[group] = tokens.get(group, 0) + counter.text(item.text)
    rows = []
    for group, found in chars.items():
        found.sort()
        total = tokens[group]
        ratio = sum(found) / total if total else None
        rows.append(Sizes(group, len(found), median(found), nearest_rank(found, 90), found[-1], total, ratio))
    return sorted(rows, key=lambda row: (-row.tokens, row.group))
