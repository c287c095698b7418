"""The vendors' own Python clients against the endpoint on a real port: whole, streamed, with tools, and refused."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from endpoint import FIRST, SECOND, sessions

pytest.importorskip("uvicorn")

from ctxsim.live.app import Endpoint
from ctxsim.live.log import Log
from ctxsim.live.server import beside

TASK = "Do the task."
SUMMARY = "Summary: the first result was read, go on with the second."


@pytest.fixture(autouse=True)
def no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each client would read those of all authorities anew, for an address without TLS."""
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda self, *given, **named: None)


def served(**how: Any) -> AbstractContextManager[str]:
    """The endpoint's address, while a block runs."""
    return beside(Endpoint(sessions(**how), Log(None)))


streamed = pytest.mark.parametrize("stream", [False, True])
CHAT_TOOLS: list[Any] = [{"type": "function", "function": {"name": "tool", "parameters": {"type": "object"}}}]
FLAT_TOOLS: list[Any] = [{"type": "function", "name": "tool", "parameters": {"type": "object"}, "strict": False}]


@contextmanager
def openai_client(retries: int = 0, **how: Any) -> Iterator[Any]:
    openai = pytest.importorskip("openai")
    with served(**how) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=retries) as made:
        yield made


def chat(client: Any, messages: list[Any], stream: bool) -> Any:
    """One chat completion, its message appended, as the client's own accumulation gives it."""
    if not stream:
        done = client.chat.completions.create(model="m", messages=messages, tools=CHAT_TOOLS)
    else:
        with client.chat.completions.stream(
            model="m", messages=messages, tools=CHAT_TOOLS, stream_options={"include_usage": True}
        ) as events:
            for _ in events:
                pass
            done = events.get_final_completion()
    messages.append(done.choices[0].message.model_dump(exclude_none=True, exclude={"parsed"}))
    return done


@streamed
def test_openai_chat(stream: bool) -> None:
    with openai_client() as client:
        messages: list[Any] = [{"role": "user", "content": TASK}]
        for text in (FIRST, SECOND):
            done = chat(client, messages, stream)
            assert done.usage.prompt_tokens > 0
            (call,) = done.choices[0].message.tool_calls
            assert (done.choices[0].finish_reason, call.function.name) == ("tool_calls", "tool")
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
        assert chat(client, messages, stream).choices[0].message.content == "Done."


@streamed
def test_openai_responses(stream: bool) -> None:
    sizes: list[list[int]] = [[], []]
    # In the second run only what is new is sent, and the endpoint puts the history before it.
    for going_on, sizes_so_far in enumerate(sizes):
        _responses_to_the_end(stream, bool(going_on), sizes_so_far)
    assert sizes[0] == sizes[1]


def test_openai_responses_of_an_unknown_one() -> None:
    openai = pytest.importorskip("openai")
    with openai_client() as client, pytest.raises(openai.BadRequestError, match="'resp_9' not found"):
        client.responses.create(model="m", input=TASK, previous_response_id="resp_9")


def _responses_to_the_end(stream: bool, going_on: bool, sizes: list[int]) -> None:
    with openai_client() as client:
        items: list[Any] = [{"role": "user", "content": TASK}]
        given: dict[str, Any] = {"model": "m", "tools": FLAT_TOOLS}
        for text in (FIRST, SECOND, ""):
            if stream:
                with client.responses.stream(input=items, **given) as events:
                    for _ in events:
                        pass
                    done = events.get_final_response()
            else:
                done = client.responses.create(input=items, **given)
            assert done.usage.input_tokens > 0
            sizes.append(done.usage.input_tokens)
            if going_on:
                given["previous_response_id"], items = done.id, []
            else:
                items += [item.model_dump(exclude_none=True) for item in done.output]
            for item in done.output:
                if item.type == "function_call":
                    items.append({"type": "function_call_output", "call_id": item.call_id, "output": text})
        assert done.output_text == "Done."


@pytest.mark.parametrize("form", ["chat", "responses"])
def test_openai_is_refused_and_goes_on_after_a_compaction(form: str) -> None:
    openai = pytest.importorskip("openai")

    def ask(client: Any, text: str) -> Any:
        if form == "chat":
            return client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
        return client.responses.create(model="m", input=text)

    with openai_client(window=300) as client:
        with pytest.raises(openai.BadRequestError) as refused:
            ask(client, TASK * 200)
        assert refused.value.code == "context_length_exceeded"
        assert ask(client, f"{TASK} {SUMMARY}").usage
    with openai_client(faults=("429@1:retry=0.01",)) as client:
        with pytest.raises(openai.RateLimitError) as limited:
            ask(client, TASK)
        assert limited.value.response.headers["retry-after"] == "0.01"
    with openai_client(retries=2, faults=("429@1:retry=0.01,times=2",)) as client:
        assert ask(client, TASK).usage


@contextmanager
def anthropic_client(retries: int = 0, **how: Any) -> Iterator[Any]:
    anthropic = pytest.importorskip("anthropic")
    with served(**how) as url, anthropic.Anthropic(base_url=url, api_key="none", max_retries=retries) as made:
        yield made


@streamed
def test_anthropic_messages(stream: bool) -> None:
    with anthropic_client() as client:
        messages: list[Any] = [{"role": "user", "content": TASK}]
        given: dict[str, Any] = {
            "model": "m", "max_tokens": 99, "messages": messages,
            "tools": [{"name": "tool", "input_schema": {"type": "object"}}],
        }  # fmt: skip
        assert client.messages.count_tokens(model="m", messages=messages).input_tokens > 0
        for text in (FIRST, SECOND, ""):
            if stream:
                with client.messages.stream(**given) as events:
                    done = events.get_final_message()
            else:
                done = client.messages.create(**given)
            assert done.usage.input_tokens > 0
            messages.append({"role": "assistant", "content": [block.model_dump() for block in done.content]})
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": text}
                for block in done.content
                if block.type == "tool_use"
            ]
            assert done.stop_reason == ("tool_use" if results else "end_turn")
            messages.append({"role": "user", "content": results})
        assert done.content[0].text == "Done."


def test_anthropic_is_refused_and_goes_on_after_a_compaction() -> None:
    anthropic = pytest.importorskip("anthropic")

    def ask(client: Any, text: str) -> Any:
        return client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": text}])

    with anthropic_client(window=300) as client:
        with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
            ask(client, TASK * 200)
        assert ask(client, f"{TASK} {SUMMARY}").usage
    with anthropic_client(faults=("429@1:retry=0.01",)) as client, pytest.raises(anthropic.RateLimitError):
        ask(client, TASK)
    with anthropic_client(retries=1, faults=("429@1:retry=0.01",)) as client:
        assert ask(client, TASK).usage


@contextmanager
def gemini_client(**how: Any) -> Iterator[Any]:
    genai = pytest.importorskip("google.genai")
    with served(**how) as url:
        made = genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=url))
        yield made
        made.close()


@streamed
def test_gemini_contents(stream: bool) -> None:
    with gemini_client() as client:
        from google.genai import types

        tools = [types.Tool(function_declarations=[types.FunctionDeclaration(name="tool")])]
        off = types.AutomaticFunctionCallingConfig(disable=True)
        config = types.GenerateContentConfig(tools=tools, automatic_function_calling=off)
        contents: list[Any] = [types.UserContent(TASK)]
        for text in (FIRST, SECOND, ""):
            given: dict[str, Any] = {"model": "m", "contents": contents, "config": config}
            found = (
                list(client.models.generate_content_stream(**given))
                if stream
                else [client.models.generate_content(**given)]
            )
            assert found[-1].usage_metadata.prompt_token_count > 0
            parts = [part for one in found for part in one.candidates[0].content.parts or []]
            contents.append(types.ModelContent(parts))
            calls = [part.function_call for part in parts if part.function_call]
            contents.append(
                types.UserContent(
                    [types.Part.from_function_response(name=c.name, response={"output": text}) for c in calls]
                )
            ) if calls else None
        assert "".join(part.text or "" for part in parts) == "Done."


def test_models_are_listed_and_found_by_name_and_requests_only_counted() -> None:
    with openai_client() as client:
        assert [one.id for one in client.models.list()] == ["mock"] and client.models.retrieve("m-1").id == "m-1"
        assert client.responses.input_tokens.count(model="m", input=TASK).input_tokens == 4
    with anthropic_client() as client:
        assert [one.id for one in client.models.list()] == ["mock"] and client.models.retrieve("m-1").id == "m-1"
    with gemini_client() as client:
        assert [one.name for one in client.models.list()] == ["models/mock"]
        assert client.models.get(model="m-1").name == "models/m-1"
        assert client.models.count_tokens(model="m", contents=TASK).total_tokens == 4


@pytest.mark.parametrize(
    ("body", "told"),
    [({"generateContentRequest": {"model": "models/m", "contents": [{"parts": [{"text": TASK}]}]}}, 4),
     ({"generate_content_request": {"contents": [{"parts": [{"text": TASK}]}]}}, 4),
     ({"generateContentRequest": "x"}, None), ({"generateContentRequest": None}, None)],
)  # fmt: skip
def test_gemini_counts_a_whole_request(body: dict[str, Any], told: int | None) -> None:
    httpx = pytest.importorskip("httpx")
    with served() as url:
        done = httpx.post(f"{url}/v1beta/models/m:countTokens", json=body)
    assert (done.status_code, done.json().get("totalTokens")) == (200 if told else 400, told)


def test_gemini_is_refused_and_goes_on_after_a_compaction() -> None:
    errors = pytest.importorskip("google.genai.errors")
    with gemini_client(window=300) as client:
        with pytest.raises(errors.ClientError, match="exceeds the maximum number of tokens"):
            client.models.generate_content(model="m", contents=TASK * 200)
        assert client.models.generate_content(model="m", contents=f"{TASK} {SUMMARY}").usage_metadata
    with gemini_client(faults=("429@1",)) as client, pytest.raises(errors.ClientError) as limited:
        client.models.generate_content(model="m", contents=TASK)
    assert limited.value.code == 429
