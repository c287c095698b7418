"""Invented logs of three agents, as they lie on a disk: small, with usage and tool results that later calls use."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Json = dict[str, Any]

CALLS = 6
"""Calls of each log."""


def listing(seed: int, step: int) -> str:
    """A tool result with an identifier that the call after the next one names."""
    rows = [f"src/part_{seed}{step}{n}.py  {n * 37 % 900} lines  commit {n * 7919 + step:07x}" for n in range(12)]
    return "\n".join([f"ticket-{seed}{step}93 open", *rows])


def write_logs(folder: Path, count: int = 2) -> Path:
    """Write so many logs each of Codex, Claude Code and a chat API into a folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(1, count + 1):
        _write(folder / f"rollout-{seed}.jsonl", codex(seed))
        _write(folder / f"claude-{seed}.jsonl", claude_code(seed))
        (folder / f"chat-{seed}.json").write_text(json.dumps(openai_chat(seed)))
    return folder


def claude_session(name: str, *asked: str, agent: str = "") -> str:
    """The lines of a Claude Code session, or of its sub-agent's, in which each question gets its answer."""
    lines: list[str] = []
    for turn in asked:
        answer = {"role": "assistant", "id": f"m{turn}", "content": [{"type": "text", "text": f"did {turn}"}]}
        for kind, message in (("user", {"role": "user", "content": turn}), ("assistant", answer)):
            line: Json = {"type": kind, "uuid": str(len(lines)), "sessionId": name, "isSidechain": bool(agent)}
            line |= {"parentUuid": str(len(lines) - 1) if lines else None, "message": message}
            lines.append(json.dumps(line | ({"agentId": agent} if agent else {})))
    return "\n".join(lines) + "\n"


def _write(path: Path, lines: Iterable[Json]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _time(seed: int, step: int) -> str:
    """No two sessions begin in the same millisecond."""
    return f"2026-01-05T09:{step:02}:00.{seed:03}Z"


def codex(seed: int) -> list[Json]:
    """A Codex rollout; each request is 1,000 tokens of hidden head and 300 more per step."""

    def line(kind: str, payload: Json, step: int = 0) -> Json:
        return {"timestamp": _time(seed, step), "type": kind, "payload": payload}

    def said(role: str, kind: str, text: str, step: int) -> Json:
        return line("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}, step)

    def used(step: int) -> Json:
        tokens = {"input_tokens": 1000 + 300 * step, "cached_input_tokens": 900 if step else 0, "output_tokens": 40,
                  "reasoning_output_tokens": 0, "total_tokens": 1040 + 300 * step}  # fmt: skip
        info = {"total_token_usage": {"input_tokens": 1000 * (step + 1) + 300 * step}, "last_token_usage": tokens}
        return line("event_msg", {"type": "token_count", "info": info, "rate_limits": None}, step)

    lines = [
        line("session_meta", {"id": f"thread-{seed}", "cli_version": "0.140.0"}),
        line("turn_context", {"model": "gpt-5"}),
        said("user", "input_text", "Find what is open and close it.", 0),
    ]
    for step in range(CALLS - 1):
        call_id = f"call-{step}"
        arguments = json.dumps({"show": f"ticket-{seed}{step - 2}93" if step > 1 else "all"})
        call = {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": call_id}
        output = {"type": "function_call_output", "call_id": call_id, "output": listing(seed, step)}
        lines += [line("response_item", call, step), used(step), line("response_item", output, step)]
    end = CALLS - 1
    return [*lines, said("assistant", "output_text", f"Closed ticket-{seed}093.", end), used(end)]


def claude_code(seed: int) -> list[Json]:
    """A Claude Code session, one line per message."""
    lines: list[Json] = []

    def add(kind: str, step: int, message: Json) -> None:
        number = len(lines)
        parent = f"{seed}-{number - 1}" if number else None
        lines.append({
            "type": kind, "uuid": f"{seed}-{number}", "parentUuid": parent, "sessionId": f"session-{seed}",
            "timestamp": _time(seed, step), "isSidechain": False, "version": "2.0.0", "message": message,
        })  # fmt: skip

    def answer(step: int, block: Json) -> None:
        usage = {"input_tokens": 5, "cache_read_input_tokens": 900 + 300 * step, "cache_creation_input_tokens": 300,
                 "output_tokens": 40}  # fmt: skip
        message = {"id": f"m{seed}-{step}", "role": "assistant", "model": "claude-sonnet-4-5", "content": [block]}
        message["stop_reason"] = "tool_use" if block["type"] == "tool_use" else "end_turn"
        add("assistant", step, {**message, "usage": usage})

    add("user", 0, {"role": "user", "content": "Find what is open and close it."})
    for step in range(CALLS - 1):
        asked = {"show": f"ticket-{seed}{step - 2}93" if step > 1 else "all"}
        answer(step, {"type": "tool_use", "id": f"t{step}", "name": "Bash", "input": asked})
        result = {"type": "tool_result", "tool_use_id": f"t{step}", "content": listing(seed, step)}
        add("user", step, {"role": "user", "content": [result]})
    answer(CALLS - 1, {"type": "text", "text": f"Closed ticket-{seed}093."})
    return lines


def openai_chat(seed: int) -> list[Json]:
    """The messages of a chat API, without usage."""
    messages: list[Json] = [
        {"role": "system", "content": "You close tickets."},
        {"role": "user", "content": "Find what is open and close it."},
    ]
    for step in range(CALLS - 1):
        arguments = json.dumps({"show": f"ticket-{seed}{step - 2}93" if step > 1 else "all"})
        call = {"id": f"c{step}", "type": "function", "function": {"name": "search", "arguments": arguments}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{step}", "content": listing(seed, step)})
    return [*messages, {"role": "assistant", "content": f"Closed ticket-{seed}093."}]


def sets(folder: Path, more: int) -> None:
    """Two sets of eight sessions: in the second every request has so many tokens more."""
    for side, extra in (("before", 0), ("after", more)):
        (folder / side).mkdir()
        for number in range(8):
            lines = claude_code(1)
            for line in lines:
                line["timestamp"] = line["timestamp"].replace("T09", f"T{number + (10 if extra else 0):02}")
                if usage := line["message"].get("usage"):
                    usage["cache_read_input_tokens"] += extra + number
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / side / f"{number}.jsonl").write_text(text)
