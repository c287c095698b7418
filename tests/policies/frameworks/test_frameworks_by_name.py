"""What frameworks' policies are by their names alone: a framework's own defaults, 0 where it has none."""

from __future__ import annotations

from ctxsim.policies import open_policy, registered_policies

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
    "deepagents:trigger=0.85,keep=0.1,keep_messages=0,output_tokens=0,max_tokens=1000,estimator=langchain",
    "langmem:max_tokens=0,max_tokens_before_summary=0,max_summary_tokens=256,estimator=langchain",
    "litellm-trim:max_tokens=0,trim_ratio=0.75,estimator=litellm",
    "llamaindex-buffer:token_limit=3000,estimator=tokenizer:vocabulary=cl100k_base",
    "llamaindex-summary:token_limit=0,llm=True,summary_tokens=1000,estimator=tokenizer:vocabulary=cl100k_base",
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


def test_a_name_alone_stands_for_the_defaults() -> None:
    own = {name: cls for name, cls in registered_policies().items() if ".frameworks." in cls.__module__}
    assert tuple(open_policy(name).label for name in own) == FRAMEWORKS
    assert {cls.family for cls in own.values()} == {"frameworks"}
