"""Strands Agents: conversation managers. Tried with strands-agents 1.62.0.

A manager acts where Strands' agent calls it: after an invocation, which is before the next user text; before each model
call with `per_turn`; and after an overflow. Its edits of the agent's list of messages last.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from itertools import takewhile
from types import SimpleNamespace
from typing import Any

from ctxsim.counting.estimators.serialized import handed
from ctxsim.policies.foreign.conversation import Message, call_of, calls_in, packed, without_head
from ctxsim.policies.foreign.framework import Framework, Scribe
from ctxsim.policies.foreign.shortener import Answer, Context, Session
from ctxsim.policies.policy import Stop


def there(messages: Sequence[Message]) -> list[Any]:
    """Return the messages as Strands': the results that answer one response are one user message."""
    found: list[Any] = []
    for run in packed(messages):
        message = run[0]
        if message["role"] == "tool":
            results = [
                {"toolUseId": one["tool_call_id"], "status": "success", "content": [{"text": one["content"]}]}
                for one in run
            ]
            found.append({"role": "user", "content": [{"toolResult": result} for result in results]})
            continue
        calls = calls_in(message)
        content: list[Any] = [{"text": message["content"]}] if message["content"] or not calls else []
        for name, tool, text in calls:
            content.append({"toolUse": {"toolUseId": name, "name": tool, "input": handed(text)}})
        found.append({"role": message["role"], "content": content})
    return found


def back(messages: Sequence[Any]) -> list[Message]:
    """Return Strands' messages in OpenAI's form."""
    found: list[Message] = []
    for one in messages:
        results = [block["toolResult"] for block in one["content"] if "toolResult" in block]
        for result in results:
            text = "\n".join(block["text"] for block in result["content"] if "text" in block)
            found.append({"role": "tool", "tool_call_id": result["toolUseId"], "content": text})
        if not results:
            text = "\n".join(block["text"] for block in one["content"] if "text" in block)
            message: Message = {"role": one["role"], "content": text}
            if uses := [block["toolUse"] for block in one["content"] if "toolUse" in block]:
                message["tool_calls"] = [call_of(use["toolUseId"], use["name"], use["input"]) for use in uses]
            found.append(message)
    return found


def _said_by_user(message: Any) -> bool:
    return message["role"] == "user" and not any("toolResult" in block for block in message["content"])


class Managed(Session):
    """A session that calls a conversation manager as Strands' agent loop does."""

    def __init__(self, manager: Any, scribe: Scribe) -> None:
        super().__init__(self._managed)
        self._manager = manager
        self._scribe = scribe
        model = SimpleNamespace(stream=self._stream)
        self._agent = SimpleNamespace(messages=[], model=model, aux_model=model)

    async def _stream(self, messages: Any, *more: Any, **others: Any) -> AsyncIterator[Any]:
        """The stream of a model's answer to a request for a summary."""
        text = self._scribe.ask(str(messages))
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": text}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}

    def _managed(self, messages: list[Message], context: Context) -> Answer:
        """The messages after the manager acted as at the end of an invocation and before a model call."""

        def manage() -> None:
            held = self._agent.messages
            new = list(takewhile(_said_by_user, reversed(held)))[::-1]
            if new:
                # The invocation before these user texts is over.
                del held[-len(new) :]
                self._manager.apply_management(self._agent)
                self._agent.messages.extend(new)
            if getattr(self._manager, "per_turn", False):
                self._manager._on_before_model_call(SimpleNamespace(agent=self._agent))

        acted = self._acted(messages, manage)
        return acted if acted is not None else Stop("the conversation can't be made smaller")

    def on_overflow(self, messages: list[Message], context: Context) -> Answer:
        """Return the messages that the manager leaves after an overflow; None if it gives up."""
        from strands.types.exceptions import ContextWindowOverflowException

        error = ContextWindowOverflowException("too many tokens")
        return self._acted(messages, lambda: self._manager.reduce_context(self._agent, error))

    def _acted(self, messages: list[Message], act: Callable[[], None]) -> Answer:
        from strands.types.exceptions import ContextWindowOverflowException

        head, rest = without_head(messages)
        self._agent.messages = there(rest)
        try:
            act()
        except ContextWindowOverflowException:
            return None
        return self._scribe.written(head + back(self._agent.messages))


def session(cls: Any, given: dict[str, Any], scribe: Scribe) -> Session:
    """Return a session that runs a conversation manager for one transcript."""
    return Managed(cls(**given), scribe)


FRAMEWORK = Framework(
    "strands", "strands-agents",
    ("strands.agent.conversation_manager.sliding_window_conversation_manager",
     "strands.agent.conversation_manager.summarizing_conversation_manager"),
    session, lambda cls: True,
    frozenset({"summarization_agent", "summarization_system_prompt", "proactive_compression"}),
    # It retries until it can't reduce any more.
    1_000,
)  # fmt: skip
