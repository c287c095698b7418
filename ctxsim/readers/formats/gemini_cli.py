"""Gemini CLI sessions: one JSON document with `messages`, from 0.40 on JSONL with updates; results stand in the calls.

Documentation:
https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/services/chatRecordingTypes.ts

    {"sessionId": "s", "projectHash": "h", "kind": "main"}
    {"id": "1", "type": "user", "content": [{"text": "Any mail?"}]}
    {"$set": {"lastUpdated": "2026-05-01T09:00:00Z"}}
    {"id": "2", "type": "gemini", "content": "", "tokens": {"input": 900, "output": 9, "thoughts": 20},
     "toolCalls": [{"id": "c1", "name": "search", "args": {"q": "mail"},
      "result": [{"functionResponse": {"id": "c1", "name": "search", "response": {"output": "2 messages"}}}]}]}
"""

from collections import Counter as Frequencies
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec
from msgspec import field

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly, Part, kept_and_new
from ctxsim.readers.assembly.gemini import api_parts, response_parts, result, user_parts, with_compaction_notes
from ctxsim.readers.assembly.numbers import with_thoughts
from ctxsim.readers.source import Sample, Source, compact_json, convert, has, time_s, under
from ctxsim.readers.source.values import objects
from ctxsim.transcript import Kind, Media, Transcript, Usage

NAME = "gemini-cli"
TITLE = "Gemini CLI session"
MARKS = ("projectHash",)
VERSIONS = "Gemini CLI from October 2025 (JSON) to 0.61 of 2026 (JSONL)"
READS = "User and model messages with their tool calls, results and token counts, of ~/.gemini/tmp/*/chats/."
NOT_READ = "Notices to the user, displayed forms of results, and thought summaries: thoughts count by recorded tokens."


class _ToolCall(msgspec.Struct):
    name: str
    id: str | None = None
    args: Any = None
    # A list of parts, one part, or a text.
    result: Any = None


class _Message(msgspec.Struct):
    type: str
    content: Any = None
    timestamp: Any = None
    model: str | None = None
    # `input` is the whole prompt, `output` excludes thoughts. Zeros where the client knew nothing.
    input: int | None = field(default=None, name="tokens.input")
    output: int | None = field(default=None, name="tokens.output")
    cached: int | None = field(default=None, name="tokens.cached")
    thought: int | None = field(default=None, name="tokens.thoughts")
    thoughts: list[Any] | None = None
    tool_calls: list[_ToolCall] | None = field(default=None, name="toolCalls")

    @property
    def usage(self) -> Usage | None:
        return with_thoughts(self.input, self.output, self.cached, self.thought) if self.input else None


class _Place(msgspec.Struct, frozen=True):
    """A message as JSON, and its place in the file; for a mark, `value` is the messages that it concerns."""

    where: str
    value: Any = None
    mark: str = ""


def matches(sample: Sample) -> bool:
    """A document, or a first line, with the session's id and the hash of its project."""
    first = sample.first
    return has(first, sessionId=str, projectHash=str) and bool({"messages", "startTime", "kind"} & first.keys())


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the one transcript of a session."""
    assembly = Assembly(source.name, NAME)
    recording = _Recording(assembly.left_out)
    for record in sample.all(assembly.notes):
        recording.add(record.value, record.where)
    assembly.parent = _parent(source, recording.header)
    conversation = _Conversation(assembly)
    for place in recording.messages.values():
        conversation.add(place)
    conversation.close()
    for place in recording.taken_back.values():
        conversation.paid(place)
    yield with_compaction_notes(assembly.finished())


def _parent(source: Source, header: dict[str, Any]) -> str | None:
    """Return the parent's file, or else its session id: a sub-agent's file lies in a folder of that name."""
    folder = source.place.parent
    if header.get("kind") != "subagent" or not folder.name:
        return None
    above = source.files_in(folder.parent)
    of_session = (above[file] for file in above if file.startswith("session-") and f"-{folder.name[:8]}." in file)
    return next(of_session, folder.name)


class _Recording(msgspec.Struct):
    """The messages of a session by id, as its updates leave them."""

    left_out: Frequencies[str]
    header: dict[str, Any] = {}
    messages: dict[str, _Place] = {}
    taken_back: dict[str, _Place] = {}
    _gone: set[str] = set()
    _rewritten: dict[str, list[str]] = {}

    def add(self, value: Any, where: str) -> None:
        """Add a header, a message, which replaces an earlier one of its id, or an update."""
        if not isinstance(value, dict):
            self.left_out["value that is no object"] += 1
        elif has(value, **{"$rewindTo": str}):
            # The user went back to before this message: all from it on are no longer sent.
            ids, target = list(self.messages), value["$rewindTo"]
            gone = ids[ids.index(target) if target in self.messages else 0 :]
            self.taken_back |= {key: place for key in gone if not (place := self.messages.pop(key)).mark}
        elif has(value, id=str):
            self.messages[value["id"]] = _Place(where, value)
            self._rewritten.pop(value["id"], None)
            self.taken_back.pop(value["id"], None)
        elif has(value, **{"$set": dict}):
            self._update(value["$set"], where)
        elif "sessionId" in value:
            self.header |= {key: field for key, field in value.items() if key != "messages"}
            self._load(value.get("messages"), where)
        else:
            self.left_out["record without id"] += 1

    def _load(self, messages: Any, where: str) -> None:
        if not isinstance(messages, list | None):
            raise InputError(where, "messages is no list")
        for number, message in enumerate(messages or []):
            place = f"{where} message {number}"
            key = under(message, "id")
            # Without an id of its own, a message is known by its place.
            unique = isinstance(key, str) and key not in self.messages
            self.messages[str(key) if unique else place] = _Place(place, message)

    def _update(self, changed: dict[str, Any], where: str) -> None:
        messages = changed.get("messages")
        if not isinstance(messages, list):
            return
        if not self.messages:
            self._load(messages, where)
            return
        # The agent rewrote its history. The whole history is kept, with a mark at the place.
        rewritten = objects(messages)
        left = {str(message.get("id")): message for message in rewritten}
        known = [key for key, place in self.messages.items() if _is_sent(place.value)]
        gone = {key for key in known if key not in left} - self._gone
        now = {key: self._rewritten.get(key, _outputs(self.messages[key].value)) for key in known}
        masked = [key for key in known if key in left and _outputs(left[key]) != now[key]]
        if gone or masked:
            mark = "compaction" if gone else "masking of tool outputs"
            of = rewritten if gone else [self.messages[key].value for key in masked]
            self.messages[f"{where} mark"] = _Place(where, of, mark)
        self._gone |= gone
        self._rewritten |= {key: _outputs(left[key]) for key in known if key in left}


def _is_sent(message: Any) -> bool:
    return under(message, "type") in ("user", "gemini")


def _outputs(message: Any) -> list[str]:
    """Return the outputs of a message's calls, however they are wrapped."""
    return [
        compact_json(answer.get("response"))
        for call in objects(message, "toolCalls")
        for part in objects(call, "result")
        if isinstance(answer := part.get("functionResponse"), dict) and answer.get("id") == call.get("id")
    ]


class _Conversation(msgspec.Struct):
    assembly: Assembly
    _response: _Message | None = None
    _where: str = ""
    _notice: bool = False
    _comparable: bool = True

    def add(self, place: _Place) -> None:
        if place.mark:
            self.close()
            self._comparable = place.mark == "compaction"
            if self._comparable:
                kept, new = kept_and_new(self.assembly.items, self._history(place))
                self.assembly.compacted("", new, kept)
            else:
                # The outputs of these messages' calls are masked in later requests.
                self.assembly.shortening("recorded masking of tool outputs")
                calls = {str(call.get("id")) for message in place.value for call in message.get("toolCalls") or []}
                self.assembly.cleared_of(calls)
            return
        kind = under(place.value, "type")
        if kind == "user":
            self.close()
            content = convert(place.value, _Message, place.where).content
            self.assembly.user(*user_parts(api_parts(content, place.where)))
        elif kind == "gemini":
            self._gemini(convert(place.value, _Message, place.where), place.where)
        else:
            self._notice = True
            self.assembly.left_out[f"message of type {kind}"] += 1

    def paid(self, place: _Place) -> None:
        """Add what a message that was taken back has cost."""
        self.assembly.left_out["message taken back"] += 1
        if under(place.value, "type") == "gemini":
            message = convert(place.value, _Message, place.where)
            self.assembly.beside(message.usage, time_s(message.timestamp), message.model or "")

    def _history(self, place: _Place) -> Iterator[tuple[Kind, str]]:
        for value in place.value:
            if not _is_sent(value):
                continue
            message = convert(value, _Message, place.where)
            parts = api_parts(message.content, place.where)
            if message.type == "user":
                yield from (("user", part.text) for part in user_parts(parts))
                continue
            said = response_parts([part for part in parts if not part.function_response])
            yield from (("assistant", part.text) for part in said if part.kind == "assistant")
            yield from (("tool_call", compact_json(call.args)) for call in message.tool_calls or [])
            yield from (("tool_result", self._result(call)[0]) for call in message.tool_calls or [])

    def _gemini(self, message: _Message, where: str) -> None:
        before = self._response
        # If a notice came between, a response's calls are written as an empty message of their own.
        if before and self._notice and not (message.content or message.thoughts or message.usage):
            before.tool_calls = [*(before.tool_calls or []), *(message.tool_calls or [])]
            return
        self.close()
        self._response, self._where = message, where

    def close(self) -> None:
        """Add the open response, if there is one, with its results."""
        message, self._response, self._notice = self._response, None, False
        if message is None:
            return
        # Written when the response was complete; the start of the request isn't recorded.
        time, model = time_s(message.timestamp), message.model or ""
        self.assembly.response(self._parts(message), message.usage, time, model, self._comparable)
        for call in message.tool_calls or []:
            text, answer_media = self._result(call)
            if text or answer_media:
                self.assembly.result(text, call.id or "", call.name, answer_media)

    def _parts(self, message: _Message) -> Iterable[Part]:
        thoughts = message.usage.reasoning_tokens if message.usage else None
        if thoughts:
            yield Part("reasoning", media=(Media("encrypted_reasoning", thoughts),))
        elif message.thoughts:
            self.assembly.counts["response(s) with reasoning of unknown size, counted as 0 tokens"] += thoughts is None
            yield Part("reasoning")
        for part in response_parts(api_parts(message.content, self._where)):
            # The content may repeat the calls.
            if part.kind == "assistant" or (part.kind == "tool_call" and not message.tool_calls):
                yield part
        for call in message.tool_calls or []:
            yield Part("tool_call", compact_json(call.args), call.name, call.id or "")

    def _result(self, call: _ToolCall) -> tuple[str, tuple[Media, ...]]:
        parts = api_parts(call.result, self._where)
        answers = [part.function_response for part in parts if part.function_response]
        # The results of other calls of the response can stand here too.
        own = [result(answer, self._where) for answer in answers if answer.id in (call.id, None)]
        others = user_parts(parts)
        texts = [*(text for text, _ in own), *(part.text for part in others if part.text)]
        media = (*(media for _, media in own), *(part.media for part in others))
        return "\n".join(texts), tuple(chain.from_iterable(media))
