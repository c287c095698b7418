"""Grids at their limits: how many settings, which ends, what stays as it is."""

from __future__ import annotations

import re

import pytest

from ctxsim.errors import LabelError
from ctxsim.runs.grid import MOST, expand


def keeps(grid: str) -> list[str]:
    return [label.partition("=")[2].partition(",")[0] for label in expand(grid)]


def test_values_are_evenly_spaced_with_both_ends() -> None:
    assert keeps("mask:keep=0..10@3") == ["0", "5", "10"] and keeps("mask:keep=7..7@1") == ["7"]
    assert keeps("mask:keep=3..9@1") == ["3"] and keeps("mask:keep=1..4@4") == ["1", "2", "3", "4"]
    assert keeps("summary:at=0.1..0.2@3") == ["0.1", "0.15", "0.2"]
    assert keeps("summary:at=0.1..0.9@4") == ["0.1", "0.366667", "0.633333", "0.9"]
    assert keeps("summary:at=0.5..0.5@2") == ["0.5"]


def test_links_are_combined_and_a_command_stays_as_it_is() -> None:
    assert expand("mask:keep=1|2+head-tail:lines=3|4,bytes=9") == [
        f"mask:keep={keep},batch=1+head-tail:lines={lines},bytes=9" for keep in (1, 2) for lines in (3, 4)
    ]  # fmt: skip
    command = "pipe:sh -c 'cat a=1..2@2 | head b=1|2'"
    assert expand(command) == [command]
    assert expand(f"{command}+mask:keep=1|2") == [f"{command}+mask:keep={keep},batch=1" for keep in (1, 2)]


def test_two_thousand_settings_are_the_most() -> None:
    assert MOST == 2_000 and len(expand("mask:keep=1..2000@2000")) == 2_000
    for grid, said in (
        ("mask:keep=1..9000@2001", "has 2,001 settings or more; at most 2,000 are run at once"),
        ("mask:keep=1..2000@1001,batch=1|2", "has 2,002 settings; at most 2,000 are run at once"),
    ):  # fmt: skip
        with pytest.raises(LabelError, match=re.escape(f"'{grid}' {said}")):
            expand(grid)


@pytest.mark.parametrize(
    ("value", "said"),
    [("1..2@0", "needs low..high upwards and at least one step"), ("2..1@2", "needs low..high upwards"),
     ("1..2", "is not low..high@steps, as in retain=100..4000@8"), ("1.2.3..4@2", "is not low..high@steps"),
     (f"1..{'9' * 400}@2", "needs low..high upwards")],
)  # fmt: skip
def test_what_is_no_range_is_told(value: str, said: str) -> None:
    with pytest.raises(LabelError, match=re.escape(said)):
        expand(f"mask:keep={value}")
