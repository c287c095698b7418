"""What leads where on the endpoint, what it holds at most, and what it says to whom it refuses."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from endpoint import client, sessions
from starlette.testclient import TestClient

from ctxsim.live import app
from ctxsim.live.app import Endpoint, Target, application, target_of
from ctxsim.live.log import Entry, Log
from ctxsim.live.server import beside, listen

TASK = {"role": "user", "content": "Do the task."}
CHAT: dict[str, Any] = {"model": "m", "messages": [TASK]}


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/v1/chat/completions", Target("chat", "default")), ("/chat/completions", Target("chat", "default")),
        ("/s/a-b.c_1/v1/responses", Target("responses", "a-b.c_1")), ("/v1/messages", Target("messages", "default")),
        # Behind the address that is printed, as a client's base URL.
        ("/v1/s/x/chat/completions", Target("chat", "x")), ("/v1/s/x/v1/messages", Target("messages", "x")),
        ("/v1/messages/count_tokens", Target("messages", "default", only_counts=True)),
        ("/v1beta/models/m-1:generateContent", Target("gemini", "default", "m-1", False)),
        ("/s/x/v1beta/models/m:streamGenerateContent", Target("gemini", "x", "m", True)),
        ("/v1/responses/input_tokens", Target("responses", "default", only_counts=True)),
        ("/models/m:countTokens", Target("gemini", "default", "m", False, True)),
        # A name of 64 characters at most, and the whole end of a path.
        (f"/s/{'n' * 64}/v1/messages", Target("messages", "n" * 64)),
        (f"/s/{'n' * 65}/v1/messages", Target("messages", "default")),
        ("/s/x y/v1/messages", Target("messages", "default")), ("/s/../v1/messages", Target("messages", "default")),
        ("/v1/messages/", None), ("/v1/messages/other", None), ("/v1/models/m:embed", None),
        ("/", None), ("/v1/models", None),
    ],
)  # fmt: skip
def test_where_a_path_leads(path: str, target: Target | None) -> None:
    assert target_of(path) == target


def test_what_is_published_of_its_limits() -> None:
    assert (app.BODY_BYTES, app.HELD_BYTES, app.IDLE_S, app.MOST_SESSIONS) == (67_108_864, 268_435_456, 30.0, 1_000)
    assert app.LOOPBACK == ("127.0.0.1", "localhost", "[::1]", "::1")


def error(done: Any) -> tuple[int, str]:
    return done.status_code, done.json()["error"]["message"]


def test_what_is_not_served_is_told() -> None:
    with client() as http:
        # The fields that the clients of OpenAI and Anthropic declare as always there, and Gemini's list and name.
        model = {"id": "mock", "object": "model", "created": 1_700_000_000, "owned_by": "ctxsim", "type": "model",
                 "display_name": "mock", "created_at": "2023-11-14T22:13:20Z", "lifecycle": "active",
                 "name": "models/mock"}  # fmt: skip
        listed = {"object": "list", "data": [model], "has_more": False, "models": [model]}
        assert http.get("/v1/models").json() == listed
        named = http.get("/s/x/v1beta/models/a/b-1").json()
        assert named == {**model, "id": "a/b-1", "display_name": "a/b-1", "name": "models/a/b-1"}
        assert error(http.get("/v1/messages")) == (404, "nothing is served at GET /v1/messages")
        refused = http.post("/v1/none", json={})
        assert refused.json() == {"error": {
            "message": "nothing is served at POST /v1/none", "type": "invalid_request_error", "code": None,
        }}  # fmt: skip
        told = (415, "the content type is 'text/plain': say application/json")
        assert error(http.post("/v1/messages", content="{}", headers={"content-type": "Text/Plain ; x"})) == told
        assert http.put("/v1/messages").status_code == 405
        assert error(http.post("/v1/messages", json=[1])) == (400, "request: the body is no JSON object")
        far = {"origin": f"http://{'x' * 200}"}
        assert error(http.get("/v1/models", headers=far)) == (
            403, f"a page of another origin (http://{'x' * 93}) may not ask",
        )  # fmt: skip
        site = {"sec-fetch-site": "s" * 30}
        told = (403, f"a page of another site may not ask (Sec-Fetch-Site: {'s' * 20})")
        assert error(http.get("/v1/models", headers=site)) == told
        assert http.get("/v1/models", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_a_body_may_have_as_many_bytes_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b'{"messages": [{"role": "user", "content": "x"}]}'
    with client() as http:
        for limit, name, told in ((len(body), "BODY_BYTES", 413), (len(body), "HELD_BYTES", 503)):
            monkeypatch.setattr(app, name, limit)
            assert http.post("/v1/chat/completions", content=body).status_code == 200
            assert error(http.post("/v1/chat/completions", content=body + b" "))[0] == told
            # What was held is let go.
            assert http.post("/v1/chat/completions", content=body).status_code == 200
            monkeypatch.undo()


def test_so_many_paths_are_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MOST_SESSIONS", 2)
    with client() as http:
        found = [http.post(f"/s/{name}/v1/chat/completions", json=CHAT) for name in ("a", "b", "c", "a")]
        assert [done.status_code for done in found] == [200, 200, 429, 200]
        assert error(found[2]) == (429, "there are 2 sessions already")


def test_tokens_that_are_counted_by_both_apis_that_do() -> None:
    with client() as http:
        counted = http.post("/v1/messages/count_tokens", json=CHAT).json()
        gemini = http.post(
            "/models/m:countTokens", json={"contents": [{"role": "user", "parts": [{"text": "Do the task."}]}]}
        )
    assert counted == {"input_tokens": 4} and gemini.json() == {"totalTokens": 4}


def test_what_is_answered_is_told_and_logged_with_its_session(tmp_path: Path) -> None:
    told: list[Entry] = []
    with Log(tmp_path / "log.jsonl") as log:
        endpoint = Endpoint(sessions(), log)
        endpoint.told = told.append
        with TestClient(application(endpoint), "http://localhost") as http:
            answered = http.post("/s/one/v1/chat/completions", json={**CHAT, "stream": True})
            assert answered.headers["content-type"].startswith("text/event-stream")
            # As from OpenAI, the usage comes only to a client that asks for it.
            assert "usage" not in answered.text
            asking = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
            assert '"usage"' in http.post("/s/two/v1/chat/completions", json=asking).text
            assert http.post("/v1/chat/completions", json={**CHAT, "model": "other"}).json()["model"] == "other"
            assert http.post("/v1/chat/completions", json={"messages": [TASK]}).json()["model"] == ""
            # What is no request is neither.
            assert http.post("/v1/chat/completions", json={"messages": []}).status_code == 400
    assert [(entry.session, entry.number, entry.step) for entry in told] == [
        ("one", 1, 1),
        ("two", 2, 1),
        ("default", 3, 1),
        ("default", 4, 2),
    ]
    # The log has it all the same.
    assert told[0].response["usage"] == told[1].response["usage"]
    assert set(endpoint.sessions) == {"one", "two", "default"}
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 4


def test_a_refusal_for_the_rate_says_in_a_header_when_to_come_again() -> None:
    with client(faults=("429@1:retry=0.01",)) as http:
        refused, answered = (http.post("/v1/chat/completions", json=CHAT) for _ in range(2))
    assert (refused.status_code, refused.headers["retry-after"], answered.status_code) == (429, "0.01", 200)


def test_a_token_begins_the_path() -> None:
    with Log(None) as log, TestClient(application(Endpoint(sessions(), log, token="abc")), "http://127.0.0.1") as http:
        for path in ("/v1/models", "/t/abd/v1/models"):
            assert error(http.get(path)) == (401, "the path must begin with the token that this run's address has")
        assert http.post("/t/abc/s/x/v1/chat/completions", json=CHAT).status_code == 200
        assert error(http.post("/t/abc/none", json=CHAT)) == (404, "nothing is served at POST /none")


def test_an_answer_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(app.asyncio, "sleep", sleep)
    with Log(None) as log:
        for slow, expected in ((0.0, []), (1.5, [1.5])):
            with TestClient(application(Endpoint(sessions(), log, slow)), "http://127.0.0.1") as http:
                assert http.post("/v1/chat/completions", json=CHAT).status_code == 200
            assert [one for one in waited if one] == expected


def test_an_address_that_is_taken_is_told_with_what_to_change() -> None:
    from ctxsim.errors import CtxsimError

    with listen("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        assert port > 0
        with pytest.raises(CtxsimError, match=f"can't listen on 127.0.0.1 port {port}: .*; choose another --port"):
            listen("127.0.0.1", port)
    # By itself `bind` takes '' for every address of the machine.
    with pytest.raises(CtxsimError, match="the host is empty; "):
        listen("", 0)
    with pytest.raises(CtxsimError, match=r"can't listen on 192\.0\.2\.1 port 0: .*; choose another --host"):
        listen("192.0.2.1", 0)
    with listen("127.0.0.1", port) as again:
        assert again.getsockname()[1] == port, "at once"


def test_an_endpoint_beside_says_its_address_with_its_token() -> None:
    with Log(None) as log:
        for token, path in (("abc", "/t/abc"), ("", "")):
            with beside(Endpoint(sessions(), log, token=token)) as url:
                found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(.*)", url)
                assert found is not None and found[2] == path
                with urllib.request.urlopen(f"{url}/v1/models") as answered:
                    assert answered.status == 200
            # It is over with the block, and its port is free.
            listen("127.0.0.1", int(found[1])).close()
