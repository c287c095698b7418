"""OpenHands' SDK, over a conversation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from drivers.conversation import STUB, Message, Row, added, row, row_of


def _to_openhands(messages: Iterable[tuple[int, Message]]) -> Iterator[Any]:
    """One event for each text, call and result; the text of a response goes with its first call."""
    from openhands.sdk.event import ActionEvent, AgentErrorEvent, MessageEvent
    from openhands.sdk.llm import Message as Sent
    from openhands.sdk.llm import MessageToolCall, TextContent

    for n, one in messages:
        text = [TextContent(text=one["content"])] if one["content"] else []
        if one["role"] == "tool":
            given = {"tool_name": one["name"], "tool_call_id": one["tool_call_id"]}
            yield AgentErrorEvent(id=f"{n}", error=one["content"], **given)
            continue
        if not one.get("tool_calls"):
            source: Any = "user" if one["role"] == "user" else "agent"
            yield MessageEvent(id=f"{n}", source=source, llm_message=Sent(role=one["role"], content=text))
        for place, c in enumerate(one.get("tool_calls") or ()):
            name, arguments = c["function"]["name"], c["function"]["arguments"]
            call = MessageToolCall(id=c["id"], name=name, arguments=arguments, origin="completion")
            yield ActionEvent(
                id=f"{n}.{place}", thought=[] if place else text, tool_name=name, tool_call_id=c["id"], tool_call=call,
                llm_response_id=f"{n}",
            )  # fmt: skip


def _rows(events: Iterable[Any], messages: list[Message]) -> Iterator[Row]:
    done = ""
    for event in events:
        number = event.id.partition(".")[0]
        if type(event).__name__ == "CondensationSummaryEvent":
            yield row("user", event.summary)
        elif number.isdigit() and number != done:
            yield row_of(messages[int(number)])
        done = number


def openhands_condenser(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`LLMSummarizingCondenser` of 20 events, the first 4 of which stay."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    from openhands.sdk import LLM
    from openhands.sdk.context.condenser import LLMSummarizingCondenser
    from openhands.sdk.context.view import View
    from openhands.sdk.event import SystemPromptEvent
    from openhands.sdk.event.condenser import Condensation
    from openhands.sdk.llm import TextContent

    def summarized(self: Any, forgotten_events: Any, summary_offset: int, *given: Any, **more: Any) -> Any:
        ids = {event.id for event in forgotten_events}
        return Condensation(forgotten_event_ids=ids, summary=STUB, summary_offset=summary_offset, llm_response_id="r")

    model = LLM(model="gpt-4o", api_key="none", usage_id="none")  # type: ignore[arg-type]
    condenser = LLMSummarizingCondenser(llm=model, max_size=20, keep_first=4)
    events: list[Any] = [SystemPromptEvent(id="s", system_prompt=TextContent(text=conversation["system"]), tools=[])]
    given = LLMSummarizingCondenser._generate_condensation
    LLMSummarizingCondenser._generate_condensation = summarized  # type: ignore[method-assign]
    try:
        for new in added(conversation, list(enumerate(conversation["messages"]))):
            events += _to_openhands(new)
            while isinstance(found := condenser.condense(View.from_events(events)), Condensation):
                events.append(found)
            yield list(_rows(found.events, conversation["messages"]))
    finally:
        LLMSummarizingCondenser._generate_condensation = given  # type: ignore[method-assign]
