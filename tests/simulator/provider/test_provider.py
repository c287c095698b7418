"""What the mock LLM enforces and sends: the window, the framing, the bodies."""

from __future__ import annotations

from samples import conversation, run

from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.wire import request_body


def test_keep_all_is_always_valid() -> None:
    assert {sent.status for sent in run(conversation("a", "b"), "keep-all")} == {"ok"}


def test_window_counts_reserved_output() -> None:
    transcript = conversation("word " * 50)
    tokens = [sent.tokens_sent for sent in run(transcript, "keep-all")]
    exact = run(transcript, "keep-all", window=tokens[1] + 10, reserved_output=10)
    assert [sent.status for sent in exact] == ["ok", "ok"]
    over = run(transcript, "keep-all", window=tokens[1] + 9, reserved_output=10)
    assert [sent.status for sent in over] == ["ok", "overflow"]
    assert f"{tokens[1]:,} + 10 reserved for output tokens exceed the window of {tokens[1] + 9:,}" in over[1].reason


def test_request_bodies() -> None:
    sent = run(conversation("one", "two", system="Be brief."), "summary:at=0.00001,keep_last=2")[-1]
    anthropic = request_body(list(sent.view), conversation("one", "two", system="Be brief.").head, "anthropic")
    assert anthropic["system"] == "Be brief."
    assert [message["role"] for message in anthropic["messages"]] == ["user", "assistant", "user"]
    assert anthropic["messages"][1]["content"][0] == {"type": "tool_use", "id": "c1", "name": "tool", "input": {}}
    assert anthropic["messages"][2]["content"][0]["tool_use_id"] == "c1"
    openai = request_body(list(sent.view), conversation("one", "two", system="Be brief.").head, "openai")
    assert [message["role"] for message in openai["messages"]] == ["system", "user", "assistant", "tool"]
    assert openai["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": "two"}


def test_openai_frames_each_parallel_result() -> None:
    assembly = Assembly("parallel")
    assembly.user("go")
    assembly.response([Part("tool_call", "{}", "t", f"c{n}") for n in range(3)])
    for n in range(3):
        assembly.result("r", f"c{n}")
    assembly.response([Part("assistant", "ok")])
    framed, plain = (run(assembly.transcript(), "keep-all", framing=name)[1] for name in ("openai", "none"))
    # 3 for the request, 4 for each wire message (user, assistant, three results), 5 for each call, 1 for the tool's
    # name, with which each result goes out.
    assert framed.tokens_sent - plain.tokens_sent == 3 + 4 * 5 + 5 * 3 + 1 * 3


def test_a_factor_of_the_tokenizer_is_told_where_there_is_one() -> None:
    assert "tokenizer 1.3 x o200k_base," in Provider(tokens_factor=1.3).describe()
    assert "tokenizer o200k_base," in Provider().describe()
