"""Strands, over a conversation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from drivers.conversation import STUB, Row, added, requests, row


def _strands(conversation: dict[str, Any], act: Callable[[Any], None]) -> Iterator[list[Row]]:
    from types import SimpleNamespace

    agent = SimpleNamespace(messages=[], system_prompt=conversation["system"])
    for new in added(conversation):
        for one in new:
            if one["role"] == "tool":
                block = {"toolResult": {"toolUseId": one["tool_call_id"], "content": [{"text": one["content"]}]}}
                if agent.messages and any("toolResult" in b for b in agent.messages[-1]["content"]):
                    agent.messages[-1]["content"].append(block)
                else:
                    agent.messages.append({"role": "user", "content": [block]})
                continue
            content: list[Any] = [{"text": one["content"]}] if one["content"] else []
            content += [
                {
                    "toolUse": {
                        "toolUseId": c["id"],
                        "name": c["function"]["name"],
                        "input": json.loads(c["function"]["arguments"]),
                    }
                }
                for c in one.get("tool_calls") or ()
            ]
            agent.messages.append({"role": one["role"], "content": content})
        act(agent)
        rows: list[Row] = []
        for sent in agent.messages:
            results = [b["toolResult"] for b in sent["content"] if "toolResult" in b]
            if results:
                rows += [row("tool", one["content"][0]["text"], answers=one["toolUseId"]) for one in results]
                continue
            text = "".join(b.get("text", "") for b in sent["content"])
            calls = [b["toolUse"]["toolUseId"] for b in sent["content"] if "toolUse" in b]
            rows.append(row(sent["role"], text, calls))
        yield rows


def strands_sliding(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SlidingWindowConversationManager` of 8 before each call."""
    from strands.agent.conversation_manager import SlidingWindowConversationManager

    return _strands(conversation, SlidingWindowConversationManager(window_size=8).apply_management)


def strands_summarizing(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SummarizingConversationManager` from a quarter of 12,000 tokens on, that keeps 4 messages."""
    from strands.agent.conversation_manager import SummarizingConversationManager
    from strands.models.model import _estimate_tokens_with_heuristic

    class Summarizing(SummarizingConversationManager):
        """Says what every summarizer says."""

        def _generate_summary(self, *asked: Any, **given: Any) -> Any:
            return {"role": "user", "content": [{"text": STUB}]}

    manager = Summarizing(preserve_recent_messages=4)

    def act(agent: Any) -> None:
        # What stands before it where it acts before a call.
        if _estimate_tokens_with_heuristic(agent.messages, None, agent.system_prompt) >= 3_000:
            manager.reduce_context(agent)

    return _strands(conversation, act)


def counted(conversation: dict[str, Any]) -> Iterator[int]:
    from strands.models.model import _estimate_tokens_with_heuristic

    for found in requests(conversation):
        blocks: list[Any] = []
        for one in found:
            if one["role"] == "tool":
                blocks.append({"toolResult": {"content": [{"text": one["content"]}]}})
                continue
            blocks += [{"text": one["content"]}] if one["content"] else []
            for c in one.get("tool_calls") or ():
                made = c["function"]
                blocks.append({"toolUse": {"name": made["name"], "input": json.loads(made["arguments"])}})
        yield _estimate_tokens_with_heuristic([{"role": "user", "content": blocks}])
