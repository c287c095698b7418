"""Zed's agent: the database `threads.db`, each thread a JSON document, mostly compressed.

A message of the agent is one response with the results of its calls. Requests after a summary begin with the user's
messages before it, the newest up to 80,000 bytes. Its request is part of the thread's tokens.

Documentation: https://github.com/zed-industries/zed (`crates/agent/src/db.rs`, `crates/agent/src/thread.rs`)

    threads   id t1, parent_id NULL, folder_paths /src/app, updated_at 2026-09-01T12:00:00Z, data_type json, data
      {"version": "0.3.0", "model": {"provider": "anthropic", "model": "m"}, "cumulative_token_usage": {
         "input_tokens": 50, "output_tokens": 40, "cache_read_input_tokens": 100},
       "messages": [{"User": {"id": "u1", "content": [{"Text": "Any mail?"}]}},
         {"Agent": {"content": [{"ToolUse": {"id": "c1", "name": "grep", "raw_input": "{}"}}],
                    "tool_results": {"c1": {"tool_name": "grep", "content": [{"Text": "2 mails"}]}}}}]}
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly, Part, text_and_media
from ctxsim.readers.assembly.anthropic_content import unshown
from ctxsim.readers.assembly.numbers import in_parts
from ctxsim.readers.assembly.stores import Connection, cell, of_database, row
from ctxsim.readers.source import Sample, Source, compact_json, time_s, under
from ctxsim.readers.source.values import objects
from ctxsim.transcript import Transcript, Usage

NAME = "zed"
TITLE = "Zed's threads"
MARKS = ("threads",)
VERSIONS = "threads.db with threads of version 0.3, as Zed's source code of 2026 defines them; not tested on real ones"
READS = "Every thread with its sub-agents: texts, thinking, calls, results, summaries, sum of tokens, last model."
NOT_READ = "Not stored: system prompts, tools, times and models of responses. Tags around what a user attached."

_COLUMNS = {"threads": {"id", "summary", "updated_at", "data_type", "data"}}
_KEPT_BYTES = 80_000
_SUMMARY = "The previous conversation was compacted. Use this summary as context:\n\n"


class _Tokens(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    def usage(self) -> Usage:
        return in_parts(
            self.input_tokens, self.output_tokens, self.cache_read_input_tokens, self.cache_creation_input_tokens
        )


class _Thread(msgspec.Struct):
    version: str
    messages: list[Any]
    model: Any = None
    cumulative_token_usage: _Tokens = msgspec.field(default_factory=_Tokens)
    request_token_usage: dict[str, _Tokens] = {}


def matches(sample: Sample) -> bool:
    """A database with Zed's table of threads."""
    return sample.has_tables(_COLUMNS)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per thread that has messages, in order of their last change."""
    parent_of = "parent_id" if "parent_id" in sample.tables["threads"] else "NULL"

    def one(found: Connection, thread: str, name: str, parent: str | None) -> Transcript | None:
        about = row(found, "threads", "id", thread)
        data = about.get("data")
        kept = cell(Source(name, data=data).content() if isinstance(data, bytes) else data, _Thread, name)
        if not kept.version.startswith("0.3"):
            raise InputError(name, f"has a form of Zed's other versions ({kept.version}), which isn't read")
        made = Assembly(name, NAME, parent)
        made.project = str(about.get("folder_paths") or "").partition("\n")[0]
        _add(made, kept)
        if kept.cumulative_token_usage.output_tokens:
            made.notes.append("usage only as a sum")
            made.totals({_model(kept): kept.cumulative_token_usage.usage()}, time_s(about.get("updated_at")))
        return made.finished() if kept.messages else None

    listed = f"SELECT id, {parent_of} FROM threads ORDER BY updated_at, rowid"
    return of_database(source, lambda found: found.execute(listed), one)


def _model(thread: _Thread) -> str:
    return str(under(thread.model, "model") or "")


def _add(made: Assembly, thread: _Thread) -> None:
    """Add a thread's messages. Of each turn the log states the tokens of the last request."""
    flat = [next(iter(one.items()), ("", None)) if isinstance(one, dict) else (one, None) for one in thread.messages]
    turn, last = "", dict[str, int]()
    for at, (kind, body) in enumerate(flat):
        turn = str(under(body, "id")) if kind == "User" else turn
        last |= {turn: at} if kind == "Agent" else {}
    stated = {last[turn]: tokens.usage() for turn, tokens in thread.request_token_usage.items() if turn in last}
    sizes: dict[int, int] = {}
    by_user = False
    for at, (kind, body) in enumerate(flat):
        match kind:
            case "User":
                shown, media = text_and_media([_block(one) for one in objects(body, "content")], "anthropic")
                # Before a summary that the user asked for stands an empty message.
                by_user = not (shown or media)
                if not by_user:
                    sizes[len(made.items)] = len(shown.encode())
                    made.user(Part("user", shown, media=media))
            case "Agent":
                _response(made, body, stated.get(at), _model(thread))
            case "Resume":
                made.user("Continue where you left off")
            case "Compaction":
                summary = under(body, "Summary")
                said = [f"{_SUMMARY}{summary}"] if summary else []
                made.compacted("manual" if by_user else "auto", said, _kept(sizes) if summary else ())
            case _:
                made.left_out["message of an unknown form"] += 1


def _kept(sizes: Mapping[int, int]) -> Iterator[int]:
    """Yield the places of the user's newest messages that fit; Zed also sends the beginning of the one before."""
    left = _KEPT_BYTES
    for place in sorted(sizes, reverse=True):
        left -= sizes[place]
        if left < 0:
            return
        yield place


def _response(made: Assembly, body: Any, usage: Usage | None, model: str) -> None:
    results = under(body, "tool_results")
    results = results if isinstance(results, dict) else {}
    parts: list[Part] = []
    for one in objects(body, "content"):
        thought, call = under(one, "Thinking"), under(one, "ToolUse")
        if isinstance(thought, dict):
            text = str(thought.get("text") or "")
            parts.append(Part("reasoning", text, media=unshown(text, thought.get("signature"))))
        elif text := under(one, "Text"):
            parts.append(Part("assistant", str(text)))
        elif (call_id := str(under(call, "id"))) in results:
            given = under(call, "raw_input") or compact_json(under(call, "input"))
            parts.append(Part("tool_call", str(given), str(under(call, "name") or ""), call_id))
        else:
            made.left_out["piece of a response that isn't sent again, or hidden"] += 1
    if not parts:
        return
    made.response(parts, usage, None, model)
    for call_id, result in results.items():
        content = under(result, "content")
        blocks = [_block(one) for one in (content if isinstance(content, list) else [content])]
        made.message("tool", blocks, call_id, str(under(result, "tool_name") or ""), "anthropic")


def _block(piece: Any) -> dict[str, Any]:
    """Return a piece of content as a block of Anthropic's API."""
    if under(piece, "Image"):
        return {"type": "image"}
    text = piece if isinstance(piece, str) else under(piece, "Text") or under(under(piece, "Mention"), "content")
    return {"type": "text", "text": str(text or "")}
