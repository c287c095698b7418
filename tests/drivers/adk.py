"""The Agent Development Kit, over a conversation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from typing import Any

from drivers.conversation import STUB, Message, Row, added, row, together


def _adk_event(messages: list[Message], number: int, invocation: int) -> Any:
    from google.adk.events import Event
    from google.genai import types

    first = messages[0]
    if first["role"] == "tool":
        parts = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=one["tool_call_id"], name=one["name"], response={"result": one["content"]}
                )
            )
            for one in messages
        ]
    else:
        parts = [types.Part(text=first["content"])] if first["content"] else []
        parts += [
            types.Part(
                function_call=types.FunctionCall(
                    id=c["id"], name=c["function"]["name"], args=json.loads(c["function"]["arguments"])
                )
            )
            for c in first.get("tool_calls") or ()
        ]
    content = types.Content(role="model" if first["role"] == "assistant" else "user", parts=parts)
    author = "user" if first["role"] == "user" else "agent"
    return Event(author=author, content=content, timestamp=float(number + 1), invocation_id=f"i{invocation}")


def _adk_events(conversation: dict[str, Any]) -> Iterator[list[Any]]:
    """The new events of each request: results that answer one response are one."""
    number = invocation = 0
    for new in added(conversation):
        made = []
        for group in together(new):
            invocation += group[0]["role"] == "user"
            made.append(_adk_event(group, number := number + 1, invocation))
        yield made


def _adk_rows(contents: Iterable[Any]) -> Iterator[Row]:
    for content in contents:
        if any(part.function_response for part in content.parts):
            for part in content.parts:
                given = part.function_response
                yield row("tool", given.response["result"], answers=given.id)
            continue
        text = "".join(part.text or "" for part in content.parts)
        calls = [part.function_call.id for part in content.parts if part.function_call]
        yield row("assistant" if content.role == "model" else "user", text, calls)


def adk_compact(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """Compaction at 2,000 tokens, keep 4 events."""
    from google.adk.agents import LlmAgent
    from google.adk.apps import compaction
    from google.adk.apps.app import EventsCompactionConfig
    from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
    from google.adk.events import Event
    from google.adk.events.event_actions import EventActions, EventCompaction
    from google.adk.flows.llm_flows.context import _contents
    from google.adk.sessions import InMemorySessionService, Session
    from google.genai import types

    class Summarizer(BaseEventsSummarizer):
        """Says what every summarizer says."""

        async def maybe_summarize_events(self, *, events: Any) -> Any:
            said = types.Content(role="model", parts=[types.Part(text=STUB)])
            times = events[0].timestamp, events[-1].timestamp
            actions = EventActions(
                compaction=EventCompaction(start_timestamp=times[0], end_timestamp=times[1], compacted_content=said)
            )
            return Event(author="user", actions=actions, invocation_id=Event.new_id())

    class Service(InMemorySessionService):
        """Keeps what is appended, and nothing else."""

        async def append_event(self, session: Any, event: Any) -> Any:
            session.events.append(event)
            return event

    config = EventsCompactionConfig(
        summarizer=Summarizer(), token_threshold=2_000, event_retention_size=4, compaction_interval=10**6,
        overlap_size=0,
    )  # fmt: skip
    session = Session(id="s", app_name="a", user_id="u")
    for new in _adk_events(conversation):
        session.events += new
        asyncio.run(
            compaction._run_compaction_for_token_threshold_config(
                config=config, session=session, session_service=Service(), agent=LlmAgent(name="agent"),
                agent_name="agent",
            )
        )  # fmt: skip
        yield list(_adk_rows(_contents._get_contents(None, session.events, "agent")))


def adk_filter(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ContextFilterPlugin` that keeps 2 invocations."""
    from types import SimpleNamespace

    from google.adk.plugins.context_filter_plugin import ContextFilterPlugin

    plugin = ContextFilterPlugin(num_invocations_to_keep=2)
    contents: list[Any] = []
    for new in _adk_events(conversation):
        contents += [event.content for event in new]
        request = SimpleNamespace(contents=list(contents))
        asyncio.run(plugin.before_model_callback(callback_context=None, llm_request=request))  # type: ignore[arg-type]
        yield list(_adk_rows(request.contents))


def counted(conversation: dict[str, Any]) -> Iterator[int]:
    from google.adk.apps.compaction import _count_chars_in_content

    chars = 0
    for new in _adk_events(conversation):
        chars += sum(_count_chars_in_content(event.content) for event in new)
        yield chars // 4
