"""Caches miss: how much of what a cache should read it doesn't, by vendor and pause, and what that does to a bill.

The replay stays deterministic: it bills what the vendor's rule lets a cache read. The table gives the share of those
reads that was not read on recordings, with a 95 % interval, and so a bill its own. It is measured by
`python -m evidence.priors FOLDER`.
"""

from __future__ import annotations

import tomllib
from datetime import date as Date
from functools import cache
from importlib.resources import files

import msgspec


class Loss(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Share of expected reads that is lost: mean and 95 % interval; measured on `calls` calls of `sessions` sessions.

    It holds for pauses since the last call of up to `gap_s` seconds.
    """

    vendor: str
    gap_s: float
    mean: float
    low: float
    high: float
    calls: int
    sessions: int


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    date: Date
    loss: tuple[Loss, ...] = ()


@cache
def load_losses() -> tuple[Loss, ...]:
    """Return the fitted table, ordered by vendor and pause."""
    text = files("ctxsim.simulator.provider").joinpath("misses.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Table).loss


def expected_loss(vendor: str, gap_s: float) -> Loss | None:
    """Return the share of expected reads that a vendor's cache loses after a pause; None where it wasn't measured.

    Rules of one vendor that are kept apart (`openai-paid-writes`) have no share of their own until they are measured.
    """
    return next((loss for loss in load_losses() if loss.vendor == vendor and gap_s <= loss.gap_s), None)
