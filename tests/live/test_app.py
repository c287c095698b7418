"""The endpoint by plain HTTP: four APIs, whole and streamed, and what each refuses."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from endpoint import APIS, FIRST, SECOND, Spoken, client, sessions

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.live.app import Endpoint
from ctxsim.live.log import Log
from ctxsim.live.server import beside
from ctxsim.readers import read

TOKENS = Counter(open_tokenizer("o200k_base")).text(FIRST)

every_api = pytest.mark.parametrize("api", APIS)


@every_api
@pytest.mark.parametrize("stream", [False, True])
def test_a_conversation_is_played_to_its_end(api: str, stream: bool) -> None:
    with client() as http:
        spoken = Spoken(http, api, stream)
        spoken.user("Do the task.")
        first = spoken.ask()
        assert [call.name for call in first.calls] == ["tool"]
        spoken.result(first.calls[0], FIRST)
        second = spoken.ask()
        assert first.input is not None and second.input is not None
        # The second request adds the call (a name and {}), and the result, and no framing.
        assert TOKENS < second.input - first.input < TOKENS + 5
        spoken.result(second.calls[0], SECOND)
        assert spoken.ask().text == "Done."
        assert spoken.ask().text == "The conversation is over."


@every_api
def test_usage_reports_real_prefix_hits(api: str) -> None:
    with client(cache="openai", model="gpt-5", framing="none") as http:
        spoken = Spoken(http, api)
        spoken.user("Do the task. " * 1000)
        first = spoken.ask()
        spoken.result(first.calls[0], FIRST)
        second = spoken.ask()
        assert first.read == 0
        assert first.input is not None and second.read is not None
        # OpenAI caches prefixes of at least 1,024 tokens in steps of 128; all of the first request is a prefix.
        assert second.read == first.input - first.input % 128
        # What was read is part of the prompt, once.
        assert second.input is not None and TOKENS < second.input - first.input < TOKENS + 5


@every_api
def test_an_overflow_is_refused_in_the_vendors_words(api: str) -> None:
    with client(window=TOKENS) as http:
        spoken = Spoken(http, api)
        spoken.user("Do the task.")
        first = spoken.ask()
        spoken.result(first.calls[0], FIRST)
        refused = spoken.ask()
        assert refused.status == 400
        words = {"messages": "prompt is too long", "gemini": "exceeds the maximum number of tokens"}
        assert words.get(api, "maximum context length is") in refused.body["error"]["message"]
        if api in ("chat", "responses"):
            assert refused.body["error"]["code"] == "context_length_exceeded"
        # Shortened, the same step goes on: a refusal takes no step.
        spoken.messages[1:] = []
        spoken.user("Summary: there was a result.")
        assert spoken.ask().calls[0].id == "call_0002_0"


def test_a_foreign_host_is_refused() -> None:
    with client(host="evil.example") as http:
        assert http.get("/v1/models").status_code == 400
    with client() as http:
        assert http.get("/v1/models").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Origin": "http://127.0.0.1"}, 200),
     ({"Sec-Fetch-Site": "cross-site"}, 403), ({"Sec-Fetch-Site": "same-site"}, 403), ({"Sec-Fetch-Site": "none"}, 200),
     ({"Content-Type": "text/plain"}, 415), ({"Content-Type": "multipart/form-data"}, 415),
     ({"Content-Type": "application/json; charset=utf-8"}, 200), ({"Content-Type": "application/vnd.x+json"}, 200)],
)  # fmt: skip
def test_no_web_page_can_ask(headers: dict[str, str], status: int) -> None:
    body = b'{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "Do the task."}]}'
    with client() as http:
        assert http.post("/v1/messages", content=body, headers=headers).status_code == status


def test_bodies_that_never_end_hold_little_and_are_let_go(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ctxsim.live.app.HELD_BYTES", 100_000)
    monkeypatch.setattr("ctxsim.live.app.IDLE_S", 1.0)
    monkeypatch.setattr("ctxsim.live.server.IDLE_S", 1.0)
    head = b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 90000\r\n\r\n"
    with Log(None) as log, beside(Endpoint(sessions(), log)) as url, ExitStack() as stack:
        port = int(url.rpartition(":")[2])

        def said(*sent: bytes) -> Callable[[], bytes]:
            made = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20))
            for piece in sent:
                made.sendall(piece)
            return lambda: made.makefile("rb").readline()

        first, second = said(head, b"x" * 60_000), said(head, b"x" * 60_000)
        idle, half = said(), said(head[:40])
        statuses = sorted(answer().split(b" ")[1] for answer in (first, second))
        assert statuses == [b"408", b"503"]
        # Closed without a word.
        assert idle() == half() == b""
        # A client that goes away is no error of the endpoint.
        with socket.create_connection(("127.0.0.1", port), 20) as gone:
            gone.sendall(head + b"x")
        said(head, b"x")()
    assert capsys.readouterr().err == ""


@every_api
def test_the_log_is_a_transcript_that_goes_on_past_a_compaction(api: str, tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    with client(path) as http:
        spoken = Spoken(http, api)
        spoken.user("Do the task.")
        first = spoken.ask()
        spoken.result(first.calls[0], FIRST)
        second = spoken.ask()
        # As agents do it: the task and a summary, nothing of what was said.
        spoken.messages[1:] = []
        spoken.user("Summary: the first result was read.")
        third = spoken.ask()
        assert (second.status, third.text) == (200, "Done.")
    (transcript,) = read(str(path))
    assert transcript.format == "request-log"
    kinds = [item.kind for item in transcript.items]
    assert kinds == ["user", "tool_call", "tool_result", "tool_call", "tool_result", "assistant"]
    assert [call.usage.input_tokens for call in transcript.calls if call.usage] == [
        first.input, second.input, third.input,
    ]  # fmt: skip
    # The creation time in OpenAI's responses is a constant: it isn't the day whose prices count.
    assert [call.time_s for call in transcript.calls] == [None] * 3
    (compaction,) = transcript.compactions
    assert (compaction.call, compaction.summary) == (3, ("Summary: the first result was read.",))
    assert transcript.head.system == "You help."
