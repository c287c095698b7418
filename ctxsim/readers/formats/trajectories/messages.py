"""Turns a row's messages into a transcript: finds the texts, the calls in them, and the calls' results.

Documentation: https://huggingface.co/docs/trl/dataset_formats, and the cards of the data sets that `__init__` names.
"""

from collections import Counter as Frequencies
from typing import Any

from ctxsim.readers.assembly import IMAGE_TOKENS, Assembly, Part, text_and_media
from ctxsim.readers.assembly.anthropic_content import add_user_content, has_tool_blocks
from ctxsim.readers.assembly.anthropic_content import response_parts as block_parts
from ctxsim.readers.assembly.chat_messages import Reply
from ctxsim.readers.assembly.text_calls import Run, call_in_text, fenced_command, tagged_call
from ctxsim.readers.formats.trajectories import TEXT_FIELDS, role_of
from ctxsim.readers.source import compact_json, convert, decoded, has

MOST_WITHOUT = 0.1
"""If fenced blocks are commands, at most this share of the responses before a user message has none."""


def add_messages(assembly: Assembly, values: list[Any], where: str, model: str) -> None:
    """Add a row's messages. Raises InputError with the message's number for one that doesn't fit."""
    adding = _Adding(assembly, model, _fenced(values))
    for number, value in enumerate(values):
        adding.message(value, f"{where} message {number}")
    assembly.notes += [f"{count} {what}" for what, count in adding.counts.items()]


class _Adding:
    def __init__(self, assembly: Assembly, model: str, fenced: bool) -> None:
        self.assembly = assembly
        self.model = model
        self.fenced = fenced
        self.run = Run(assembly)
        self.open = 0
        self.counts: Frequencies[str] = Frequencies()

    def message(self, value: dict[str, Any], where: str) -> None:
        role, content = role_of(value), _content(value)
        text, media = text_and_media(content, IMAGE_TOKENS["openai"])
        blocks = has_tool_blocks(content)
        if role in ("system", "developer") and not self.assembly.calls:
            self.assembly.system.append(text)
        elif role in ("system", "developer"):
            self.counts["system message(s) in mid-conversation kept as user texts"] += 1
            self.assembly.user(text)
        elif role == "assistant":
            self._response(value, text, content if blocks else None, where)
        elif role == "call":
            self._response_of(_called(text))
        elif blocks:
            add_user_content(self.assembly, content, where)
        elif role in ("tool", "function"):
            self._result(value, Part("user", text, media=media))
        else:
            self.run.user(text, media)
            self.open = 0

    def _response(self, value: dict[str, Any], text: str, blocks: list[Any] | None, where: str) -> None:
        fields = ("tool_calls", "function_call", "reasoning_content")
        reply = convert({name: value[name] for name in fields if name in value} | {"content": text}, Reply, where)
        parts = block_parts(blocks, where) if blocks else reply.parts()
        if not any(part.kind == "tool_call" for part in parts):
            name = tagged_call(text) or (fenced_command(text) if self.fenced else None)
            reasoning = [part for part in parts if part.kind == "reasoning"]
            if name:
                self.counts["call(s) that stand in the text: the message after each is taken as its result"] += 1
                self._response_of([*reasoning, *call_in_text(text, name)], in_text=True)
                return
        self._response_of(parts)

    def _response_of(self, parts: list[Part], in_text: bool = False) -> None:
        self.open = sum(part.kind == "tool_call" for part in parts)
        self.run.response(parts, model=self.model, answered_by_user=in_text)

    def _result(self, value: dict[str, Any], result: Part) -> None:
        if not self.open:
            self.counts["result(s) without a call in the message before kept as user texts"] += 1
            self.assembly.user(result)
            return
        self.open -= 1
        self.assembly.result(
            result.text, str(value.get("tool_call_id") or ""), str(value.get("name") or ""), result.media
        )


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
        text_and_media(_content(value), 0)[0]
        for value, role, following in zip(values, roles, roles[1:], strict=False)
        if role == "assistant" and following == "user"
    ]
    if not texts or any(tagged_call(text) for text in texts):
        return False
    return sum(fenced_command(text) is None for text in texts) <= MOST_WITHOUT * len(texts)
