"""Which lines of a Claude Code session are its conversation: the branch it ended on, with all its parallel calls."""

import re
from collections import Counter as Frequencies
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from ctxsim.readers.assembly.anthropic_content import BilledUsage, Inside
from ctxsim.readers.assembly.session_tree import Envelope, branch, tree_lines
from ctxsim.readers.source import Record, has, under
from ctxsim.transcript import Usage

_KNOWN = {"user", "assistant", "system", "attachment"}
"""Types of lines that can be part of the conversation."""


class LineMessage(msgspec.Struct):
    """An Anthropic message; in a response's lines often only one block of it."""

    content: str | list[Any] | None = None
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: BilledUsage | None = None
    context_management: Any = None

    @property
    def cleared(self) -> bool:
        """Whether the server left old tool results out of the request."""
        edits = under(self.context_management, "applied_edits")
        return isinstance(edits, list) and any(str(under(one, "type")).startswith("clear_tool_uses") for one in edits)


class Metadata(msgspec.Struct, rename="camel"):
    """The details in the boundary line of a compaction, or of a clearing of old results."""

    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None
    tokens_saved: int | None = None
    duration_ms: float | None = None
    preserved_segment: Any = None
    preserved_messages: Any = None
    compacted_tool_ids: list[str] = []

    def preserved(self, known: Iterable[str]) -> list[str]:
        """Return the uuids among `known`, in recorded order, of the lines that the compaction kept."""
        order = list(known)
        kept = under(self.preserved_messages, "uuids")
        if isinstance(kept, list) and kept:
            stays = {uuid for uuid in kept if isinstance(uuid, str)}
            return [uuid for uuid in order if uuid in stays]
        first, last = (under(self.preserved_segment, name) for name in ("headUuid", "tailUuid"))
        return order[order.index(first) : order.index(last) + 1] if first in order and last in order else []


_ADDED = ("plan", "planFilePath")


def _since_2_1(version: Any) -> bool:
    numbers = re.match(r"(\d+)\.(\d+)", version) if isinstance(version, str) else None
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= (2, 1)


class Line(Envelope):
    """A line; of a type that isn't in `_KNOWN`, only its place in the tree."""

    message: LineMessage | None = None
    content: Any = None
    attachment: dict[str, Any] | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None
    compact_metadata: Metadata | None = None
    microcompact_metadata: Metadata | None = None
    request_id: Any = None
    # The line of another session that this one copies; or only the session whose response this line copies.
    forked_from: Any = None
    request_session_id: Any = None
    source_tool_use: str | None = msgspec.field(default=None, name="sourceToolUseID")
    # What was sent of an attachment, and the logged request that a response answers.
    rendered: Any = None
    request_ref: Any = None
    wire_tool_inputs: Any = None

    @property
    def kind(self) -> str:
        """Name of the line in notes on lines that are left out."""
        detail = self.subtype if self.type == "system" else (self.attachment or {}).get("type")
        return f"{self.type} {detail}" if detail else self.type

    @property
    def snapshot(self) -> dict[str, Any] | None:
        """The system prompt and tools that an attachment states."""
        told = self.attachment or {}
        return told if told.get("type") == "prompt_snapshot" else None

    @property
    def blocks(self) -> list[Any]:
        content = self.message.content if self.message else None
        if isinstance(content, str):
            return [{"type": "text", "text": content}] if content else []
        return content or []

    def as_sent(self, block: Any) -> Any:
        """Return a block as the model wrote it and later requests hold it. Newer versions log a call's input so beside
        the one that ran, and send it again (github.com/shellicar/tower, claude-code-participant/proof/out/r4). Since
        version 2.1 Claude Code logs a plan, which is in a file, as a part of the call that shows it: recorded requests
        grow by less than such plans.
        """
        written = under(self.wire_tool_inputs, block["id"]) if has(block, id=str) else None
        if isinstance(written, dict):
            return block | {"input": written}
        if under(block, "name") != "ExitPlanMode" or not has(block, input=dict) or not _since_2_1(self.version):
            return block
        return block | {"input": {key: value for key, value in block["input"].items() if key not in _ADDED}}

    @property
    def response(self) -> str:
        """Key that all lines of one response share. A line without ids of message and request is a response alone."""
        ids = (self.message.id if self.message else None), self.request_id
        return " ".join(str(one) for one in ids if one) or f"line {self.line}"

    @property
    def local(self) -> bool:
        """Whether Claude Code wrote this answer itself: it was neither generated nor sent."""
        return bool(self.is_api_error_message) or (self.message is not None and self.message.model == "<synthetic>")

    @property
    def copied(self) -> bool:
        made_by = self.request_session_id if isinstance(self.request_session_id, str) else ""
        return bool(self.forked_from or (made_by and self.session_id and made_by != self.session_id))

    @property
    def calls(self) -> set[str]:
        return {block["id"] for block in self.blocks if has(block, id=str) and under(block, "type") == "tool_use"}

    @property
    def answers(self) -> set[str]:
        """Ids of the tool calls whose results are in this line."""
        results = (block for block in self.blocks if under(block, "type") == "tool_result")
        return {block["tool_use_id"] for block in results if has(block, tool_use_id=str)}

    @property
    def mark(self) -> Hashable:
        """Key that a line shares with its repetitions; None if other lines with the same content could have it too."""
        named = (self.message and self.message.id) or frozenset(self.answers)
        if self.type == "system" or not (named or isinstance(self.timestamp, str)):
            return None
        # If all lines have one time, their content separates them.
        own = named or (self.timestamp, hash(msgspec.json.encode(self.says, order="deterministic")))
        return self.type, self.is_sidechain, own

    @property
    def says(self) -> tuple[Any, ...]:
        """The line's content, which its repetitions share."""
        return self.message, self.content, self.attachment

    @property
    def companion(self) -> bool:
        """Whether this line only came with the result above it: an attachment, or the text that a skill brings."""
        return self.type == "attachment" or (self.type == "user" and self.source_tool_use is not None)


class Recorded(NamedTuple):
    """What a response's lines state last of its request: usage, None if they hold no numbers, the requests that the
    server made for it, thinking tokens, and the model.
    """

    usage: Usage | None
    inside: list[Inside]
    thinking_tokens: int | None
    model: str


def recorded(response: Sequence[Line]) -> Recorded:
    """Return what a response's lines state of its request.

    Output is counted while it streams: only a line with a stop reason has the final number.
    """
    messages = [line.message for line in response if line.message]
    model = next((message.model for message in messages if message.model), "")
    stated = next((message.usage for message in reversed(messages) if message.usage), None)
    if stated is None:
        return Recorded(None, [], None, model)
    usage, inside = stated.asked(model)
    finished = any(message.stop_reason for message in messages)
    made = msgspec.structs.replace(
        usage,
        output_tokens=usage.output_tokens if finished else None,
        output_begun_tokens=None if finished else usage.output_tokens,
        reasoning_tokens=stated.thinking_tokens if finished and not inside else None,
    )
    return Recorded(made if made.input_tokens else None, inside, stated.thinking_tokens, model)


def read_lines(records: Iterable[Record], counts: Frequencies[str], hear: Callable[[Any], object]) -> Iterator[Line]:
    """Yield the lines of a file; `hear` gets the values of those that can't be part of the conversation.

    A resumed session can repeat the lines before it, with the same uuids or under new ones: repetitions are counted,
    and their children become those of the first one.
    """
    known: set[str] = set()
    first: dict[str, str] = {}
    alike: defaultdict[Hashable, list[Line]] = defaultdict(list)
    for line in tree_lines(records, counts, _KNOWN, Line, hear=hear):
        if isinstance(line.parent_uuid, str):
            line.parent_uuid = first.get(line.parent_uuid, line.parent_uuid)
        repeated = line.uuid in known
        if line.uuid and not repeated:
            known.add(line.uuid)
            mark = line.mark
            same = [] if mark is None else alike[mark]
            if earlier := next((one for one in same if one.says == line.says), None):
                repeated, first[line.uuid] = True, earlier.uuid or ""
            else:
                same.append(line)
        if repeated:
            counts["repeated line"] += 1
        else:
            yield line


def conversation(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """Return the lines of the branch that the session ended on, in file order, and the other lines.

    Nearly all forks are parallel calls: a line of a response has as children the next line of the response and its own
    result. So every line of a response on the branch belongs to it, and every result of its calls. A line that lacks
    the id of its request has that of the nearest line before it, or else after it, with its message's id.
    """
    for ordered in (lines, reversed(lines)):
        asked: dict[str, Any] = {}
        for message, line in ((line.message, line) for line in ordered):
            if message and message.id:
                line.request_id = asked[message.id] = line.request_id or asked.get(message.id)
    kept = branch(lines)
    known = [(position, line) for position, line in enumerate(lines) if line.type in _KNOWN]
    on_branch = [line for position, line in known if position in kept]
    responses = {line.response for line in on_branch if line.type == "assistant"}
    calls = {call for _, line in known if line.response in responses for call in line.calls}
    answered = {call for line in on_branch for call in line.answers}
    added: set[str | None] = set()
    for position, line in known:
        of_response = line.type == "assistant" and line.response in responses
        result = line.type == "user" and line.answers & (calls - answered)
        if position not in kept and (of_response or result or (line.companion and line.parent_uuid in added)):
            kept.add(position)
            added.add(line.uuid)
    rest = [line for position, line in known if position not in kept]
    return [line for position, line in known if position in kept], rest
