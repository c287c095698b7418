"""Claude Code sessions: `~/.claude/projects/<project>/<session>.jsonl`, sub-agents under `<session>/subagents/`.

One API response is several lines of one `message.id` and `requestId`, usually a block each, all with its usage;
results are lines of their own. The lines are a tree, because a session can be rewound, and because parallel calls fork
it.

Documentation: https://code.claude.com/docs/en/sessions (the files; their lines are internal and change with versions)

    {"type": "user", "uuid": "u1", "parentUuid": null, "message": {"role": "user", "content": "Any mail?"}, ...}
    {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "message": {"id": "msg_1", "usage": {"input_tokens": 9,
      "cache_read_input_tokens": 15000}, "content": [{"type": "tool_use", "id": "t1", "name": "Mail", "input": {}}]}}
    {"type": "user", "uuid": "u2", "parentUuid": "a1", "toolUseResult": {},
      "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "2 messages"}]}}
"""

from collections import Counter as Frequencies
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import PurePath
from typing import Any

from ctxsim.readers.assembly import Assembly, Part, session_tree, text_of
from ctxsim.readers.assembly.anthropic_content import add_inside, add_user_content, response_parts, unshown
from ctxsim.readers.assembly.numbers import possible
from ctxsim.readers.assembly.segments import UNLOGGED_CLEARING
from ctxsim.readers.formats.claude_code.stream import is_stream, records_of, values_of
from ctxsim.readers.formats.claude_code.told import ENDINGS, Told
from ctxsim.readers.formats.claude_code.tree import Line, Metadata, conversation, read_lines, recorded
from ctxsim.readers.source import Sample, Source, compact_json, has, time_s, under
from ctxsim.transcript import Media, Transcript

NAME = "claude-code"
TITLE = "Claude Code sessions"
MARKS = ("isSidechain", "leafUuid", "snapshot", "parent_tool_use_id")
VERSIONS = "Claude Code 2.0 to 2.1.332"
READS = (
    "the branch a session ended on, sub-agents as transcripts of their own, attachments whose text is recorded; the "
    "stream of `claude --output-format stream-json`, the Agent SDK, Claude Cowork and claude-code-action"
)
NOT_READ = "toolUseResult and progress (they repeat results), abandoned branches, titles, snapshots, the message queue"

SUMMARISES = "acompact"
"""The agent that writes the summary of a compaction."""

SHRUNK = 0.9
"""A request below this share of the one before was not the whole history. Thinking that isn't resent saves less."""


_ATTACHED: Mapping[str, tuple[str, ...]] = {
    "queued_command": ("prompt",),
    "file": ("content", "file", "content"),
    "nested_memory": ("content", "content"),
    "edited_text_file": ("snippet",),
    "skill_listing": ("content",),
    "invoked_skills": ("skills",),
    "hook_success": ("content",),
    "hook_additional_context": ("content",),
    "hook_blocking_error": ("blockingError", "blockingError"),
    "task_reminder": ("content",),
    "todo_reminder": ("content",),
    "deferred_tools_delta": ("addedLines",),
    "agent_listing_delta": ("addedLines",),
    "mcp_instructions_delta": ("addedBlocks",),
    "read_truncation_notice": ("banner",),
    "total_tokens_reminder": ("text",),
    "silent_turn_reminder": ("text",),
}
"""By type of attachment, the path of the text that the model was sent. Claude Code's frame around it isn't recorded."""

_SENT_HOOKS = ("SessionStart", "UserPromptSubmit", None)
"""Of other hooks the output isn't sent, but for what newer versions render: the code of 2.1.38, and of 1.3 million
attachments of 2.1.215 to 2.1.278 942,000 are hooks' but 100,000 rendered
(github.com/leandrosilvaferreira/claude-agents-view-vscode, src/generated/transcriptShapes.ts)."""


def matches(sample: Sample) -> bool:
    """Lines with uuid, parent, session and sidechain flag, Anthropic content in their messages; titles; or a stream."""
    records = [record for record in values_of(sample) if isinstance(record, dict)]
    if any("systemPayload" in record or has(record.get("message"), parts=object) for record in records):
        return False
    envelope = {"uuid", "parentUuid", "sessionId", "isSidechain"}
    titles = {("summary", "leafUuid"), ("file-history-snapshot", "snapshot")}
    return is_stream(records) or any(
        record.keys() >= envelope or any(record.get("type") == kind and key in record for kind, key in titles)
        for record in records
    )


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the session, then the sub-agents that are in its file. The file of a sub-agent is one transcript."""
    notes: list[str] = []
    counts: Frequencies[str] = Frequencies()
    told = Told(source)
    lines_of = read_lines(records_of(source, sample, notes), counts, told.hear)

    def main_of(session: PurePath, _: str) -> str:
        own = next((above.parent for above in source.place.parents if above.name == "subagents"), session)
        kept = (ending for ending in ENDINGS if source.near([PurePath(f"{own}{ending}")]))
        return f"{session}{next(kept, ENDINGS[0])}"

    found = list(session_tree.conversations(source.name, lines_of, main_of))
    # Some versions write a sub-agent to its own file and to that of its session too.
    once = [one for one in found if one[1] != source.name or not told.has_file(one[0].removeprefix(f"{source.name}#"))]
    if len(once) < len(found):
        notes.append(f"{len(found) - len(once)} sub-agent(s) left out here: they have files of their own")
    for name, parent, lines in once:
        yield _Conversation(name, parent, counts).transcript(lines, notes, told)
        # Notes, counts and costs of the file go to its first conversation.
        notes, counts, told.found, told.cost_usd = [], Frequencies(), {}, None


def _copied(lines: Sequence[Line]) -> int:
    """Return the number of first lines that copy another session: before a fork, a request for a summary, or a question
    by /btw (https://github.com/ccusage/ccusage/issues/913).
    """
    calls = {call for line in lines if line.copied for call in line.calls}
    # Nothing is copied behind a response of the session's own.
    first = takewhile(lambda line: line.copied or line.local or line.type != "assistant", lines)
    if _of_agent(lines, SUMMARISES, "aside_question"):
        marks = [line.type == "user" and not line.answers for line in lines]
    else:
        marks = [line.copied or bool(line.answers & calls) for line in first]
    return max((number for number, mark in enumerate(marks, 1) if mark), default=0)


def _of_agent(lines: Sequence[Line], *names: str) -> bool:
    return any((line.agent_id or "").startswith(names) for line in lines)


def _responses(lines: Iterable[Line]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for line in lines:
        if line.type == "assistant":
            found.setdefault(line.response, []).append(line)
    return found


def _attached(line: Line) -> str | list[Any] | None:
    """Return what an attachment added to the request, as message content; None if it added none or it isn't known."""
    if isinstance(line.rendered, list):
        # Newer versions record it as it was sent.
        sent = [under(one, "content") for one in line.rendered]
        return [one for part in sent for one in (part if isinstance(part, list) else [part]) if one] or None
    attachment = line.attachment or {}
    if attachment.get("type") == "hook_success" and attachment.get("hookEvent") not in _SENT_HOOKS:
        return None
    value = under(attachment, *_ATTACHED.get(str(attachment.get("type")), ("no such field",)))
    if isinstance(value, str):
        return value or None
    if isinstance(value, list) and value:
        if all(isinstance(entry, str) for entry in value):
            return "\n".join(value)
        blocks = all(isinstance(entry, dict) and entry.get("type") in ("text", "image") for entry in value)
        return value if blocks else compact_json(value)
    return None


class _Conversation:
    def __init__(self, name: str, parent: str | None, counts: Frequencies[str]) -> None:
        self.assembly = Assembly(name, NAME, parent)
        self.assembly.left_out = self.counts = +counts
        self.whole_history = True
        self.restoring = False
        self.items_of: dict[str, range] = {}
        self.last_request: tuple[str, int] | None = None

    def transcript(self, lines: Sequence[Line], notes: list[str], told: Told) -> Transcript:
        kept, rest = conversation(lines)
        responses = _responses(kept)
        first = next((line for line in kept if line.type in session_tree.CHAT), None)
        self.assembly.project, self.assembly.version = session_tree.where(kept)
        if first and first.type == "assistant":
            self.assembly.notes.append("starts with a response: what its request held is not in the file")
        copied = _copied(kept)
        for line in kept[:copied]:
            self._add(line, responses)
        if self.assembly.calls:
            self.assembly.inherited()
            self.items_of, self.last_request = {}, None
        if _of_agent(kept, SUMMARISES):
            for response in responses.values():
                self._paid(response, summary=True)
            kept = kept[:copied]
        for line in kept[copied:]:
            self._add(line, responses)
        # Responses of abandoned branches were paid for too.
        abandoned = _responses(line for line in rest if not (line.local or line.copied))
        for response in [*abandoned.values(), *([line] for line in told.responses())]:
            self._paid(response)
        for line in rest:
            self.counts["line of an abandoned branch" if line.type in session_tree.CHAT else line.kind] += 1
        answers = (line for line in kept[copied:] if line.type == "assistant" and not line.local)
        self.assembly.system, self.assembly.tools = told.head(next(answers, None), kept)
        self.assembly.cost_usd = told.cost_usd
        self.assembly.notes += notes
        return self.assembly.finished()

    def _add(self, line: Line, responses: dict[str, list[Line]]) -> None:
        start = len(self.assembly.items)
        # A response is added at its first line: results of parallel calls come between its lines.
        of_response = responses.pop(line.response, []) if line.type == "assistant" else []
        match line.type:
            case "assistant":
                self._response(of_response)
            case "user":
                self._user(line)
            case "system":
                self._system(line)
            case _:
                self._attachment(line)
        for each in of_response or [line]:
            self.items_of.setdefault(each.uuid or "", range(start, len(self.assembly.items)))

    def _response(self, lines: list[Line]) -> None:
        if not lines:
            return
        if lines[0].local:
            self.counts["local message, not generated"] += len(lines)
            return
        self.restoring = False
        self.counts["assistant line without a message"] += sum(line.message is None for line in lines)
        # The end of the first block; the start of the request isn't recorded.
        usage, inside, thinking, model, when = *recorded(lines), time_s(lines[0].timestamp)
        add_inside(self.assembly, inside, when, model)
        if usage:
            if possible(usage.input_tokens):
                self._compare(model, usage.input_tokens)
            self.counts["output token count of an unfinished response"] += usage.output_begun_tokens is not None
        cleared = any(line.message and line.message.cleared for line in lines)
        self.assembly.counts["request(s) without old tool results, by the server"] += cleared
        self.assembly.response(
            self._parts(lines, thinking),
            usage,
            when,
            model,
            self.whole_history and not cleared,
        )

    def _paid(self, response: Sequence[Line], summary: bool = False) -> None:
        usage, inside, _, model, when = *recorded(response), time_s(response[0].timestamp)
        self.assembly.beside(usage, when, model, summary)
        add_inside(self.assembly, inside, when, model)

    def _compare(self, model: str, tokens: int) -> None:
        """Note a request that is much smaller than the one before it: some clearings leave no line in the file."""
        last_model, last_tokens = self.last_request or ("", 0)
        call = self.assembly.calls + 1
        told = any(call == known for known, _ in self.assembly.shortened)
        if self.whole_history and not told and model == last_model and tokens < SHRUNK * last_tokens:
            self.assembly.shortening(UNLOGGED_CLEARING, f"{last_tokens} to {tokens} tokens")
        self.last_request = (model, tokens)

    def _parts(self, lines: list[Line], thinking_tokens: int | None) -> list[Part]:
        parts: list[Part] = []
        blocks: list[Any] = []
        for line in lines:
            # Some versions repeat earlier blocks in the later lines of a response.
            new = [block for block in line.blocks if block not in blocks]
            blocks += new
            for block in new:
                kind = under(block, "type")
                if kind == "redacted_thinking" or (kind == "thinking" and not block.get("thinking")):
                    # Encrypted: known by its tokens only, which are recorded once for the whole response.
                    recorded = (Media("encrypted_reasoning", thinking_tokens),) if thinking_tokens else ()
                    thinking_tokens = None
                    parts.append(Part("reasoning", media=recorded or unshown("", under(block, "signature"))))
                elif kind == "fallback":
                    self.counts["marker of a change of model"] += 1
                else:
                    parts += response_parts([line.as_sent(block)], f"{self.assembly.name}:{line.line}")
        return parts

    def _user(self, line: Line) -> None:
        if line.is_compact_summary:
            self._summary(line)
        elif line.is_visible_in_transcript_only:
            self.counts["user line for display only"] += 1
        elif line.message:
            self.restoring = False
            add_user_content(self.assembly, line.message.content, f"{self.assembly.name}:{line.line}")
        else:
            self.counts["user line without a message"] += 1

    def _system(self, line: Line) -> None:
        match line.subtype:
            case "compact_boundary":
                self._compaction(line, line.compact_metadata or Metadata())
            case "microcompact_boundary" if self.assembly.calls:
                metadata = line.microcompact_metadata or Metadata()
                saved = f"{metadata.tokens_saved} tokens saved" if metadata.tokens_saved else ""
                self.assembly.shortening("recorded clearing of old tool results", saved)
                # If the cleared results are known, the requests from here on are known too.
                self.whole_history = self.assembly.cleared_of(metadata.compacted_tool_ids)
            case "local_command" if isinstance(line.content, str):
                self.assembly.user(line.content)
            case _:
                self.counts[line.kind] += 1

    def _attachment(self, line: Line) -> None:
        content = _attached(line)
        if content is None:
            self.counts[line.kind] += line.snapshot is None
        elif self.restoring:
            # A file that is attached again stands in place of the history, as the summary does.
            self.assembly.compacted(summary=[text_of(content)])
        else:
            add_user_content(self.assembly, content, f"{self.assembly.name}:{line.line}")

    def _compaction(self, line: Line, metadata: Metadata) -> None:
        """Add a compaction. Requests from here on are comparable again: with the new segment."""
        kept = [place for uuid in metadata.preserved(self.items_of) for place in self.items_of[uuid]]
        seconds, ended_s = metadata.duration_ms and metadata.duration_ms / 1000, time_s(line.timestamp)
        sizes = metadata.pre_tokens, metadata.post_tokens
        began_s = None if ended_s is None else ended_s - (seconds or 0)
        self.assembly.compacted(metadata.trigger, (), kept, *sizes, seconds, began_s)
        self.whole_history, self.last_request = True, None

    def _summary(self, line: Line) -> None:
        text = text_of(line.message.content if line.message else None)
        if not self.assembly.compacted_now:
            self._compaction(line, Metadata())
        self.assembly.compacted(summary=[text])
        self.restoring = bool(self.assembly.calls)
