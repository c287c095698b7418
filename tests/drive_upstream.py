"""Frameworks' own code over an invented conversation: what each would send at each call.

Nothing of ctxsim is imported here, so that an environment that holds a framework alone can run it:
`python tests/drive_upstream.py NAME...` writes `tests/policies/frameworks/sent/NAME.jsonl.gz`, a request in each line.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from drivers import (
    adk,
    ag2,
    agent_framework,
    autogen,
    deepagents,
    haystack,
    inspect_ai,
    javascript,
    langchain,
    litellm,
    llama_index,
    openai_agents,
    openhands,
    pydantic_ai,
    semantic_kernel,
    strands,
)
from drivers.conversation import Row, invented

DRIVERS: dict[str, tuple[Callable[[dict[str, Any]], Iterator[list[Row]]], str, str]] = {
    "adk-compact": (adk.adk_compact, "google.adk", "token_threshold=2000,event_retention_size=4"),
    "adk-filter": (adk.adk_filter, "google.adk", "num_invocations_to_keep=2"),
    "af-context-window": (
        agent_framework.af_context_window,
        "agent_framework",
        "max_context_window_tokens=4000,max_output_tokens=500",
    ),
    "af-budget": (agent_framework.af_budget, "agent_framework", "token_budget=3000,keep_last_groups=6"),
    "af-selective": (agent_framework.af_selective, "agent_framework", ""),
    "af-sliding": (agent_framework.af_sliding, "agent_framework", "keep_last_groups=6"),
    "af-summarize": (agent_framework.af_summarize, "agent_framework", "max_summary_input_tokens=600"),
    "af-tool-result": (agent_framework.af_tool_result, "agent_framework", ""),
    "af-truncation": (agent_framework.af_truncation, "agent_framework", "max_n=3000,compact_to=1500"),
    "ag2-sliding": (ag2.ag2_sliding, "ag2", "max_events=8,keep_first=True"),
    "ag2-tail-window": (ag2.ag2_tail_window, "ag2", "target=6,max_events=12"),
    "ag2-token-limiter": (ag2.ag2_token_limiter, "ag2", "max_tokens=2500"),
    "autogen-buffered": (autogen.autogen_buffered, "autogen_core", "buffer_size=10"),
    "autogen-head-tail": (autogen.autogen_head_tail, "autogen_core", "head_size=2,tail_size=8"),
    "autogen-token-limited": (
        autogen.autogen_token_limited,
        "autogen_core",
        "token_limit=2000,estimator=chars-total:by=message,rounding=ceil",
    ),
    "haystack-sliding": (haystack.haystack_sliding, "haystack", "context_window=3000"),
    "deepagents": (deepagents.deepagents, "deepagents", "trigger=0.25,keep_messages=6"),
    "haystack-prune": (haystack.haystack_prune, "haystack", "context_window=3000,min_tokens=50"),
    "haystack-summarize": (
        haystack.haystack_summarize,
        "haystack",
        "context_window=3000,approximate_summary_tokens=100",
    ),
    "inspect-edit": (inspect_ai.inspect_edit, "inspect_ai", "at=5000,estimator=strands"),
    "inspect-summary": (inspect_ai.inspect_summary, "inspect_ai", "at=2500,estimator=strands"),
    "inspect-trim": (inspect_ai.inspect_trim, "inspect_ai", "at=2500,preserve=0.5,estimator=strands"),
    "inspect-trim-messages": (inspect_ai.inspect_trim_messages, "inspect_ai", ""),
    "langchain-clear": (langchain.langchain_clear, "langchain", "trigger=2000"),
    "langchain-summarize": (langchain.langchain_summarize, "langchain", "trigger=3000,keep=10"),
    "langchain-trim": (
        langchain.langchain_trim,
        "langchain_core",
        "max_tokens=2000,start_on=human/ai,include_system=True,allow_partial=True",
    ),
    "langmem": (langchain.langmem, "langmem", "max_tokens=2500"),
    "litellm-trim": (litellm.litellm_trim, "litellm", "max_tokens=2500"),
    "llamaindex-buffer": (llama_index.llamaindex_buffer, "llama_index.core", "token_limit=2500,estimator=chars"),
    "llamaindex-summary": (llama_index.llamaindex_summary, "llama_index.core", "token_limit=2500,estimator=chars"),
    "openai-compaction-session": (openai_agents.openai_compaction_session, "agents", ""),
    "openai-session-limit": (openai_agents.openai_session_limit, "agents", "limit=12"),
    "openai-trimmer": (openai_agents.openai_trimmer, "agents", ""),
    "openclaw": (partial(javascript.node, "openclaw"), "npm:openclaw", "keep_recent_tokens=2000"),
    "openhands-condenser": (openhands.openhands_condenser, "openhands.sdk", "max_size=20,keep_first=4"),
    "pydantic-clamp": (
        pydantic_ai.pydantic_clamp,
        "pydantic_ai_harness",
        "max_part_chars=120,keep_head_chars=40,keep_tail_chars=20",
    ),
    "pydantic-clear": (pydantic_ai.pydantic_clear, "pydantic_ai_harness", "max_tokens=3000,min_clear_tokens=500"),
    "pydantic-sliding": (pydantic_ai.pydantic_sliding, "pydantic_ai_harness", "max_tokens=3000,keep_tokens=1500"),
    "pydantic-summarize": (pydantic_ai.pydantic_summarize, "pydantic_ai_harness", "max_tokens=3000,keep_messages=6"),
    "pydantic-tiered": (pydantic_ai.pydantic_tiered, "pydantic_ai_harness", "max_tokens=3000,keep_messages=8"),
    "sk-summarize": (semantic_kernel.sk_summarize, "semantic_kernel", "target_count=8,threshold_count=3"),
    "sk-truncate": (semantic_kernel.sk_truncate, "semantic_kernel", "target_count=8,threshold_count=3"),
    "strands-sliding": (strands.strands_sliding, "strands", "window_size=8,per_turn=True"),
    "strands-summarizing": (
        strands.strands_summarizing,
        "strands",
        "preserve_recent_messages=4,proactive_compression=0.25",
    ),
    "vercel-prune": (partial(javascript.node, "vercel-prune"), "npm:ai", ""),
}
"""By policy: what runs upstream's code, the module that it needs, and our parameters that mean the same."""

REPORTING = ("deepagents", "langchain-summarize")
"""The policies whose drivers tell upstream what the conversation's provider reported."""

COUNTERS: dict[str, tuple[Callable[[dict[str, Any]], Iterator[int]], str]] = {
    "adk": (adk.counted, "google.adk"),
    "agent-framework": (agent_framework.counted, "agent_framework"),
    "chars-total": (pydantic_ai.counted, "pydantic_ai_harness"),
    "haystack": (haystack.counted, "haystack"),
    "strands": (strands.counted, "strands"),
    "langchain": (langchain.counted, "langchain_core"),
}
"""By estimator: what counts the messages of each request with upstream's counter, and the module that it needs."""

if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        lines = [json.dumps(rows, separators=(",", ":")) for rows in DRIVERS[wanted][0](invented())]
        file = Path(__file__).parent / "policies" / "frameworks" / "sent" / f"{wanted}.jsonl.gz"
        file.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
