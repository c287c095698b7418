"""The endpoint as a running server, in a thread of its own."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from ctxsim.errors import CtxsimError
from ctxsim.live.app import LOOPBACK, Endpoint, application

START_S = 10.0


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one. Raises CtxsimError where that isn't possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen()
    except OSError as error:
        made.close()
        raise CtxsimError(f"can't listen on {host} port {port}: {error.strerror}; choose another --port") from None
    return made


@contextmanager
def beside(endpoint: Endpoint, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve in another thread while the block runs, on a free port where none is named; yields the address."""
    bound = listen(host, port)
    app = application(endpoint, LOOPBACK if host in LOOPBACK else (*LOOPBACK, host))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, ws="none", lifespan="off"))
    thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    until = time.monotonic() + START_S
    while not server.started:
        if time.monotonic() > until or not thread.is_alive():
            raise CtxsimError("the endpoint did not start")
        time.sleep(0.005)
    try:
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(START_S)
        bound.close()
