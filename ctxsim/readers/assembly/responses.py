"""The Responses API: its items, how they group into responses of the model, and the bodies around them.

Documentation: https://platform.openai.com/docs/api-reference/responses/object; the types that Codex adds are in
https://github.com/openai/codex, codex-rs/protocol/src/models.rs.
"""

from typing import Any

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.assembly import IMAGE_TOKENS, Assembly, Part, text_and_media, text_of
from ctxsim.readers.assembly.assembly import LATER_SYSTEM
from ctxsim.readers.assembly.chat_messages import Details, Paid
from ctxsim.readers.assembly.numbers import as_served
from ctxsim.readers.source import compact_json, convert, has, under
from ctxsim.transcript import Media, Transcript, Usage

UNSIZED = "response(s) with reasoning of unknown size, counted as 0 tokens"


class ApiItem(msgspec.Struct):
    """Common fields of items; a message of an input list may have no type."""

    type: str = "message"
    role: str = ""
    content: str | list[Any] | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    tools: list[Any] | None = None


_GIVEN = ("arguments", "input", "action", "operation", "code", "queries", "revised_prompt")
_HOSTED = ("output", "outputs", "results")
"""Fields with what a tool was given, and fields with the output of a tool that the provider runs."""


class Exchanges:
    """Groups a flat list of items: all that the model made between two requests is one response.

    A response ends before the model's next item if outputs or user texts came between, or if `usage` or `announce` said
    that it is whole. Outputs are held back until then, because usage may be recorded after them.
    """

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.left_out = assembly.left_out
        self.model = ""
        self.comparable = True
        self._next_usage: Usage | None = None
        self._start_anew()

    def _start_anew(self) -> None:
        self.parts: list[Part] = []
        """Parts of the open response, which `close` ends; [] if none is open."""
        self._hosted: list[Part] = []
        self._inputs: list[Part] = []
        self._usage: Usage | None = None
        self._whole = False

    def usage(self, usage: Usage) -> bool:
        """Give the open response its usage, which ends it. Return False if none is open, or if it already has usage."""
        if not self.parts or self._usage:
            return False
        self._usage, self._whole = usage, True
        return True

    def announce(self, usage: Usage) -> Usage | None:
        """Keep usage for the next response, and end the open one. Return unused usage that this replaces."""
        unused, self._next_usage, self._whole = self._next_usage, usage, True
        return unused

    def withdraw(self) -> Usage | None:
        """Forget announced usage, and return it: its request is not in the conversation."""
        usage, self._next_usage = self._next_usage, None
        return usage

    def add(self, value: Any, where: str, time_s: float | None = None) -> None:
        """Add an item in the API's form; `time_s` is when it was recorded. Raises InputError if it doesn't fit."""
        kind = value.get("type", "message") if isinstance(value, dict) else None
        if isinstance(kind, str) and kind.startswith(("compaction", "context_compaction")):
            self.compacted()
            return
        if not isinstance(kind, str) or not is_known(kind):
            self.left_out[kind if isinstance(kind, str) else "value that is no item"] += 1
            return
        item = convert(value, ApiItem, where)
        if kind == "message":
            self._message(item, where, time_s)
        elif kind == "agent_message":
            self._from_agent(item)
        elif kind == "reasoning":
            blocks = item.content if isinstance(item.content, list) else [{"text": item.content or ""}]
            text = "\n".join(block["text"] for block in blocks if has(block, text=str))
            self.made(Part("reasoning", text), time_s)
        elif kind == "additional_tools":
            self.assembly.tools += map(compact_json, item.tools or [])
        elif kind.endswith("_output"):
            self.give(_output(item, value.get("output")))
        else:
            self._call(item, value, time_s)

    def close(self) -> None:
        """End the open response, if any, and add the inputs held back since."""
        if self.parts:
            self._size_reasoning()
            self.assembly.response(self.parts, self._usage, self._time_s, self._model, self._comparable)
        waiting = [*self._hosted, *self._inputs]
        self._start_anew()
        for part in waiting:
            self.give(part)

    def forget(self) -> Usage | None:
        """Leave out the open response, and return its usage."""
        usage, self.parts = self._usage, []
        self.close()
        return usage

    def compacted(self, *told: Any) -> None:
        """Add a compaction, as `Assembly.compacted` does."""
        self.close()
        self.assembly.compacted(*told)
        # Requests from here on hold the history of the next segment.
        self.comparable = True

    def finished(self) -> Transcript:
        """End the open response, and return the transcript."""
        self.close()
        return self.assembly.finished()

    def made(self, part: Part, time_s: float | None, goes_on: bool = False) -> None:
        """Add a part that the model made, with its time in epoch seconds. If the log says that the open response
        `goes_on`, it does whatever came between.
        """
        if (self._inputs or self._whole) and not goes_on:
            self.close()
        if not self.parts:
            self._time_s, self._model, self._comparable = time_s, self.model, self.comparable
            self._usage, self._next_usage = self._next_usage, None
        self.parts.append(part)

    def give(self, part: Part) -> None:
        """Add a result or a user text that the model gets with the next request."""
        if self.parts:
            self._inputs.append(part)
        else:
            self.assembly.give(part)

    def _message(self, item: ApiItem, where: str, time_s: float | None) -> None:
        text, media = text_and_media(item.content)
        if item.role == "assistant":
            self.made(Part("assistant", text, media=media), time_s)
        elif item.role not in ("user", "system", "developer"):
            raise InputError(where, f"role '{item.role}' is none of user, assistant, system, developer")
        elif item.role == "user" or self.parts or self.assembly.calls:
            self.assembly.counts[LATER_SYSTEM] += item.role != "user"
            self.give(Part("user", text, media=media))
        else:
            self.assembly.system.append(text)

    def _from_agent(self, item: ApiItem) -> None:
        """Add a message from another agent as an input. Its encrypted blocks can be neither read nor counted."""
        content = item.content if isinstance(item.content, list) else [item.content or ""]
        readable = [block for block in content if not (isinstance(block, dict) and "encrypted_content" in block)]
        if len(readable) < len(content):
            self.left_out["encrypted block of agent_message"] += len(content) - len(readable)
        self.give(Part("user", text_of(readable)))

    def _call(self, item: ApiItem, value: dict[str, Any], time_s: float | None) -> None:
        name = f"{item.namespace or ''}{item.name or item.type.removesuffix('_call')}"
        given = next((value[key] for key in _GIVEN if value.get(key) is not None), "")
        # Without any id, a result of another call could be taken for this one's.
        call_id = item.call_id or item.id or item.type
        self.made(Part("tool_call", compact_json(given), name, call_id), time_s)
        hosted = next((value[key] for key in _HOSTED if value.get(key) is not None), None)
        if hosted is not None:
            self._hosted.append(_result(hosted, call_id))
        elif item.type == "image_generation_call" and value.get("result"):
            # `result` is the image as base64: its tokens count by the image rule.
            self._hosted.append(Part("tool_result", call_id=call_id, media=(Media("image", IMAGE_TOKENS["openai"]),)))

    def _size_reasoning(self) -> None:
        """Give the first unreadable reasoning part the recorded number of reasoning tokens."""
        hidden = [number for number, part in enumerate(self.parts) if part.kind == "reasoning" and not part.text]
        tokens = self._usage.reasoning_tokens if self._usage else None
        if hidden and tokens is None:
            self.assembly.counts[UNSIZED] += 1
        elif hidden and tokens is not None:
            media = (Media("encrypted_reasoning", tokens),)
            self.parts[hidden[0]] = msgspec.structs.replace(self.parts[hidden[0]], media=media)


def is_known(kind: str) -> bool:
    """Return whether items of this type are read: new tools' types end like those of old ones."""
    return kind in ("message", "agent_message", "reasoning", "additional_tools") or kind.endswith(("_call", "_output"))


def _output(item: ApiItem, output: Any) -> Part:
    # The output of a local shell call names its call by `id`, all others by `call_id`.
    call_id = item.call_id or (item.id if item.type == "local_shell_call_output" else None)
    # The output of a tool search is tool definitions.
    return _result(output if item.tools is None else compact_json(item.tools), call_id or "")


def _result(output: Any, call_id: str) -> Part:
    # A single block counts as a list of one.
    text, media = text_and_media([output] if isinstance(output, dict) else output)
    return Part("tool_result", text, call_id=call_id, media=media)


class ApiUsage(Paid, kw_only=True):
    """Usage of a response; `input_tokens` is the whole prompt."""

    input_tokens: int
    output_tokens: int | None = None
    input_tokens_details: Details | None = None
    output_tokens_details: Details | None = None

    def whole(self) -> Usage:
        """Return it as `Usage`."""
        given, made = self.input_tokens_details or Details(), self.output_tokens_details or Details()
        cached = given.cached_tokens, given.cache_write_tokens
        return Usage(self.input_tokens, self.output_tokens, *cached, made.reasoning_tokens, self.usd)


class Document(msgspec.Struct):
    """A request (`input`), a response (`output`), both, or `items` kept by a client."""

    input: str | list[Any] | None = None
    items: list[Any] | None = None
    output: list[Any] | None = None
    instructions: str | list[Any] | None = None
    tools: list[Any] | None = None
    model: str | None = None
    usage: ApiUsage | None = None
    service_tier: Any = None
    tool_usage: Any = None
    created_at: float | None = None

    def whole_usage(self) -> Usage | None:
        """Return the usage of a response, with how it was served and its billed web searches; None without any."""
        searches = under(self.tool_usage, "web_search", "num_requests")
        return as_served(self.usage.whole(), self.service_tier, searches=searches) if self.usage else None


def add_response(exchanges: Exchanges, held: Document, where: str) -> None:
    """Add the items of a response and its usage. Raises InputError for an item that doesn't fit."""
    for number, item in enumerate(held.output or []):
        exchanges.add(item, f"{where} output {number}", held.created_at)
    if usage := held.whole_usage():
        exchanges.usage(usage)


def add_request(exchanges: Exchanges, held: Document, where: str) -> None:
    """Add instructions, tools and the items of a request. Raises InputError for an item that doesn't fit."""
    assembly = exchanges.assembly
    assembly.tools += map(compact_json, held.tools or [])
    if held.instructions:
        assembly.system.append(text_of(held.instructions))
    exchanges.model = held.model or ""
    given = [{"role": "user", "content": held.input}] if isinstance(held.input, str) else held.input or []
    for number, item in enumerate([*given, *(held.items or [])]):
        exchanges.add(item, f"{where} item {number}")
