"""What a policy sends of a conversation, beside what the framework's own code sent: the same rows for both."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from drivers.conversation import STUB, Row, digest
from drivers.conversation import row as row_of_text

from ctxsim.policies import Overflow, Surroundings, open_policy
from ctxsim.policies.frameworks.chat import Message, messages
from ctxsim.simulator.replay.moments import Moments
from ctxsim.transcript import Call, Head, Item, Media, Transcript, Usage
from ctxsim.view import View

Merged = Literal["users", "calls", ""]


def transcript_of(conversation: dict[str, Any]) -> Transcript:
    """A conversation of OpenAI messages, with how many of them each call's request holds, as a transcript."""
    items: list[Item] = []
    starts: list[int] = []
    asked: dict[str, Item] = {}
    message = 0
    for number, one in enumerate(conversation["messages"]):
        starts.append(len(items))
        before = conversation["messages"][number - 1]["role"] if number else ""
        message += not (one["role"] == before == "tool")
        content = one.get("content") or ""
        media = (Media("image", 85),) * one.get("images", 0)
        if one["role"] == "tool":
            call = asked[one["tool_call_id"]]
            items.append(
                Item("tool_result", len(items), message, content, call.tool, call.place, one["tool_call_id"], media)
            )
        elif content or one["role"] == "user":
            items.append(Item(one["role"], len(items), message, content, media=media))
        for call in one.get("tool_calls") or ():
            function = call["function"]
            items.append(
                Item("tool_call", len(items), message, function["arguments"], function["name"], None, call["id"])
            )
            asked[call["id"]] = items[-1]
    starts.append(len(items))
    sizes = [call["n"] for call in conversation["calls"]]
    calls = []
    for call, size in zip(conversation["calls"], sizes, strict=True):
        end = size
        while end < len(conversation["messages"]) and conversation["messages"][end]["role"] == "assistant":
            end += 1
        tokens = call.get("input_tokens")
        usage = Usage(tokens, call.get("output_tokens")) if tokens is not None else None
        calls.append(Call(starts[size], starts[end], usage))
    tools = tuple(json.dumps(tool) for tool in conversation["tools"])
    return Transcript(conversation["name"], Head(conversation["system"], tools), tuple(items), tuple(calls))


def in_a_row(found: Iterable[Message], merged: Merged) -> list[Message]:
    """Messages, with users' in a row as one, or a summary and the calls behind it, as some frameworks send them."""
    joined: list[Message] = []
    for message in found:
        before = joined[-1] if joined else None
        if before and merged == "users" and message.role == before.role == "user":
            joined[-1] = Message(before.items + message.items)
        elif before and merged == "calls" and before.items[0].synthetic and message.calls and not message.text:
            joined[-1] = Message(message.items + before.items)
        else:
            joined.append(message)
    return joined


def row(message: Message) -> Row:
    """One message as upstream's output has it."""
    answers = message.items[0].call_id if message.role == "tool" else None
    return row_of_text(message.role, message.text, [call.call_id for call in message.calls], answers)


def all_rows(transcript: Transcript, call: int, merged: Merged = "") -> list[Row]:
    """What a call would send of everything before it."""
    return [row(one) for one in in_a_row(messages(transcript.items[: transcript.calls[call - 1].start]), merged)]


def sent(
    label: str,
    transcript: Transcript,
    window: int = 12_000,
    usage: Callable[[View, Call], Usage | None] | None = None,
    limit: Callable[[View], bool] | None = None,
    merged: Merged = "",
    last_try: bool = False,
    as_row: Callable[[Message], Row] = row,
) -> Iterator[list[Row] | None]:
    """What a policy sends at each call, a row for each message; None where it stops, or is refused for good.

    `usage`: what the provider reports of an answered request. `limit`: whether it refuses a request.
    `merged`: what is shown as one message. `last_try`: of a policy that never gives up its last try is shown.
    `as_row`: what is shown of a message.
    """
    spec = open_policy(label)
    asked: list[Sequence[Item]] = []

    def summarize(items: Iterable[Item], max_tokens: int) -> str:
        asked.append(list(items))
        return STUB

    sees = Surroundings(window=window, head=transcript.head, estimator=spec.estimator, summarize=summarize)
    moments = Moments(spec, sees)
    joined = 0
    for call in transcript.calls:
        for item in transcript.items[joined : call.start]:
            moments.join([item])
        view, stop = moments.before_call()
        attempts, gave_up = 0, not last_try
        while stop is None and limit is not None and limit(view) and attempts < 50:
            smaller = next(iter(moments.on_overflow(view, Overflow("too long", window))), None)
            if smaller is None:
                gave_up = True
                break
            view, attempts = smaller, attempts + 1
            if moments.lasting:
                moments.view = view
        refused = gave_up and limit is not None and limit(view)
        shown = in_a_row(messages(view), merged)
        yield None if stop or refused else [as_row(message) for message in shown]
        response = transcript.items[call.start : call.end]
        for item in response:
            moments.join([item])
        if usage and (reported := usage(view, call)):
            moments.after_call(reported, response)
        joined = call.end


def plain(rows: Iterable[Row], system: str) -> list[Row]:
    """Upstream's rows as ours can be: without the system prompt."""
    return [one for one in rows if not (one[0] == "system" and one[1:3] == [len(system), digest(system)])]


def difference(
    ours: list[Row] | None, theirs: Sequence[Row], all_rows: Callable[[], Sequence[Row]], exact: bool = True
) -> str:
    """Return where two requests differ, '' if they are equal. Who gives up is expected to have sent the whole.

    Roles of synthetic messages don't count, and with `exact` off nor do their texts: they name files, or counts.
    """
    if ours == theirs:
        return ""
    whole = all_rows()
    ours = list(whole) if ours is None else ours
    known = {json.dumps(one[1:]) for one in whole}
    ids = {json.dumps(one[3]) for one in whole if len(one) > 3}
    for n in range(max(len(ours), len(theirs))):
        if n >= len(ours) or n >= len(theirs):
            return f"message {n}: {len(ours)} messages, upstream {len(theirs)}"
        mine, other = ours[n], theirs[n]
        made = json.dumps(other[1:]) not in known and not (len(other) > 3 and json.dumps(other[3]) in ids)
        if made and not exact and json.dumps(mine[1:]) not in known:
            continue
        if mine[1:] != other[1:] or (not made and mine[0] != other[0]):
            return f"message {n}: {mine}, upstream {other}"
    return ""


def read_lines(file: Path) -> list[dict[str, Any]]:
    """The records of a gzipped file of JSON lines."""
    with gzip.open(file, "rt") as lines:
        return [json.loads(line) for line in lines]


def by_conversation(records: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Records of calls in order, by conversation."""
    return {name: list(group) for name, group in groupby(records, key=lambda one: one["conversation"])}
