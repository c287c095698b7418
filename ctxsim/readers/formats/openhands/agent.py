"""Turns an OpenHands agent's events into responses, and into observations in the form that the model is sent.

The lines around an observation follow `openhands/events/observation/commands.py` and
`openhands/memory/conversation_memory.py` of https://github.com/All-Hands-AI/OpenHands; the recorded usage fits them.
"""

from collections.abc import Sequence
from operator import ge
from typing import Any

import msgspec
from msgspec import field

from ctxsim.readers.assembly import IMAGE_TOKENS, Assembly, Part, dollars, text_and_media, text_of
from ctxsim.readers.assembly.chat_messages import ChatResponse
from ctxsim.readers.source import compact_json, convert, time_s
from ctxsim.transcript import Media, Usage

QUIET = {"agent_state_changed", "change_agent_state", "null", "recall", "condensation_request", "push", "send_pr"}
"""Events that the model isn't sent, or that a prompt template turns into text that is not recorded."""

NOT_ARGUMENTS = {
    # Fields of an action that the agent adds to what the model wrote.
    *("thought", "hidden", "blocking", "keep_prompt", "is_confirmed", "confirmation_state", "security_risk"),
    *("kernel_init_code", "impl_source", "translated_ipython_code", "timeout", "tool_call_metadata", "llm_metrics"),
    *("id", "timestamp", "source", "message", "action", "cause"),
}


class _Condensation(msgspec.Struct):
    forgotten_event_ids: list[int] | None = None
    forgotten_events_start_id: int | None = None
    forgotten_events_end_id: int | None = None
    summary: str | None = None

    @property
    def forgotten(self) -> set[int]:
        start, end = self.forgotten_events_start_id, self.forgotten_events_end_id
        span = () if start is None or end is None else range(start, end + 1)
        return {*(self.forgotten_event_ids or ()), *span}


class Event(msgspec.Struct):
    """An action or an observation. Resolver output has the arguments beside the action, not under `args`.

    `tool_call_id` and `response` are the call and the response that it came from. `cost`, `prompt`, `output`, `read`
    and `written` are the dollars and tokens of the agent's requests so far.
    """

    action: str | None = None
    observation: str | None = None
    id: int | None = None
    timestamp: str | float | None = None
    source: str | None = None
    cause: int | None = None
    args: dict[str, Any] | None = None
    content: Any = None
    extras: dict[str, Any] | None = None
    tool_call_id: str | None = field(default=None, name="tool_call_metadata.tool_call_id")
    response: ChatResponse | None = field(default=None, name="tool_call_metadata.model_response")
    cost: Any = field(default=None, name="llm_metrics.accumulated_cost")
    prompt: int = field(default=0, name="llm_metrics.accumulated_token_usage.prompt_tokens")
    output: int = field(default=0, name="llm_metrics.accumulated_token_usage.completion_tokens")
    read: int = field(default=0, name="llm_metrics.accumulated_token_usage.cache_read_tokens")
    written: int = field(default=0, name="llm_metrics.accumulated_token_usage.cache_write_tokens")

    @property
    def call_id(self) -> str:
        """The id of the call that an event makes or answers; one made of the action's number where there is none."""
        if self.tool_call_id:
            return self.tool_call_id
        number = self.id if self.action else self.cause
        return "" if number is None else f"event-{number}"


class _Told(msgspec.Struct):
    content: Any = None
    image_urls: list[Any] | None = None
    tools: list[Any] | None = None


class _ShellState(msgspec.Struct):
    prefix: str = ""
    suffix: str = ""
    working_dir: str | None = None
    py_interpreter_path: str | None = None
    exit_code: int = -1


class Agent(msgspec.Struct):
    """Turns the events of one agent into its transcript.

    `sums` are the tokens, of four kinds, and the dollars that requests have used so far, as the log stated them last;
    `above` are the sums of the agent that delegated to it.
    """

    assembly: Assembly
    above: list[float] | None = None
    sums: list[float] = field(default_factory=lambda: [0.0] * 5)
    _responses: set[str] = set()
    _calls: set[str] = set()
    _by_user: set[int | None] = set()
    _forgotten: set[int] = set()
    _event_of: list[int | None] = []
    _model: str = ""
    # What this agent's own event stated last.
    _last: Sequence[float] = (0, 0, 0, 0, 0.0)
    _agent_spoke: bool = True

    def add(self, event: Event, fields: dict[str, Any], where: str) -> None:
        """Add an event; `fields` are its own, its arguments and its extras. Raises InputError."""
        if event.action:
            self._action(event, event.action, fields, where)
        elif event.observation:
            self._observation(event, event.observation, fields, where)
        else:
            self.assembly.left_out["event without action or observation"] += 1
        self._event_of += [event.id] * (len(self.assembly.items) - len(self._event_of))

    def _grown(self, event: Event) -> Usage:
        """Return what was used since the action before: the growth of the sums."""
        stated = (event.prompt, event.output, event.read, event.written, dollars(event.cost) or self.sums[4])
        if self.above is not None:
            # Its sums go on from those of the agent above, or in older versions start at 0, as the first usage tells.
            used = event.response.usage if event.response else None
            alone = used is not None and used.prompt_tokens == event.prompt
            begun = any(self.above) and all(map(ge, stated, self.above))
            self.sums = self.above if begun and not alone else self.sums
            self.above = None
        before = self.sums if all(map(ge, stated, self.sums)) else self._last
        prompt, output, read, written, cost = (now - old for now, old in zip(stated, before, strict=True))
        self.sums[:] = self._last = stated
        return Usage(int(prompt), int(output), int(read), int(written), cost_usd=dollars(cost))

    def _condensed(self, condensation: _Condensation, event: Event) -> None:
        """Add a compaction. Forgotten events stay forgotten; of several summaries only the newest is sent."""
        self._forgotten |= condensation.forgotten
        kept = [place for place, event in enumerate(self._event_of) if event not in self._forgotten]
        self.assembly.compacted("auto", [condensation.summary or ""], kept)
        if event.prompt and (spent := self._grown(event)).input_tokens > 0:
            self.assembly.beside(spent, time_s(event.timestamp), self._model, summary=True)

    def _action(self, event: Event, action: str, fields: dict[str, Any], where: str) -> None:
        if action == "system":
            told = convert(fields, _Told, where)
            self.assembly.system.append(text_of(told.content))
            self.assembly.tools += map(compact_json, told.tools or [])
        elif action == "condensation":
            self._condensed(convert(fields, _Condensation, where), event)
        elif action in QUIET:
            self.assembly.left_out[action] += 1
        elif action == "message" and (event.source == "user" or (event.source is None and self._agent_spoke)):
            # Without a source, agent and user take turns.
            self._agent_spoke = False
            told = convert(fields, _Told, where)
            images = [Media("image", IMAGE_TOKENS["openai"]) for _ in told.image_urls or []]
            self.assembly.user(Part("user", text_of(told.content), media=tuple(images)))
        elif event.source == "user":
            self._by_user.add(event.id)
            self.assembly.user(f"User executed the command:\n{fields.get('command', '')}")
        elif event.source == "environment":
            self.assembly.left_out[action] += 1
        else:
            self._response(event, action, fields)

    def _response(self, event: Event, action: str, fields: dict[str, Any]) -> None:
        self._agent_spoke = action == "message"
        response = event.response or ChatResponse()
        if response.id and response.id in self._responses:
            return
        self._responses.add(response.id or "")
        parts = response.parts() if event.response else self._rebuilt(event, action, fields)
        self._calls |= {part.call_id for part in parts if part.kind == "tool_call"}
        # An action is stored when the response has come.
        made_s = response.created if event.timestamp is None else time_s(event.timestamp)
        spent = self._grown(event) if response.usage or event.prompt else Usage(0)
        usage = response.usage.whole(spent.cost_usd) if response.usage else spent if spent.input_tokens > 0 else None
        self._model = response.model or self._model
        self.assembly.response(parts, usage, made_s, self._model)

    def _rebuilt(self, event: Event, action: str, fields: dict[str, Any]) -> list[Part]:
        unknown = "" if event.prompt else ": their usage is unknown"
        if action == "message":
            self.assembly.counts[f"message(s) of the agent without the model's response{unknown}"] += 1
            return [Part("assistant", text_of(fields.get("content")))]
        self.assembly.counts[f"response(s) rebuilt from thought and arguments, not to the letter{unknown}"] += 1
        arguments = {
            key: value
            for key, value in (event.args or fields).items()
            if key not in NOT_ARGUMENTS and value not in (None, "", {}, [])
        }
        thought = str(fields.get("thought") or "")
        call = Part("tool_call", compact_json(arguments), action, event.call_id)
        return [Part("assistant", thought), call] if thought else [call]

    def _observation(self, event: Event, kind: str, fields: dict[str, Any], where: str) -> None:
        if kind in QUIET:
            self.assembly.left_out[kind] += 1
            return
        text, media = self._shown(event, kind, fields, where)
        if event.cause is not None and event.cause in self._by_user:
            self.assembly.user(f"\nObserved result of command executed by user:\n{text}")
        elif kind == "error" and event.call_id not in self._calls:
            self.assembly.user(text)
        else:
            self.assembly.result(text, event.call_id, kind, media)

    def _shown(self, event: Event, kind: str, fields: dict[str, Any], where: str) -> tuple[str, tuple[Media, ...]]:
        counts = self.assembly.counts
        text, media = text_and_media(event.content)
        match kind:
            case "run" if isinstance(fields.get("metadata"), dict):
                counts["command result(s) with directory, interpreter and exit code as the agent adds them"] += 1
                text = _shell_text(text, convert(fields["metadata"], _ShellState, where))
            case "run":
                counts["command result(s) as recorded, without the line on the exit code that was sent"] += 1
            case "edit" if fields.get("formatted_output_and_error"):
                text = str(fields["formatted_output_and_error"])
            case "error":
                text += "\n[Error occurred in processing last action]"
            case "user_rejected":
                text += "\n[Last action has been rejected by the user]"
            case "browse" | "browse_interactive":
                counts["web page(s) as recorded: the text that was sent may differ"] += 1
        return text, media


def _shell_text(output: str, state: _ShellState) -> str:
    text = f"{state.prefix}{output}{state.suffix}"
    if state.working_dir:
        text += f"\n[Current working directory: {state.working_dir}]"
    if state.py_interpreter_path:
        text += f"\n[Python interpreter: {state.py_interpreter_path}]"
    if state.exit_code != -1:
        text += f"\n[Command finished with exit code {state.exit_code}]"
    return text
