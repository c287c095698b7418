"""mini-swe-agent trajectories (`.traj.json`): chat messages with the provider's response under `extra`.

If the model calls no tool, its command is in one fenced block, and the observation is a user message. The block becomes
the tool call, so that the parts joined are exactly the text, and the observation becomes its result.

Documentation: https://mini-swe-agent.com/latest/usage/output_files/

    {"info": {"mini_version": "2.0.0", "model_stats": {"api_calls": 1}},
     "messages": [
      {"role": "system", "content": "Be brief."},
      {"role": "user", "content": "Any mail?"},
      {"role": "assistant", "content": "I look.\\n\\n```mswea_bash_command\\nls mail\\n```", "extra": {
        "response": {"model": "m", "created": 1700000000, "usage": {"prompt_tokens": 40, "completion_tokens": 9}}}},
      {"role": "exit", "content": "2 messages"}],
     "trajectory_format": "mini-swe-agent-1.1"}
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from msgspec import field

from ctxsim.readers.assembly import Assembly, Part, dollars, text_of
from ctxsim.readers.assembly.chat_messages import ChatUsage, Reply
from ctxsim.readers.assembly.numbers import as_served
from ctxsim.readers.assembly.text_calls import Described, Run, command_parts
from ctxsim.readers.source import Sample, Source, convert, convert_all, has
from ctxsim.transcript import Transcript

NAME = "mini-swe-agent"
TITLE = "mini-swe-agent trajectory"
MARKS = ("trajectory_format", "<returncode>")
VERSIONS = "versions 2.2 and 2.3 (`mini-swe-agent-1.1`), and bare lists of 1.x; not tested on real documents of 1.x"
READS = "Messages, tool calls or fenced commands, reasoning, provider usage and times."
NOT_READ = "The exit message (never sent), raw outputs, configuration, runs through the Responses API."

_BLOCK = re.compile(r"```(bash|mswea_bash_command)\s*\n.*?\n```", re.DOTALL)
SENT_AS_USER = ("user", "developer")
LAST_COMMANDS = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")


class _Message(Reply, kw_only=True):
    role: str
    tool_call_id: str | None = None
    usage: ChatUsage | None = field(default=None, name="extra.response.usage")
    model: str | None = field(default=None, name="extra.response.model")
    service_tier: Any = field(default=None, name="extra.response.service_tier")
    # When the provider began to answer, and when the response had come.
    created: float | None = field(default=None, name="extra.response.created")
    timestamp: float | None = field(default=None, name="extra.timestamp")
    cost: Any = field(default=None, name="extra.cost")


class _Document(Described, kw_only=True):
    messages: list[Any]


def matches(sample: Sample) -> bool:
    """A named `trajectory_format`, or a bare list in which a `<returncode>` text follows a fenced command."""
    value = sample.document
    if isinstance(value, dict):
        return has(value, messages=list) and str(value.get("trajectory_format", "")).startswith("mini-swe-agent")
    return isinstance(value, list) and any(_is_step(command, result) for command, result in pairwise(value))


def _is_step(command: Any, result: Any) -> bool:
    return (
        has(command, content=str)
        and has(result, content=str)
        and (command.get("role"), result.get("role")) == ("assistant", "user")
        and result["content"].startswith("<returncode>")
        and any(commands_in(command["content"]))
    )


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the transcript of a run."""
    value = {"messages": sample.document} if isinstance(sample.document, list) else sample.document
    document = convert(value, _Document, source.name)
    assembly = Assembly(source.name, NAME)
    _add_messages(assembly, convert_all(document.messages, _Message, f"{source.name} message"))
    asked = document.api_calls
    if asked and asked != assembly.calls:
        assembly.notes.append(f"{asked} requests were made, {assembly.calls} responses are recorded")
    assembly.cost_usd = dollars(document.instance_cost)
    yield assembly.finished()


def _add_messages(assembly: Assembly, messages: list[_Message]) -> None:
    called = any(message.tool_calls for message in messages)
    last: list[Part] = []
    run = Run(assembly)
    for message in messages:
        if message.role == "assistant":
            last = _parts(message, called)
            stated = message.usage.whole(message.cost) if message.usage else None
            usage = stated and as_served(stated, message.service_tier)
            time_s = message.timestamp if message.created is None else message.created
            assembly.response(last, usage, time_s, message.model or "")
            run.awaits(() if called else last)
        elif message.role == "exit" or (message is messages[-1] and message.role != "tool" and _ends(last)):
            assembly.notes.append("the exit message left out: it was not sent")
        else:
            role = message.role if message.role in ("system", "tool") else "user"
            unknown = role == "user" and message.role not in SENT_AS_USER
            assembly.counts[f"message(s) of the unknown role '{message.role}' taken for the user's"] += unknown
            run.message(role, message.content, message.tool_call_id or "")
    assembly.notes += ["the tool definition is not recorded"] if called else []


def _ends(parts: list[Part]) -> bool:
    """Return whether a response ends the run with a command whose output is the submission, as in 1.x."""
    return any(part.kind == "tool_call" and any(word in part.text for word in LAST_COMMANDS) for part in parts)


def _parts(message: _Message, called: bool) -> list[Part]:
    if called:
        return message.parts()
    text = text_of(message.content)
    places = list(commands_in(text))
    # The agent answers any other number of commands with an error text.
    return message.parts(command_parts(text, places[0] if len(places) == 1 else None))


def commands_in(text: str) -> Iterator[int]:
    """Yield the positions of the blocks in a text that the agent runs, behind their backquotes."""
    # Beyond the last closing fence each opening one would be followed to the text's end.
    last = text.rfind("\n```") + len("\n```")
    yield from (block.start(1) for block in _BLOCK.finditer(text, 0, last))
