"""Secrets recognized by the text before them: a name such as `password`, a header, an address with a user, an option.

The value must look like a secret: no word, name, path, version or placeholder of a manual. Passwords that are words are
therefore missed. `evidence.redacted` measures on recordings how often other text is redacted.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ctxsim.safety.redaction.patterns import TABLE, compiled

KINDS = PASSWORD, SECRET, HEADER, COOKIE, ADDRESS, HOOK, OPTION = tuple(one["kind"] for one in TABLE["secrets"])


class _Rule(NamedTuple):
    kind: str
    pattern: re.Pattern[str]
    least: int


_LONG = 400
"""A match of more characters isn't searched again by the same rule, which bounds the time."""

_BY_FOUR: dict[int, list[_Rule]] = {}
for _one in TABLE["secrets"]:
    _rule = _Rule(_one["kind"], compiled(_one["pattern"]), _one["least"])
    for _four in {needle[:4] for needle in _one["needles"]}:
        _BY_FOUR.setdefault(int.from_bytes(_four.encode(), "little"), []).append(_rule)
_FOURS = np.array(sorted(_BY_FOUR), np.uint32)
_TWOS = np.zeros(1 << 16, np.bool_)
_TWOS[_FOURS & 0xFFFF] = True

_NONE, _NAME, _TURN = map(compiled, TABLE["values"].values())


def _credible(value: str, least: int, kind: str, quoted: bool) -> bool:
    """Whether a value looks like a secret, and unlike what code and manuals have in its place."""
    if len(value) < least or _NONE.search(value) or len(set(value)) < min(6, least):
        return False
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    if not letters or not digits:
        return False
    turns = len(_TURN.findall(value))
    if _NAME.fullmatch(value):
        # Names such as `sha256`, `oauth2_step1` and `src/v2/api.rs` change between letters and digits only a few times.
        if kind in (PASSWORD, OPTION):
            return turns >= 1 and len(value) >= 8 and not re.search(r"[/.:]|_\w+_|-\w+-", value)
        return turns >= (3 if "/" not in value and "." not in value else 5)
    if kind == SECRET:
        return turns >= 3 and re.search(r"[^\w+/=.~%-]", value) is None
    return quoted or kind in (OPTION, ADDRESS) or re.search(r"[!@#^?~%+=]", value) is not None


def contextual(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of each secret of a text that is recognized by the text before it."""
    # One byte per character, so that offsets agree. A pattern is tried only where the first four bytes of a needle are.
    low = text.encode("ascii", "replace").lower()
    if len(low) < 4:
        return
    places = np.flatnonzero(_TWOS[np.ndarray(len(low) - 3, "<u2", low, strides=(1,))])
    fours = np.ndarray(len(low) - 3, "<u4", low, strides=(1,))[places]
    nearest = _FOURS[np.minimum(np.searchsorted(_FOURS, fours), len(_FOURS) - 1)]
    after: dict[str, int] = {}
    for at, four in zip(*(one[nearest == fours].tolist() for one in (places, fours)), strict=True):
        for rule in _BY_FOUR[four]:
            found = rule.pattern.match(text, at) if at >= after.get(rule.kind, 0) else None
            if found and found.end() - at > _LONG:
                after[rule.kind] = found.end()
            if found and (place := _place(rule, found)):
                yield rule.kind, *place


def _place(rule: _Rule, found: re.Match[str]) -> tuple[int, int] | None:
    group = found.lastgroup or "all"
    value = found[group]
    if rule.kind == ADDRESS:
        good = value.lower() not in TABLE["words"]["defaults"] and not re.search(r"^[%$\[]|\*\*|xxx|…|\.\.\.", value)
    elif group == "all":
        good = any(_credible(one, 12, SECRET, True) for one in re.split(r"[=;/ ]+", value))
    else:
        value = value.rstrip(".:,!?" if group == "bare" else "")
        good = _credible(value, rule.least, rule.kind, group == "quoted")
    return (found.start(group), found.start(group) + len(value)) if good else None
