"""GitHub Copilot CLI sessions: `events.jsonl`, one event a line, messages and tool results among screen events.

Documentation:
https://github.com/github/copilot-sdk/blob/main/nodejs/src/generated/session-events.ts,
https://docs.github.com/en/copilot/how-tos/copilot-sdk/use-copilot-sdk/streaming-events

    {"type": "session.start", "id": "1", "parentId": null, "data": {"producer": "copilot-agent"}}
    {"type": "system.message", "id": "2", "parentId": "1", "data": {"content": "Be brief."}}
    {"type": "user.message", "id": "3", "parentId": "2", "data": {"content": "Any mail?"}}
    {"type": "assistant.message", "id": "4", "parentId": "3", "data": {"content": "", "toolRequests": [
      {"toolCallId": "c1", "name": "search", "arguments": {"q": "mail"}}]}}
    {"type": "tool.execution_complete", "id": "5", "parentId": "4", "data": {"toolCallId": "c1",
      "success": true, "result": {"content": "2 messages"}}}
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import field

from ctxsim.readers.assembly import IMAGE_TOKENS, Assembly, Part, dollars, text_and_media
from ctxsim.readers.assembly.responses import Exchanges
from ctxsim.readers.source import Sample, Source, compact_json, convert, has, time_s, under
from ctxsim.transcript import Media, Transcript, Usage

NAME = "copilot-cli"
TITLE = "GitHub Copilot CLI session"
MARKS = ("parentId",)
VERSIONS = "Copilot CLI 0.0.420 to 1.0.102"
READS = "System prompt, messages as sent, tool requests and results, sub-agents, compactions, totals at shutdown."
NOT_READ = "Hooks, permissions and progress, detailed results, encrypted reasoning. Old versions record little usage."

NANO_CREDITS_PER_USD = 100 * 10**9
"""Logs count billionths of an AI credit, which is a cent. Source: https://github.com/github/docs,
content/copilot/concepts/billing-and-usage/organizations-and-enterprises/billing.md.
"""


class _ToolRequest(msgspec.Struct, rename="camel"):
    name: str
    tool_call_id: str = ""
    # An object, or a JSON text.
    arguments: Any = None


class _AssistantMessage(msgspec.Struct, rename="camel"):
    content: str | None = None
    tool_requests: list[_ToolRequest] | None = None
    reasoning_text: str | None = None
    reasoning_opaque: str | None = None
    encrypted_content: str | None = None
    model: str | None = None
    # Chunks of a response share it.
    api_call_id: str | None = None
    output_tokens: Any = None


class _UserMessage(msgspec.Struct, rename="camel"):
    content: str | None = None
    # The content as it was sent, with the agent's additions.
    transformed_content: str | None = None
    attachments: list[Any] | None = None


class _ToolComplete(msgspec.Struct):
    tool_call_id: str = field(name="toolCallId")
    # What the model is sent, and the same in blocks, for images.
    content: str | None = field(default=None, name="result.content")
    contents: list[Any] | None = field(default=None, name="result.contents")
    error: str = field(default="", name="error.message")


class _ModelMetrics(msgspec.Struct):
    requests: Any = None
    input_tokens: int | None = field(default=None, name="usage.inputTokens")
    output_tokens: int | None = field(default=None, name="usage.outputTokens")
    cache_read_tokens: int | None = field(default=None, name="usage.cacheReadTokens")
    cache_write_tokens: int | None = field(default=None, name="usage.cacheWriteTokens")
    reasoning_tokens: int | None = field(default=None, name="usage.reasoningTokens")
    model: str = field(default="", name="usage.model")
    # Of a total, and of a single request.
    nano_credits: float | None = field(default=None, name="totalNanoAiu")
    own_nano_credits: float | None = field(default=None, name="usage.copilotUsage.totalNanoAiu")

    def whole(self) -> Usage | None:
        """Return it as `Usage`; None if no input was counted. Input includes cached tokens, output reasoning.

        Source: https://github.com/getagentseal/codeburn/pull/684.
        """
        counts = (self.output_tokens, self.cache_read_tokens, self.cache_write_tokens, self.reasoning_tokens)
        usd = dollars((self.nano_credits or self.own_nano_credits or 0) / NANO_CREDITS_PER_USD)
        return Usage(self.input_tokens, *counts, usd) if self.input_tokens else None


class _Compaction(msgspec.Struct, rename="camel"):
    success: bool | None = None
    trigger: str | None = None
    current_tokens: int | None = None
    pre_compaction_tokens: int | None = None
    post_compaction_tokens: int | None = None
    summary_content: str | None = None
    pre_truncation_tokens_in_messages: int | None = None
    # Of the request for the summary.
    compaction_tokens_used: dict[str, Any] | None = None


def matches(sample: Sample) -> bool:
    """Events with dotted types, data, and the id of the event before."""
    events = [record for record in sample.records if has(record, type=str, data=dict, parentId=object)]
    known = ("session.start", "session.resume", "system.message", "user.message", "assistant.message")
    return bool(events) and events[0] is sample.first and any(event["type"] in known for event in events)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the main conversation, then one transcript per sub-agent."""
    session = _Session(source.name)
    for line in session.main.assembly.lines(source):
        session.add(*line)
    yield from session.finished()


class _Agent(Exchanges):
    def __init__(self, name: str, parent: str | None = None) -> None:
        super().__init__(Assembly(name, NAME, parent))
        self.asked = False
        self._api_call = ""
        # Time at which the next request is sent.
        self.turn_s: float | None = None
        # Tokens at the start of a compaction, during which the conversation goes on.
        self.compacting: int | None = None
        # Items and calls at the start of the program's present run, and the output tokens of the run's responses.
        self.began = self.calls_before = self.output = 0

    def begin(self) -> None:
        """Begin a run of the program."""
        self.close()
        self.began, self.calls_before, self.output = len(self.assembly.items), self.assembly.calls, 0

    def system(self, text: str) -> None:
        if not self.assembly.system:
            self.assembly.system.append(text)
        elif text not in self.assembly.system:
            self.left_out["system.message that changes the system prompt"] += 1

    def user(self, text: str, media: tuple[Media, ...] = ()) -> None:
        self.asked = True
        self.give(Part("user", text, media=media))

    def response(self, message: _AssistantMessage, written_s: float | None, usage: Usage | None) -> None:
        if not message.api_call_id or message.api_call_id != self._api_call:
            self.close()
            self.output += message.output_tokens if isinstance(message.output_tokens, int) else 0
        if usage:
            self.announce(usage)
        self._api_call = message.api_call_id or ""
        self.model = message.model or self.model
        # The start of the turn is when the request goes out; without it, the time when the response was whole.
        start_s, self.turn_s = self.turn_s or written_s, None
        for part in _parts(message):
            self.made(part, start_s)


class _Session:
    def __init__(self, name: str) -> None:
        self.name = name
        self.main = _Agent(name)
        self.left_out = self.main.left_out
        self.agents: dict[str, _Agent] = {}
        self._prompts: dict[str, str] = {}
        self._started_by: dict[str, str] = {}
        # Usage by request, in newer versions, of which no response has come yet; and when it was recorded.
        self._spent: dict[str, tuple[_ModelMetrics, float | None]] = {}
        self._each_recorded = False
        # Requests and output tokens, as the program stated them last.
        self._stated: tuple[int, int] | None = None
        # Billionths of credits of the session that were stated last, and those of counts that ended before.
        self._credits = self._credits_before = 0

    def add(self, kind: str, event: dict[str, Any], where: str) -> None:
        data, when_s = event.get("data"), time_s(event.get("timestamp"))
        # Set for events of a sub-agent.
        agent = self._agent(kind, data, event.get("agentId"))
        # The window of a request, and that of the history at the start of a compaction.
        window = under(data, "usage", "maxPromptTokens") or under(data, "tokenLimit")
        if window and isinstance(window, int):
            agent.assembly.window = window
        match kind:
            case "system.message":
                agent.system(convert(data, _UserMessage, where).content or "")
            case "user.message":
                self._user(agent, convert(data, _UserMessage, where))
            case "system.notification" | "skill.invoked":
                agent.user(convert(data, _UserMessage, where).content or "")
            case "assistant.turn_start":
                agent.turn_s = when_s
            case "assistant.message":
                self._response(agent, convert(data, _AssistantMessage, where), when_s)
            case "tool.execution_complete":
                agent.give(_result(convert(data, _ToolComplete, where)))
            case "session.start" | "session.resume" | "session.model_change":
                for one in (self.main, *self.agents.values()) if kind == "session.resume" else ():
                    one.begin()
                model = under(data, "newModel") or under(data, "selectedModel")
                if isinstance(model, str):
                    self.main.model = model
                if isinstance(version := under(data, "copilotVersion"), str):
                    self.main.assembly.version = version
                if isinstance(folder := under(data, "context", "cwd"), str):
                    self.main.assembly.project = self.main.assembly.project or folder
            case "session.compaction_complete" | "session.truncation":
                _compacted(agent, convert(data, _Compaction, where), when_s, where)
            case "session.context_cleared":
                # The next request holds this text alone.
                agent.compacted("", [str(under(data, "initialMessage") or "")])
            case "session.compaction_start":
                agent.compacting = convert(data, _Compaction, where).current_tokens
                self.left_out[kind] += 1
            case "session.usage_record":
                self._each_recorded = True
                call = under(data, "usage", "apiCallId") or event.get("id")
                self._spent[str(call)] = (convert(data, _ModelMetrics, where), when_s)
            case "session.usage_checkpoint":
                self._paid(data)
            case "session.shutdown":
                self._paid(data)
                self._shutdown(convert(under(data, "modelMetrics") or {}, dict[str, Any], where), when_s, where)
            case _:
                self.left_out[kind] += 1

    def finished(self) -> Iterator[Transcript]:
        """Yield the main conversation, then each sub-agent's, with what was paid for beside single responses."""
        for spent, when_s in self._spent.values():
            self.main.assembly.beside(spent.whole(), when_s, spent.model)
        main, *others = [agent.finished() for agent in (self.main, *self.agents.values())]
        spent_on = [call.usage for one in (main, *others) for call in (*one.calls, *one.beside)]
        # A session's credits are also those of its requests, where the log has these.
        stated = any(usage and usage.cost_usd for usage in spent_on)
        yield msgspec.structs.replace(main, cost_usd=None) if stated else main
        yield from others

    def _agent(self, kind: str, data: Any, agent: Any) -> _Agent:
        call = under(data, "toolCallId")
        if kind == "subagent.started" and agent and isinstance(call, str):
            self._started_by[str(agent)] = call
            return self.main
        key = under(data, "parentToolCallId") or self._started_by.get(str(agent)) or agent
        if not isinstance(key, str):
            return self.main
        if key not in self.agents:
            self.agents[key] = _Agent(f"{self.name}#{key}", self.name)
            self.agents[key].assembly.project = self.main.assembly.project
        return self.agents[key]

    def _user(self, agent: _Agent, message: _UserMessage) -> None:
        images = [str(under(one, "mimeType")).startswith("image/") for one in message.attachments or []]
        self.left_out["attachment"] += images.count(False)
        media = (Media("image", IMAGE_TOKENS["openai"]),) * sum(images)
        agent.user(message.transformed_content or message.content or "", media)

    def _response(self, agent: _Agent, message: _AssistantMessage, when_s: float | None) -> None:
        for call in message.tool_requests or []:
            if isinstance(prompt := under(call.arguments, "prompt"), str):
                self._prompts[call.tool_call_id] = prompt
        call_id = agent.assembly.name.removeprefix(f"{self.name}#")
        if agent is not self.main and not agent.asked and call_id in self._prompts:
            agent.user(self._prompts[call_id])
            agent.assembly.notes.append("the first user text is taken from the call that started this sub-agent")
        spent, _ = self._spent.pop(message.api_call_id or "", (None, None))
        agent.response(message, when_s, spent.whole() if spent else None)

    def _paid(self, data: Any) -> None:
        """Take the session's credits so far, which some versions count from 0 after a resume."""
        credits = under(data, "totalNanoAiu")
        if isinstance(credits, int):
            self._credits_before += self._credits if credits < self._credits else 0
            self._credits = credits
            self.main.assembly.cost_usd = dollars((self._credits_before + credits) / NANO_CREDITS_PER_USD)

    def _shutdown(self, metrics: dict[str, Any], when_s: float | None, where: str) -> None:
        agents = self.main, *self.agents.values()
        stated: dict[str, Usage] = {}
        requests = output = 0
        for model, told in metrics.items():
            usage = convert(told, _ModelMetrics, f"{where} modelMetrics {model}")
            count = under(usage.requests, "count") if isinstance(usage.requests, dict) else usage.requests
            requests += count if isinstance(count, int) else 0
            output += usage.output_tokens or 0
            # A total of one request is its usage.
            alone = count == 1 and not self.main.assembly.calls and not self.agents
            if (whole := usage.whole()) and not (alone and self.main.usage(whole)):
                stated[model] = whole
        for agent in agents:
            agent.close()
        # Old versions count from 0 after a resume; newer ones count on, so totals are at least the last and this run's.
        calls = sum(agent.assembly.calls - agent.calls_before for agent in agents)
        written = sum(agent.output for agent in agents)
        before = self._stated
        goes_on = before is not None and requests >= before[0] + calls and output >= before[1] + written
        # After runs that were killed, the first total may hold these too.
        of_all = before is None and requests >= sum(agent.assembly.calls for agent in agents)
        for agent in agents if stated and not self._each_recorded else ():
            totals = stated if agent is self.main else dict.fromkeys(stated, Usage(0))
            agent.assembly.totals(totals, when_s, None if goes_on else 0 if of_all else agent.began)
        self._stated = (requests, output) if metrics else self._stated
        for agent in agents:
            agent.begin()


def _compacted(agent: _Agent, compaction: _Compaction, when_s: float | None, where: str) -> None:
    """Add a compaction or a truncation, and the request for a summary, if the log counts it."""
    if compaction.success is False:
        agent.left_out["failed session.compaction_complete"] += 1
    else:
        tokens = agent.compacting or compaction.pre_compaction_tokens or compaction.pre_truncation_tokens_in_messages
        agent.compacting = None
        if tokens and compaction.pre_compaction_tokens is None:
            # Which part of its history the agent left out isn't recorded.
            agent.close()
            agent.comparable = False
            agent.assembly.shortening("recorded truncation", f"{tokens} tokens")
        else:
            by = compaction.trigger and ("manual" if compaction.trigger == "manual" else "auto")
            summary = [compaction.summary_content or ""]
            agent.compacted(by, summary, (), tokens or None, compaction.post_compaction_tokens)
    # Older versions have the short names.
    long = {"input": "inputTokens", "output": "outputTokens", "cachedInput": "cacheReadTokens"}
    used = {long.get(name, name): value for name, value in (compaction.compaction_tokens_used or {}).items()}
    spent = convert({"usage": used}, _ModelMetrics, where)
    agent.assembly.beside(spent.whole(), when_s, spent.model or agent.model, compaction.success is not False)


def _parts(message: _AssistantMessage) -> Iterator[Part]:
    """Yield the parts of a response; an empty one is an empty text. Encrypted reasoning has no text."""
    if message.reasoning_text or message.reasoning_opaque or message.encrypted_content:
        yield Part("reasoning", message.reasoning_text or "")
    if message.content or not message.tool_requests:
        yield Part("assistant", message.content or "")
    for call in message.tool_requests or []:
        yield Part("tool_call", compact_json(call.arguments), call.name, call.tool_call_id)


def _result(done: _ToolComplete) -> Part:
    """Return what the model was sent for a call: the short form of the output, or the error."""
    text = done.error if done.content is None else done.content
    _, media = text_and_media(done.contents)
    return Part("tool_result", text, call_id=done.tool_call_id, media=media)
