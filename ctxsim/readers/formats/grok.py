"""Grok CLI sessions: `chat_history.jsonl` of items like those of the Responses API, by themselves or in their folder.

Documentation: https://docs.x.ai (Grok Build; the format itself is not documented)

    {"type": "system", "content": "Be brief."}
    {"type": "user", "content": [{"type": "text", "text": "Any mail?"}], "prompt_index": 0}
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look."}], "encrypted_content": "..."}
    {"type": "assistant", "content": "", "model_id": "m",
     "tool_calls": [{"id": "c1", "name": "search", "arguments": "{}"}]}
    {"type": "tool_result", "tool_call_id": "c1", "content": "2 messages"}
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxsim.readers.assembly import Assembly, Part, text_of
from ctxsim.readers.assembly.chat_messages import Reply
from ctxsim.readers.source import Sample, Source, convert
from ctxsim.transcript import Transcript

NAME = "grok"
TITLE = "Grok CLI sessions"
MARKS = ("model_id", "prompt_index")
VERSIONS = "chat format 1 (2026)"
READS = "The system prompt, user texts, responses and tool results; folders inside the session's folder as children."
NOT_READ = "Calls that the provider makes itself, encrypted reasoning; tool definitions, usage and times are not there."

HISTORY_FILE = "chat_history.jsonl"

_TYPES = ("system", "user", "reasoning", "assistant", "tool_result", "backend_tool_call")


class _Line(Reply, kw_only=True):
    type: str
    tool_call_id: str = ""
    model_id: str = ""
    encrypted_content: str | None = None
    summary: list[Any] | None = None


def owns(folder: Path) -> bool:
    """Whether a folder is a session's."""
    return (folder / HISTORY_FILE).is_file() and (folder / "summary.json").is_file()


def matches(sample: Sample) -> bool:
    """Lines of the known types, without fields of other formats, of which one has `model_id` or `prompt_index`."""
    records = sample.records
    return (
        sample.document is None
        and all(isinstance(record, dict) and record.get("type") in _TYPES for record in records)
        and not any({"message", "uuid", "timestamp", "data"} & record.keys() for record in records)
        and any({"model_id", "prompt_index"} & record.keys() for record in records)
    )


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the transcript of a session, and those of the sessions in folders below it."""
    if not sample.folder:
        yield _one(source, None)
        return
    for path in sorted(sample.folder.rglob(HISTORY_FILE), key=lambda path: (len(path.parts), path)):
        main = path.parent == sample.folder
        name = source.name if main else f"{source.name}/{path.parent.relative_to(sample.folder)}"
        yield _one(Source(name, path), None if main else source.name)


def _one(source: Source, parent: str | None) -> Transcript:
    assembly = Assembly(source.name, NAME, parent)
    reasoning: list[Part] = []
    for _, value, where in assembly.lines(source, _TYPES):
        line = convert(value, _Line, where)
        if line.type in ("user", "system") and reasoning:
            # The response was stopped before it said anything.
            assembly.response(reasoning)
            reasoning = []
        match line.type:
            case "user" | "system":
                assembly.message(line.type, line.content)
            case "reasoning":
                said = ""
                if line.encrypted_content:
                    # The encrypted original is sent again, not its summary, which the user sees.
                    assembly.left_out["summary of encrypted reasoning, whose size is not recorded"] += 1
                else:
                    summary = [{**block, "type": "text"} for block in line.summary or [] if isinstance(block, dict)]
                    said = text_of(summary)
                reasoning.append(Part("reasoning", said))
            case "assistant":
                # A request has one response, whose reasoning stands before it.
                assembly.response([*reasoning, *line.parts()], model=line.model_id)
                reasoning = []
            case "tool_result":
                assembly.message("tool", line.content, line.tool_call_id)
            case "backend_tool_call":
                assembly.left_out["call that the provider made itself, without its result"] += 1
    if reasoning:
        assembly.response(reasoning)
    return assembly.finished()
