"""Codex CLI rollouts: the items of the Responses API, wrapped in lines with a time, and events with token counts.

Documentation: https://github.com/openai/codex/blob/main/codex-rs/protocol/src/protocol.rs (RolloutItem) and models.rs

    {"timestamp": "2026-01-05T09:00:00Z", "type": "session_meta", "payload": {"id": "s", "cli_version": "0.140.0"}}
    {"type": "turn_context", "payload": {"model": "gpt-5"}}
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [
      {"type": "input_text", "text": "Build."}]}}
    {"type": "response_item", "payload": {"type": "function_call", "call_id": "c1", "name": "sh", "arguments": "{}"}}
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c1", "output": "ok"}}
    {"type": "token_usage_record", "payload": {"response_id": "r1", "usage": {"input_tokens": 900}}}
    {"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 900}}}}
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, takewhile
from typing import Any

import msgspec
from msgspec import field

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly, Part, kept_and_new, text_of
from ctxsim.readers.assembly.numbers import as_served
from ctxsim.readers.assembly.responses import Exchanges
from ctxsim.readers.formats.codex.lineage import lines, rollout_of
from ctxsim.readers.source import Record, Sample, Source, compact_json, convert, has, time_s, under
from ctxsim.transcript import Item, Kind, Transcript, Usage

AT_ONCE_S = 1.0
"""Most seconds between two successive lines that a fork copies."""

NAME = "codex-rollout"
TITLE = "Codex CLI rollout"
MARKS = ("payload", "thread_id", "git", "instructions")
VERSIONS = "Codex CLI from before 0.40 (bare items) to 0.171"
READS = (
    "Response items, base instructions, models, service tiers, token counts and records of "
    "~/.codex/sessions/**/rollout-*.jsonl, and the other rollout that one goes on."
)
NOT_READ = "Other events (they repeat items for the screen), world states, and the `codex exec --json` stream."


class _Meta(msgspec.Struct):
    id: str = ""
    forked_from_id: str | None = None
    cli_version: str = ""
    cwd: str = ""
    base_instructions: str = field(default="", name="base_instructions.text")
    # Old versions only: the user's instructions, from AGENTS.md.
    instructions: str | None = None
    dynamic_tools: list[Any] | dict[str, Any] | None = None
    parent_thread_id: str | None = None
    # The id of the thread that the user began, in newer versions: a sub-agent's own is another.
    session_id: str | None = None
    # The rollout that this one goes on without a copy of it.
    base: Any = field(default=None, name="history_base")
    source: Any = None


class _Tokens(msgspec.Struct, frozen=True):
    """Token counts in the order of `Usage`; `input_tokens` is the whole prompt, `output_tokens` includes reasoning."""

    input_tokens: int | None = 0
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    reasoning_output_tokens: int | None = None
    total_tokens: int | None = None


class _TokenCount(msgspec.Struct):
    # Also written when only the rate limits change: then all counts are missing or repeated.
    total: _Tokens | None = field(default=None, name="info.total_token_usage")
    last: _Tokens | None = field(default=None, name="info.last_token_usage")
    window: int | None = field(default=None, name="info.model_context_window")
    # Only in the event at the start of a task or a turn.
    started_window: int | None = field(default=None, name="model_context_window")


class _Record(msgspec.Struct):
    """The usage of one response, whether it is in the conversation or not. Not in older versions."""

    response_id: str = ""
    usage: _Tokens | None = None


class _Compacted(msgspec.Struct):
    # `replacement_history` is the whole new history; before 0.50 or so there is only the summary.
    message: str | None = None
    replacement_history: list[Any] | None = None


def matches(sample: Sample) -> bool:
    """Wrapped lines, or the bare header and items of the first versions, or the stream of `codex exec --json`."""
    first = sample.first
    return _is_wrapped(first) or _is_bare(first, sample.records[1:]) or _is_stream(first)


def _is_wrapped(record: Any) -> bool:
    kinds = ("session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state")
    return has(record, type=object, payload=dict) and record["type"] in kinds


def _is_bare(first: Any, rest: list[Any]) -> bool:
    return (
        has(first, id=str, timestamp=str)
        and "type" not in first
        and bool({"instructions", "git"} & first.keys())
        and all(isinstance(record, dict) and {"record_type", "type"} & record.keys() for record in rest)
        and any(record.get("type") in ("message", "reasoning", "function_call") for record in rest)
    )


def _is_stream(record: Any) -> bool:
    return has(record, thread_id=str) and record.get("type") == "thread.started"


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the one transcript of a rollout. Raises InputError for the stream, which isn't a whole recording."""
    if _is_stream(sample.first):
        raise InputError(
            source.name,
            "is the stream of `codex exec --json`, which holds no user texts, no tool arguments and no usage of single "
            "requests; use the session's rollout, ~/.codex/sessions/**/rollout-*.jsonl",
        )
    rollout = _Rollout(source)
    if _is_wrapped(sample.first):
        for line in lines(source, rollout):
            rollout.add_line(*line)
    else:
        for record in source.records(rollout.assembly.notes, session=True):
            rollout.add_bare(record)
    yield rollout.transcript()


class _Rollout(Exchanges):
    def __init__(self, source: Source) -> None:
        super().__init__(Assembly(source.name, NAME))
        self.source = source
        self._meta: _Meta | None = None
        self._totals: set[_Tokens] = set()
        """Sums that were told: some are told again, out of order too."""
        self._recorded: set[_Tokens | str] = set()
        """Responses with a record, and what they used: token counts tell it again."""
        self._tokens = 0
        # Up to 0.58 or so a response's token count stands before its items, later after them and their outputs.
        self._count_first: bool | None = None
        self._calls_before = 0
        # The tier of the settings: it holds from there on, until they are written again.
        self._tier: Any = None
        # Usage that no response has taken: of the summary if a compaction follows.
        self._unused: Usage | None = None
        # Times at which the session's first line and the line before this one were written.
        self._began_s = self._line_s = 0.0
        self._forked = self._copying = self._headed = False

    def add_line(self, kind: str, value: Any, where: str) -> None:
        payload = value.get("payload")
        if written_s := time_s(value.get("timestamp")):
            self._began_s = self._began_s or written_s
            if written_s > max(self._began_s, self._line_s) + AT_ONCE_S:
                self._copied()
            self._line_s = written_s
        match kind:
            case "response_item" if not under(value, "metadata", "delivered_assistant_message"):
                # Written when the item was complete, not when the request started, which isn't recorded.
                self.add(payload, where, written_s)
            case "event_msg":
                self._event(payload, where)
            case "turn_context":
                if has(payload, model=str):
                    self.model = payload["model"]
            case "session_meta":
                self._session(convert(payload, _Meta, where))
            case "compacted":
                self._compacted(convert(payload, _Compacted, where))
            case "token_usage_record":
                self._record(convert(payload, _Record, where))
            case "inter_agent_communication" if has(payload, content=str):
                self.give(Part("user", payload["content"]))
            case _:
                self.left_out[kind] += 1

    def add_bare(self, record: Record) -> None:
        """Add a line of the first versions: the header, or an item without wrapper, or a state."""
        if self._meta is None:
            self._session(convert(record.value, _Meta, record.where))
        elif has(record.value, record_type=object):
            self.left_out[f"record_type {record.value['record_type']}"] += 1
        else:
            self.add(record.value, record.where)

    def transcript(self) -> Transcript:
        if self._headed:
            self._copied()
        # Without the other session's header and a pause, nothing tells what was copied.
        self._outside(self._unused)
        self.close()
        self._outside(self.withdraw())
        assembly, meta = self.assembly, self._meta or _Meta()
        assembly.project, assembly.version = meta.cwd, meta.cli_version
        if base := meta.base_instructions:
            assembly.system.insert(0, base)
        assembly.head_recorded = bool(base)
        said = [item.text for item in assembly.items if item.kind == "user"]
        if meta.instructions and not any(meta.instructions in text for text in said):
            # The first versions sent the user's instructions only in the head.
            assembly.system.append(meta.instructions)
        return self.finished()

    def _session(self, meta: _Meta) -> None:
        if self._meta is None:
            self._meta = meta
            tools = [meta.dynamic_tools] if isinstance(meta.dynamic_tools, dict) else meta.dynamic_tools or []
            self.assembly.tools += map(compact_json, tools)
            self.assembly.parent = _parent(self.source, meta)
            # What a fork copies comes at once, with the other session's header or without it.
            self._forked = self._copying = bool(meta.forked_from_id or self.assembly.parent or meta.base)
        elif meta.id != self._meta.id and (self._forked or not self.assembly.items):
            # Older versions don't name the other session: its header is next to the fork's own.
            # Source: https://github.com/openai/codex/pull/3440.
            self._forked = self._copying = self._headed = True
        elif self._copying:
            self._copied()
        elif meta.cli_version != self._meta.cli_version:
            # Resumed by another version, which may write token counts at the other place.
            self.close()
            self._count_first, self._calls_before = None, self.assembly.calls

    def _copied(self) -> None:
        """End what a fork has copied: the other session's history, with its times and counts written anew.

        Source: https://github.com/ccusage/ccusage/issues/1370 and https://github.com/egoist/waku/pull/145.
        """
        if not self._copying:
            return
        self._copying = False
        self.withdraw()
        self._unused = None
        if self.assembly.calls or self.parts:
            self.close()
            self.assembly.inherited()
        else:
            # A count that stood alone doesn't tell where counts stand.
            self._count_first = None

    def _event(self, payload: Any, where: str) -> None:
        kind = under(payload, "type")
        if kind == "token_count":
            self._count(convert(payload, _TokenCount, where))
        elif kind == "thread_rolled_back":
            self.close()
            self.comparable = False
            call = self.assembly.calls + 1
            self.assembly.notes.append(f"turns were taken back before call {call}; they are kept in the history")
        else:
            if kind == "thread_settings_applied":
                self._tier = under(payload, "thread_settings", "service_tier")
            if kind in ("task_started", "turn_started"):
                self._window(convert(payload, _TokenCount, where).started_window)
            self.left_out[f"event {kind}"] += 1

    def _window(self, logged: int | None) -> None:
        # Codex logs 95 % of the window (openai/codex, core/src/session/turn_context.rs), its first versions all of it.
        if logged:
            whole, rest = divmod(20 * logged, 19)
            self.assembly.window = logged if rest else whole

    def _count(self, count: _TokenCount) -> None:
        last, total = count.last, count.total
        self._window(count.window)
        if last and not last.input_tokens and self.assembly.compacted_now and not self.parts:
            self.assembly.compacted(tokens_after=last.total_tokens or None)
        # After a compaction, one count has no input: an estimate of what is left. The sum grows with each response.
        if last is None or not last.input_tokens or total in self._totals or last in self._recorded:
            self.left_out["event token_count that repeats or has no usage"] += 1
            return
        if total:
            self._totals.add(total)
        if self._count_first is None:
            self._count_first = not self.parts and self.assembly.calls == self._calls_before
        self._served(last)

    def _record(self, record: _Record) -> None:
        usage = record.usage
        if usage is None or not usage.input_tokens or record.response_id in self._recorded:
            self.left_out["token_usage_record that repeats or has no usage"] += 1
            return
        self._recorded.update((usage, record.response_id or usage))
        self._served(usage)

    def _served(self, tokens: _Tokens) -> None:
        self._tokens = (tokens.input_tokens or 0) + (tokens.output_tokens or 0)
        usage = as_served(Usage(*msgspec.structs.astuple(tokens)[:5]), self._tier)
        if self._count_first:
            self._outside(self.announce(usage))
        else:
            self._outside(self._unused)
            self._unused = None if self.usage(usage) else usage

    def _outside(self, usage: Usage | None, summary: bool = False) -> None:
        if usage:
            self.assembly.counts["token count(s) of requests that are not in the recording"] += 1
            self.assembly.beside(usage, self._line_s or None, self.model, summary)

    def _compacted(self, compacted: _Compacted) -> None:
        unused, self._unused = self._unused or self.withdraw(), None
        made = self.parts[-1].text.strip() if self.parts and self.parts[-1].kind == "assistant" else ""
        if made and (compacted.message or "").rstrip().endswith(made):
            # The response is the summary, which some versions log as an item too.
            unused = self.forget()
        self.close()
        history = compacted.replacement_history
        if history is None:
            kept, texts = _newest_user_texts(self.assembly.items), [compacted.message or ""]
        else:
            # Other items, such as an encrypted compaction, have no text.
            values = [value for value in history if isinstance(value, dict)]
            said = [value.get("content") for value in values if value.get("type", "message") == "message"]
            texts = [text_of(content) for content in said]
            # Texts of the head are sent with every request anyway.
            sent: list[tuple[Kind, str]] = [("user", text) for text in texts if text not in self.assembly.system]
            kept, texts = kept_and_new(self.assembly.items, sent)
        self.compacted("", texts, kept, self._tokens or None)
        self._outside(unused, summary=True)


def _newest_user_texts(items: Sequence[Item]) -> list[int]:
    """Return the places of the user texts that Codex sends beside a summary: the newest, of about 20,000 tokens.

    Source: codex-rs/core/src/compact.rs, COMPACT_USER_MESSAGE_MAX_TOKENS, at four bytes a token.
    """
    newest = [item for item in reversed(items) if item.kind == "user"]
    sizes = accumulate(len(item.text.encode(errors="replace")) for item in newest)
    kept = takewhile(lambda pair: pair[1] <= 80_000, zip(newest, sizes, strict=True))
    return [item.place for item, _ in kept][::-1]


def _parent(source: Source, meta: _Meta) -> str | None:
    """Return the parent's rollout if it lies beside this one, else its thread's id; None for a main session."""
    spawned = under(meta.source, "subagent", "thread_spawn", "parent_thread_id")
    thread = meta.parent_thread_id or (spawned if isinstance(spawned, str) else None)
    thread = thread or (meta.session_id if meta.session_id != meta.id else None)
    return (rollout_of(source.files_in, source.place.parent, thread) or thread) if thread else None
