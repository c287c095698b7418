"""An invented conversation, and what drivers share."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

Message = dict[str, Any]
Row = list[Any]
"""Role, characters, the first 8 of sha256 of the content, and a response's call ids or the id that a result answers."""

STUB = "SUMMARY"
"""What every summarizer says."""

WORDS = ("order", "shelf", "ledger", "winter", "copper", "harbour", "signal", "lantern", "orchard", "bridge", "ticket")


def invented() -> dict[str, Any]:
    """A conversation in several turns with parallel calls, large and short results and texts of two scripts.

    Of two in three responses a usage is reported, which any request may have: what is sent depends on the policy.
    """
    chance = random.Random(7)
    found: list[Message] = [{"role": "user", "content": "Count what the warehouse holds, and tell me what is missing."}]
    calls = []
    for number in range(40):
        calls.append({"n": len(found)})
        asked = [f"call_{number}_{n}" for n in range(chance.choice([1, 1, 1, 2, 3]))]
        tool_calls = [
            {
                "id": one,
                "type": "function",
                "function": {
                    "name": chance.choice(["read", "search"]),
                    "arguments": json.dumps({"path": f"{chance.randrange(99)}.txt", "deep": chance.random() < 0.5}),
                },
            }
            for one in asked
        ]
        said = chance.choice(["", _prose(chance, 12), _prose(chance, 40)])
        found.append({"role": "assistant", "content": said, "tool_calls": tool_calls})
        for one, call in zip(asked, tool_calls, strict=True):
            size = chance.choice([3, 20, 60, 200, 600])
            text = (
                "\n".join(_prose(chance, 8) for _ in range(size // 8 + 1)) if chance.random() < 0.8 else "数え" * size
            )
            found.append({"role": "tool", "tool_call_id": one, "name": call["function"]["name"], "content": text})
        if number % 9 == 8:
            calls.append({"n": len(found)})
            found.append({"role": "assistant", "content": _prose(chance, 30)})
            found.append({"role": "user", "content": _prose(chance, 25)})
    for number, call in enumerate(calls):
        if number % 3:
            call |= {"input_tokens": number * 977 % 4_000 + 100, "output_tokens": 10}
    return {"name": "invented", "system": _prose(chance, 150), "tools": [], "messages": found, "calls": calls}


def _prose(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(words)).capitalize() + "."


@cache
def digest(text: str) -> str:
    """The first 8 hexadecimal digits of a text's sha256."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def row(role: str, text: str, calls: Iterable[str] = (), answers: str | None = None) -> Row:
    """A message that was sent: its role, size and digest, and the ids of its calls, or the one that it answers."""
    found: Row = [role, len(text), digest(text)]
    if answers is not None:
        return [*found, answers]
    ids = list(calls)
    return [*found, ids] if ids else found


def row_of(one: Message) -> Row:
    """A message of the conversation that was sent as it is."""
    calls = (call["id"] for call in one.get("tool_calls") or ())
    return row(one["role"], one["content"], calls, one.get("tool_call_id"))


def tokens(text: str) -> int:
    """The counter that upstream is given where it takes one: characters / 4, up."""
    return -(-len(text) // 4)


def requests(conversation: dict[str, Any]) -> Iterator[list[Message]]:
    """The messages of each request, without the system prompt."""
    for call in conversation["calls"]:
        yield conversation["messages"][: call["n"]]


def added(conversation: dict[str, Any], elements: Sequence[Any] | None = None) -> Iterator[Sequence[Any]]:
    """What each request has more than the one before: messages, or elements that stand for one message each."""
    known = 0
    for call in conversation["calls"]:
        yield (conversation["messages"] if elements is None else elements)[known : call["n"]]
        known = call["n"]


def together(found: Iterable[Message]) -> list[list[Message]]:
    """Messages one by one, but for results that answer one response: these are one group."""
    groups: list[list[Message]] = []
    for one in found:
        if groups and one["role"] == groups[-1][-1]["role"] == "tool":
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups
