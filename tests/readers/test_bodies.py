"""Bodies of requests and responses of each API, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from ctxsim.readers.assembly.gemini import FunctionResponse, result
from ctxsim.readers.assembly.requests.bodies import Api, answer, api_of, caught, looks_like_request
from ctxsim.transcript import Usage

SAID = {"role": "user", "parts": [{"text": "Go."}]}


@pytest.mark.parametrize(
    ("contents", "texts"), [([SAID, SAID], ["Go.", "Go."]), (SAID, ["Go."]), (None, []), ([], [])]
)  # fmt: skip
def test_contents_of_gemini_are_one_message_or_many(contents: Any, texts: list[str]) -> None:
    made = caught("gemini", {"contents": contents}, "here")
    assert [part.text for said in made.said for part in said.parts] == texts


def test_a_request_of_anthropic_has_its_head_beside_the_messages() -> None:
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
    ]
    made = caught("messages", {"system": "Be brief.", "tools": [{"name": "t"}], "messages": messages}, "here")
    assert (made.system, made.tools, made.calls) == (["Be brief."], ['{"name":"t"}'], 1)
    assert [[part.text for part in said.parts] for said in made.said] == [["Go."], ["Yes."]]


@pytest.mark.parametrize(
    ("response", "api", "usage"),
    [
        ({"choices": [{"message": {"content": "Yes."}}], "usage": {"prompt_tokens": 9, "completion_tokens": 2},
          "model": "m"},
         "chat", Usage(9, 2)),
        # What Anthropic read and wrote stands beside its input: 5 + 3 + 1.
        ({"model": "m", "content": [{"type": "text", "text": "Yes."}], "usage": {
            "input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 1}},
         "messages", Usage(9, 2, 3, 1)),
        # Thoughts stand beside what was said, 2 + 4, and what was fetched beside the prompt, 9 + 7.
        ({"modelVersion": "m", "candidates": [{"content": {"parts": [{"text": "Yes."}]}}], "usageMetadata": {
            "promptTokenCount": 9, "candidatesTokenCount": 2, "cachedContentTokenCount": 3, "thoughtsTokenCount": 4,
            "toolUsePromptTokenCount": 7}},
         "gemini", Usage(16, 6, 3, None, 4)),
        ({"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}],
          "model": "m", "usage": {"input_tokens": 9, "output_tokens": 2, "cost": 0.5, "input_tokens_details": {
            "cached_tokens": 3, "cache_write_tokens": 4}}},
         "responses", Usage(9, 2, 3, 4, None, 0.5)),
    ],
)  # fmt: skip
def test_an_answer_of_each_api(response: dict[str, Any], api: Api, usage: Usage) -> None:
    assert api_of(response) == api
    found = answer(api, response, "here")
    assert [(part.kind, part.text) for part in found.parts] == [("assistant", "Yes.")]
    assert (found.usage, found.model) == (usage, "m")
    del response["model" if api != "gemini" else "modelVersion"]
    assert answer(api, response, "here").model == ""


def test_an_answer_of_gemini_as_the_python_library_prints_it() -> None:
    said = [{"content": {"parts": [{"function_call": {"name": "read", "args": {"max_lines": 1}}}]}}]
    counted = {"prompt_token_count": 9, "candidates_token_count": 2, "cached_content_token_count": 3}
    found = answer("gemini", {"candidates": said, "usage_metadata": counted, "model_version": "m"}, "here")
    assert (found.usage, found.model) == (Usage(9, 2, 3), "m")
    assert [(part.tool, part.text) for part in found.parts] == [("read", '{"max_lines":1}')]


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"output": "A"}, "A"), ({"error": "B"}, "B"), ({"page": "C"}, '{"page":"C"}'),
        ({"output": {"n": 1}}, '{"output":{"n":1}}'), ({"output": "A", "n": 1}, '{"output":"A","n":1}'), (None, ""),
    ],
)  # fmt: skip
def test_a_result_of_gemini_is_its_one_text_or_all_of_it(response: Any, text: str) -> None:
    assert result(FunctionResponse(response=response), "here") == (text, ())


def test_what_a_request_looks_like() -> None:
    assert looks_like_request({"messages": []}) and looks_like_request({"contents": []})
    assert looks_like_request({"input": "Go.", "model": "m"})
    assert not looks_like_request({"input": "Go."}) and not looks_like_request({"messages": "Go.", "model": "m"})
