"""Grids of a policy's parameters."""

from __future__ import annotations

import pytest

from ctxsim.errors import LabelError
from ctxsim.runs.grid import expand


@pytest.mark.parametrize(
    ("grid", "labels"),
    [
        ("mask:keep=2..6@3", ["mask:keep=2,batch=1", "mask:keep=4,batch=1", "mask:keep=6,batch=1"]),
        ("mask:keep=3|5", ["mask:keep=3,batch=1", "mask:keep=5,batch=1"]),
        ("mask:keep=1..2@5", ["mask:keep=1,batch=1", "mask:keep=2,batch=1"]),  # rounded, equal ones once
        (
            "token-budget:retain=100..200@2,budget=1000..2000@2",
            [f"token-budget:budget={b},retain={r}" for r in (100, 200) for b in (1000, 2000)],
        ),
        ("summary:at=0.2..0.6@2", [f"summary:at={at},keep_last=10,max_tokens=500" for at in (0.2, 0.6)]),
        ("keep-all", ["keep-all"]),
    ],
)
def test_grids(grid: str, labels: list[str]) -> None:
    assert expand(grid) == labels


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ("mask:keep=1..9", "low..high@steps"),
        ("mask:keep=9..1@3", "upwards"),
        ("mask:keep=a..b@3", "low..high@steps"),
        ("mask:keep=1..900000@90000", "90,000 settings"),
        ("mask:kep=1..3@3", "kep"),
    ],
)
def test_bad_grids_say_why(grid: str, message: str) -> None:
    with pytest.raises(LabelError, match=message):
        expand(grid)
