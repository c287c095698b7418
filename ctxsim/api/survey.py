"""The contents of transcripts: calls, sizes, kinds of content."""

from collections.abc import Iterable
from statistics import median

import msgspec

from ctxsim.counting.tokenizers import Tokenizer
from ctxsim.counting.tokenizers.counter import counted
from ctxsim.recorded.content import content_kind
from ctxsim.simulator.measure.columns import nearest_rank
from ctxsim.transcript import Transcript


class Checked(msgspec.Struct, frozen=True):
    """The contents of a transcript. `tokens` is the counted size of the head and of all items, each once."""

    calls_with_usage: int
    messages: int
    results: int
    tokens: int


def check(transcript: Transcript, tokenizer: Tokenizer | None) -> Checked:
    """Return what a transcript holds. Without a tokenizer, its model's own one is used."""
    counter = counted(transcript, tokenizer)
    return Checked(
        calls_with_usage=sum(call.usage is not None for call in transcript.calls),
        messages=len({item.message for item in transcript.items}),
        results=sum(item.kind == "tool_result" for item in transcript.items),
        tokens=counter.head(transcript.head) + sum(map(counter.item, transcript.items)),
    )


class Sizes(msgspec.Struct, frozen=True):
    """The sizes of a group of tool results, in characters and tokens."""

    group: str
    results: int
    median_chars: float
    p90_chars: float
    max_chars: int
    tokens: int
    chars_per_token: float | None


def sizes(transcripts: Iterable[Transcript], tokenizer: Tokenizer | None, by: str) -> list[Sizes]:
    """Return the sizes of tool results by `tool` or by content `kind`, largest share of tokens first.

    Without a tokenizer, each model's own one is used.
    """
    chars: dict[str, list[int]] = {}
    tokens: dict[str, int] = {}
    for transcript in transcripts:
        counter = counted(transcript, tokenizer)
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
