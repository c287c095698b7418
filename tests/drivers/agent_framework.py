"""Agent Framework, over a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from drivers.conversation import STUB, Message, Row, added, row


def _to_agent_framework(messages: Iterable[Message]) -> list[Any]:
    from agent_framework import Content
    from agent_framework import Message as Sent

    made, place = [], 0
    for one in messages:
        # The number that a message gets counts too: ours is the place of its first part.
        name = f"msg_{place}"
        if one["role"] == "tool":
            contents = [Content.from_function_result(one["tool_call_id"], result=one["content"])]
        else:
            contents = [Content.from_text(one["content"])] if one["content"] else []
            contents += [
                Content.from_function_call(c["id"], c["function"]["name"], arguments=c["function"]["arguments"])
                for c in one.get("tool_calls") or ()
            ]
        place += len(contents)
        made.append(Sent(role=one["role"], contents=contents, message_id=name))
    return made


def _agent_framework(conversation: dict[str, Any], strategy: Any, **given: Any) -> Iterator[list[Row]]:
    from agent_framework import Message as Sent
    from agent_framework._compaction import apply_compaction

    kept = [Sent(role="system", contents=[conversation["system"]], message_id="msg_s")]
    for new in added(conversation, _to_agent_framework(conversation["messages"])):
        kept += new
        sent = asyncio.run(apply_compaction(kept, strategy=strategy, **given))
        rows: list[Row] = []
        for one in (one for one in sent if one.role != "system"):
            text = "".join(c.text or "" for c in one.contents if c.type == "text")
            if one.role == "tool":
                rows.append(row("tool", one.contents[0].result, answers=one.contents[0].call_id))
            else:
                rows.append(row(one.role, text, [c.call_id for c in one.contents if c.type == "function_call"]))
        yield rows


def af_truncation(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`TruncationStrategy` at 3,000 tokens, down to 1,500."""
    from agent_framework._compaction import CharacterEstimatorTokenizer, TruncationStrategy

    counter = CharacterEstimatorTokenizer()
    strategy = TruncationStrategy(max_n=3_000, compact_to=1_500, tokenizer=counter)
    return _agent_framework(conversation, strategy, tokenizer=counter)


def af_context_window(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ContextWindowCompactionStrategy` of a window of 4,000 tokens."""
    from agent_framework._compaction import CharacterEstimatorTokenizer, ContextWindowCompactionStrategy

    strategy = ContextWindowCompactionStrategy(max_context_window_tokens=4_000, max_output_tokens=500)
    return _agent_framework(conversation, strategy, tokenizer=CharacterEstimatorTokenizer())


def af_sliding(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SlidingWindowStrategy` of 6 groups."""
    from agent_framework._compaction import SlidingWindowStrategy

    return _agent_framework(conversation, SlidingWindowStrategy(keep_last_groups=6))


def af_tool_result(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ToolResultCompactionStrategy` as shipped."""
    from agent_framework._compaction import ToolResultCompactionStrategy

    return _agent_framework(conversation, ToolResultCompactionStrategy())


def af_selective(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SelectiveToolCallCompactionStrategy` as shipped."""
    from agent_framework._compaction import SelectiveToolCallCompactionStrategy

    return _agent_framework(conversation, SelectiveToolCallCompactionStrategy())


def af_summarize(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SummarizationStrategy` as shipped, of 600 tokens at a time."""
    from types import SimpleNamespace

    from agent_framework._compaction import SummarizationStrategy

    class Client:
        """Says what every summarizer says."""

        async def get_response(self, *asked: Any, **given: Any) -> Any:
            return SimpleNamespace(text=STUB)

    client: Any = Client()
    return _agent_framework(conversation, SummarizationStrategy(client=client, max_summary_input_tokens=600))


def af_budget(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`TokenBudgetComposedStrategy` of 3,000 tokens: results in a line, then 6 groups."""
    from agent_framework import _compaction as compaction

    counter = compaction.CharacterEstimatorTokenizer()
    steps = [compaction.ToolResultCompactionStrategy(), compaction.SlidingWindowStrategy(keep_last_groups=6)]
    strategy = compaction.TokenBudgetComposedStrategy(token_budget=3_000, tokenizer=counter, strategies=steps)
    return _agent_framework(conversation, strategy, tokenizer=counter)


def counted(conversation: dict[str, Any]) -> Iterator[int]:
    from agent_framework._compaction import CharacterEstimatorTokenizer, _serialize_message

    counter = CharacterEstimatorTokenizer()
    sizes = [counter.count_tokens(_serialize_message(one)) for one in _to_agent_framework(conversation["messages"])]
    for call in conversation["calls"]:
        yield sum(sizes[: call["n"]])
