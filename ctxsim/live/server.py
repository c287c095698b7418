"""Runs the endpoint as a server in a thread of its own."""

import errno
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ctxsim.errors import CtxsimError
from ctxsim.live.app import IDLE_S, LOOPBACK, Endpoint, application

START_S = 10.0

CLIENTS = 256
"""The most connections at once; further ones are told to come again."""


class _Patient(H11Protocol):  # type: ignore[misc]
    """A connection that closes when no request has begun or gone on for IDLE_S; `app` sets the limit for bodies."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._looked_at: Any = None
        self._look = self.loop.call_later(IDLE_S, self._let_go)

    def _let_go(self) -> None:
        cycle = self.cycle
        if cycle is self._looked_at and (cycle is None or cycle.response_complete):
            self.transport.close()
            return
        self._looked_at = cycle
        self._look = self.loop.call_later(IDLE_S, self._let_go)

    def connection_lost(self, error: Exception | None) -> None:
        self._look.cancel()
        super().connection_lost(error)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free port. Raises CtxsimError if the system doesn't allow it."""
    if not host:
        raise CtxsimError("the host is empty; 0.0.0.0 would listen on all addresses of this machine")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen()
    except OSError as error:
        made.close()
        other = "--port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "--host"
        raise CtxsimError(f"can't listen on {host} port {port}: {error.strerror}; choose another {other}") from None
    return made


@contextmanager
def beside(endpoint: Endpoint, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve in another thread while the block runs, on a free port if `port` is 0. Yields the address, which includes
    the endpoint's token if there is one.
    """
    bound = listen(host, port)
    app = application(endpoint, LOOPBACK if host in LOOPBACK else (*LOOPBACK, host))
    config = uvicorn.Config(app, log_level="error", ws="none", lifespan="off", http=_Patient, limit_concurrency=CLIENTS)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    until = time.monotonic() + START_S
    while not server.started:
        if time.monotonic() > until or not thread.is_alive():
            raise CtxsimError("the endpoint did not start")
        time.sleep(0.005)
    try:
        shown = f"[{host}]" if ":" in host else host
        token = f"/t/{endpoint.token}" if endpoint.token else ""
        yield f"http://{shown}:{bound.getsockname()[1]}{token}"
    finally:
        server.should_exit = True
        thread.join(START_S)
        bound.close()
