"""The endpoint: four APIs on one port. `/s/NAME` in a path names the session."""

import asyncio
import re
from collections.abc import Callable, Iterator
from hmac import compare_digest
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ctxsim.errors import InputError, one_line
from ctxsim.live.chat import CREATED
from ctxsim.live.exchange import Refusal
from ctxsim.live.log import Entry, Log
from ctxsim.live.session import SHAPES, Session
from ctxsim.readers.assembly.gemini import camel
from ctxsim.readers.assembly.requests.bodies import Api
from ctxsim.readers.source import under

BODY_BYTES = 64 << 20
"""The most bytes of a request's body."""

HELD_BYTES = 256 << 20
"""The most bytes that the bodies being received may hold together."""

IDLE_S = 30.0
"""Seconds of silence after which an unfinished request is refused, or a connection without a request is closed."""

MOST_SESSIONS = 1_000
"""The most sessions; a path that would open another one is refused with status 429."""

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
"""The host names that a request may be addressed to. The host that is served is added to them."""

_PATHS: dict[Api, re.Pattern[str]] = {
    "chat": re.compile(r"/chat/completions$"),
    "responses": re.compile(r"/responses(?P<counts>/input_tokens)?$"),
    "messages": re.compile(r"/messages(?P<counts>/count_tokens)?$"),
    "gemini": re.compile(
        r"/models/(?P<model>[^/:]+):(?:generateContent|(?P<stream>streamGenerateContent)|(?P<counts>countTokens))$"
    ),
}
"""The paths of each API; with `counts` they only count tokens."""
_TOKEN = re.compile(r"^/t/(?P<token>[\w-]{1,64})(?=/)")
_SESSION = re.compile(r"/s/(?P<name>[\w-][\w.-]{0,63})(?=/)")
_JSON = re.compile(r"application/(?:[\w.-]+\+)?json")
_MODELS = re.compile(r"/models(?:/(?P<name>.{1,200}))?$")
_MODEL = {
    "id": "mock", "object": "model", "created": CREATED, "owned_by": "ctxsim", "name": "models/mock",
    "type": "model", "display_name": "mock", "created_at": "2023-11-14T22:13:20Z", "lifecycle": "active",
}  # fmt: skip
"""The model that is listed, with the fields of the APIs of OpenAI, Anthropic and Gemini."""


class Target(NamedTuple):
    """The API and session of a path. Only Gemini's paths give `model` and `stream`; else the request's body does."""

    api: Api
    session: str
    model: str = ""
    stream: bool | None = None
    only_counts: bool = False


def target_of(path: str) -> Target | None:
    """Return the target of a path; None if nothing is served there."""
    named = _SESSION.search(path)
    session = named["name"] if named else "default"
    for api, pattern in _PATHS.items():
        if found := pattern.search(path):
            groups = found.groupdict()
            stream = bool(groups["stream"]) if api == "gemini" else None
            return Target(api, session, groups.get("model", ""), stream, bool(groups.get("counts")))
    return None


class Endpoint:
    """All sessions of one server, each made when its path is first used."""

    def __init__(self, opened: Callable[[str], Session], log: Log, slow_s: float = 0.0, token: str = "") -> None:
        """`token` is required at the beginning of every path, as in `/t/TOKEN/v1/messages`; '' for none."""
        self.sessions: dict[str, Session] = {}
        self.token = token
        self._opened, self._log, self._slow_s = opened, log, slow_s
        self._held = 0
        self.told: Callable[[Entry], None] = lambda entry: None

    async def answer(self, request: Request) -> Response:
        """Answer one request of any of the APIs."""
        if page := _web_page(request):
            return _refused(403, page)
        path = request.url.path
        given = _TOKEN.match(path)
        if self.token:
            if given is None or not compare_digest(given["token"], self.token):
                return _refused(401, "the path must begin with the token that this run's address has")
            path = path[given.end() :]
        if request.method == "GET" and (models := _MODELS.search(path)):
            if name := models["name"]:
                return JSONResponse({**_MODEL, "id": name, "display_name": name, "name": f"models/{name}"})
            return JSONResponse({"object": "list", "data": [_MODEL], "has_more": False, "models": [_MODEL]})
        target = target_of(path)
        if target is None or request.method != "POST":
            return _refused(404, f"nothing is served at {request.method} {path}")
        kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
        if not _JSON.fullmatch(kind):
            return _refused(415, f"the content type is '{kind}': say application/json")
        data = await self._body(request)
        if isinstance(data, Response):
            return data
        if self._slow_s:
            await asyncio.sleep(self._slow_s)
        return self._respond(target, data, request)

    async def _body(self, request: Request) -> bytes | Response:
        """Return the request's body, or a refusal if it is too large or doesn't arrive."""
        data = bytearray()
        pieces = aiter(request.stream())
        try:
            while True:
                async with asyncio.timeout(IDLE_S):
                    piece = await anext(pieces, None)
                if piece is None:
                    return bytes(data)
                data += piece
                self._held += len(piece)
                if len(data) > BODY_BYTES:
                    return _refused(413, f"the body is larger than {BODY_BYTES:,} bytes")
                if self._held > HELD_BYTES:
                    return _refused(503, f"requests under way hold more than {HELD_BYTES:,} bytes")
        except TimeoutError:
            return _refused(408, f"nothing of the body came for {IDLE_S:g} s")
        except ClientDisconnect:
            return _refused(400, "the client went away")
        finally:
            self._held -= len(data)

    def _respond(self, target: Target, data: bytes, request: Request) -> Response:
        session = self.sessions.get(target.session)
        if session is None:
            if len(self.sessions) >= MOST_SESSIONS:
                return _refused(429, f"there are {MOST_SESSIONS} sessions already")
            session = self.sessions[target.session] = self._opened(target.session)
        shape = SHAPES[target.api]
        try:
            body = msgspec.json.decode(data)
            if target.only_counts and isinstance(body, dict):
                body = camel(body).get("generateContentRequest", body)
            if not isinstance(body, dict):
                raise InputError("request", "the body is no JSON object")
            model = target.model or str(body.get("model", ""))
            if target.only_counts:
                tokens = session.count(target.api, body, model)
                told = {"gemini": {"totalTokens": tokens}, "messages": {"input_tokens": tokens}}
                return JSONResponse(told.get(target.api, {"object": "response.input_tokens", "input_tokens": tokens}))
            stream = bool(body.get("stream")) if target.stream is None else target.stream
            served = session.answer(target.api, body, model, stream, request.headers)
        except (InputError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            wrong = Refusal("invalid", one_line(str(error))[:500] or type(error).__name__)
            return JSONResponse(*shape.refusal(wrong))
        self.told(self._log.write(target.session, body, served))
        if served.refusal:
            return JSONResponse(*shape.refusal(served.refusal))
        if not stream:
            return JSONResponse(shape.whole(served.reply))
        reply = served.reply
        assert reply is not None  # not refused
        # OpenAI states the usage of a streamed chat completion only to clients that ask for it.
        if target.api == "chat" and under(body, "stream_options", "include_usage") is not True:
            reply = msgspec.structs.replace(reply, used=None)
        return StreamingResponse(_events(shape.stream(reply)), media_type="text/event-stream")


async def _events(events: Iterator[bytes]) -> Any:
    for event in events:
        yield event


def _web_page(request: Request) -> str:
    """Return why a request is refused as one that a browser sends for another site's page; '' if it isn't one.

    Rule: the Origin header of the Fetch standard, and Sec-Fetch-Site of Fetch Metadata.
    """
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        return f"a page of another origin ({origin[:100]}) may not ask"
    if (site := request.headers.get("sec-fetch-site", "none")) not in ("none", "same-origin"):
        return f"a page of another site may not ask (Sec-Fetch-Site: {site[:20]})"
    return ""


def _refused(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error", "code": None}}, status)


def application(endpoint: Endpoint, hosts: tuple[str, ...] = LOOPBACK) -> Starlette:
    """Return the ASGI application. Requests for other host names are refused, so that no web page can use it."""
    return Starlette(
        routes=[Route("/{path:path}", endpoint.answer, methods=["GET", "POST"])],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)],
    )
