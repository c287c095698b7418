"""SWE-agent trajectories (`.traj`): the conversation is `history`; `trajectory` repeats it step by step.

Without function calling (0.x, and 1.x on demand) a command is in the response's text, and its observation is a user
message. The text from the command's first word on becomes the tool call, so that the parts joined are exactly the text;
the observation becomes its result.

Documentation: https://swe-agent.com/latest/usage/trajectories/

    {"history": [
      {"role": "system", "content": "Be brief.", "agent": "main"},
      {"role": "user", "content": "Any mail?", "agent": "main"},
      {"role": "assistant", "content": "I look.\\n```\\nls mail\\n```", "thought": "I look.", "action": "ls mail\\n"},
      {"role": "user", "content": "2 messages", "agent": "main"}],
     "trajectory": [], "info": {"model_stats": {"api_calls": 1}}}
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from ctxsim.readers.assembly import Assembly, dollars, text_of
from ctxsim.readers.assembly.chat_messages import Reply
from ctxsim.readers.assembly.text_calls import Described, Run, command_parts
from ctxsim.readers.source import Sample, Source, compact_json, convert, convert_all, has
from ctxsim.transcript import Transcript

NAME = "swe-agent"
TITLE = "SWE-agent trajectory"
MARKS = ("history",)
VERSIONS = (
    "versions 0.x of 2024 and 1.x, with commands in the text or function calls; not tested on real attempts and "
    "sub-agents"
)
READS = "`history` of each agent, of each attempt, with demonstrations and thinking."
NOT_READ = "`trajectory` and its `query` (copies), what history processors cut, run totals of usage (none per call)."


class _Entry(Reply, kw_only=True):
    role: str
    action: str | None = None
    agent: str = ""
    is_demo: bool | None = None
    message_type: str = ""
    tool_call_ids: list[str] | None = None


class _Attempt(Described, kw_only=True):
    history: list[Any]


def matches(sample: Sample) -> bool:
    """An object whose `history` holds chat messages, with `trajectory` beside it or agents named in it."""
    value = sample.document
    first: list[Any] = value["history"][:3] if has(value, history=list) else [None]
    return all(has(entry, role=str) for entry in first) and (
        has(value, trajectory=list) or any({"agent", "message_type"} & entry.keys() for entry in first)
    )


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return a transcript per attempt and agent; the first agent of an attempt is the parent of the others."""
    document = sample.document
    attempts = document.get("attempts")
    if not isinstance(attempts, list) or not attempts:
        yield from _attempt(source.name, source.name, document)
        return
    for number, attempt in enumerate(attempts, 1):
        # The document's own `history` repeats the chosen attempt.
        yield from _attempt(f"{source.name}#attempt-{number}", f"{source.name} attempt {number}", attempt)


def _attempt(name: str, where: str, value: Any) -> Iterator[Transcript]:
    attempt = convert(value, _Attempt, where)
    entries = convert_all(attempt.history, _Entry, f"{where} message")
    agents = list(dict.fromkeys(entry.agent for entry in entries)) or [""]
    for agent in agents:
        first = agent == agents[0]
        assembly = Assembly(name if first else f"{name}#{agent}", NAME, None if first else name)
        own = [entry for entry in entries if entry.agent == agent]
        assembly.version = "1.x" if any(entry.message_type for entry in own) else "0.x"
        _add_history(assembly, own)
        assembly.cost_usd = dollars(attempt.instance_cost) if first else None
        if any(entry.tool_calls for entry in own):
            assembly.notes.append("the tool definitions are not recorded")
        if attempt.tokens_sent and first:
            # 0.x sent only the last five observations in full; the totals of the known runs fit that.
            assembly.notes.append(
                f"usage is recorded as totals only: {attempt.tokens_sent} tokens sent in {attempt.api_calls} requests; "
                "history processors may have shortened what was sent"
            )
        yield assembly.finished()


def _add_history(assembly: Assembly, entries: list[_Entry]) -> None:
    counts, run = assembly.counts, Run(assembly)
    for entry in entries:
        text = text_of(entry.content)
        if entry.is_demo:
            counts["message(s) of a demonstration are part of every request: kept in the system prompt"] += 1
            calls = [
                compact_json({"function": msgspec.to_builtins(call.function), "id": call.id})
                for call in entry.tool_calls or []
            ]
            assembly.system.append("\n".join([text, *calls]))
        elif entry.role == "assistant" and _is_exit(entry, text):
            counts["message(s) with which the agent gave up left out: no model made them"] += 1
        elif entry.role == "assistant":
            at = _command_place(text, (entry.action or "").strip())
            parts = entry.parts() if entry.tool_calls else entry.parts(command_parts(text, at))
            if entry.action and entry.action.strip() and not any(part.tool for part in parts):
                counts["command(s) not found in the text of their response: observations kept as user texts"] += 1
            assembly.response(parts)
            run.awaits(parts)
        elif entry.role in ("system", "tool", "user"):
            call_id = next(iter(entry.tool_call_ids or []), "")
            run.message(entry.role, entry.content, call_id, "anthropic")
        else:
            counts["message(s) of an unknown role left out"] += 1


def _is_exit(entry: _Entry, text: str) -> bool:
    """Return whether 0.x wrote this message itself when it gave up: `exit_context`, `exit_cost`, `exit_error`, …"""
    action = (entry.action or "").strip()
    return action.startswith("exit_") and action not in text


def _command_place(text: str, command: str) -> int | None:
    """Return a command's position in its response: in the last fence or tag that opens with it, else its last one."""
    if not command:
        return None
    for before in ("```\n", "<command>\n", ""):
        if (at := text.rfind(before + command)) >= 0:
            return at + len(before)
    return None
