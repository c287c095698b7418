"""The endpoint: four APIs on one port, a session for each path before `/v1`."""

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ctxsim.errors import InputError, one_line
from ctxsim.live.exchange import Refusal
from ctxsim.live.log import Entry, Log
from ctxsim.live.session import SHAPES, Session
from ctxsim.readers.assembly.requests.bodies import Api

BODY_BYTES = 64 << 20
"""The largest request that is read."""

MOST_SESSIONS = 1_000
"""Paths that become sessions; a client that makes up more is told no."""

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
"""The host names that a request may be addressed to, unless another is served."""

_PATHS: tuple[tuple[Api, re.Pattern[str]], ...] = (
    ("chat", re.compile(r"/chat/completions$")),
    ("responses", re.compile(r"/responses$")),
    ("messages", re.compile(r"/messages$")),
    ("gemini", re.compile(r"/models/(?P<model>[^/:]+):(?P<method>generateContent|streamGenerateContent)$")),
)
_COUNTS: tuple[tuple[Api, re.Pattern[str]], ...] = (
    ("messages", re.compile(r"/messages/count_tokens$")),
    ("gemini", re.compile(r"/models/(?P<model>[^/:]+):countTokens$")),
)
_SESSION = re.compile(r"^/s/(?P<name>[\w.-]{1,64})(?=/)")
_MODELS = re.compile(r"/models$")


class Target(NamedTuple):
    """Where a path leads: an API, a session, and what Gemini's paths say."""

    api: Api
    session: str
    model: str = ""
    stream: bool | None = None
    only_counts: bool = False


def target_of(path: str) -> Target | None:
    """Return where a path leads; None if nowhere."""
    named = _SESSION.match(path)
    session = named["name"] if named else "default"
    for count, paths in ((False, _PATHS), (True, _COUNTS)):
        for api, pattern in paths:
            if found := pattern.search(path):
                groups = found.groupdict()
                stream = groups["method"].startswith("stream") if groups.get("method") else None
                return Target(api, session, groups.get("model", ""), stream, count)
    return None


class Endpoint:
    """All sessions of one server, each made when its path is first used."""

    def __init__(self, opened: Callable[[str], Session], log: Log, slow_s: float = 0.0) -> None:
        self.sessions: dict[str, Session] = {}
        self._opened, self._log, self._slow_s = opened, log, slow_s
        self.told: Callable[[Entry], None] = lambda entry: None

    async def answer(self, request: Request) -> Response:
        """Answer one request of any of the APIs."""
        if request.method == "GET" and _MODELS.search(request.url.path):
            return JSONResponse({"object": "list", "data": [{"id": "mock", "object": "model", "owned_by": "ctxsim"}]})
        target = target_of(request.url.path)
        if target is None or request.method != "POST":
            return _refused(404, f"nothing is served at {request.method} {request.url.path}")
        data = await _body(request)
        if data is None:
            return _refused(413, f"the body is larger than {BODY_BYTES:,} bytes")
        if self._slow_s:
            await asyncio.sleep(self._slow_s)
        return self._respond(target, data, request)

    def _respond(self, target: Target, data: bytes, request: Request) -> Response:
        session = self.sessions.get(target.session)
        if session is None:
            if len(self.sessions) >= MOST_SESSIONS:
                return _refused(429, f"there are {MOST_SESSIONS} sessions already")
            session = self.sessions[target.session] = self._opened(target.session)
        shape = SHAPES[target.api]
        try:
            body = msgspec.json.decode(data)
            if not isinstance(body, dict):
                raise InputError("request", "the body is no JSON object")
            model = target.model or str(body.get("model", ""))
            if target.only_counts:
                tokens = session.count(target.api, body, model)
                return JSONResponse({"input_tokens": tokens} if target.api == "messages" else {"totalTokens": tokens})
            stream = bool(body.get("stream")) if target.stream is None else target.stream
            served = session.answer(target.api, body, model, stream, request.headers)
        except (InputError, msgspec.DecodeError, RecursionError) as error:
            status, answer, headers = shape.refusal(
                Refusal("invalid", one_line(str(error))[:500] or type(error).__name__)
            )
            return JSONResponse(answer, status, headers)
        self.told(self._log.write(target.session, body, served))
        if served.refusal:
            status, answer, headers = shape.refusal(served.refusal)
            return JSONResponse(answer, status, headers)
        if stream:
            return StreamingResponse(_events(shape.stream(served.reply)), media_type="text/event-stream")
        return JSONResponse(shape.whole(served.reply))


async def _events(events: Iterator[bytes]) -> Any:
    for event in events:
        yield event


async def _body(request: Request) -> bytes | None:
    """The request's bytes; None if they are too many."""
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > BODY_BYTES:
            return None
    return bytes(data)


def _refused(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error", "code": None}}, status)


def application(endpoint: Endpoint, hosts: tuple[str, ...] = LOOPBACK) -> Starlette:
    """Return the ASGI application. A request for another host is refused: no web page can use this server."""
    return Starlette(
        routes=[Route("/{path:path}", endpoint.answer, methods=["GET", "POST"])],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)],
    )
