"""Conditions on an agent's version, such as `>=2.1.153,<2.1.330`, by dotted numbers."""

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

Numbers = tuple[int, ...]

_CONDITION = re.compile(r"(>=|<=|==|<|>)\s*(\d+(?:\.\d+)*)")
_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)")
_HOLDS: dict[str, Callable[[Numbers, Numbers], bool]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "<": operator.lt, ">": operator.gt,
}  # fmt: skip

NEWEST = "999999"
"""Stands for an unknown version: newer than every real one."""


def numbers_of(version: str) -> Numbers:
    """Return the numbers at the beginning of a version: `v2.1.153-beta.1` is (2, 1, 153).

    Zeros at the end don't count, so 2.1 equals 2.1.0. Raises ValueError for a version that begins with no number.
    """
    if not dotted(version):
        raise ValueError(f"'{version}' is no version; write dotted numbers, as in 2.1.153")
    numbers = [int(part) for part in dotted(version).split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def order_of(version: str) -> tuple[Any, ...]:
    """Return a version's place in the order of all versions: 1.0.64-1, 1.0.64-2, 1.0.64-beta, 1.0.64, as by semver.

    Raises ValueError for a version that begins with no number.
    """
    before = version.partition("+")[0].partition("-")[2]
    parts = [(not part.isdecimal(), int(part) if part.isdecimal() else part) for part in before.split(".")]
    return numbers_of(version), not before, parts, version


def dotted(version: str) -> str:
    """Return the dotted numbers at the beginning of a version, as text; '' if it begins with none."""
    found = _NUMBERS.match(version.strip())
    return found[1] if found else ""


def newest_of(versions: Iterable[str]) -> str:
    """Return the dotted numbers of the newest version; '' if none begins with a number."""
    return max(map(dotted, versions), key=lambda one: numbers_of(one or "0"), default="")


def holds(conditions: str, version: str) -> bool:
    """Return whether a version meets all conditions, separated by commas. Without conditions, every version does.

    '' counts as the newest version. Raises ValueError for an invalid condition or version.
    """
    numbers = numbers_of(version or NEWEST)
    return all(_meets(condition.strip(), numbers) for condition in conditions.split(",") if condition.strip())


def _meets(condition: str, numbers: Numbers) -> bool:
    found = _CONDITION.fullmatch(condition)
    if found is None:
        raise ValueError(f"'{condition}' is no condition on versions; write one as in >=2.1.153,<2.1.330")
    return _HOLDS[found[1]](numbers, numbers_of(found[2]))
