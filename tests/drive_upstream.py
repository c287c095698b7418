"""Frameworks' own code over an invented conversation: what each would send at each call.

Nothing of ctxsim is imported here, so that an environment that holds a framework alone can run it:
`python tests/drive_upstream.py NAME...` writes `tests/policies/frameworks/sent/NAME.jsonl.gz`, a request in each line.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

Message = dict[str, Any]
Row = list[Any]
STUB = "SUMMARY"
"""What every summarizer says."""

WORDS = ("order", "shelf", "ledger", "winter", "copper", "harbour", "signal", "lantern", "orchard", "bridge", "ticket")


def invented() -> dict[str, Any]:
    """A conversation in several turns with parallel calls, large and short results and texts of two scripts."""
    chance = random.Random(7)
    found: list[Message] = [{"role": "user", "content": "Count what the warehouse holds, and tell me what is missing."}]
    calls = []
    for number in range(40):
        calls.append({"n": len(found)})
        asked = [f"call_{number}_{n}" for n in range(chance.choice([1, 1, 1, 2, 3]))]
        tool_calls = [
            {
                "id": one,
                "type": "function",
                "function": {
                    "name": chance.choice(["read", "search"]),
                    "arguments": json.dumps({"path": f"{chance.randrange(99)}.txt", "deep": chance.random() < 0.5}),
                },
            }
            for one in asked
        ]
        said = chance.choice(["", _prose(chance, 12), _prose(chance, 40)])
        found.append({"role": "assistant", "content": said, "tool_calls": tool_calls})
        for one, call in zip(asked, tool_calls, strict=True):
            size = chance.choice([3, 20, 60, 200, 600])
            text = (
                "\n".join(_prose(chance, 8) for _ in range(size // 8 + 1)) if chance.random() < 0.8 else "数え" * size
            )
            found.append({"role": "tool", "tool_call_id": one, "name": call["function"]["name"], "content": text})
        if number % 9 == 8:
            calls.append({"n": len(found)})
            found.append({"role": "assistant", "content": _prose(chance, 30)})
            found.append({"role": "user", "content": _prose(chance, 25)})
    return {"name": "invented", "system": _prose(chance, 150), "tools": [], "messages": found, "calls": calls}


def _prose(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(words)).capitalize() + "."


def digest(text: str) -> str:
    """The first 8 hexadecimal digits of a text's sha256."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def tokens(text: str) -> int:
    """The counter that upstream is given where it takes one: characters / 4, up."""
    return -(-len(text) // 4)


def requests(conversation: dict[str, Any]) -> Iterator[list[Message]]:
    """The messages of each request, without the system prompt."""
    for call in conversation["calls"]:
        yield conversation["messages"][: call["n"]]


# LangChain


def _to_langchain(found: Iterable[Message]) -> list[Any]:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    made: list[Any] = []
    for n, one in enumerate(found):
        content: Any = one["content"]
        if one.get("images"):
            content = [{"type": "text", "text": content}]
            content += [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}] * one["images"]
        if one["role"] == "user":
            made.append(HumanMessage(content, id=str(n)))
        elif one["role"] == "tool":
            made.append(ToolMessage(content, tool_call_id=one["tool_call_id"], name=one["name"], id=str(n)))
        else:
            calls = [
                {"name": c["function"]["name"], "args": json.loads(c["function"]["arguments"]), "id": c["id"]}
                for c in one.get("tool_calls") or ()
            ]
            made.append(AIMessage(one["content"], tool_calls=calls, id=str(n)))
    return made


def _langchain_rows(found: Iterable[Any]) -> list[Row]:
    rows = []
    for one in found:
        role = {"human": "user", "ai": "assistant"}.get(one.type, one.type)
        ids: list[Any] = []
        if role == "tool":
            ids = [one.tool_call_id]
        elif role == "assistant" and one.tool_calls:
            ids = [[call["id"] for call in one.tool_calls]]
        text = one.content
        if isinstance(text, list):
            text = "".join(part if isinstance(part, str) else part.get("text", "") for part in text)
        rows.append([role, len(text), digest(text), *ids])
    return rows


def langchain_trim(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`trim_messages` at 2,000 tokens, from a user or a response on."""
    from langchain_core.messages import SystemMessage, trim_messages
    from langchain_core.messages.utils import count_tokens_approximately

    for found in requests(conversation):
        given = [SystemMessage(conversation["system"]), *_to_langchain(found)]
        kept = trim_messages(
            given, max_tokens=2_000, token_counter=count_tokens_approximately, start_on=["human", "ai"],
            include_system=True, allow_partial=True,
        )  # fmt: skip
        yield _langchain_rows(one for one in kept if one.type != "system")


def langchain_clear(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ClearToolUsesEdit` at 2,000 tokens, keep 3."""
    from langchain.agents.middleware import ClearToolUsesEdit
    from langchain_core.messages.utils import count_tokens_approximately

    for found in requests(conversation):
        given = _to_langchain(found)
        ClearToolUsesEdit(trigger=2_000, keep=3).apply(given, count_tokens=count_tokens_approximately)
        yield _langchain_rows(given)


def langchain_summarize(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SummarizationMiddleware` at 3,000 tokens, keep 10 messages."""
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_core.language_models import FakeListChatModel

    middleware = SummarizationMiddleware(
        FakeListChatModel(responses=[STUB] * 100), trigger=("tokens", 3_000), keep=("messages", 10)
    )
    state: list[Any] = []
    known = 0
    everything = _to_langchain(conversation["messages"])
    for call in conversation["calls"]:
        state, known = [*state, *everything[known : call["n"]]], call["n"]
        changed = middleware.before_model({"messages": state}, None)  # type: ignore[typeddict-item,arg-type]
        if changed:
            state = [one for one in changed["messages"] if one.type != "remove"]
        yield _langchain_rows(state)


def langmem(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`summarize_messages` at 2,500 tokens."""
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import SystemMessage
    from langmem.short_term import summarize_messages

    model = FakeListChatModel(responses=[STUB] * 100)
    summary = None
    for found in requests(conversation):
        given = [SystemMessage(conversation["system"], id="system"), *_to_langchain(found)]
        result = summarize_messages(given, running_summary=summary, model=model, max_tokens=2_500)
        summary = result.running_summary or summary
        yield _langchain_rows(one for one in result.messages if one.id != "system")


# Agent Framework


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
    everything, known = _to_agent_framework(conversation["messages"]), 0
    for call in conversation["calls"]:
        kept += everything[known : call["n"]]
        known = call["n"]
        sent = asyncio.run(apply_compaction(kept, strategy=strategy, **given))
        rows: list[Row] = []
        for one in (one for one in sent if one.role != "system"):
            text = "".join(c.text or "" for c in one.contents if c.type == "text")
            ids: list[Any] = []
            if one.role == "tool":
                text, ids = one.contents[0].result, [one.contents[0].call_id]
            elif calls := [c.call_id for c in one.contents if c.type == "function_call"]:
                ids = [calls]
            rows.append([one.role, len(text), digest(text), *ids])
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


# AG2


def _to_ag2(conversation: dict[str, Any]) -> Iterator[list[Any]]:
    """The new events of each request: results that answer one response are one."""
    from ag2 import events as theirs

    known = 0
    for call in conversation["calls"]:
        made: list[Any] = []
        results: list[Any] = []
        for one in [*conversation["messages"][known : call["n"]], {"role": "end"}]:
            if one["role"] == "tool":
                said = theirs.ToolResult(one["content"])
                results.append(theirs.ToolResultEvent(parent_id=one["tool_call_id"], name=one["name"], result=said))
                continue
            if results:
                made.append(theirs.ToolResultsEvent(results))
                results = []
            if one["role"] == "user":
                made.append(theirs.ModelRequest([theirs.TextInput(one["content"])]))
            elif one["role"] == "assistant":
                calls = [
                    theirs.ToolCallEvent(id=c["id"], name=c["function"]["name"], arguments=c["function"]["arguments"])
                    for c in one.get("tool_calls") or ()
                ]
                text = theirs.ModelMessage(one["content"]) if one["content"] else None
                made.append(theirs.ModelResponse(message=text, tool_calls=theirs.ToolCallsEvent(calls)))
        known = call["n"]
        yield made


def _ag2_rows(found: Iterable[Any]) -> Iterator[Row]:
    for event in found:
        kind = type(event).__name__
        if kind == "ToolResultsEvent":
            for one in event.results:
                text = one.result.parts[0].content
                yield ["tool", len(text), digest(text), one.parent_id]
        elif kind == "ModelRequest":
            yield ["user", len(event.parts[0].content), digest(event.parts[0].content)]
        else:
            text, calls = event.content or "", [call.id for call in event.tool_calls.calls]
            yield ["assistant", len(text), digest(text), *([calls] if calls else [])]


def _ag2(conversation: dict[str, Any], act: Callable[[list[Any]], Any], lasting: bool = False) -> Iterator[list[Row]]:
    kept: list[Any] = []
    for new in _to_ag2(conversation):
        kept += new
        sent = asyncio.run(act(kept))
        yield list(_ag2_rows(sent))
        kept = list(sent) if lasting else kept


def ag2_sliding(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`HistoryLimiter` of 8 events: the sliding window that keeps the first text."""
    from ag2.middleware.builtin.history_limiter import HistoryLimiter

    return _ag2(conversation, _limited(HistoryLimiter(8)))


def ag2_token_limiter(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`TokenLimiter` of 2,500 tokens."""
    from ag2.middleware.builtin.token_limiter import TokenLimiter

    return _ag2(conversation, _limited(TokenLimiter(2_500)))


def _limited(limiter: Any) -> Callable[[list[Any]], Any]:
    async def sent(found: list[Any]) -> Any:
        async def model(events: Any, context: Any) -> Any:
            return events

        return await limiter(None, None).on_llm_call(model, found, None)

    return sent


def ag2_tail_window(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`TailWindowCompact` to 6 events once there are more than 12."""
    from ag2.compact import TailWindowCompact

    async def compacted(found: list[Any]) -> Any:
        return await TailWindowCompact(6).compact(found, None, None) if len(found) > 12 else found  # type: ignore[arg-type]

    return _ag2(conversation, compacted, lasting=True)


# AutoGen


def _autogen(conversation: dict[str, Any], context: Any) -> Iterator[list[Row]]:
    from autogen_core import FunctionCall
    from autogen_core.models import (
        AssistantMessage,
        FunctionExecutionResult,
        FunctionExecutionResultMessage,
        UserMessage,
    )

    known = 0
    names = {}
    for call in conversation["calls"]:
        results: list[Any] = []
        for one in [*conversation["messages"][known : call["n"]], {"role": "end"}]:
            if one["role"] == "tool":
                results.append(
                    FunctionExecutionResult(content=one["content"], name=one["name"], call_id=one["tool_call_id"])
                )
                continue
            if results:
                asyncio.run(context.add_message(FunctionExecutionResultMessage(content=results)))
                results = []
            if one["role"] == "user":
                asyncio.run(context.add_message(UserMessage(content=one["content"], source="user")))
            elif one["role"] == "assistant" and one.get("tool_calls"):
                calls = [
                    FunctionCall(c["id"], c["function"]["arguments"], c["function"]["name"]) for c in one["tool_calls"]
                ]
                names |= {c.id: c.name for c in calls}
                said = AssistantMessage(content=calls, thought=one["content"] or None, source="agent")
                asyncio.run(context.add_message(said))
            elif one["role"] == "assistant":
                asyncio.run(context.add_message(AssistantMessage(content=one["content"], source="agent")))
        known = call["n"]
        rows: list[Row] = []
        for sent in asyncio.run(context.get_messages()):
            if isinstance(sent, FunctionExecutionResultMessage):
                rows += [["tool", len(r.content), digest(r.content), r.call_id] for r in sent.content]
            elif isinstance(sent.content, str):
                role = "user" if isinstance(sent, UserMessage) else "assistant"
                rows.append([role, len(sent.content), digest(sent.content)])
            else:
                thought = sent.thought or ""
                rows.append(["assistant", len(thought), digest(thought), [c.id for c in sent.content]])
        yield rows


def autogen_buffered(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`BufferedChatCompletionContext` of 10."""
    from autogen_core.model_context import BufferedChatCompletionContext

    return _autogen(conversation, BufferedChatCompletionContext(buffer_size=10))


def autogen_head_tail(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`HeadAndTailChatCompletionContext` of 2 and 8."""
    from autogen_core.model_context import HeadAndTailChatCompletionContext

    return _autogen(conversation, HeadAndTailChatCompletionContext(head_size=2, tail_size=8))


def autogen_token_limited(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`TokenLimitedChatCompletionContext` of 2,000 tokens by the injected counter."""
    from autogen_core.model_context import TokenLimitedChatCompletionContext

    class Client:
        """Counts, and does nothing else."""

        def count_tokens(self, messages: Any, tools: Any = ()) -> int:
            return sum(tokens(_autogen_text(one)) for one in messages)

    context = TokenLimitedChatCompletionContext.__new__(TokenLimitedChatCompletionContext)
    context._messages, context._initial_messages = [], []
    context._token_limit, context._model_client, context._tool_schema = 2_000, Client(), []  # type: ignore[assignment]
    return _autogen(conversation, context)


def _autogen_text(message: Any) -> str:
    if isinstance(message.content, str):
        return message.content
    parts = [getattr(message, "thought", None) or ""]
    parts += [p.content if hasattr(p, "call_id") else p.name + p.arguments for p in message.content]
    return "".join(parts)


# Pydantic AI


def _pydantic(conversation: dict[str, Any], capability: Any, limit: int = 3_000) -> Iterator[list[Row]]:
    from types import SimpleNamespace

    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
        repair_messages,
    )
    from pydantic_ai_harness.compaction._shared import exceeds

    state: list[Any] = []
    known = 0
    for call in conversation["calls"]:
        for one in conversation["messages"][known : call["n"]]:
            if one["role"] == "assistant":
                parts: list[Any] = [TextPart(one["content"])] if one["content"] else []
                parts += [
                    ToolCallPart(c["function"]["name"], c["function"]["arguments"], c["id"])
                    for c in one.get("tool_calls") or ()
                ]
                state.append(ModelResponse(parts))
                continue
            if one["role"] == "user":
                # A run begins with what is stored made valid, and merged.
                state = repair_messages(state, repair_last_response=False)
            part: Any = UserPromptPart(one["content"])
            if one["role"] == "tool":
                part = ToolReturnPart(one["name"], one["content"], one["tool_call_id"])
            if state and isinstance(state[-1], ModelRequest):
                state[-1] = ModelRequest([*state[-1].parts, part], instructions=conversation["system"])
            else:
                state.append(ModelRequest([part], instructions=conversation["system"]))
        known = call["n"]
        # What stands before it in `before_model_request`: whether the limit is passed.
        if exceeds(state, None, limit, None):
            state = asyncio.run(capability.compact(list(state), SimpleNamespace(model=None)))
        rows: list[Row] = []
        for one in state:
            if isinstance(one, ModelResponse):
                text = "".join(p.content for p in one.parts if isinstance(p, TextPart))
                calls = [p.tool_call_id for p in one.parts if isinstance(p, ToolCallPart)]
                rows.append(["assistant", len(text), digest(text), *([calls] if calls else [])])
                continue
            for p in one.parts:
                tool = isinstance(p, ToolReturnPart)
                rows.append([
                    "tool" if tool else "user", len(p.content), digest(p.content), *([p.tool_call_id] if tool else [])
                ])  # fmt: skip
        yield rows


def pydantic_clear(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ClearToolResults` at 3,000 tokens, if 500 come free."""
    from pydantic_ai_harness.compaction import ClearToolResults

    return _pydantic(conversation, ClearToolResults(max_tokens=3_000, min_clear_tokens=500))


def pydantic_sliding(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SlidingWindowCompaction` at 3,000 tokens, keep 1,500."""
    from pydantic_ai_harness.compaction import SlidingWindowCompaction

    return _pydantic(conversation, SlidingWindowCompaction(max_tokens=3_000, keep_tokens=1_500))


def pydantic_summarize(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SummarizingCompaction` at 3,000 tokens, keep 6 messages."""
    from pydantic_ai_harness.compaction import SummarizingCompaction

    class Summarizing(SummarizingCompaction[Any]):
        """Says what every summarizer says."""

        async def _summarize(self, *asked: Any, **given: Any) -> str:
            return STUB

    return _pydantic(conversation, Summarizing(max_tokens=3_000, keep_messages=6))


def pydantic_tiered(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`TieredCompaction` to 3,000 tokens: clear, then keep 8 messages."""
    from pydantic_ai_harness.compaction import ClearToolResults, SlidingWindowCompaction, TieredCompaction

    tiers = [ClearToolResults(max_tokens=1), SlidingWindowCompaction(max_tokens=1, keep_messages=8)]
    capability = TieredCompaction(tiers=tiers, target_tokens=3_000)
    return _pydantic(conversation, capability)


def pydantic_clamp(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ClampOversizedMessages` of 120 characters to 40 and 20."""
    from pydantic_ai_harness.compaction import ClampOversizedMessages

    capability = ClampOversizedMessages(max_part_chars=120, keep_head_chars=40, keep_tail_chars=20)
    return _pydantic(conversation, capability, -1)


# Strands, Semantic Kernel: environments of their own


def _strands(conversation: dict[str, Any], act: Callable[[Any], None]) -> Iterator[list[Row]]:
    from types import SimpleNamespace

    agent = SimpleNamespace(messages=[], system_prompt=conversation["system"])
    known = 0
    for call in conversation["calls"]:
        for one in conversation["messages"][known : call["n"]]:
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
        known = call["n"]
        act(agent)
        rows: list[Row] = []
        for sent in agent.messages:
            results = [b["toolResult"] for b in sent["content"] if "toolResult" in b]
            if results:
                texts = [(r["content"][0]["text"], r["toolUseId"]) for r in results]
                rows += [["tool", len(text), digest(text), name] for text, name in texts]
                continue
            text = "".join(b.get("text", "") for b in sent["content"])
            calls = [b["toolUse"]["toolUseId"] for b in sent["content"] if "toolUse" in b]
            rows.append([sent["role"], len(text), digest(text), *([calls] if calls else [])])
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


def _semantic_kernel(conversation: dict[str, Any], reducer: Any) -> Iterator[list[Row]]:
    from semantic_kernel.contents import (
        ChatMessageContent,
        FunctionCallContent,
        FunctionResultContent,
        TextContent,
    )

    reducer.messages = [ChatMessageContent(role="system", content=conversation["system"])]  # type: ignore[arg-type]
    known = 0
    for call in conversation["calls"]:
        for one in conversation["messages"][known : call["n"]]:
            items: list[Any] = [TextContent(text=one["content"])] if one["content"] else []
            if one["role"] == "tool":
                items = [FunctionResultContent(id=one["tool_call_id"], name=one["name"], result=one["content"])]
            for c in one.get("tool_calls") or ():
                made = c["function"]
                items.append(FunctionCallContent(id=c["id"], name=made["name"], arguments=made["arguments"]))
            reducer.messages = [*reducer.messages, ChatMessageContent(role=one["role"], items=items)]
        known = call["n"]
        asyncio.run(reducer.reduce())
        rows: list[Row] = []
        for sent in reducer.messages[1:]:
            text = "".join(part.text for part in sent.items if isinstance(part, TextContent))
            ids: list[Any] = []
            if result := next((part for part in sent.items if isinstance(part, FunctionResultContent)), None):
                text, ids = str(result.result), [result.id]
            elif calls := [part.id for part in sent.items if isinstance(part, FunctionCallContent)]:
                ids = [calls]
            rows.append([sent.role.value, len(text), digest(text), *ids])
        yield rows


def sk_truncate(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ChatHistoryTruncationReducer` to 8, with a threshold of 3."""
    from semantic_kernel.contents import ChatHistoryTruncationReducer

    return _semantic_kernel(conversation, ChatHistoryTruncationReducer(target_count=8, threshold_count=3))


def sk_summarize(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ChatHistorySummarizationReducer` to 8, with a threshold of 3."""
    from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
    from semantic_kernel.contents import ChatHistorySummarizationReducer, ChatMessageContent

    class Summarizing(ChatHistorySummarizationReducer):
        """Says what every summarizer says."""

        async def _summarize(self, messages: Any) -> Any:
            return ChatMessageContent(role="assistant", content=STUB)  # type: ignore[arg-type]

    client = ChatCompletionClientBase(ai_model_id="none")
    return _semantic_kernel(conversation, Summarizing(service=client, target_count=8, threshold_count=3))


def openai_trimmer(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ToolOutputTrimmer` as shipped."""
    from types import SimpleNamespace

    from agents.extensions import ToolOutputTrimmer

    trimmer = ToolOutputTrimmer()
    for found in requests(conversation):
        items: list[Any] = []
        for one in found:
            if one["role"] == "tool":
                output = {"type": "function_call_output", "call_id": one["tool_call_id"], "output": one["content"]}
                items.append(output)
                continue
            items.append({"role": one["role"], "content": one["content"]})
            for c in one.get("tool_calls") or ():
                made = {"name": c["function"]["name"], "arguments": c["function"]["arguments"]}
                items.append({"type": "function_call", "call_id": c["id"], **made})
        data = SimpleNamespace(model_data=SimpleNamespace(input=items, instructions=None), agent=None, context=None)
        sent = trimmer(data).input  # type: ignore[arg-type]
        rows: list[Row] = []
        for item in sent:
            if item.get("type") == "function_call_output":
                rows.append(["tool", len(item["output"]), digest(item["output"]), item["call_id"]])
            elif item.get("type") == "function_call":
                rows[-1] = [*rows[-1][:3], [*(rows[-1][3] if len(rows[-1]) > 3 else []), item["call_id"]]]
            else:
                rows.append([item["role"], len(item["content"]), digest(item["content"])])
        yield rows


def openai_session_limit(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SessionSettings` of 12 items."""
    from agents import SQLiteSession
    from agents.memory import SessionSettings

    async def limited(items: list[Any]) -> list[Any]:
        session = SQLiteSession("s", session_settings=SessionSettings(limit=12))
        await session.add_items(items)
        return await session.get_items()

    for found in requests(conversation):
        yield _openai_rows(asyncio.run(limited(_openai_items(found))))


def openai_compaction_session(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """Where `OpenAIResponsesCompactionSession` compacts; what comes of it is as the server's documentation says."""
    from agents.memory import openai_responses_compaction_session as theirs

    kept: list[Any] = []
    known = 0
    for call in conversation["calls"]:
        kept += _openai_items(conversation["messages"][known : call["n"]])
        known = call["n"]
        candidates = theirs.select_compaction_candidate_items(kept)
        if theirs.default_should_trigger_compaction({"compaction_candidate_items": candidates}):
            kept = [one for one in kept if one.get("role") == "user"] + [{"type": "compaction", "content": STUB}]
        yield _openai_rows(kept)


def _openai_items(found: Iterable[Message]) -> list[Any]:
    items: list[Any] = []
    for one in found:
        if one["role"] == "tool":
            items.append({"type": "function_call_output", "call_id": one["tool_call_id"], "output": one["content"]})
            continue
        if one["content"]:
            items.append({"role": one["role"], "content": one["content"]})
        for c in one.get("tool_calls") or ():
            made = {"name": c["function"]["name"], "arguments": c["function"]["arguments"]}
            items.append({"type": "function_call", "call_id": c["id"], **made})
    return items


def _openai_rows(items: Iterable[Any]) -> list[Row]:
    rows: list[Row] = []
    before = ""
    for item in items:
        kind = item.get("type") or item["role"]
        if kind == "function_call_output":
            rows.append(["tool", len(item["output"]), digest(item["output"]), item["call_id"]])
        elif kind != "function_call":
            rows.append([item.get("role", "assistant"), len(item["content"]), digest(item["content"])])
        elif before in ("assistant", "function_call"):
            rows[-1] = [*rows[-1][:3], [*(rows[-1][3] if len(rows[-1]) > 3 else []), item["call_id"]]]
        else:
            rows.append(["assistant", 0, digest(""), [item["call_id"]]])
        before = kind
    return rows


def llamaindex_summary(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ChatSummaryMemoryBuffer` of 2,500 tokens by the injected counter."""
    from llama_index.core.llms import ChatMessage, ChatResponse, MockLLM
    from llama_index.core.memory import ChatSummaryMemoryBuffer

    class Summarizer(MockLLM):
        """Says what every summarizer says."""

        def chat(self, *asked: Any, **given: Any) -> Any:
            return ChatResponse(message=ChatMessage(role="assistant", content=STUB))

    buffer: Any = None
    known = 0
    for call in conversation["calls"]:
        for n, one in enumerate(conversation["messages"][known : call["n"]], known):
            told = ChatMessage(role=one["role"], content=one["content"], additional_kwargs={"n": n})
            if buffer is None:
                buffer = ChatSummaryMemoryBuffer.from_defaults(
                    chat_history=[told],
                    llm=Summarizer(),
                    token_limit=2_500,
                    tokenizer_fn=lambda text: range(tokens(text)),  # type: ignore[arg-type,return-value]
                )
            else:
                buffer.put(told)
        known = call["n"]
        rows: list[Row] = []
        for sent in buffer.get():
            n = sent.additional_kwargs.get("n")
            one = {"role": "user", "content": sent.content} if n is None else conversation["messages"][n]
            ids = [one["tool_call_id"]] if one["role"] == "tool" else []
            if calls := [c["id"] for c in one.get("tool_calls") or ()]:
                ids = [calls]
            rows.append([one["role"], len(one["content"]), digest(one["content"]), *ids])
        yield rows


def llamaindex_buffer(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ChatMemoryBuffer` of 2,500 tokens by the injected counter."""
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import ChatMemoryBuffer

    class Tokens:
        """As many as the joined text has by the injected counter; upstream asks for their number alone."""

        def __init__(self, text: str) -> None:
            self.number = tokens(text)

        def __len__(self) -> int:
            return self.number

    for found in requests(conversation):
        told = [
            ChatMessage(role=one["role"], content=one["content"], additional_kwargs={"n": n})
            for n, one in enumerate(found)
        ]
        buffer = ChatMemoryBuffer.from_defaults(
            chat_history=told,
            token_limit=2_500,
            tokenizer_fn=Tokens,  # type: ignore[arg-type]
        )
        rows: list[Row] = []
        for sent in buffer.get():
            one = found[sent.additional_kwargs["n"]]
            ids = [one["tool_call_id"]] if one["role"] == "tool" else []
            if calls := [c["id"] for c in one.get("tool_calls") or ()]:
                ids = [calls]
            rows.append([one["role"], len(one["content"]), digest(one["content"]), *ids])
        yield rows


def litellm_trim(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`trim_messages` to 2,500 tokens."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    from litellm.utils import trim_messages

    for found in requests(conversation):
        given = [{"role": "system", "content": conversation["system"]}, *found]
        rows: list[Row] = []
        for one in trim_messages(given, max_tokens=2_500)[1:]:
            ids = [one["tool_call_id"]] if one["role"] == "tool" else []
            if calls := [c["id"] for c in one.get("tool_calls") or ()]:
                ids = [calls]
            rows.append([one["role"], len(one["content"]), digest(one["content"]), *ids])
        yield rows


# Agent Development Kit


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
    known = number = invocation = 0
    for call in conversation["calls"]:
        run: list[list[Message]] = []
        for one in conversation["messages"][known : call["n"]]:
            if run and one["role"] == run[-1][-1]["role"] == "tool":
                run[-1].append(one)
            else:
                run.append([one])
        known = call["n"]
        made = []
        for group in run:
            invocation += group[0]["role"] == "user"
            made.append(_adk_event(group, number := number + 1, invocation))
        yield made


def _adk_rows(contents: Iterable[Any]) -> Iterator[Row]:
    for content in contents:
        if any(part.function_response for part in content.parts):
            for part in content.parts:
                text = part.function_response.response["result"]
                yield ["tool", len(text), digest(text), part.function_response.id]
            continue
        text = "".join(part.text or "" for part in content.parts)
        calls = [part.function_call.id for part in content.parts if part.function_call]
        role = "assistant" if content.role == "model" else "user"
        yield [role, len(text), digest(text), *([calls] if calls else [])]


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


# Haystack


def _to_haystack(conversation: dict[str, Any]) -> list[Any]:
    from haystack.dataclasses import ChatMessage, ToolCall

    made = []
    asked: dict[str, Any] = {}
    for one in conversation["messages"]:
        if one["role"] == "user":
            made.append(ChatMessage.from_user(one["content"]))
        elif one["role"] == "tool":
            made.append(ChatMessage.from_tool(one["content"], origin=asked[one["tool_call_id"]]))
        else:
            calls = [
                ToolCall(c["function"]["name"], json.loads(c["function"]["arguments"]), c["id"])
                for c in one.get("tool_calls") or ()
            ]
            asked |= {call.id: call for call in calls}
            made.append(ChatMessage.from_assistant(one["content"] or None, tool_calls=calls))
    return made


def _haystack(conversation: dict[str, Any], compactor: Any) -> Iterator[list[Row]]:
    from haystack.dataclasses import ChatMessage
    from haystack.hooks.compaction import CompactionHook

    class State:
        """The messages of an agent that reports no usage."""

        def __init__(self) -> None:
            self.data: dict[str, Any] = {"messages": [ChatMessage.from_system(conversation["system"])]}

        def set(self, key: str, value: Any, handler_override: Any = None) -> None:
            self.data[key] = value

    hook, state, known = CompactionHook(compactor, context_window=3_000), State(), 0
    everything = _to_haystack(conversation)
    for call in conversation["calls"]:
        state.data["messages"] = [*state.data["messages"], *everything[known : call["n"]]]
        known = call["n"]
        hook.run(state)  # type: ignore[arg-type]
        rows: list[Row] = []
        for sent in state.data["messages"][1:]:
            if result := sent.tool_call_result:
                rows.append(["tool", len(result.result), digest(result.result), result.origin.id])
                continue
            text, calls = sent.text or "", [call.id for call in sent.tool_calls]
            rows.append([sent.role.value, len(text), digest(text), *([calls] if calls else [])])
        yield rows


def haystack_sliding(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SlidingWindowCompactor` as shipped, of a window of 3,000 tokens."""
    from haystack.hooks.compaction import SlidingWindowCompactor

    return _haystack(conversation, SlidingWindowCompactor())


def haystack_prune(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ToolResultPruningCompactor` of results over 50 tokens, of a window of 3,000."""
    from haystack.hooks.compaction import ToolResultPruningCompactor

    return _haystack(conversation, ToolResultPruningCompactor(min_tokens=50))


def haystack_summarize(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SummarizationCompactor` of a window of 3,000 tokens."""
    from haystack.dataclasses import ChatMessage
    from haystack.hooks.compaction import SummarizationCompactor

    class Generator:
        """Says what every summarizer says."""

        def run(self, messages: Any) -> Any:
            return {"replies": [ChatMessage.from_assistant(STUB)]}

    generator: Any = Generator()
    return _haystack(conversation, SummarizationCompactor(generator, approximate_summary_tokens=100))


# JavaScript


def node(name: str, conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """A framework in JavaScript, from the folder `node_modules` that the variable NODE_MODULES names."""
    running = _node(name, os.environ["NODE_MODULES"])
    running.stdin.write(json.dumps(conversation) + "\n")
    running.stdin.flush()
    yield from json.loads(running.stdout.readline())


def npm(module: str) -> str:
    """The package and version that `npm:NAME` stands for, '' where NODE_MODULES has none."""
    package = Path(os.environ.get("NODE_MODULES", ""), module.removeprefix("npm:"), "package.json")
    return f"{package.parent.name} {json.loads(package.read_text())['version']}" if package.is_file() else ""


@cache
def _node(name: str, modules: str) -> Any:
    script = Path(__file__).with_name("drive_node.mjs")
    return subprocess.Popen(["node", script, name, modules], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


# What counts


def _counted_by_haystack(conversation: dict[str, Any]) -> Iterator[int]:
    from haystack.token_counters import ApproximateTokenCounter

    counter, everything = ApproximateTokenCounter(), _to_haystack(conversation)
    for call in conversation["calls"]:
        yield counter.count(everything[: call["n"]])


def _counted_by_strands(conversation: dict[str, Any]) -> Iterator[int]:
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


def _counted_by_agent_framework(conversation: dict[str, Any]) -> Iterator[int]:
    from agent_framework._compaction import CharacterEstimatorTokenizer, _serialize_message

    counter = CharacterEstimatorTokenizer()
    sizes = [counter.count_tokens(_serialize_message(one)) for one in _to_agent_framework(conversation["messages"])]
    for call in conversation["calls"]:
        yield sum(sizes[: call["n"]])


def _counted_by_pydantic(conversation: dict[str, Any]) -> Iterator[int]:
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
    from pydantic_ai_harness.compaction._shared import estimate_token_count

    for found in requests(conversation):
        made: list[Any] = []
        for one in found:
            if one["role"] == "user":
                made.append(ModelRequest([UserPromptPart(one["content"])]))
            elif one["role"] == "tool":
                made.append(ModelRequest([ToolReturnPart(one["name"], one["content"], one["tool_call_id"])]))
            else:
                calls = [
                    ToolCallPart(c["function"]["name"], c["function"]["arguments"], c["id"])
                    for c in one.get("tool_calls") or ()
                ]
                made.append(ModelResponse([TextPart(one["content"]), *calls]))
        yield estimate_token_count(made)


def _counted_by_langchain(conversation: dict[str, Any]) -> Iterator[int]:
    from langchain_core.messages.utils import count_tokens_approximately

    for found in requests(conversation):
        yield count_tokens_approximately(_to_langchain(found))


def _counted_by_adk(conversation: dict[str, Any]) -> Iterator[int]:
    from google.adk.apps.compaction import _count_chars_in_content

    chars = 0
    for new in _adk_events(conversation):
        chars += sum(_count_chars_in_content(event.content) for event in new)
        yield chars // 4


DRIVERS: dict[str, tuple[Callable[[dict[str, Any]], Iterator[list[Row]]], str, str]] = {
    "adk-compact": (adk_compact, "google.adk", "token_threshold=2000,event_retention_size=4"),
    "adk-filter": (adk_filter, "google.adk", "num_invocations_to_keep=2"),
    "af-context-window": (af_context_window, "agent_framework", "max_context_window_tokens=4000,max_output_tokens=500"),
    "af-budget": (af_budget, "agent_framework", "token_budget=3000,keep_last_groups=6"),
    "af-selective": (af_selective, "agent_framework", ""),
    "af-sliding": (af_sliding, "agent_framework", "keep_last_groups=6"),
    "af-summarize": (af_summarize, "agent_framework", "max_summary_input_tokens=600"),
    "af-tool-result": (af_tool_result, "agent_framework", ""),
    "af-truncation": (af_truncation, "agent_framework", "max_n=3000,compact_to=1500"),
    "ag2-sliding": (ag2_sliding, "ag2", "max_events=8,keep_first=True"),
    "ag2-tail-window": (ag2_tail_window, "ag2", "target=6,max_events=12"),
    "ag2-token-limiter": (ag2_token_limiter, "ag2", "max_tokens=2500"),
    "autogen-buffered": (autogen_buffered, "autogen_core", "buffer_size=10"),
    "autogen-head-tail": (autogen_head_tail, "autogen_core", "head_size=2,tail_size=8"),
    "autogen-token-limited": (
        autogen_token_limited,
        "autogen_core",
        "token_limit=2000,estimator=chars-total:by=message,rounding=ceil",
    ),
    "haystack-sliding": (haystack_sliding, "haystack", "context_window=3000"),
    "haystack-prune": (haystack_prune, "haystack", "context_window=3000,min_tokens=50"),
    "haystack-summarize": (haystack_summarize, "haystack", "context_window=3000,approximate_summary_tokens=100"),
    "langchain-clear": (langchain_clear, "langchain", "trigger=2000"),
    "langchain-summarize": (langchain_summarize, "langchain", "trigger=3000,keep=10"),
    "langchain-trim": (
        langchain_trim,
        "langchain_core",
        "max_tokens=2000,start_on=human/ai,include_system=True,allow_partial=True",
    ),
    "langmem": (langmem, "langmem", "max_tokens=2500"),
    "litellm-trim": (litellm_trim, "litellm", "max_tokens=2500"),
    "llamaindex-buffer": (llamaindex_buffer, "llama_index.core", "token_limit=2500,estimator=chars"),
    "llamaindex-summary": (llamaindex_summary, "llama_index.core", "token_limit=2500,estimator=chars"),
    "openai-compaction-session": (openai_compaction_session, "agents", ""),
    "openai-session-limit": (openai_session_limit, "agents", "limit=12"),
    "openai-trimmer": (openai_trimmer, "agents", ""),
    "openclaw": (partial(node, "openclaw"), "npm:openclaw", "keep_recent_tokens=2000"),
    "pydantic-clamp": (
        pydantic_clamp,
        "pydantic_ai_harness",
        "max_part_chars=120,keep_head_chars=40,keep_tail_chars=20",
    ),
    "pydantic-clear": (pydantic_clear, "pydantic_ai_harness", "max_tokens=3000,min_clear_tokens=500"),
    "pydantic-sliding": (pydantic_sliding, "pydantic_ai_harness", "max_tokens=3000,keep_tokens=1500"),
    "pydantic-summarize": (pydantic_summarize, "pydantic_ai_harness", "max_tokens=3000,keep_messages=6"),
    "pydantic-tiered": (pydantic_tiered, "pydantic_ai_harness", "max_tokens=3000,keep_messages=8"),
    "sk-summarize": (sk_summarize, "semantic_kernel", "target_count=8,threshold_count=3"),
    "sk-truncate": (sk_truncate, "semantic_kernel", "target_count=8,threshold_count=3"),
    "strands-sliding": (strands_sliding, "strands", "window_size=8,per_turn=True"),
    "strands-summarizing": (
        strands_summarizing,
        "strands",
        "preserve_recent_messages=4,proactive_compression=0.25",
    ),
    "vercel-prune": (partial(node, "vercel-prune"), "npm:ai", ""),
}
"""By policy: what runs upstream's code, the module that it needs, and our parameters that mean the same."""

COUNTERS: dict[str, tuple[Callable[[dict[str, Any]], Iterator[int]], str]] = {
    "adk": (_counted_by_adk, "google.adk"),
    "agent-framework": (_counted_by_agent_framework, "agent_framework"),
    "chars-total": (_counted_by_pydantic, "pydantic_ai_harness"),
    "haystack": (_counted_by_haystack, "haystack"),
    "strands": (_counted_by_strands, "strands"),
    "langchain": (_counted_by_langchain, "langchain_core"),
}
"""By estimator: what counts the messages of each request with upstream's counter, and the module that it needs."""

if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        lines = [json.dumps(rows, separators=(",", ":")) for rows in DRIVERS[wanted][0](invented())]
        file = Path(__file__).parent / "policies" / "frameworks" / "sent" / f"{wanted}.jsonl.gz"
        file.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
