"""Runs that LangSmith exports: of each trace the requests to a model, with their responses.

Documentation: https://docs.smith.langchain.com/reference/data_formats/run_data_format
"""

from collections import Counter as Frequencies
from collections.abc import Iterator
from typing import Any

import msgspec

from ctxsim.readers.assembly.requests import Caught, Logged
from ctxsim.readers.formats.langchain.messages import Message, add_messages, is_message, kind_and_fields, response_parts
from ctxsim.readers.source import compact_json, convert, time_s, under
from ctxsim.transcript import Usage


class _Run(msgspec.Struct):
    run_type: str
    id: str = ""
    trace_id: str | None = None
    inputs: Any = None
    outputs: Any = None
    start_time: Any = None
    extra: Any = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    child_runs: list[Any] | None = None
    error: str | None = None


def is_run(value: Any) -> bool:
    """Whether a JSON value is a run."""
    return isinstance(value, dict) and isinstance(value.get("run_type"), str) and "inputs" in value


def logged_runs(values: list[Any], where: str, skipped: Frequencies[str]) -> dict[str, list[Logged]]:
    """Return the requests of each trace in order of time; other runs are counted."""
    traces: dict[str, list[Logged]] = {}
    for place, trace, run in _flat(values, where, None):
        if run.run_type != "llm":
            skipped[f"{run.run_type} run"] += 1
            continue
        logged = _logged(run, place, skipped)
        if logged:
            traces.setdefault(trace, []).append(logged)
    for requests in traces.values():
        requests.sort(key=lambda logged: logged.time_s or 0)
    return traces


def _flat(values: list[Any], where: str, trace: str | None) -> Iterator[tuple[str, str, _Run]]:
    for number, value in enumerate(values):
        place = f"{where} run {number}"
        run = convert(value, _Run, place)
        own = trace or run.trace_id or run.id
        yield place, own, run
        yield from _flat(run.child_runs or [], place, own)


def _logged(run: _Run, where: str, skipped: Frequencies[str]) -> Logged | None:
    messages = _message_lists(run.inputs)
    reply = _reply(run.outputs)
    if run.error or not messages or reply is None:
        skipped["llm run that failed" if run.error else "llm run without messages"] += 1
        return None
    caught = Caught()
    add_messages(caught, messages, where, skipped)
    tools = under(run.extra, "invocation_params", "tools")
    caught.tools += map(compact_json, tools if isinstance(tools, list) else [])
    message = convert(kind_and_fields(reply)[1], Message, f"{where} output")
    usage = message.usage
    if usage is None and run.prompt_tokens:
        usage = Usage(run.prompt_tokens, run.completion_tokens)
    # The time is when the request was sent.
    return Logged(where, caught, tuple(response_parts(message)), usage, time_s(run.start_time), message.model)


def _message_lists(inputs: Any) -> list[Any]:
    """Return the messages of a request. Chat models take a batch of message lists, in practice of one."""
    messages = under(inputs, "messages")
    while isinstance(messages, list) and messages and isinstance(messages[0], list):
        messages = messages[0]
    return messages if isinstance(messages, list) else []


def _reply(outputs: Any) -> Any:
    """Return the message of the first generation, or None."""
    found = under(outputs, "generations")
    while isinstance(found, list) and found:
        found = found[0]
    message = under(found, "message")
    return message if is_message(message) else None
