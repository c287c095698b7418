"""Defects of frameworks that their policies keep, each on the smallest conversation that shows it."""

from __future__ import annotations

from samples import conversation, run

from ctxsim.simulator.replay.sent import Sent

LONG = "word " * 400  # 2,000 characters, 500 tokens by length / 4


def texts(sent: Sent) -> list[str]:
    return [item.text for item in sent.view]


def test_a_history_with_one_task_is_too_long_to_summarize_and_no_model_is_asked() -> None:
    # At call 3 the last of 5 messages stay. The newest 4,000 tokens of the task, a call and a result of 5,000 are none.
    large = conversation("x" * 20_000, "x" * 20_000)
    sent = run(large, "langchain-summarize:trigger=9000,keep=2")
    first = next(one for one in sent if one.edits)
    assert texts(first)[0].endswith("Previous conversation was too long to summarize.")
    assert first.summary_calls == 0
    whole = run(large, "langchain-summarize:trigger=9000,keep=2,trim_tokens_to_summarize=0")
    assert [one.summary_calls for one in whole] == [0, 0, 1]


def test_a_trim_that_looks_at_no_pairs_is_refused() -> None:
    # 510 tokens of the newest result fit into 520, its call doesn't.
    sent = run(conversation(LONG, LONG), "langchain-trim:max_tokens=520")
    assert [one.status for one in sent] == ["ok", "invalid_pairs", "invalid_pairs"]


def test_clear_at_least_clears_the_oldest_again_and_again_and_the_rest_grows() -> None:
    sent = run(conversation(*[LONG] * 8), "langchain-clear:trigger=1000,keep=1,clear_at_least=400")
    assert [texts(one).count("[cleared]") for one in sent] == [0, 0, 1, 1, 1, 1, 1, 1, 1]


def test_the_whole_request_is_one_result_without_its_call() -> None:
    sent = run(conversation(LONG, LONG), "llamaindex-buffer:token_limit=100,estimator=chars")
    assert [item.kind for item in sent[-1].view] == ["tool_result"]
    assert sent[-1].status == "invalid_pairs"


def test_what_is_still_over_the_threshold_ends_the_run_at_every_call() -> None:
    sent = run(conversation(LONG, LONG, LONG), "inspect-edit:at=700,estimator=chars")
    assert [one.status for one in sent] == ["ok", "ok", "stopped", "stopped"]
    assert "Compaction insufficient" in sent[-1].verdict.reason
    assert texts(sent[-1]).count("(Tool result removed)") == 0


def test_results_in_a_line_are_copied_whole_below_4096_characters() -> None:
    sent = run(conversation(LONG, LONG), "af-tool-result")
    assert texts(sent[-1])[1] == f"[Tool results: tool: {LONG.strip()}]"
    long = run(conversation("y" * 5_000, LONG), "af-tool-result")
    assert len(texts(long[-1])[1]) == 4_096 and texts(long[-1])[1].endswith("y... [truncated]]")


def test_a_system_prompt_over_the_budget_keeps_langmem_from_acting() -> None:
    long_head = conversation(*[LONG] * 4, system=LONG * 3)
    assert not any(one.edits for one in run(long_head, "langmem:max_tokens=1200"))
    assert any(one.edits for one in run(conversation(*[LONG] * 4), "langmem:max_tokens=1200"))
