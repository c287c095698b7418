"""Logs of requests and responses, as proxies, client wrappers and SWE-agent write them; each request is a full copy.

Pairs `{"request": …, "response": …}` of chat completions, the Responses API, Anthropic messages or Gemini's
generateContent, one a line, in a list, or alone, also with the two under `body`; or SWE-agent's lines of `type` request
and response. `ctxsim serve` writes such pairs.

Documentation: https://docs.anthropic.com/en/api/messages, https://platform.openai.com/docs/api-reference/chat,
https://platform.openai.com/docs/api-reference/responses, https://ai.google.dev/api/generate-content

    {"request": {"model": "m", "system": "Be brief.", "messages": [{"role": "user", "content": "Any mail?"}]},
     "response": {"model": "m", "content": [{"type": "text", "text": "Two."}],
       "usage": {"input_tokens": 40, "output_tokens": 2}}}
    {"type": "request", "timestamp": "2025-01-01T00:00:00", "request_params": {"model": "m", "messages": []}}
    {"type": "response", "response": {"choices": [{"message": {"role": "assistant", "content": "Two."}}]}}
"""

from collections import Counter as Frequencies
from collections.abc import Iterator
from typing import Any

import msgspec

from ctxsim.readers.assembly.conversations import entries
from ctxsim.readers.assembly.requests.bodies import looks_like_request, pair
from ctxsim.readers.assembly.requests.logged import Logged, transcripts
from ctxsim.readers.source import Record, Sample, Source, convert, decoded, has, time_s, under
from ctxsim.transcript import Transcript

NAME = "request-log"
TITLE = "Request and response log (OpenAI, Anthropic, Gemini, SWE-agent, `ctxsim serve`)"
MARKS = ("request_params", "request")
VERSIONS = "`llm_interactions` of SWE-agent 1.1, and logs of `ctxsim serve`; not tested on real logs of other proxies"
READS = "Requests with system prompt and tools, responses, provider usage and times; one transcript a conversation."
NOT_READ = "Streamed responses (server-sent events), SWE-agent's own estimate of usage, headers."


class _Pair(msgspec.Struct):
    request: dict[str, Any]
    response: Any = None
    # The first of these times that is there is used: that of the request, if the log states it.
    start_time: str | float | None = None
    sent: str | float | None = msgspec.field(default=None, name="request.timestamp")
    timestamp: str | float | None = None
    created_at: str | float | None = None
    # Written by `ctxsim serve`: the session, the request's kind (`main`: one of the conversation), and whether the
    # history before it was shortened.
    session: str = ""
    kind: str = "main"
    compacted: bool = False


class _Line(msgspec.Struct):
    type: str
    request_params: dict[str, Any] | None = None
    response: Any = None
    timestamp: str | float | None = None


def matches(sample: Sample) -> bool:
    """Entries with a `request` that has messages and a `response`, or SWE-agent's `request_params`."""
    values = sample.first if len(sample.records) == 1 and isinstance(sample.first, list) else sample.records
    return any(_is_line(value) or _is_pair(value) for value in values[:3])


def _is_line(value: Any) -> bool:
    return under(value, "type") == "request" and looks_like_request(_body(value.get("request_params")))


def _is_pair(value: Any) -> bool:
    return has(value, response=object) and looks_like_request(_body(value.get("request")))


def _body(value: Any) -> dict[str, Any]:
    """Return what was sent or received: the value, or its `body`, which may be JSON text; {} if it's no object."""
    if isinstance(value, dict) and "body" in value:
        value = decoded(value["body"])
    return value if isinstance(value, dict) else {}


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per conversation."""
    notes: list[str] = []
    yield from transcripts(_logs(entries(sample, notes), notes), source.name, NAME, notes)


def _logs(records: Iterator[Record], notes: list[str]) -> Iterator[Logged]:
    """Yield the pairs; at the end, notes say how many have no response or are of another kind."""
    left_out: Frequencies[str] = Frequencies()
    waiting: tuple[str, _Line] | None = None
    for record in records:
        where, value = record.where, record.value
        if _is_pair(value):
            held = convert(value, _Pair, where)
            times = (held.start_time, held.sent, held.timestamp, held.created_at)
            sent_s = time_s(next((time for time in times if time is not None), None))
            if held.kind != "main":
                left_out[f"request(s) that are not the conversation left out: {held.kind}"] += 1
            elif logged := pair(where, _body(held.request), _body(held.response), sent_s):
                # The creation times in the responses of `ctxsim serve` are made up.
                sent_s = sent_s if held.session else logged.time_s
                yield msgspec.structs.replace(logged, context=held.session, compacted=held.compacted, time_s=sent_s)
            else:
                left_out["request(s) without a recorded response left out"] += 1
        elif _is_line(value):
            left_out["request(s) without a recorded response left out"] += waiting is not None
            waiting = where, convert(value, _Line, where)
        elif waiting and under(value, "type") == "response":
            line = convert(value, _Line, where)
            place, asked = waiting
            waiting = None
            if logged := pair(place, _body(asked.request_params), _body(line.response), time_s(asked.timestamp)):
                left_out["usage record(s) of SWE-agent left out: its own estimate"] += logged.usage is not None
                logged.usage = None
                yield logged
        else:
            left_out["record(s) that are no request or response left out"] += 1
    left_out["request(s) without a recorded response left out"] += waiting is not None
    notes += [f"{count} {what}" for what, count in left_out.items() if count]
