"""What all four APIs have in common: a parsed request, a reply and its events, and a refusal."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from ctxsim.readers.assembly.requests.bodies import Api, answer
from ctxsim.readers.assembly.requests.logged import Caught, Said
from ctxsim.readers.source import decoded
from ctxsim.transcript import Head, Item


class Tool(msgspec.Struct, frozen=True):
    """A tool that a request offers. `parameters` are the properties of its JSON schema."""

    name: str
    parameters: dict[str, Any]
    required: tuple[str, ...] = ()


class Asked(msgspec.Struct, frozen=True):
    """One request as the provider sees it. `text` is the last message's, by which helper requests are recognised.

    `said` holds the messages, from which a later request may go on by this response's id.
    """

    api: Api
    model: str
    stream: bool
    head: Head
    items: list[Item]
    tools: tuple[Tool, ...]
    text: str
    said: tuple[Said, ...] = ()


class Before(dict[str, tuple[Said, ...]]):
    """The messages up to each response of the Responses API, by its id: later requests may go on from it."""

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[Said, Said] = {}

    def add(self, asked: Asked, response: dict[str, Any]) -> None:
        """Add the response to a request."""
        answered = Said(answer("responses", response, "response").parts, response=True)
        # Each request may repeat all before it: equal messages are held once.
        self[response["id"]] = tuple(self._held.setdefault(one, one) for one in (*asked.said, answered))


class ToolCall(msgspec.Struct, frozen=True):
    """A tool call of a reply. `arguments` is a JSON text, normally of an object."""

    id: str
    name: str
    arguments: str

    @property
    def input(self) -> dict[str, Any]:
        """The decoded arguments; if they are no valid JSON object, an object with them under `input`."""
        value = decoded(self.arguments or "{}")
        return value if isinstance(value, dict) else {"input": self.arguments}


class Used(msgspec.Struct, frozen=True):
    """Tokens that a reply reports: the whole prompt, its parts read from and written to the cache, and the output."""

    input: int
    output: int
    read: int = 0
    write: int = 0


class Reply(msgspec.Struct, frozen=True):
    """An answer. With `used` None it reports no usage. `broken`: its stream ends early with an error."""

    id: str
    model: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    used: Used | None = None
    broken: bool = False


class Refusal(msgspec.Struct, frozen=True):
    """Why a request isn't answered. `message` has the vendor's wording; `retry_after_s` is for a rate limit."""

    reason: Literal["overflow", "rate_limited", "invalid"]
    message: str
    retry_after_s: float = 0.0


def items_of(caught: Caught) -> list[Item]:
    """Return a request's items; `place` is the position in it. For a result without its call `answers` is None."""
    items: list[Item] = []
    unanswered: list[Item] = []
    message = 0
    for said in caught.said:
        if said.answer is None:
            message += 1
            items += [
                Item(part.kind, len(items) + n, message, part.text, part.tool, None, part.call_id, part.media)
                for n, part in enumerate(said.parts)
            ]
            if said.response:
                unanswered = [item for item in items[len(items) - len(said.parts) :] if item.kind == "tool_call"]
            continue
        given = said.answer
        call = _answered(unanswered, given.call_id, given.tool)
        if not items or items[-1].kind != "tool_result":
            message += 1
        tool, answers = (call.tool, call.place) if call else (given.tool, None)
        items.append(Item("tool_result", len(items), message, given.text, tool, answers, given.call_id, given.media))
    return items


def _answered(unanswered: list[Item], call_id: str, tool: str) -> Item | None:
    """Remove and return the call that a result answers: by id, or by the tool's name and order if an id is missing."""
    for call in unanswered:
        if (call_id and call.call_id == call_id) or (not (call_id and call.call_id) and tool == call.tool):
            unanswered.remove(call)
            return call
    return None


PIECE_CHARS = 400


def data(value: dict[str, Any], event: str = "") -> bytes:
    """Return one server-sent event with a JSON object."""
    name = f"event: {event}\n".encode() if event else b""
    return name + b"data: " + msgspec.json.encode(value) + b"\n\n"


def pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces of PIECE_CHARS characters; nothing for an empty one."""
    for start in range(0, len(text), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS]
