"""What holds for every test: no network but this machine's own."""

from __future__ import annotations

import socket
from typing import Any

import pytest

LOCAL = ("127.0.0.1", "::1", "localhost")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may connect to another machine: ctxsim is offline, always."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOCAL:
            raise AssertionError(f"a test wanted to connect to {address}")
        return real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
