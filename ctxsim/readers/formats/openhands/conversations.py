"""OpenHands conversations of its SDK, which its CLI and its server keep: a folder with the state and one file an event.

The actions of one response share its id. The state has the usage of each response by that id, that of summaries and of
sub-agents too. A condensation names the events that requests from there on lack.

Documentation: https://github.com/OpenHands/software-agent-sdk (`event`, `llm/utils/metrics.py` in
`openhands-sdk/openhands/sdk`, `openhands-tools/openhands/tools/terminal/definition.py`)

    events/event-00000-1.json  {"kind": "SystemPromptEvent", "id": "1", "system_prompt": {"text": "Be brief."}}
    events/event-00001-2.json  {"kind": "MessageEvent", "id": "2", "source": "user", "llm_message": {"role": "user",
      "content": [{"type": "text", "text": "Any mail?"}]}}
    events/event-00002-3.json  {"kind": "ActionEvent", "id": "3", "source": "agent", "llm_response_id": "r1",
      "thought": [], "tool_call": {"id": "c1", "name": "terminal", "arguments": "{}"}}
    events/event-00003-4.json  {"kind": "ObservationEvent", "id": "4", "tool_call_id": "c1", "observation": {
      "kind": "TerminalObservation", "content": [{"type": "text", "text": "2 messages"}]}}
    base_state.json  {"stats": {"usage_to_metrics": {"agent": {"token_usages": [
      {"model": "m", "prompt_tokens": 40, "completion_tokens": 2, "response_id": "r1"}]}}}}
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import field

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly, Part, content_parts, kept_and_new, text_and_media
from ctxsim.readers.assembly.anthropic_content import unshown
from ctxsim.readers.assembly.numbers import of_prompt
from ctxsim.readers.assembly.responses import Exchanges
from ctxsim.readers.source import Sample, Source, compact_json, has, json_file, time_s, under
from ctxsim.readers.source.values import objects
from ctxsim.transcript import Kind, Transcript, Usage

NAME = "openhands-sdk"
TITLE = "OpenHands conversations"
MARKS = ("stats",)
VERSIONS = "conversations of OpenHands SDK 1, as its source code defines them; not tested on real ones"
READS = "Messages, actions, observations as sent, condensations, system prompts, usage, dollars and times of responses."
NOT_READ = "Conversations of sub-agents (their usage stands beside), states, tokens, encrypted reasoning."

STATE_FILE = "base_state.json"


class _Spent(msgspec.Struct):
    response_id: str = ""
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    usd: Any = None

    def whole(self) -> Usage | None:
        """Return it as `Usage`; None if no input was counted."""
        if not self.prompt_tokens:
            return None
        cached = self.cache_read_tokens, self.cache_write_tokens
        usage = of_prompt(self.prompt_tokens, self.completion_tokens, *cached, cost=self.usd)
        return msgspec.structs.replace(usage, reasoning_tokens=self.reasoning_tokens)


class _Latency(msgspec.Struct):
    response_id: str = ""
    latency: float = 0.0


class _Metrics(msgspec.Struct):
    token_usages: list[_Spent] = []
    costs: list[Any] = []
    response_latencies: list[_Latency] = []


class _State(msgspec.Struct):
    metrics: dict[str, _Metrics] = field(default={}, name="stats.usage_to_metrics")
    project: str = field(default="", name="workspace.working_dir")
    window: int | None = field(default=None, name="agent.llm.max_input_tokens")


class _Event(msgspec.Struct):
    kind: str
    id: str = ""
    source: str = ""
    timestamp: Any = None
    response: str | None = field(default=None, name="llm_response_id")
    system_prompt: Any = None
    dynamic_context: Any = None
    tools: list[Any] = []
    content: list[Any] = field(default=[], name="llm_message.content")
    extended_content: list[Any] = []
    # What the model thought, of an action and of a message.
    reasoning_content: str | None = None
    thinking_blocks: list[Any] | None = None
    responses_reasoning_item: Any = None
    message_reasoning: str | None = field(default=None, name="llm_message.reasoning_content")
    message_blocks: list[Any] | None = field(default=None, name="llm_message.thinking_blocks")
    message_item: Any = field(default=None, name="llm_message.responses_reasoning_item")
    thought: list[Any] = []
    tool_call: Any = None
    tool_call_id: str = ""
    observation: Any = None
    error: str = ""
    rejection_reason: str = ""
    forgotten_event_ids: list[str] = []
    summary: str | None = None
    reason: str | None = None


def owns(folder: Path) -> bool:
    """Whether a folder is a conversation's."""
    return (folder / STATE_FILE).is_file() and (folder / "events").is_dir()


def matches(sample: Sample) -> bool:
    """Whether a sample is such a folder."""
    return sample.folder is not None and owns(sample.folder)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the one transcript of a conversation."""
    assert sample.folder is not None
    yield _Conversation(source.name, json_file(sample.folder / STATE_FILE, _State)).read(sample.folder)


class _Conversation(Exchanges):
    def __init__(self, name: str, state: _State) -> None:
        super().__init__(Assembly(name, NAME))
        self.assembly.project, self.assembly.window = state.project, state.window
        self.spent: dict[str, _Spent] = {}
        self.seconds: dict[str, float] = {}
        for told in state.metrics.values():
            # Costs have no ids: they are those of the requests if there are as many.
            costs = told.costs if len(told.costs) == len(told.token_usages) else [None] * len(told.token_usages)
            for number, (one, cost) in enumerate(zip(told.token_usages, costs, strict=True)):
                one.usd = under(cost, "cost")
                self.spent[one.response_id or f"{len(self.spent)}.{number}"] = one
            self.seconds |= {one.response_id: one.latency for one in told.response_latencies}
        self.response = self.started_by = ""
        # The parts of each event that requests now hold.
        self.held: dict[str, list[Part]] = {}

    def read(self, folder: Path) -> Transcript:
        for file in sorted((folder / "events").glob("event-*.json")):
            try:
                event = json_file(file, _Event)
            except InputError as error:
                self.assembly.notes.append(f"{file.name} left out: {error.what}")
            else:
                self._add(event)
        self.close()
        for one in self.spent.values():
            self.assembly.beside(one.whole(), None, one.model)
        return self.finished()

    def _add(self, event: _Event) -> None:
        match event.kind:
            case "SystemPromptEvent":
                texts = (under(one, "text") for one in (event.system_prompt, event.dynamic_context))
                self.assembly.system += [str(text) for text in texts if text]
                self.assembly.tools += map(compact_json, event.tools)
            case "MessageEvent" if event.source == "agent":
                thought = event.message_reasoning, event.message_blocks, event.message_item
                self._made(event, [*_thinking(*thought), *_text("assistant", event.content)])
            case "ActionEvent":
                thought = event.reasoning_content, event.thinking_blocks, event.responses_reasoning_item
                name, call_id = (str(under(event.tool_call, key) or "") for key in ("name", "id"))
                call = Part("tool_call", compact_json(under(event.tool_call, "arguments") or ""), name, call_id)
                self._made(event, [*_thinking(*thought), *_text("assistant", event.thought), call])
            case "MessageEvent":
                self._given(event, *_text("user", [*event.content, *event.extended_content]))
            case "ObservationEvent":
                self._given(event, _result(event, [*_shown(event.observation), *event.extended_content]))
            case "AgentErrorEvent":
                self._given(event, _result(event, [{"type": "text", "text": event.error}]))
            case "UserRejectObservation":
                told = {"type": "text", "text": f"Action rejected: {event.rejection_reason}"}
                self._given(event, _result(event, [told]))
            case "CondensationRequest":
                self.started_by = "manual" if event.reason == "manual" else "auto"
            case "Condensation":
                self._condensed(event)
            case other:
                self.left_out[other] += 1

    def _made(self, event: _Event, parts: list[Part]) -> None:
        if event.response != self.response:
            self.close()
            self.response = event.response or ""
            spent = self.spent.pop(self.response, _Spent())
            self.model = spent.model or self.model
            if usage := spent.whole():
                self.announce(usage)
        ended_s = time_s(event.timestamp)
        for part in parts:
            self.made(part, ended_s and ended_s - self.seconds.get(self.response, 0.0), goes_on=bool(self.parts))
        self.held[event.id] = parts

    def _given(self, event: _Event, *parts: Part) -> None:
        for part in parts:
            self.give(part)
        self.held[event.id] = [*parts]

    def _condensed(self, event: _Event) -> None:
        self.close()
        for forgotten in event.forgotten_event_ids:
            self.held.pop(forgotten, None)
        history = ((part.kind, part.text) for parts in self.held.values() for part in parts)
        kept, _ = kept_and_new(self.assembly.items, history)
        self.compacted(self.started_by or "auto", [event.summary or ""], kept)
        self.started_by = ""
        spent = self.spent.pop(event.response or "", _Spent())
        self.assembly.beside(spent.whole(), time_s(event.timestamp), spent.model, summary=True)


def _thinking(text: str | None, blocks: list[Any] | None, item: Any) -> Iterator[Part]:
    """Yield what the model thought: signed blocks, a text, or an encrypted item, whose size is in the usage."""
    for block in objects(blocks or []):
        thinking = str(block.get("thinking") or "")
        yield Part("reasoning", thinking, media=unshown(thinking, block.get("signature")))
    if not blocks and (text or item):
        yield Part("reasoning", text or "")


def _text(kind: Kind, blocks: list[Any]) -> list[Part]:
    return content_parts(kind, _blocks(blocks))


def _result(event: _Event, blocks: list[Any]) -> Part:
    text, media = text_and_media(_blocks(blocks))
    return Part("tool_result", text, call_id=event.tool_call_id, media=media)


def _blocks(blocks: list[Any]) -> list[Any]:
    """Return blocks of content with each image in OpenAI's form."""
    found: list[Any] = []
    for block in objects(blocks):
        urls = block.get("image_urls") or []
        found += [{"type": "image_url", "image_url": {"url": url}} for url in urls] if urls else [block]
    return found


_FAILED = {"type": "text", "text": "[An error occurred during execution.]\n"}


def _shown(observation: Any) -> list[Any]:
    """Return an observation as the model is sent it: a line for failure, the content, and what a terminal adds."""
    shown = [*objects(under(observation, "content") or [])]
    if (told := under(observation, "metadata")) and len(shown) == 1 and has(told, exit_code=int):
        ends = (
            ("working_dir", "Current working directory:"),
            ("py_interpreter_path", "Python interpreter:"),
            ("exit_code", "Command finished with exit code"),
        )
        lines = [f"\n[{said} {told[key]}]" for key, said in ends if told.get(key) not in (None, "", -1)]
        text = f"{told.get('prefix') or ''}{shown[0].get('text', '')}{told.get('suffix') or ''}{''.join(lines)}"
        shown = [{"type": "text", "text": text}]
    return [_FAILED, *shown] if under(observation, "is_error") else shown
