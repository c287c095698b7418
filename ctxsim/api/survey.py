"""The contents of transcripts: calls, sizes, kinds of content."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import median
from typing import Literal, NamedTuple, get_args

import msgspec

from ctxsim.counting.tokenizers import Tokenizer
from ctxsim.counting.tokenizers.counter import counted
from ctxsim.recorded.content import content_kind
from ctxsim.simulator.measure.columns import nearest_rank
from ctxsim.transcript import Transcript


class Checked(msgspec.Struct, frozen=True):
    """The contents of a transcript. `tokens` is the counted size of the head and of all items, each once."""

    transcript: str
    format: str
    model: str | None
    calls: int
    calls_with_usage: int
    messages: int
    results: int
    tokens: int
    parent: str | None
    notes: tuple[str, ...]


def check(transcript: Transcript, tokenizer: Tokenizer | None) -> Checked:
    """Return what a transcript holds. Without a tokenizer, its model's own one is used."""
    counter = counted(transcript, tokenizer)
    return Checked(
        transcript=transcript.name,
        format=transcript.format,
        model=transcript.model or None,
        calls=len(transcript.calls),
        calls_with_usage=sum(call.usage is not None for call in transcript.calls),
        messages=len({item.message for item in transcript.items}),
        results=sum(item.kind == "tool_result" for item in transcript.items),
        tokens=counter.head(transcript.head) + sum(map(counter.item, transcript.items)),
        parent=transcript.parent,
        notes=transcript.notes,
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


Group = Literal["tool", "kind"]
GROUPS: tuple[Group, ...] = get_args(Group)


class Result(NamedTuple):
    """One tool result: its tool, its kind of content, and its size."""

    tool: str
    kind: str
    chars: int
    tokens: int


def results(transcript: Transcript, tokenizer: Tokenizer | None) -> list[Result]:
    """Return a transcript's tool results, by a tokenizer or by its model's own one."""
    counter = counted(transcript, tokenizer)
    texts = [(item.tool or "?", item.text) for item in transcript.items if item.kind == "tool_result"]
    return [Result(tool, content_kind(text), len(text), counter.text(text)) for tool, text in texts]


def sizes(found: Iterable[Result], by: Group) -> list[Sizes]:
    """Return the sizes of tool results by tool or by kind of content, largest share of tokens first."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for one in found:
        groups[getattr(one, by)].append(one)
    rows = []
    for group, its in groups.items():
        chars, tokens = sorted(one.chars for one in its), sum(one.tokens for one in its)
        ratio = sum(chars) / tokens if tokens else None
        rows.append(Sizes(group, len(its), median(chars), nearest_rank(chars, 90), chars[-1], tokens, ratio))
    return sorted(rows, key=lambda row: (-row.tokens, row.group))
