"""Messages of Anthropic's API, alone or with the system prompt beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from read_back import all_of, kinds

MESSAGES = [
    {"role": "user", "content": [{"type": "text", "text": "Any mail?"}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "two"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Two."}]},
]


@pytest.mark.parametrize(("value", "system"), [
    (MESSAGES, ""), ({"messages": MESSAGES}, ""), ({"system": "Be brief.", "messages": MESSAGES}, "Be brief."),
    ({"system": [{"type": "text", "text": "Be brief."}], "messages": MESSAGES}, "Be brief."),
])  # fmt: skip
def test_messages_alone_and_in_the_body_of_a_request(value: object, system: str, tmp_path: Path) -> None:
    file = tmp_path / "asked.json"
    file.write_text(json.dumps(value))
    (transcript,) = all_of(file, "anthropic-messages")
    assert kinds(transcript) == ["user", "tool_call", "tool_result", "assistant"]
    assert (transcript.head.system, transcript.items[2].answers) == (system, 1)
