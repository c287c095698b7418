"""Under what every policy really edits: labels, providers and conversations on which it has something to do."""

from __future__ import annotations

import json
import random
import sys
from hashlib import sha256

from project import ROOT

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy, registered_policies
from ctxsim.simulator.provider import Provider, RateLimit
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Call, Compaction, Head, Item, Media, Transcript, Usage

ACTING = {
    # Parameters under which a policy edits most of the conversations below. A new policy needs a line here.
    "adk-compact": "adk-compact:token_threshold=100,event_retention_size=2,summary_tokens=20",
    "adk-filter": "adk-filter:num_invocations_to_keep=1",
    "af-budget": "af-budget:token_budget=200",
    "af-context-window": "af-context-window:max_context_window_tokens=500,keep_last_tool_call_groups=1",
    "af-selective": "af-selective",
    "af-sliding": "af-sliding:keep_last_groups=2",
    "af-summarize": "af-summarize:target_count=1,threshold_count=1,summary_tokens=20",
    "af-tool-result": "af-tool-result",
    "af-truncation": "af-truncation:max_n=200",
    "ag2-sliding": "ag2-sliding:max_events=3",
    "ag2-tail-window": "ag2-tail-window:target=2,max_events=3",
    "ag2-token-limiter": "ag2-token-limiter:max_tokens=150",
    "aider": "aider:max_chat_history_tokens=40,whole=True,summary_tokens=20",
    "anthropic-compact": "anthropic-compact:trigger=100,summary_tokens=20",
    "autogen-buffered": "autogen-buffered:buffer_size=3",
    "autogen-head-tail": "autogen-head-tail:head_size=1,tail_size=2",
    "autogen-token-limited": "autogen-token-limited:token_limit=100",
    "char-budget": "char-budget:chars=600,keep_tools=1,snippet=150,keep_turns=1",
    "claude-code": "claude-code:reserve=200,buffer=200,micro=size,summary_tokens=20",
    "clear-tool-uses": "clear-tool-uses:trigger=100,keep=1,sticky=False",
    "cline": "cline:threshold_ratio=0.2,preserve_tokens=50,summary_tokens=20",
    "codex": "codex:model_auto_compact_token_limit=200,tool_output_token_limit=10,summary_tokens=20",
    "continue-cli": "continue-cli:max_tokens=150,buffer_most=150,summary_tokens=20",
    "copilot-cli": "copilot-cli:at=0.2,overhead=10,large_output_bytes=200,summary_tokens=20",
    "crewai-summarize": "crewai-summarize:summary_tokens=20",
    "crush": "crush:small_context_window_ratio=0.95,summary_tokens=20",
    "deepagents": "deepagents:trigger=0.1,keep=0.05,max_tokens=20",
    "fifo": "fifo:budget=120",
    "gemini-cli": "gemini-cli:compression_threshold=0.1,protect=50,prunable=10,summary_tokens=20",
    "goose": "goose:auto_compact_threshold=0.1,summary_tokens=20",
    "haystack-prune": "haystack-prune:context_window=300,compact_at=0.5,compact_to=0.2,min_tokens=20",
    "haystack-sliding": "haystack-sliding:context_window=300,compact_at=0.5,compact_to=0.2",
    "haystack-summarize": "haystack-summarize:context_window=300,compact_to=0.2,approximate_summary_tokens=20",
    "head-tail": "head-tail:lines=3,bytes=60",
    "inspect-edit": "inspect-edit:at=300,keep_tool_uses=1,keep_tool_inputs=False",
    "inspect-summary": "inspect-summary:at=0.2,summary_tokens=20",
    "inspect-trim": "inspect-trim:at=250,preserve=0.4",
    "inspect-trim-messages": "inspect-trim-messages:preserve=0.4",
    "json-aware": "json-aware:chars=80",
    "kimi-cli": "kimi-cli:compaction_trigger_ratio=0.1,reserved_context_size=100,summary_tokens=20",
    "kimi-code": "kimi-code:compaction_trigger_ratio=0.1,reserved_context_size=100,keep_user_tokens=20,"
    "keep_oldest_tokens=5,summary_tokens=20",
    "langchain-clear": "langchain-clear:trigger=100,keep=1,clear_tool_inputs=True,clear_at_least=50",
    "langchain-summarize": "langchain-summarize:trigger=100,keep=2,max_tokens=20",
    "langchain-trim": "langchain-trim:max_tokens=150,start_on=human/ai,allow_partial=True",
    "langmem": "langmem:max_tokens=300,max_tokens_before_summary=100,max_summary_tokens=20",
    "litellm-trim": "litellm-trim:max_tokens=150",
    "llamaindex-buffer": "llamaindex-buffer:token_limit=100",
    "llamaindex-summary": "llamaindex-summary:token_limit=100,summary_tokens=20",
    "mask": "mask:keep=1",
    "max-messages": "max-messages:n=3",
    "max-result-chars": "max-result-chars:chars=20",
    "mistral-vibe": "mistral-vibe:auto_compact_threshold=400,max_result_chars=200,excerpt_chars=100,summary_tokens=20",
    "openai-compact": "openai-compact:compact_threshold=100,summary_tokens=20",
    "openai-compaction-session": "openai-compaction-session:candidates=2,summary_tokens=20",
    "openai-session-limit": "openai-session-limit:limit=3",
    "openai-trimmer": "openai-trimmer:recent_turns=1,max_output_chars=100,preview_chars=10",
    "openclaw": "openclaw:keep_recent_tokens=400,summary_tokens=20",
    "opencode": "opencode:output=4600,preserve_recent_tokens=100,max_lines=4,summary_tokens=20",
    "openhands": "openhands:max_size=6,keep_first=2,max_tokens=200,summary_tokens=20",
    "openhands-condenser": "openhands-condenser:max_size=6,keep_first=1,max_tokens=300,summary_tokens=20",
    "pi": "pi:reserve_tokens=600,keep_recent_tokens=250,max_lines=4,summary_tokens=20",
    "pydantic-clamp": "pydantic-clamp:max_part_chars=100,keep_head_chars=20,keep_tail_chars=20",
    "pydantic-clear": "pydantic-clear:max_tokens=100,keep_pairs=1,clear_tool_inputs=True",
    "pydantic-sliding": "pydantic-sliding:max_messages=3,keep_messages=2",
    "pydantic-summarize": "pydantic-summarize:max_messages=3,keep_messages=2,summary_tokens=20",
    "pydantic-tiered": "pydantic-tiered:max_tokens=100,keep_pairs=1,keep_messages=2",
    "qwen-code": "qwen-code:auto_compact_threshold=0.1,truncate_tool_output_threshold=200,summary_tokens=20",
    "retry": "retry:attempts=10",
    "roo-code": "roo-code:auto_condense_context_percent=10,max_tokens=100,summary_tokens=20",
    "round-summary": "round-summary:every=1,max_tokens=20",
    "sk-summarize": "sk-summarize:target_count=2,summary_tokens=20",
    "sk-truncate": "sk-truncate:target_count=3",
    "strands-sliding": "strands-sliding:window_size=3,per_turn=True,pin_first=1",
    "strands-summarizing": "strands-summarizing:preserve_recent_messages=2,proactive_compression=0.2,summary_tokens=20",
    "summary": "summary:at=0.1,keep_last=2,max_tokens=20",
    "swe-agent": "swe-agent:n=1",
    "three-layer": "three-layer:at=0.1,stop=0.9,keep_last=2,max_tokens=20,lines=3,bytes=100",
    "three-triggers": "three-triggers:messages=3,spare=0,reducer=summarizing",
    "token-approx-budget": "token-approx-budget:budget=100,keep_tools=1,keep_turns=1",
    "token-budget": "token-budget:budget=50,retain=10",
    "truncate-after-use": "truncate-after-use:retain=5",
    "vercel-prune": "vercel-prune:tool_calls=before-last-2-messages",
    "zed": "zed:threshold=100,smallest_window=100,summary_tokens=20",
}
SEVERAL_TURNS = {"adk-filter", "openai-trimmer"}
"""Policies that never edit a conversation in which the user speaks once."""

SELDOM = {"crewai-summarize": 0.7, "pydantic-clamp": 0.0}
"""Of policies that act after a refusal alone, or on long responses: in what share of the conversations they do."""

CHAINS = (
    "head-tail:lines=2,bytes=50+summary:at=0.1,keep_last=2",
    "mask:keep=1+retry+fifo:budget=100",
    "clear-tool-uses:trigger=100,keep=1+token-budget:budget=50,retain=10",
    "three-triggers:only=tokens,budget=60,buffer=0,target=30,estimator=tool-chars",
    "summary:at=0.05,keep_last=2,estimator=usage-tail",
)
EXAMPLES = ROOT / "docs" / "examples"
FOREIGN = (
    f"messages:{EXAMPLES / 'messages.py'}:mask:keep=1",
    f"messages:{EXAMPLES / 'messages.py'}:summary:at=0.1,keep_last=2",
    f"pipe:'{sys.executable}' '{EXAMPLES / 'mask.py'}' 1",
    f"pipe:'{sys.executable}' '{EXAMPLES / 'summarize.py'}' 0.1 2",
    f"head-tail:lines=2,bytes=50+pipe:'{sys.executable}' '{EXAMPLES / 'mask.py'}' 1+fifo:budget=100",
)
"""Policies that are other people's code."""

PRICES = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
PROVIDERS = {
    # Calls overflow, wait and are refused; most policies act before or after the few that pass.
    "tight": Provider(window=700, reserved_output=20, pace_s=5, rate_limit=RateLimit(tokens_per_minute=3_000)),
    # Everything passes, from a cache that edits break.
    "roomy": Provider(
        window=5_000, pace_s=30, reasoning="current_turn", framing="anthropic", cache="anthropic",
        breakpoints="automatic", prices=PRICES, summaries="clairvoyant",
    ),
}  # fmt: skip


def acting_labels(strict: bool = True) -> dict[str, str]:
    """A label for every registered policy; bounds, which have nothing to set, stand for themselves.

    Where a policy has none it is "", or an AssertionError if `strict`.
    """
    registered = registered_policies().items()
    # as-set is whichever policy a session's agent has: it has tests of its own.
    labels = {name: ACTING.get(name, name if cls.bound else "") for name, cls in registered if name != "as-set"}
    missing = [name for name, label in labels.items() if not label]
    assert not (strict and missing), (
        f"add {', '.join(missing)} to ACTING in tests/acting.py: a label under which it edits there"
    )
    return labels


def _result(chance: random.Random) -> str:
    """What a tool gives: records, lines or prose of a few hundred characters, sometimes next to nothing."""
    kind = chance.choice(["json", "json", "lines", "prose", "short"])
    count = chance.randrange(5, 15)
    if kind == "json":
        rows = [{"id": f"ab-{chance.randrange(10**6)}", "note": "some words " * chance.randrange(1, 6)}] * count
        return json.dumps({"rows": rows, "total": count})
    if kind == "lines":
        return "\n".join(f"src/zebra_{chance.randrange(999)}.py:{n}: warning é漢" for n in range(count))
    return "word order_12 said so " * count if kind == "prose" else chance.choice(["", "ok", "order_12"])


def eventful(chance: random.Random) -> Transcript:
    """A conversation in several turns, of 4 to 8 calls: parallel tools, large results, reasoning, images, usage, times.

    `chance` alone decides: the same seed is the same conversation.
    """
    items: list[Item] = []
    calls: list[Call] = []
    message, time_s = 0, 1e9

    def add(kind: str, text: str, tool: str = "", answers: int | None = None, media: tuple[Media, ...] = ()) -> None:
        items.append(Item(kind, len(items), message, text, tool, answers, f"id{len(items)}", media))  # type: ignore[arg-type]

    add("user", "Find what order_12 is, and mend it.")
    for number in range(chance.randrange(4, 9)):
        if number and chance.random() < 0.25:
            message += 1
            add("user", f"Go on with step {number}.")
        message += 1
        start = len(items)
        if chance.random() < 0.3:
            add("reasoning", "I think about order_12. " * 3)
        if chance.random() < 0.5:
            add("assistant", f"I look at order_12, step {number}.")
        for _ in range(chance.randrange(1, 3)):
            add("tool_call", json.dumps({"path": f"src/zebra_{number}.py"}), chance.choice(["read", "search"]))
        usage = Usage(400 * number + 100, chance.randrange(20, 90)) if chance.random() < 0.7 else None
        time_s += chance.choice([2.0, 20.0, 400.0])
        calls.append(Call(start, len(items), usage, time_s if chance.random() < 0.9 or not number else None))
        message += 1
        for asked in [item for item in items[start:] if item.kind == "tool_call"]:
            media = (Media("image", 100),) if chance.random() < 0.05 else ()
            add("tool_result", _result(chance), asked.tool, asked.place, media)
    message += 1
    add("assistant", "It was order_12 in src/zebra_1.py.")
    calls.append(Call(len(items) - 1, len(items), None, time_s + 9))
    # Its own agent compacted before call 3, which `recorded` repeats.
    compacted = Compaction(3, calls[1].end, "auto", ("We looked at order_12.",))
    return Transcript(
        "eventful", Head("You help.", ('{"name": "read"}',)), tuple(items), tuple(calls), compactions=(compacted,)
    )


def fingerprint(*labels: str) -> str:
    """A hash of all that these policies send of four of the conversations, for comparing processes."""
    found, counter = sha256(), Counter(open_tokenizer())
    for provider in PROVIDERS.values():
        for seed in range(2):
            made = eventful(random.Random(seed))
            for label in labels:
                for sent in replay(made, open_policy(label), provider, counter):
                    found.update(
                        repr((sent.verdict, sent.bill, sent.tokens_estimated, list(sent.view), sent.edits)).encode()
                    )
    return found.hexdigest()
