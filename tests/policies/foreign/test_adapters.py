"""Frameworks' own classes, driven through ctxsim's view, send what they returned when they were run alone."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from itertools import zip_longest
from pathlib import Path
from typing import Any

import corpus
import pytest

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.policies.foreign.conversation import Conversation
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.summaries import EMPTY
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Transcript

OBSERVED = Path(os.environ.get("CTXSIM_OBSERVED") or corpus.FOLDER.parent / "observed") / "frameworks"
observed_here = pytest.mark.skipif(not OBSERVED.is_dir(), reason="no outputs of frameworks here: set CTXSIM_OBSERVED")

MODULES = {
    "agent-framework": "agent_framework",
    "autogen": "autogen_core",
    "langchain": "langchain",
    "langmem": "langmem",
    "pydantic-ai": "pydantic_ai_harness",
    "strands": "strands",
}
"""What has to be installed for a prefix."""

SUMMARIZE = "langchain:SummarizationMiddleware:trigger=tokens:8000"
WINDOW = "agent-framework:ContextWindowCompactionStrategy:max_context_window_tokens=12000,max_output_tokens=2000"
VARIANTS = {
    "langchain.clear": "langchain:ClearToolUsesEdit:trigger=8000,keep=3",
    "langchain.clear-at-least": "langchain:ClearToolUsesEdit:trigger=8000,keep=3,clear_at_least=4000",
    "langchain.clear-inputs": "langchain:ClearToolUsesEdit:trigger=8000,clear_tool_inputs=true,exclude_tools=Read",
    "langchain.summarize": SUMMARIZE,
    "langchain.summarize-tokens": f"{SUMMARIZE},trim_tokens_to_summarize=none,keep=tokens:3000",
    "langchain.summarize-untrimmed": f"{SUMMARIZE},trim_tokens_to_summarize=none",
    "langchain.trim": "langchain:trim_messages:max_tokens=8000",
    "langchain.trim-docs": "langchain:trim_messages:max_tokens=8000,start_on=human,include_system=true",
    "langchain.trim-safe": "langchain:trim_messages:max_tokens=8000,start_on=human:ai,include_system=true",
    "langchain.langmem": "langmem:summarize_messages:max_tokens=8000",
    "autogen.buffered": "autogen:BufferedChatCompletionContext:buffer_size=10",
    "autogen.head-tail": "autogen:HeadAndTailChatCompletionContext:head_size=2,tail_size=8",
    "agentframework.truncation": "agent-framework:TruncationStrategy:max_n=8000,compact_to=4000",
    "agentframework.truncation-first-user": (
        "agent-framework:TruncationStrategy:max_n=8000,compact_to=4000,preserve_first_user_group=true"
    ),
    "agentframework.sliding": "agent-framework:SlidingWindowStrategy:keep_last_groups=6",
    "agentframework.tool-result": "agent-framework:ToolResultCompactionStrategy:keep_last_tool_call_groups=4",
    "agentframework.selective": "agent-framework:SelectiveToolCallCompactionStrategy",
    "agentframework.context-window": WINDOW,
    "agentframework.context-window-first-user": f"{WINDOW},preserve_first_user_group=true",
    "agentframework.summarization": "agent-framework:SummarizationStrategy",
    "pydanticai.clear": "pydantic-ai:ClearToolResults:max_tokens=8000",
    "pydanticai.clear-min": "pydantic-ai:ClearToolResults:max_tokens=8000,min_clear_tokens=4000",
    "pydanticai.sliding-tokens": "pydantic-ai:SlidingWindowCompaction:max_tokens=8000,keep_tokens=4000",
    "pydanticai.sliding-messages": "pydantic-ai:SlidingWindowCompaction:max_messages=20,keep_messages=10",
    "pydanticai.clamp": "pydantic-ai:ClampOversizedMessages:max_part_chars=6000",
    "pydanticai.summarize": "pydantic-ai:SummarizingCompaction:max_tokens=8000",
    "strands.sliding-turn": "strands:SlidingWindowConversationManager:window_size=10,per_turn=true",
}
"""What was run, as a label."""


def recording(name: str) -> Transcript:
    """A conversation that the frameworks were run over."""
    stored = json.loads(gzip.decompress((OBSERVED / "conversations" / f"{name}.json.gz").read_bytes()))
    assembly = Assembly(name)
    assembly.system.append(stored["system"])
    for message in stored["messages"]:
        text = message["content"] or ""
        if message["role"] == "user":
            assembly.user(text)
        elif message["role"] == "tool":
            assembly.result(text, message["tool_call_id"])
        else:
            parts = [Part("assistant", text)] if text else []
            for call in message.get("tool_calls", ()):
                parts.append(Part("tool_call", call["function"]["arguments"], call["function"]["name"], call["id"]))
            assembly.response(parts)
    return assembly.transcript()


def shown(message: dict[str, Any]) -> list[Any]:
    """A message as the outputs are kept: role, characters, hash, call ids or the id answered."""
    text = message["content"].replace(EMPTY, "SUMMARY")
    role = "made" if message.get("made") else message["role"]
    ids = [call["id"] for call in message["tool_calls"]] if message.get("tool_calls") else message.get("tool_call_id")
    found = [role, len(text), hashlib.sha256(text.encode()).hexdigest()[:8]]
    return [*found, ids] if ids else found


def different(variant: str, name: str) -> tuple[int, list[str]]:
    """How many calls of a conversation were tried, and those at which another request is sent than upstream's."""
    transcript = recording(name)
    head = ["system", *shown({"role": "system", "content": transcript.head.system})[1:]]
    expected = {}
    for line in gzip.decompress((OBSERVED / f"{variant}.jsonl.gz").read_bytes()).splitlines():
        row = json.loads(line)
        if row["conversation"] == name:
            expected[row["call"]] = [one for one in row["out"] if one != head]
    # Upstream was run without usage.
    provider = Provider(window=1 << 40, summaries="empty", usage_factor=0)
    found, tried = [], 0
    for sent in replay(transcript, open_policy(VARIANTS[variant]), provider, Counter(open_tokenizer())):
        if sent.call in expected:
            tried += 1
            ours, theirs = [shown(message) for message in Conversation().messages(sent.view)], expected[sent.call]
            # Which role a made message has differs from framework to framework: here it is another's text.
            pairs = zip_longest(ours, theirs, fillvalue=[""])
            if wrong := next((pair for pair in pairs if pair[0][1:] != pair[1][1:]), None):
                found.append(f"call {sent.call}: {wrong}")
    return tried, found


CALLS = {"documented-53k": 7, "claude": 33, "tau2": 18, "codex": 55, "toolathlon": 21}


KNOWN = {("strands.sliding-turn", "tau2"): 1, ("strands.sliding-turn", "codex"): 3}
"""Calls that differ: where a user speaks again, an agent of theirs manages at the end of the invocation too, which was
left out when the class was run alone.
"""


@observed_here
@pytest.mark.corpus
@pytest.mark.filterwarnings("ignore:Failed to trim messages")
@pytest.mark.parametrize("variant", VARIANTS)
def test_adapters_send_what_upstream_returned(variant: str) -> None:
    pytest.importorskip(MODULES[VARIANTS[variant].partition(":")[0]])
    for name, calls in CALLS.items():
        tried, found = different(variant, name)
        assert (tried, len(found)) == (calls, KNOWN.get((variant, name), 0)), (name, found[:2])
