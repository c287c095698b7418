"""What a span says of a request, in each convention, by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from ctxsim.readers.assembly.requests.logged import Logged
from ctxsim.readers.assembly.spans.messages import exchange, usage
from ctxsim.readers.assembly.spans.span import Span, finite, in_order, nested
from ctxsim.transcript import Usage


@pytest.mark.parametrize(("value", "number"), [
    (3, 3), ("2.5", 2.5), (0, 0), (True, None), ("x", None), (None, None), ([], None), (math.nan, None),
    (math.inf, None), (-math.inf, None), ("inf", None), ("-inf", None),
])  # fmt: skip
def test_a_number_may_be_a_text_and_is_finite(value: Any, number: float | None) -> None:
    assert finite(value) == number


@pytest.mark.parametrize(("value", "entries"), [
    ({"10": "b", "9": "a", "x": "c", "0": "z"}, ["z", "a", "b"]), ({}, []), (["a"], []), ("a", []),
    ({"999999999": "last", "9999999999": "none", "-1": "none"}, ["last"]),
])  # fmt: skip
def test_entries_of_an_object_with_numbers_for_names(value: Any, entries: list[str]) -> None:
    assert in_order(value) == entries


def test_no_number_in_a_name_is_too_long() -> None:
    assert nested({"a.2.x": 1, f"a.{'9' * 5_000}.x": 2, "a.0.y.z": 3}, "a") == [{"y": {"z": 3}}, {"x": 1}]


TOOL = {"name": "read"}
PROMPT = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Go.", "gen_ai.completion.0.content": "Yes."}


def told(**attributes: Any) -> Logged:
    found = exchange(Span("t", "s", "", 0.0, attributes, []), "here")
    assert found is not None
    return found


def test_the_model_is_the_one_that_answered_wherever_it_stands() -> None:
    asked = {"model": "alias", "messages": [{"role": "user", "content": "Go."}]}
    said = {"choices": [{"message": {"role": "assistant", "content": "Yes."}}]}
    for model, told_by, body in (("exact", {"llm.model_name": "exact"}, {}), ("exact", {"llm.model_name": "other"},
                                  {"model": "exact"}), ("alias", {}, {})):  # fmt: skip
        bodies = {"input.value": json.dumps(asked), "output.value": json.dumps(said | body)}
        assert told(**bodies, **told_by).model == model


@pytest.mark.parametrize(
    "tools",
    [
        {"gen_ai.tool.definitions": json.dumps([TOOL])},
        {"llm.tools.0.tool.json_schema": json.dumps(TOOL)},
        {"llm.request.functions.0.name": "read"},
        # Several conventions at once: the first one that says something.
        {"gen_ai.tool.definitions": json.dumps([TOOL]), "llm.request.functions.0.name": "other"},
        {"llm.tools.0.tool.json_schema": json.dumps(TOOL), "llm.request.functions.0.name": "other"},
    ],
)
def test_tools_in_three_conventions(tools: dict[str, Any]) -> None:
    found = told(**PROMPT, **tools)
    assert found.request.tools == ['{"name":"read"}']
    assert [part.text for said in found.request.said for part in said.parts] == ["Go."]
    assert [(part.kind, part.text) for part in found.reply] == [("assistant", "Yes.")]


@pytest.mark.parametrize(("content", "text"), [
    ('[{"type": "text", "text": "Go."}]', "Go."), ("[sic]", "[sic]"), ("[", "["), ('{"text": 1}', '{"text": 1}'),
])  # fmt: skip
def test_a_list_of_blocks_may_be_a_text(content: str, text: str) -> None:
    ((said,),) = (one.parts for one in told(**PROMPT | {"gen_ai.prompt.0.content": content}).request.said)
    assert said.text == text


def test_a_request_without_tools_or_answer() -> None:
    assert told(**PROMPT).request.tools == []
    assert exchange(Span("t", "s", "", 0.0, {"gen_ai.prompt.0.content": "Go."}, []), "here") is None


def test_blocks_of_thought_and_pictures() -> None:
    sent, back = "llm.input_messages.0.message", "llm.output_messages.0.message"
    blocks = (sent, 0, "image", ""), (sent, 1, "text", "Go."), (back, 0, "thinking", "Hm."), (back, 1, "tool_use", "x")
    held = {f"{of}.contents.{n}.message_content.{key}": value for of, n, kind, text in blocks
            for key, value in (("type", kind), ("text", text))}  # fmt: skip
    held |= {f"{sent}.contents.0.message_content.image.image.url": "data:", f"{sent}.role": "user"}
    # A block of an unknown kind is kept as JSON.
    held |= {f"{back}.contents.3.message_content.{key}": value for key, value in (("type", "new"), ("said", "Hey."))}
    found = told(**held, **{f"{back}.contents.2.message_content.text": "Yes."})
    ((picture, text),) = (one.parts for one in found.request.said)
    assert [one.kind for one in picture.media] == ["image"] and (text.kind, text.text) == ("user", "Go.")
    assert [(part.kind, part.text) for part in found.reply] == [
        ("reasoning", "Hm."), ("assistant", "Yes."), ("assistant", '{"type":"new","said":"Hey."}'),
    ]  # fmt: skip


def test_files_of_a_message_are_media_by_their_modality() -> None:
    files = [{"type": "blob", "modality": "image"}, {"type": "uri", "modality": "audio"}, {"type": "file"}]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]}]
    sent = json.dumps([{"role": "user", "parts": files}])
    found = told(**{"gen_ai.input.messages": sent, "gen_ai.output.messages": json.dumps(said)})
    media = [each.kind for one in found.request.said for part in one.parts for each in part.media]
    assert media == ["image", "audio", "file"]


def test_messages_in_a_row_are_one_response() -> None:
    row = [("user", "Go."), ("assistant", "One."), ("assistant", "Two."), ("user", "On."), ("user", "Now.")]
    sent = {f"llm.input_messages.{n}.message.{name}": value for n, message in enumerate(row)
            for name, value in zip(("role", "content"), message, strict=True)}  # fmt: skip
    found = told(**sent, **{"llm.output_messages.0.message.content": "Yes."}).request
    assert [[part.text for part in one.parts] for one in found.said] == [["Go."], ["One.", "Two."], ["On."], ["Now."]]


def test_thinking_stands_before_what_was_said() -> None:
    answer = {
        "gen_ai.completion.0.role": "thinking", "gen_ai.completion.0.content": "Hm.",
        "gen_ai.completion.1.role": "assistant", "gen_ai.completion.1.content": "Yes.",
        "gen_ai.completion.1.tool_calls.0.name": "read", "gen_ai.completion.2.content": "No.",
    }  # fmt: skip
    found = told(**answer, **{"gen_ai.usage.input_tokens": 9, "operation.cost": 0.25})
    parts = [("reasoning", "Hm."), ("assistant", "Yes."), ("tool_call", "")]
    assert [(part.kind, part.text) for part in found.reply] == parts
    assert found.usage == Usage(9, cost_usd=0.25)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        # 3 of 9 were read.
        ({"input_tokens": 9, "output_tokens": 2, "cache_read.input_tokens": 3}, Usage(9, 2, 3)),
        # 5 can't hold the 4 that were read and the 3 that were written: these stand beside it. With 7 they fit.
        ({"input_tokens": 5, "cache_read.input_tokens": 4, "cache_creation.input_tokens": 3}, Usage(12, None, 4, 3)),
        ({"input_tokens": 7, "cache_read.input_tokens": 4, "cache_creation.input_tokens": 3}, Usage(7, None, 4, 3)),
        ({"output_tokens": 2}, None),
        # Anthropic's own SDK.
        ({"input_tokens": 9, "cache_write.input_tokens": 4}, Usage(9, None, None, 4)),
        # Pydantic AI's details, of its older versions too, and dollars.
        ({"input_tokens": 9, "details.cache_read_tokens": 4, "details.cache_write_tokens": 3,
          "details.reasoning_tokens": 1, "cost": 0.5}, Usage(9, None, 4, 3, 1, 0.5)),
        ({"input_tokens": 9, "details.cache_read_input_tokens": 4, "details.cache_creation_input_tokens": 3},
         Usage(9, None, 4, 3)),
    ],
)  # fmt: skip
def test_usage_is_of_the_whole_prompt(numbers: dict[str, int], expected: Usage | None) -> None:
    assert usage({f"gen_ai.usage.{name}": number for name, number in numbers.items()}) == expected
