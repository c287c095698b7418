"""What a policy's name alone means: the numbers of its document, what its agent's newest version ships, or its
framework's own defaults, 0 where it has none. And which policies are special, and how.
"""

from __future__ import annotations

import pytest

from ctxsim.policies import open_policy, registered_policies

AS_PUBLISHED = (
    "char-budget:chars=180000,keep_tools=10,snippet=4000,keep_turns=12",
    "clear-tool-uses:trigger=100000,keep=3,clear_at_least=0,sticky=True",
    "head-tail:lines=128,bytes=10240",
    "json-aware:chars=4000",
    "mask:keep=10,batch=1",
    "oracle-lossless:aim=tokens",
    "retry:attempts=10",
    "round-summary:every=5,max_tokens=500",
    "summary:at=0.7,keep_last=10,max_tokens=500",
    "three-layer:at=0.7,stop=0.95,keep_last=10,max_tokens=120,lines=128,bytes=10240",
    "three-triggers:only=all,reducer=counting,at=0.7,preserve=0.3,window=128000,budget=90000,target=40000,"
    "buffer=1000,messages=20,spare=5,tools_by_messages=False,estimator=output-only",
    "token-approx-budget:budget=32000,keep_tools=10,keep_turns=12,estimator=chars:ratio=3,unit=utf16",
    "token-budget:budget=40000,retain=500",
    "truncate-after-use:retain=500",
)

AGENTS = (
    "aider:max_chat_history_tokens=0,summarizer_tokens=4096,whole=False,summary_tokens=500,estimator=tokenizer",
    "anthropic-compact:trigger=150000,summary_tokens=1500,estimator=usage-tail",
    "claude-code:auto_compact_window=0,autocompact_pct_override=0,auto_compact_enabled=True,max_output_tokens=0,"
    "proactive=True,reserve=20000,buffer=13000,tail_factor=1.333,micro=off,keep_recent=5,idle_minutes=60,"
    "keep_exchanges=1,files=5,file_tokens=5000,file_budget=50000,bash_output_max_chars=30000,bash_preview_chars=2000,"
    "summary_tokens=4000,estimator=usage-tail:unit=utf16",
    "cline:strategy=agentic,threshold_ratio=0.9,preserve_tokens=20000,summary_tokens=1500,estimator=serialized",
    "codex:model_auto_compact_token_limit=0,model_auto_compact_token_limit_scope=total,tool_output_token_limit=2500,"
    "keep_user_tokens=20000,remote=False,summary_tokens=1500,estimator=usage-serialized:ratio=4,unit=bytes",
    "continue-cli:max_tokens=0,output_share=0.35,output_most=64000,buffer_share=0.2,buffer_most=15000,"
    "bash_max_output_chars=50000,summary_tokens=1500,estimator=tokenizer",
    "copilot-cli:at=0.8,overhead=1250,large_output_bytes=20480,summary_tokens=1500,estimator=tokenizer",
    "crush:large_context_window_threshold=200000,large_context_window_buffer=20000,small_context_window_ratio=0.2,"
    "disable_auto_summarize=False,summary_tokens=1500,estimator=bytes",
    "gemini-cli:compression_threshold=0.5,compression_preserve=0.3,protect=50000,prunable=30000,"
    "truncate_tool_output_threshold=40000,summary_tokens=1500,estimator=gemini",
    "goose:auto_compact_threshold=0.8,large_text_threshold=200000,summary_tokens=1500,estimator=tokenizer",
    "kimi-cli:compaction_trigger_ratio=0.85,reserved_context_size=50000,max_preserved_messages=2,summary_tokens=1500,"
    "estimator=usage-tail",
    "mistral-vibe:auto_compact_threshold=-1,window_share=0.8,keep_user_tokens=20000,max_result_chars=16000,"
    "excerpt_chars=8000,summary_tokens=1500,estimator=serialized:ratio=4,unit=points",
    "openai-compact:compact_threshold=0,summary_tokens=1500,estimator=usage-tail",
    "opencode:output=32000,input=0,reserved=0,auto=True,preserve_recent_tokens=-1,tail_turns=-1,tail_share=0.25,"
    "prune=False,max_lines=2000,max_bytes=51200,summary_tokens=1500,estimator=opencode",
    "openhands:max_size=80,max_tokens=0,keep_first=4,summary_tokens=1500,estimator=tokenizer:vocabulary=cl100k_base",
    "pi:enabled=True,within_runs=True,zero_is_none=True,reserve_tokens=16384,keep_recent_tokens=20000,max_lines=2000,"
    "max_bytes=51200,summary_tokens=1500,estimator=usage-tail:unit=utf16",
    "qwen-code:auto_compact_threshold=0.85,reserve=20000,buffer=13000,max_recent_files_to_retain=5,"
    "tool_results_num_to_keep=5,tool_results_threshold_minutes=60,truncate_tool_output_threshold=25000,"
    "summary_tokens=1500,estimator=chars:unit=utf16",
    "roo-code:auto_condense_context=True,auto_condense_context_percent=100,max_tokens=8192,summary_tokens=1500,"
    "estimator=tokenizer:factor=1.5",
    "swe-agent:n=5,polling=1",
    "zed:enabled=True,threshold=90%,smallest_window=80000,summary_tokens=1500,estimator=usage-tail",
)

FRAMEWORKS = (
    "adk-compact:token_threshold=0,event_retention_size=10,summary_tokens=1000,estimator=adk",
    "adk-filter:num_invocations_to_keep=3,remove_amount=1,estimator=adk",
    "ag2-sliding:max_events=50,keep_first=False,estimator=ag2",
    "ag2-token-limiter:max_tokens=0,estimator=ag2",
    "ag2-tail-window:target=25,max_events=50,max_tokens=0,estimator=ag2",
    "af-truncation:max_n=0,compact_to=0,tokenizer=True,preserve_first_user_group=False,estimator=agent-framework",
    "af-sliding:keep_last_groups=6,estimator=agent-framework",
    "af-selective:keep_last_tool_call_groups=1,estimator=agent-framework",
    "af-tool-result:keep_last_tool_call_groups=1,estimator=agent-framework",
    "af-context-window:max_context_window_tokens=0,max_output_tokens=0,tool_eviction_threshold=0.5,"
    "truncation_threshold=0.8,keep_last_tool_call_groups=4,preserve_first_user_group=False,"
    "estimator=agent-framework",
    "af-summarize:target_count=4,threshold_count=2,max_summary_input_tokens=8000,summary_tokens=1000,"
    "estimator=agent-framework",
    "af-budget:token_budget=0,keep_last_tool_call_groups=1,keep_last_groups=0,estimator=agent-framework",
    "autogen-buffered:buffer_size=10",
    "autogen-head-tail:head_size=2,tail_size=8",
    "autogen-token-limited:token_limit=0",
    "crewai-summarize:summary_tokens=1000",
    "haystack-sliding:context_window=0,compact_at=0.7,compact_to=0.4,min_keep_steps=1,estimator=haystack",
    "haystack-prune:context_window=0,compact_at=0.7,compact_to=0.4,min_keep_steps=1,min_tokens=200,estimator=haystack",
    "haystack-summarize:context_window=0,compact_at=0.7,compact_to=0.4,min_keep_steps=1,"
    "approximate_summary_tokens=1024,estimator=haystack",
    "inspect-edit:at=0.9,keep_thinking_turns=1,keep_tool_uses=3,keep_tool_inputs=True,exclude_tools=none,"
    "estimator=inspect",
    "inspect-trim:at=0.9,preserve=0.8,estimator=inspect",
    "inspect-trim-messages:preserve=0.7",
    "inspect-summary:at=0.9,summary_tokens=1000,estimator=inspect",
    "langchain-trim:max_tokens=0,start_on=any,end_on=any,include_system=False,allow_partial=False,estimator=langchain",
    "langchain-clear:trigger=100000,keep=3,clear_at_least=0,clear_tool_inputs=False,exclude_tools=none,"
    "placeholder=[cleared],estimator=langchain",
    "langchain-summarize:trigger=0,trigger_messages=0,keep=20,keep_tokens=0,trim_tokens_to_summarize=4000,"
    "max_tokens=1000,estimator=langchain",
    "deepagents:trigger=0.85,keep=0.1,keep_messages=0,max_tokens=1000,estimator=langchain",
    "langmem:max_tokens=0,max_tokens_before_summary=0,max_summary_tokens=256,estimator=langchain",
    "litellm-trim:max_tokens=0,trim_ratio=0.75,estimator=litellm",
    "llamaindex-buffer:token_limit=3000,estimator=tokenizer:vocabulary=cl100k_base",
    "llamaindex-summary:token_limit=2000,llm=True,summary_tokens=1000,estimator=tokenizer:vocabulary=cl100k_base",
    "openai-trimmer:recent_turns=2,max_output_chars=500,preview_chars=200",
    "openai-session-limit:limit=100",
    "openai-compaction-session:candidates=10,summary_tokens=1000",
    "openclaw:enabled=True,reserve_tokens=20000,keep_recent_tokens=20000,summary_tokens=1500,estimator=openclaw",
    "openhands-condenser:max_size=80,keep_first=4,max_tokens=0,minimum_progress=0.1,summary_tokens=1000",
    "pydantic-clear:max_tokens=0,max_fraction=0,max_messages=0,keep_pairs=3,min_clear_tokens=0,"
    "clear_tool_inputs=False,estimator=chars-total",
    "pydantic-sliding:max_tokens=0,max_fraction=0,max_messages=0,keep_messages=40,keep_tokens=0,"
    "preserve_first_user_message=True,estimator=chars-total",
    "pydantic-summarize:max_tokens=0,max_fraction=0,max_messages=0,keep_messages=20,keep_tokens=0,"
    "preserve_first_user_message=True,summary_tokens=1000,estimator=chars-total",
    "pydantic-tiered:max_tokens=0,max_fraction=0,max_messages=0,keep_pairs=3,keep_messages=40,"
    "preserve_first_user_message=True,estimator=chars-total",
    "pydantic-clamp:max_part_chars=20000,max_part_tokens=0,keep_head_chars=2000,keep_tail_chars=2000,"
    "clamp_tool_call_args=True,estimator=chars-total",
    "sk-truncate:target_count=10,threshold_count=0",
    "sk-summarize:target_count=10,threshold_count=0,summary_tokens=1000",
    "strands-sliding:window_size=40,should_truncate_results=True,per_turn=False,pin_first=0,"
    "proactive_compression=0,estimator=strands",
    "strands-summarizing:summary_ratio=0.3,preserve_recent_messages=10,pin_first=0,proactive_compression=0,"
    "summary_tokens=1000,estimator=strands",
    "vercel-prune:trigger=0,reasoning=all,tool_calls=before-last-3-messages,tools=all,every_step=True",
)


@pytest.mark.parametrize("label", (*AS_PUBLISHED, *AGENTS, *FRAMEWORKS), ids=lambda label: label.partition(":")[0])
def test_a_name_alone_stands_for_the_defaults(label: str) -> None:
    assert open_policy(label.partition(":")[0]).label == label


def test_what_is_special_and_how_often_a_refused_request_is_tried_again() -> None:
    known = registered_policies()
    for family, labels in (("agents", AGENTS), ("frameworks", FRAMEWORKS)):
        own = [name for name, cls in known.items() if f".{family}." in cls.__module__]
        assert own == [label.partition(":")[0] for label in labels]
        assert {known[name].family for name in own} == {family}
    flags = ("server_side", "bound", "per_request", "others_code", "abstract")
    assert {flag: " ".join(name for name, cls in known.items() if getattr(cls, flag)) for flag in flags} == {
        "server_side": "clear-tool-uses anthropic-compact",
        "bound": "drop-all keep-all oracle-lossless recorded",
        "per_request": "swe-agent adk-filter ag2-sliding ag2-token-limiter autogen-buffered autogen-head-tail "
        "autogen-token-limited inspect-trim-messages langchain-trim langchain-clear langmem litellm-trim "
        "llamaindex-buffer openai-trimmer openai-session-limit",
        "others_code": "",
        "abstract": "",
    }
    shipped = [cls() for cls in known.values() if cls.family in ("agents", "frameworks")]
    assert {policy.name: policy.retries for policy in shipped if policy.retries is not None} == {
        "roo-code": 3, "crewai-summarize": 20, "inspect-edit": 1, "inspect-trim": 1, "inspect-summary": 1,
        "deepagents": 1, "openclaw": 1, "openhands-condenser": 5, "strands-sliding": 1_000,
        "strands-summarizing": 1_000,
    }  # fmt: skip
