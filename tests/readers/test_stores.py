"""Stores of many sessions: what is left out is told with the last one that is read."""

from __future__ import annotations

import gc
import weakref

import pytest
from samples import conversation

from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers.assembly.stores import cell, each
from ctxsim.transcript import Transcript


def read(session: str) -> Transcript | None:
    if session.startswith("bad"):
        raise InputError(session, "is torn")
    return None if session.startswith("empty") else conversation("r", name=session)


BAD = [f"bad{number}" for number in range(8)]


@pytest.mark.parametrize(
    ("sessions", "notes"),
    [
        (["a", "b"], []),
        (["bad0", "a", "empty0", "b", "empty1"], ["bad0: is torn", "2 session(s) without messages"]),
        # Five are named, the others are counted.
        ([*BAD[:5], "b"], [f"{one}: is torn" for one in BAD[:5]]),
        ([*BAD[:6], "b"], [*(f"{one}: is torn" for one in BAD[:5]), "1 more that can't be read either"]),
        (["b", *BAD], [*(f"{one}: is torn" for one in BAD[:5]), "3 more that can't be read either"]),
    ],
)
def test_what_is_left_out_is_told_once_at_the_end(sessions: list[str], notes: list[str]) -> None:
    found = list(each("store", sessions, read))
    assert [one.name for one in found] == [one for one in sessions if len(one) == 1]
    assert found[-1].notes == tuple(f"left out: {note}" for note in notes)
    assert not any(one.notes for one in found[:-1])


def test_what_cannot_be_read_is_not_kept() -> None:
    errors: list[weakref.ref[InputError]] = []

    def torn(session: str) -> Transcript | None:
        error = InputError(session, "is torn")
        errors.append(weakref.ref(error))
        raise error

    with pytest.raises(InputError) as raised:
        list(each("store", BAD, torn))
    gc.collect()
    assert raised.value is errors[0]()
    assert [one() is not None for one in errors] == [True] * 5 + [False] * 3


def test_a_store_without_any_says_why() -> None:
    with pytest.raises(InputError, match="bad0: is torn"):
        list(each("store", ["empty0", *BAD], read))
    with pytest.raises(NotATranscript, match="holds no sessions with messages"):
        list(each("store", ["empty0"], read))


def test_a_cell_is_json_in_text_or_bytes_beside_other_columns() -> None:
    assert cell('{"a": 1}', dict, "t", b=2) == {"a": 1, "b": 2} == cell(b'{"a": 1, "b": 3}', dict, "t", b=2)
    assert cell("[1]", list, "t", b=2) == [1]
    for value in (None, 5):
        with pytest.raises(InputError, match="t: is no JSON text"):
            cell(value, dict, "t")
