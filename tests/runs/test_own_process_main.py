"""The process of a policy of others, within this one: what it shows, answers and may hold."""

from __future__ import annotations

import os
import pickle
import tempfile
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from samples import conversation

from ctxsim.policies import Policy, register, registered_policies
from ctxsim.runs import own_process_main as room
from ctxsim.runs.own_process import Answer, Asked, Shown
from ctxsim.runs.own_process_main import DEFAULT_MB, _answered, _write, limit_memory
from ctxsim.runs.parts import packed, unpacked
from ctxsim.runs.rows import Rows
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay.guard import MOMENTS
from ctxsim.view import View


def test_it_shows_its_moment_and_how_far_it_is() -> None:
    with tempfile.TemporaryFile() as file:
        file.truncate(24)
        there, here = Shown(file.fileno()), Shown(file.fileno())
        shown: list[Any] = []
        for step in (lambda: there.within("before_call"), lambda: there.within(""), lambda: there.replayed(7)):
            step()
            shown.append(here.now)
    assert shown == [(1, MOMENTS.index("before_call"), 0), (2, 0, 0), (2, 0, 7)]


class Notes:
    """Hears what is shown; a watch that says what was changed."""

    def __init__(self, changed: str = "") -> None:
        self.heard: list[Any] = []
        self._changed = changed

    def within(self, moment: str) -> None:
        self.heard.append(moment)

    def replayed(self, calls: int) -> None:
        self.heard.append(calls)

    def changed(self) -> str:
        return self._changed


ONE = AsSent(conversation("one", "two"), Provider())


def answered(label: str, calls: bool = False, changed: str = "") -> tuple[Answer, list[Any]]:
    notes: Any = Notes(changed)
    data = _answered(ONE.basis(), Asked(label, calls), notes, notes)
    return msgspec.msgpack.decode(data, type=Answer), notes.heard


def test_rows_or_calls_are_answered() -> None:
    found, heard = answered("mask:keep=1")
    assert found.failed == () and found.rows is not None
    rows = unpacked(found.rows)
    assert isinstance(rows, Rows) and [one["policy"] for one in rows.summaries] == ["mask:keep=1,batch=1"]
    with pytest.raises(msgspec.DecodeError, match="the tables are not calls, events, "):
        unpacked(packed(msgspec.structs.replace(rows, tables={"calls": rows.tables["calls"]})))
    assert (
        heard[:2] == ["constructor", ""]
        and heard[-1] == ""
        and {one for one in heard if isinstance(one, int)} <= {0, 1, 2, 3}
    )
    found, heard = answered("mask:keep=1", calls=True)
    assert found.rows is not None and [one.call for one in pickle.loads(found.rows)] == [1, 2, 3]


def test_what_a_policy_raises_and_changes_is_answered() -> None:
    class Third(Policy):
        """Fails at the third call."""

        def before_call(self, view: View) -> View:
            if len(view) > 4:
                raise KeyError("no")
            return view

    register(Third)
    try:
        found, _ = answered("third", calls=True)
        assert found.rows is not None and len(pickle.loads(found.rows)) == 2
        assert len(found.failed) == 1 and found.failed[0].startswith(
            "sample: call 3: third: before_call raised KeyError"
        )
        found, _ = answered("third", changed="replaced x")
        assert found.rows is None and len(found.failed) == 1 and "KeyError" in found.failed[0]
    finally:
        registered_policies().pop("third")
    found, _ = answered("mask", changed="replaced json.dumps")
    assert found == Answer(("sample: mask: replaced json.dumps",), None)


def test_an_answer_is_written_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []

    def few(file: int, data: Any) -> int:
        written.append(bytes(data[:3]))
        return len(written[-1])

    monkeypatch.setattr(os, "write", few)
    _write(5, b"answer")
    monkeypatch.undo()
    assert b"".join(written) == (6).to_bytes(8, "big") + b"answer"


@pytest.mark.parametrize(("said", "most"), [(None, 4_096_000_000), ("1.5", 1_500_000)])
def test_memory_is_limited(said: str | None, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: list[Any] = []
    resource = SimpleNamespace(
        RLIMIT_DATA="data", RLIMIT_CORE="core", setrlimit=lambda *one: set_to.append(one)
    )  # fmt: skip
    monkeypatch.setitem(__import__("sys").modules, "resource", resource)
    monkeypatch.delenv("CTXSIM_POLICY_MB", raising=False)
    if said is not None:
        monkeypatch.setenv("CTXSIM_POLICY_MB", said)
    limit_memory()
    assert set_to == [("data", (most, most)), ("core", (0, 0))] and DEFAULT_MB == 4_096
    monkeypatch.setenv("CTXSIM_POLICY_MB", "much")
    limit_memory()
    assert len(set_to) == 2 and room.VARIABLE == "CTXSIM_POLICY_MB"
