"""What a set of transcripts holds: calls, sizes, kinds of content, and how our counts compare with recorded usage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median

import msgspec

from ctxsim.content import content_kind
from ctxsim.tokenizers import Tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Transcript

SMALL_GROWTH = 200
"""Growth of fewer recorded tokens than this says more about framing than about text."""


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

    `whole` compares whole requests, where the source records the head; `growth` compares what was added between two
    successive calls, which cancels the head. Framing is not in our side. Missing: no call can be compared that way.
    """

    format: str
    model: str
    calls: int
    whole: tuple[float, ...]
    growth: tuple[float, ...]


def against_usage(transcript: Transcript, tokenizer: Tokenizer) -> Against:
    """Return one transcript's comparison; calls after a recorded compaction are not compared."""
    counter = Counter(tokenizer)
    counter.learn_transcript(transcript)
    head = counter.head(transcript.head)
    sizes = [0]
    for item in transcript.items:
        # Reasoning mostly isn't sent again: see docs/formats.md for what that costs in accuracy.
        sizes.append(sizes[-1] + (0 if item.kind == "reasoning" else counter.item(item)))
    whole: list[float] = []
    growth: list[float] = []
    before: tuple[int, int, str] | None = None
    compared = 0
    for call in transcript.calls:
        if call.usage is None or not call.comparable or not call.usage.input_tokens:
            before = None
            continue
        compared += 1
        ours, recorded = head + sizes[call.start], call.usage.input_tokens
        if transcript.head.recorded:
            whole.append((ours - recorded) / recorded)
        if before and before[2] == call.model and recorded - before[1] >= SMALL_GROWTH:
            growth.append((ours - before[0]) / (recorded - before[1]) - 1)
        before = (ours, recorded, call.model)
    return Against(transcript.format, transcript.model, compared, tuple(whole), tuple(growth))


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
        # Nearest-rank 90th percentile.
        p90 = found[-(-9 * len(found) // 10) - 1]
        ratio = sum(found) / total if total else None
        rows.append(Sizes(group, len(found), median(found), p90, found[-1], total, ratio))
    return sorted(rows, key=lambda row: (-row.tokens, row.group))
