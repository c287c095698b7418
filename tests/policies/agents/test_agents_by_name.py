"""What agents' policies are by their names alone: the numbers that an agent's newest version ships."""

from __future__ import annotations

from ctxsim.policies import Surroundings, open_policy, registered_policies
from ctxsim.transcript import Head

AGENTS = (
    "aider:max_chat_history_tokens=0,summarizer_tokens=0,whole=False,summary_tokens=500,estimator=tokenizer",
    "anthropic-compact:trigger=150000,summary_tokens=1500,estimator=usage-tail",
    "claude-code:auto_compact_window=0,autocompact_pct_override=0,auto_compact_enabled=True,max_output_tokens=0,"
    "proactive=True,reserve=20000,buffer=13000,tail_factor=1.333,micro=off,keep_recent=5,idle_minutes=60,"
    "keep_exchanges=1,files=5,file_tokens=5000,file_budget=50000,bash_output_max_chars=30000,bash_preview_chars=2000,"
    "summary_tokens=4000,estimator=usage-tail:unit=utf16",
    "cline:strategy=agentic,threshold_ratio=0.9,max_input_tokens=0,preserve_tokens=20000,summary_tokens=1500,"
    "estimator=serialized",
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
    "kimi-code:compaction_trigger_ratio=0.85,reserved_context_size=50000,keep_user_tokens=20000,keep_oldest_tokens=2000,"
    "max_result_chars=50000,max_line_chars=2000,summary_tokens=1500,estimator=usage-tail:unit=bytes",
    "mistral-vibe:auto_compact_threshold=-1,window_share=0,corrected=True,keep_newest=True,keep_user_tokens=20000,"
    "max_result_chars=16000,excerpt_chars=8000,summary_tokens=1500,estimator=serialized:ratio=4,unit=points",
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
    "zed:enabled=True,threshold=90%,max_output_tokens=0,smallest_window=80000,keep_user_bytes=80000,summary_tokens=1500,"
    "estimator=usage-tail",
)


def test_a_name_alone_stands_for_the_defaults() -> None:
    own = {name: cls for name, cls in registered_policies().items() if ".agents." in cls.__module__}
    assert tuple(open_policy(name).label for name in own) == AGENTS
    assert {cls.family for cls in own.values()} == {"agents"}


def test_requests_for_summaries_that_go_on_with_the_conversation() -> None:
    names = [one for one, cls in registered_policies().items() if cls.family in ("agents", "frameworks")]
    links = [link for name in names for link in open_policy(name).create()]
    for link in links:
        link.attach(Surroundings(1_000, Head("You code.", ("{}",), hidden=9)))
    heads = {link.name: link.summary_head for link in links}
    assert {name for name, head in heads.items() if head is None} == {
        "anthropic-compact", "claude-code", "continue-cli", "copilot-cli", "kimi-code", "mistral-vibe",
        "openai-compact", "qwen-code",
    }  # fmt: skip
    # Without tools, no vendor has anything of it in the cache.
    assert {name for name, head in heads.items() if head == Head("You code.")} == {"codex", "inspect-summary"}
    (remote,) = open_policy("codex:remote=True").create()
    assert remote.summary_head is None
