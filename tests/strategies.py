"""Hypothesis strategies: valid transcripts of every shape that readers deliver."""

from __future__ import annotations

import json

from hypothesis import strategies as st
from samples import chat

from ctxsim.transcript import Call, Head, Item, Media, Transcript, Usage

texts = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["", "word " * 400, "line\n" * 300, "x" * 3000, "é漢字🙂" * 50, "<|endoftext|>", '{"a": [1, 2]}']),
)


@st.composite
def transcripts(draw: st.DrawFn, max_calls: int = 8) -> Transcript:
    """Transcripts with parallel calls, responses without text or calls, user texts in between, images, reasoning."""
    items: list[Item] = []
    calls: list[Call] = []
    message = 0

    def add(kind: str, text: str, tool: str = "", answers: int | None = None, media: tuple[Media, ...] = ()) -> None:
        items.append(Item(kind, len(items), message, text, tool, answers, f"id{len(items) % 3}", media))  # type: ignore[arg-type]

    for number in range(draw(st.integers(1, max_calls))):
        if number == 0 or draw(st.integers(0, 3)) == 0:
            message += 1
            for _ in range(draw(st.integers(1, 2))):
                add("user", draw(texts))
        message += 1
        start = len(items)
        if draw(st.booleans()):
            add("reasoning", draw(texts))
        if draw(st.booleans()):
            add("assistant", draw(texts))
        for _ in range(draw(st.integers(0, 3))):
            add("tool_call", draw(texts), draw(st.sampled_from(["read", "search"])))
        asked = [item for item in items[start:] if item.kind == "tool_call"]
        usage = draw(st.one_of(st.none(), st.builds(Usage, st.integers(1, 10_000))))
        calls.append(Call(start, len(items), usage))
        if asked:
            message += 1
            for call in draw(st.permutations(asked)):
                media = (Media("image", 100),) if draw(st.integers(0, 9)) == 0 else ()
                add("tool_result", draw(texts), call.tool, call.place, media)
        else:
            message += 1
            add("user", draw(texts))
    head = Head(draw(texts), tuple(draw(st.lists(texts, max_size=2))))
    return Transcript("generated", head, tuple(items), tuple(calls))


QUOTE = "the quick brown fox jumps"


WORDS = [
    "order_12",
    "src/Zebra.py",
    "5678",
    "getUserId",
    "ab-12",
    QUOTE,
    QUOTE.upper(),
    "\\n",
    "\\\\n",
    '"',
    "\n",
    "fox",
]


planted = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@st.composite
def conversations(draw: st.DrawFn) -> Transcript:
    """Conversations whose results, user texts and outputs share a few identifiers and one quotation."""
    turns: list[tuple[str, str]] = [("user", draw(planted) if draw(st.integers(0, 3)) == 0 else "")]
    for _ in range(draw(st.integers(1, 7))):
        for kind in draw(st.lists(st.sampled_from(["reasoning", "assistant"]), max_size=2)):
            turns.append((kind, draw(planted) if draw(st.booleans()) else "ok"))
        asked = draw(st.integers(1, 2))
        for _ in range(asked):
            text = draw(planted) if draw(st.booleans()) else ""
            turns.append(("tool_call", draw(st.sampled_from([text, json.dumps({"order_12": text})]))))
        for _ in range(asked):
            text = draw(planted)
            turns.append(("tool_result", json.dumps({"out": text}) if draw(st.booleans()) else text))
        if draw(st.integers(0, 4)) == 0:
            turns.append(("user", draw(planted)))
    head = Head(draw(st.sampled_from(["", "", "5678"])))
    return chat(*turns, ("assistant", draw(planted)), head=head)
