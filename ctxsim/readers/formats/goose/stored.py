"""A session in Goose's database: its messages, the ledger of its requests, its model."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import field

from ctxsim.errors import InputError
from ctxsim.readers.assembly.numbers import of_prompt
from ctxsim.readers.assembly.stores import Connection, cell
from ctxsim.readers.source import convert, convert_all, under
from ctxsim.transcript import Usage

Tables = Mapping[str, frozenset[str]]

# Larger times are milliseconds, as newer tables have them, smaller ones seconds; Goose decides the same way.
_MILLISECONDS = 10_000_000_000


class _Metadata(msgspec.Struct, rename="camel"):
    user_visible: bool = True
    agent_visible: bool = True


class Model(msgspec.Struct):
    """The model of a session, and its window in tokens."""

    model_name: str = ""
    context_limit: int | None = None


class Content(msgspec.Struct):
    """One piece of a message, of any type: among others a tool call, parsed or not, and a tool result."""

    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    called: Any = field(default=None, name="toolCall.value")
    status: str = field(default="", name="toolResult.status")
    result: Any = field(default=None, name="toolResult.value")
    error: str | None = field(default=None, name="toolResult.error")
    annotations: Any = None


def for_agent(annotations: Any) -> bool:
    """Return whether a piece with these annotations is sent to the model."""
    audience = under(annotations, "audience")
    return not isinstance(audience, list) or "assistant" in audience


class Message(msgspec.Struct):
    """A message of a session."""

    id: str
    role: Literal["user", "assistant"]
    content: list[Content]
    shown: _Metadata
    time_s: float

    @property
    def only_text(self) -> bool:
        return bool(self.content) and all(piece.type == "text" for piece in self.content)

    @property
    def text(self) -> str:
        return "\n".join(piece.text for piece in self.content if piece.type == "text")


class Spent(msgspec.Struct):
    """One request in the ledger."""

    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost: Any = None
    is_compaction: int | None = None

    @property
    def usage(self) -> Usage | None:
        """Usage of the whole prompt: for some providers `input_tokens` excludes cached tokens."""
        read, written = self.cache_read_tokens, self.cache_write_tokens
        prompt = self.input_tokens
        return of_prompt(prompt, self.output_tokens, read, written, cost=self.cost) if prompt else None


def messages_of(found: Connection, tables: Tables, session: str, name: str) -> list[Message]:
    """Return the messages of a session. Raises InputError for one that doesn't fit."""
    # A message's own id came with schema version 7.
    own = "message_id" if "message_id" in tables["messages"] else "NULL"
    rows = found.execute(
        f"SELECT id, {own}, role, content_json, created_timestamp, metadata_json FROM messages WHERE session_id = ? "
        "ORDER BY created_timestamp, id",
        (session,),
    )
    return [_message(one, f"{name} message {one[0]}") for one in rows]


def _message(row: Any, where: str) -> Message:
    number, own, role, content, made, shown = row
    pieces = convert_all(cell(content, list[Any], where), Content, f"{where} piece")
    made = convert(made, float, where)
    seconds = made / 1000 if made > _MILLISECONDS else made
    metadata = cell(shown, _Metadata, f"{where} metadata_json") if shown else _Metadata()
    if role not in ("user", "assistant"):
        raise InputError(where, f"has the role '{role}', which is neither user nor assistant")
    return Message(own or str(number), role, pieces, metadata, seconds)


def ledger_of(found: Connection, tables: Tables, session: str, name: str) -> list[Spent]:
    """Return a session's requests in the ledger; [] without one. Raises InputError for a line that doesn't fit."""
    columns = tables.get("usage_ledger", frozenset())
    if not columns.issuperset((*Spent.__struct_fields__, "cost_source")):
        return []
    told = ", ".join(Spent.__struct_fields__)
    rows = found.execute(
        f"SELECT {told} FROM usage_ledger WHERE session_id = ? "
        "AND COALESCE(cost_source, '') != 'carried_forward' ORDER BY id",
        (session,),
    )
    where = f"{name} usage_ledger"
    return [convert(dict(zip(Spent.__struct_fields__, one, strict=True)), Spent, where) for one in rows]
