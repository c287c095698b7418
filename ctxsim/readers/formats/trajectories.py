"""Tables of trajectories as data sets hold them: Parquet, JSON lines or a list, one conversation a row.

The conversation stands in a column such as `messages` or `trajectory`, as a list or as its JSON text, with roles of the
chat-completions API or the data set's own. `column:NAME:PATH` names any other column.

Documentation: https://huggingface.co/datasets/nebius/SWE-agent-trajectories,
https://huggingface.co/datasets/nebius/SWE-rebench-openhands-trajectories,
https://huggingface.co/datasets/SWE-bench/SWE-smith-trajectories,
https://huggingface.co/datasets/SWE-Gym/OpenHands-Sampled-Trajectories, https://parquet.apache.org/docs/file-format/

    {"instance_id": "mail-1", "model_name": "m", "trajectory": [
      {"role": "system", "system_prompt": "Be brief.", "text": null},
      {"role": "user", "text": "Any mail?"},
      {"role": "ai", "text": "I look.\\n```\\nls mail\\n```"},
      {"role": "user", "text": "2 messages"}]}
    {"messages": "[{\\"role\\": \\"user\\", \\"content\\": \\"Any mail?\\"}]", "tools": "[]"}
    {"conversations": [{"from": "human", "value": "Any mail?"},
      {"from": "function_call", "value": "{\\"name\\": \\"search\\", \\"arguments\\": {}}"},
      {"from": "observation", "value": "2 messages"}, {"from": "gpt", "value": "Two."}]}
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers.assembly import Assembly, Part, text_and_media, text_of
from ctxsim.readers.assembly.anthropic_content import add_user_content, has_tool_blocks
from ctxsim.readers.assembly.anthropic_content import response_parts as block_parts
from ctxsim.readers.assembly.chat_messages import Reply
from ctxsim.readers.assembly.conversations import entries
from ctxsim.readers.assembly.stores import each
from ctxsim.readers.assembly.text_calls import Run, call_in_text, fenced_command, tagged_call
from ctxsim.readers.source import Record, Sample, Source, compact_json, convert, decoded, has
from ctxsim.transcript import Transcript

NAME = "trajectories"
TITLE = "Tables of trajectories (Parquet, JSON lines)"
VERSIONS = "columns as nebius, SWE-Gym, SWE-smith and ShareGPT document them; tested on invented rows of each"
READS = (
    "One transcript a row, read in small batches: messages as lists or JSON text, calls in tags or fenced blocks, "
    "`tools`, the model. Any column by `column:NAME:PATH`."
)
NOT_READ = "All other columns; usage and times are in none of these tables."

COLUMNS = ("messages", "trajectory", "conversations", "conversation", "trajectories", "history", "dialog")
"""Columns in which data sets keep a conversation, the usual ones first."""

BESIDE = ("tools", "model", "model_name")
"""Other columns that are read if present."""

FIRST_ROWS = 16
"""Number of a table's rows in which a conversation is looked for."""

MOST_WITHOUT = 0.1
"""If fenced blocks are commands, at most this share of the responses before a user message has none."""

_CHAT = ("system", "developer", "user", "assistant", "tool", "function")
ROLES = {
    **{role: role for role in _CHAT},
    "system_prompt": "system",
    "human": "user",
    "ai": "assistant", "gpt": "assistant", "bot": "assistant", "model": "assistant", "agent": "assistant",
    "function_call": "call", "tool_call": "call",
    "observation": "tool", "ipython": "tool", "environment": "tool", "tool_response": "tool",
    "tool_result": "tool", "function_response": "tool",
}  # fmt: skip
"""ctxsim's roles by data sets' roles. `call`: a message that is a tool call by itself, as in ShareGPT's data."""

TEXT_FIELDS = ("content", "text", "value")


def matches(sample: Sample) -> bool:
    """A Parquet file; rows with a usual column of messages, in no other format's form; any file with a named column."""
    if sample.parquet or sample.source.column:
        return True
    first = _first(sample)
    column = _usual(first)
    if column != "messages" or not isinstance(first[column], list):
        return column is not None
    # Lists of messages of the chat-completions or of Anthropic's API under `messages` are other formats' to read.
    return not all(message.get("role") in _CHAT and "content" in message for message in first[column])


def _first(sample: Sample) -> Mapping[str, Any]:
    first = next(iter(sample.first), None) if isinstance(sample.first, list) else sample.first
    return first if isinstance(first, dict) else {}


def _usual(row: Mapping[str, Any]) -> str | None:
    """Return the first usual column that holds messages, as a list or as text; None if there is none."""
    return next((name for name in COLUMNS if _looks_like_messages(_messages(row.get(name)))), None)


def _messages(value: Any) -> Any:
    """Return the messages in a cell: a list, or an object with a list under `messages`, also as JSON text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        value = decoded(value)
    if isinstance(value, dict):
        value = value.get("messages")
    return _without_nulls(value)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per row. Raises InputError if no column holds messages, or if the named one doesn't."""
    notes: list[str] = []
    column = source.column or _column_of(source, sample)
    rows = sample.rows({column, *BESIDE}) if sample.parquet else entries(sample, notes)

    def one(record: Record) -> Transcript:
        # What is no object among JSON lines is an empty row.
        row = record.value if isinstance(record.value, dict) else {}
        where = f"{source.name} row {record.line}"
        if column not in row:
            raise InputError(where, f"has no column '{column}', but {_listed(sample.columns or list(row))}")
        messages = _messages(row[column])
        if not _looks_like_messages(messages):
            raise InputError(where, f"column '{column}' holds no messages with roles")
        return _one(f"{source.name}#{record.line}", where, row, messages)

    yield from each(source.name, rows, one, notes)


def role_of(message: Any) -> str | None:
    """Return the role of a message, one of the values of `ROLES`; None if it has no known role."""
    if not isinstance(message, dict):
        return None
    role = next((message[field] for field in ("role", "from") if isinstance(message.get(field), str)), None)
    return ROLES.get(role.lower()) if role else None


def _looks_like_messages(value: Any) -> bool:
    """Whether a value is a list of messages with roles, and texts, calls or nothing in them."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(role_of(message) for message in value)
        and any(field in value[0] for field in (*TEXT_FIELDS, "tool_calls", "system_prompt"))
    )


def _without_nulls(value: Any) -> Any:
    """Return a value without the fields that are null: a table has each field of any row in every row."""
    if isinstance(value, dict):
        return {key: _without_nulls(entry) for key, entry in value.items() if entry is not None}
    return [_without_nulls(entry) for entry in value] if isinstance(value, list) else value


def _column_of(source: Source, sample: Sample) -> str:
    """Return the usual column that holds messages in the first rows."""
    if not sample.parquet:
        return _usual(_first(sample)) or ""
    names = sample.columns
    for name in COLUMNS:
        rows = islice(sample.rows([name]), FIRST_ROWS) if name in names else iter(())
        if any(_looks_like_messages(_messages(row.value.get(name))) for row in rows):
            return name
    raise NotATranscript(
        source.name,
        f"is a table without messages in its first rows; write column:NAME:PATH, NAME being one of {_listed(names)}",
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) or "(none)"


def _one(name: str, where: str, row: Mapping[str, Any], messages: list[Any]) -> Transcript:
    assembly = Assembly(name, NAME)
    tools = row.get("tools")
    if isinstance(tools, str) and tools.lstrip()[:1] == "[":
        tools = decoded(tools)
        assembly.notes += ["column 'tools' is no JSON: left out"] if tools is None else []
    assembly.tools += [compact_json(_without_nulls(tool)) for tool in tools] if isinstance(tools, list) else []
    model = next((row[name] for name in ("model", "model_name") if isinstance(row.get(name), str)), "")
    adding = _Adding(assembly, model, _fenced(messages))
    for place, message in enumerate(messages):
        adding.message(message, f"{where} message {place}")
    return assembly.finished()


class _Adding:
    def __init__(self, assembly: Assembly, model: str, fenced: bool) -> None:
        self.assembly = assembly
        self.model = model
        self.fenced = fenced
        self.run = Run(assembly)
        self.open = 0

    def message(self, value: dict[str, Any], where: str) -> None:
        role, content = role_of(value), _content(value)
        text, media = text_and_media(content)
        blocks = has_tool_blocks(content)
        if role in ("system", "developer"):
            self.assembly.message(role, content)
        elif role == "assistant":
            self._response(value, text, content if blocks else None, where)
        elif role == "call":
            self._response_of(_called(text))
        elif blocks:
            add_user_content(self.assembly, content, where)
        elif role in ("tool", "function") and self.open:
            self.open -= 1
            self.assembly.result(text, str(value.get("tool_call_id") or ""), str(value.get("name") or ""), media)
        elif role in ("tool", "function"):
            self.assembly.counts["result(s) without a call in the message before kept as user texts"] += 1
            self.assembly.user(Part("user", text, media=media))
        else:
            self.run.message("user", content)
            self.open = 0

    def _response(self, value: dict[str, Any], text: str, blocks: list[Any] | None, where: str) -> None:
        fields = ("tool_calls", "function_call", "reasoning_content", "reasoning")
        reply = convert({name: value[name] for name in fields if name in value} | {"content": text}, Reply, where)
        parts = block_parts(blocks, where) if blocks else reply.parts()
        called = any(part.kind == "tool_call" for part in parts)
        name = None if called else tagged_call(text) or (fenced_command(text) if self.fenced else None)
        if name:
            what = "call(s) that stand in the text: the message after each is taken as its result"
            self.assembly.counts[what] += 1
            parts = [*(part for part in parts if part.kind == "reasoning"), *call_in_text(text, name)]
        self._response_of(parts, in_text=name is not None)

    def _response_of(self, parts: list[Part], in_text: bool = False) -> None:
        self.open = sum(part.kind == "tool_call" for part in parts)
        self.assembly.response(parts, model=self.model)
        self.run.awaits(parts if in_text else ())


def _content(value: dict[str, Any]) -> Any:
    """Return the content under any of its names; a data set may have a system prompt in a field of its own."""
    found = next((value[field] for field in TEXT_FIELDS if value.get(field) is not None), None)
    return value.get("system_prompt") if found is None and role_of(value) == "system" else found


def _called(text: str) -> list[Part]:
    """Return the calls of a message that is `{"name": …, "arguments": …}` as text; other text becomes arguments."""
    value = decoded(text)
    calls = value if isinstance(value, list) else [value]
    if not calls or not all(has(call, name=str) for call in calls):
        return [Part("tool_call", text)]
    return [Part("tool_call", compact_json(call.get("arguments", "")), call["name"]) for call in calls]


def _fenced(values: list[Any]) -> bool:
    """Return whether a row's fenced blocks are commands: nothing else is a call, and nearly all responses have one."""
    roles = [role_of(value) for value in values]
    if {"tool", "function", "call"} & set(roles) or any(value.get("tool_calls") for value in values):
        return False
    texts = [
        text_of(_content(value))
        for value, role, following in zip(values, roles, roles[1:], strict=False)
        if role == "assistant" and following == "user"
    ]
    if not texts or any(tagged_call(text) for text in texts):
        return False
    return sum(fenced_command(text) is None for text in texts) <= MOST_WITHOUT * len(texts)
