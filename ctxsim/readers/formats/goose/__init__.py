"""Goose sessions: the database of all sessions, each message with its content as JSON, and a ledger of usage.

A response with several tool calls is stored as a message for each, every one followed by its result: they share an id.
A compaction hides the old messages from the agent, and adds a summary and a message that tells it to continue, both
hidden from the user.

Documentation: https://block.github.io/goose/docs/guides/sessions/session-management, https://github.com/aaif-goose/goose
(`session/session_manager.rs`, `conversation/message.rs`, `context_mgmt/mod.rs` in `crates/goose/src`)

    sessions       id 20260101_1, session_type user, model_config_json {"model_name": "m", "context_limit": 128000}
    messages       id 1, session_id 20260101_1, role user, content_json [{"type": "text", "text": "Any mail?"}]
    messages       id 2, role assistant, content_json [{"type": "toolRequest", "id": "c1", "toolCall":
                     {"status": "success", "value": {"name": "search", "arguments": {"q": "mail"}}}}]
    messages       id 3, role user, content_json [{"type": "toolResponse", "id": "c1", "toolResult":
                     {"status": "success", "value": {"content": [{"type": "text", "text": "2 messages"}]}}}]
    usage_ledger   session_id 20260101_1, model m, input_tokens 400, output_tokens 20, cost 0.01
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ctxsim.readers.assembly import Assembly, Part, call_part, content_parts, dollars
from ctxsim.readers.assembly.numbers import summed
from ctxsim.readers.assembly.stores import Connection, cell, of_database, row, runs
from ctxsim.readers.formats.goose.stored import Content, Message, Model, Spent, for_agent, ledger_of, messages_of
from ctxsim.readers.source import Sample, Source, under
from ctxsim.transcript import Transcript

NAME = "goose"
TITLE = "Goose sessions"
MARKS = ("sessions",)
VERSIONS = "sessions.db with schema versions 3 to 17, as Goose's source code defines them; not tested on real ones"
READS = (
    "Every session with its sub-agents: texts, thinking, tool calls and results, compactions, times, the model and its "
    "window; usage and costs of requests where there is a ledger of them."
)
NOT_READ = (
    "JSONL sessions of 2025 (Goose imports them), system prompts and tool definitions (not stored), extensions' state; "
    "usage of single requests where the ledger has another number of them than there are responses."
)

_COLUMNS = {
    "sessions": {"id", "created_at", "working_dir"},
    "messages": {"id", "session_id", "role", "content_json", "created_timestamp", "metadata_json"},
}


def matches(sample: Sample) -> bool:
    """A database with Goose's tables of sessions and messages."""
    return sample.has_tables(_COLUMNS)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per session that has messages, in order of time."""
    tables = sample.tables
    parent = "parent_session_id" if "parent_session_id" in tables["sessions"] else "NULL"

    def one(found: Connection, session: str, name: str, parent: str | None) -> Transcript | None:
        messages = messages_of(found, tables, session, name)
        assembly, about = Assembly(name, NAME, parent), row(found, "sessions", "id", session)
        config = about.get("model_config_json")
        model = cell(config, Model, f"{name} model_config_json") if config else Model()
        assembly.window, assembly.cost_usd = model.context_limit, dollars(about.get("accumulated_cost"))
        assembly.project = str(about.get("working_dir") or "")
        ledger = ledger_of(found, tables, session, name)
        return _Reading(assembly, messages, ledger, model.model_name).all() if messages else None

    asked = f"SELECT id, {parent} FROM sessions ORDER BY created_at, id"
    return of_database(source, lambda found: found.execute(asked), one)


_STARTED = {"user's request": "manual", "no longer fits": "auto", "context limit": "auto"}
"""What started a compaction, by a phrase of the message to continue."""


_SUMMARIZED = "summary(s) of tool calls stand where they were written, and the calls that they replaced are kept"


class _Reading:
    def __init__(self, assembly: Assembly, messages: list[Message], ledger: list[Spent], model: str) -> None:
        self.assembly, self.ledger, self.model = assembly, ledger, model
        sent = _sent(messages)
        assembly.left_out["message that only the user sees"] = len(messages) - len(sent)
        self.groups = list(runs(sent, _goes_on))
        self.responses = sum(map(_is_response, self.groups))
        # The ledger is used if it has one line per response: otherwise its lines can't be matched.
        spent, asked = ([one for one in ledger if bool(one.is_compaction) == kind] for kind in (False, True))
        self.requests, matched = len(spent), len(spent) == self.responses
        self.spent, self.asked = iter(spent if matched else ()), iter(asked if matched else ())
        self.whole = True

    def all(self) -> Transcript:
        assembly = self.assembly
        copied = False
        for group, after in pairwise([*self.groups, []]):
            if copied:
                copied = False
            elif _starts_over(group):
                copied = self._compaction(group[0], group[1], after)
            elif _is_response(group):
                self._response(group)
            elif not group[0].shown.user_visible and group[0].only_text:
                assembly.counts[_SUMMARIZED] += 1
                self.whole = False
                assembly.user(group[0].text)
            else:
                self._user(group[0])
        if self.requests not in (0, self.responses):
            stored = f"where {self.responses} response(s) are stored"
            assembly.notes.append(f"usage only as a sum: the ledger has {self.requests} request(s) {stored}")
            # The session's dollars are those of all its requests.
            each = ((one.model or self.model, one.usage) for one in self.ledger)
            known = ((model, usage.costing(None) if assembly.cost_usd else usage) for model, usage in each if usage)
            assembly.totals(summed(known), None)
        return assembly.finished()

    def _compaction(self, summary: Message, word: Message, after: list[Message]) -> bool:
        """Add a compaction. Return whether a copy of the user's last text follows: that text was then kept."""
        assembly = self.assembly
        copied = after[0].text if after and after[0].role == "user" and after[0].only_text else None
        kept = [item.place for item in assembly.items if item.kind == "user" and item.text == copied][-1:]
        started_by = next((by for sign, by in _STARTED.items() if sign in word.text), "")
        assembly.compacted(started_by, (summary.text, word.text), kept)
        asked = next(self.asked, Spent())
        assembly.beside(asked.usage, word.time_s, asked.model or "", summary=True)
        self.whole = True
        return bool(kept)

    def _user(self, message: Message) -> None:
        pieces = [piece for piece in message.content if for_agent(piece.annotations)]
        self.assembly.left_out["text for the user alone"] += len(message.content) - len(pieces)
        parts: list[Part] = []
        for piece in pieces:
            match piece.type:
                case "text":
                    parts += content_parts("user", piece.text)
                case "image":
                    parts += content_parts("user", [{"type": "image"}], "anthropic")
                case "toolResponse":
                    self.assembly.message("tool", _result(piece), piece.id, vendor="anthropic")
                case other:
                    self.assembly.left_out[other] += 1
        self.assembly.user(*parts)

    def _response(self, messages: list[Message]) -> None:
        """Add a response that is one or several messages, with the results between them."""
        said = [piece for message in messages if message.role == "assistant" for piece in message.content]
        parts = [part for piece in said for part in self._made(piece)]
        spent = next(self.spent, Spent())
        self.assembly.response(parts, spent.usage, messages[0].time_s, spent.model or self.model, self.whole)
        for message in messages:
            if message.role == "user":
                self._user(message)

    def _made(self, piece: Content) -> list[Part]:
        match piece.type:
            case "text":
                return content_parts("assistant", piece.text)
            case "thinking" | "reasoning" | "redactedThinking":
                return [Part("reasoning", piece.thinking or piece.text)]
            case "toolRequest" | "frontendToolRequest":
                return [call_part(under(piece.called, "name"), under(piece.called, "arguments"), piece.id)]
            case other:
                self.assembly.left_out[other] += 1
                return []


def _result(piece: Content) -> Any:
    if piece.status == "error":
        return piece.error
    held = piece.result.get("content") if isinstance(piece.result, dict) else piece.result
    return [one for one in held if for_agent(under(one, "annotations"))] if isinstance(held, list) else held


def _sent(messages: list[Message]) -> list[Message]:
    """Return the messages that were ever sent: those before the last compaction, and later ones that the agent sees.

    Hidden messages with tool calls or results are included: a summary of them that was written later hides them.
    """
    last = max((number for number in range(len(messages)) if _starts_over(messages[number : number + 2])), default=-1)
    of_tools = ("toolRequest", "frontendToolRequest", "toolResponse")
    return [
        message
        for number, message in enumerate(messages)
        if number < last or message.shown.agent_visible or any(piece.type in of_tools for piece in message.content)
    ]


def _starts_over(both: list[Message]) -> bool:
    """Return whether these are a compaction's messages: the user's summary, the assistant's message to continue."""
    hidden = all(message.only_text and not message.shown.user_visible for message in both)
    return hidden and [message.role for message in both] == ["user", "assistant"]


def _is_response(group: list[Message]) -> bool:
    return group[0].role == "assistant" and _says_something(group[0])


def _goes_on(group: list[Message], message: Message) -> bool:
    """Return whether a message ends a compaction, is of the same response as a group, or has results of its calls."""
    if not _is_response(group):
        return _starts_over([*group, message])
    if message.role == "assistant":
        return _says_something(message) and (message.id == group[0].id or group[-1].role == "assistant")
    return any(piece.type == "toolResponse" for piece in message.content)


def _says_something(message: Message) -> bool:
    return any(piece.type not in ("systemNotification", "actionRequired") for piece in message.content)
