"""Langfuse's observations of LangChain, whose messages and tools its handler writes in a form of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
import read_back
from read_back import Json, write


def text(said: str) -> Json:
    return {"type": "text", "text": said}


@pytest.mark.parametrize("blocks", [False, True], ids=["of OpenAI", "of Anthropic"])
def test_messages_of_langchain_in_langfuse(blocks: bool, tmp_path: Path) -> None:
    call = {"name": "read", "args": {"p": "a"}, "id": "c1", "type": "tool_call"}
    use = {"type": "tool_use", "id": "c1", "name": "read", "input": {"p": "a"}}
    asks = {"role": "assistant", "content": [text("I look."), use] if blocks else "I look.", "tool_calls": [call]}
    says = {"role": "assistant", "content": [text("One.")] if blocks else "One."}
    tools = [{"role": "tool", "content": {"name": "read"}}]
    first = [{"role": "user", "content": "Any mail?"}]
    second = [*first, asks, {"role": "tool", "content": "1 message", "tool_call_id": "c1"}]
    rows = [{"id": f"o{number}", "traceId": "t", "type": "GENERATION", "startTime": f"2026-01-01T00:00:0{number}Z",
             "input": [*sent, *tools], "output": output}
            for number, (sent, output) in enumerate([(first, asks), (second, says)])]  # fmt: skip
    (transcript,) = read_back.all_of(write(tmp_path / "rows.json", rows), "langfuse")
    assert [(item.kind, item.text) for item in transcript.items] == [
        ("user", "Any mail?"), ("assistant", "I look."), ("tool_call", '{"p":"a"}'), ("tool_result", "1 message"),
        ("assistant", "One."),
    ]  # fmt: skip
    assert (transcript.head.tools, transcript.notes) == (('{"name":"read"}',), ())
