"""Grids of a policy's parameters: which labels, in which order, and what is no grid."""

from __future__ import annotations

import re

import pytest

from ctxsim.errors import LabelError
from ctxsim.runs import grid as room
from ctxsim.runs.grid import MOST, expand


def keeps(grid: str) -> list[str]:
    return [label.partition("=")[2].partition(",")[0] for label in expand(grid)]


def test_values_are_evenly_spaced_with_both_ends() -> None:
    assert keeps("mask:keep=0..10@3") == ["0", "5", "10"] and keeps("mask:keep=7..7@1") == ["7"]
    assert keeps("mask:keep=3..9@1") == ["3"] and keeps("mask:keep=1..4@4") == ["1", "2", "3", "4"]
    assert keeps("mask:keep=1..2@5") == ["1", "2"], "rounded, equal ones once"
    assert keeps("summary:at=0.1..0.2@3") == ["0.1", "0.15", "0.2"]
    assert keeps("summary:at=0.1..0.9@4") == ["0.1", "0.366667", "0.633333", "0.9"]
    assert keeps("summary:at=0.5..0.5@2") == ["0.5"]


def test_parameters_and_links_are_combined_the_last_fastest_and_a_command_stays_as_it_is() -> None:
    assert expand("keep-all") == ["keep-all"]
    assert expand("token-budget:retain=100..200@2,budget=1000..2000@2") == [
        f"token-budget:budget={b},retain={r}" for r in (100, 200) for b in (1000, 2000)
    ]
    assert expand("mask:keep=1|2+head-tail:lines=3|4,bytes=9") == [
        f"mask:keep={keep},batch=1+head-tail:lines={lines},bytes=9" for keep in (1, 2) for lines in (3, 4)
    ]
    command = "pipe:sh -c 'cat a=1..2@2 | head b=1|2'"
    assert expand(command) == [command]
    assert expand(f"{command}+mask:keep=1|2") == [f"{command}+mask:keep={keep},batch=1" for keep in (1, 2)]


def test_there_is_a_most_of_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST == 2_000
    monkeypatch.setattr(room, "MOST", 4)
    assert len(expand("mask:keep=1..4@4")) == 4
    for grid, said in (
        ("mask:keep=1..9@5", "has 5 settings or more; at most 4 are run at once"),
        ("mask:keep=1..3@3,batch=1|2", "has 6 settings; at most 4 are run at once"),
    ):  # fmt: skip
        with pytest.raises(LabelError, match=re.escape(f"'{grid}' {said}")):
            expand(grid)


@pytest.mark.parametrize(
    ("grid", "said"),
    [("keep=1..2@0", "needs low..high upwards and at least one step"), ("keep=2..1@2", "needs low..high upwards"),
     ("keep=1..2", "is not low..high@steps, as in retain=100..4000@8"), ("keep=a..b@3", "is not low..high@steps"),
     ("keep=1.2.3..4@2", "is not low..high@steps"), (f"keep=1..{'9' * 400}@2", "needs low..high upwards"),
     ("kep=1..3@3", "kep")],
)  # fmt: skip
def test_what_is_no_range_is_told(grid: str, said: str) -> None:
    with pytest.raises(LabelError, match=re.escape(said)):
        expand(f"mask:{grid}")
