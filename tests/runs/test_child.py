"""The process of a policy of others, seen from here: what is asked of it, its answer, its silence and its end."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from samples import conversation, spec_of

from ctxsim.errors import ContractError
from ctxsim.policies import Policy, Spec, open_policy
from ctxsim.runs import own_process
from ctxsim.runs.own_process import Answer, Asked, Child, Seen, end_apart, others, rows_apart, sent_apart
from ctxsim.runs.parts import packed
from ctxsim.runs.transcript_rows import rows_of
from ctxsim.runs.user_code import Shipped
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.measure.summary import WHAT_IF, WhatIf
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.guard import MOMENTS

ONE = AsSent(conversation("one", "two"), Provider())
SPEC = open_policy("mask:keep=1")


def from_module(name: str) -> Any:
    return spec_of(type("Mine", (Policy,), {"__module__": name}))


def test_others_are_files_packages_of_plug_ins_and_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxsim.runs.own_process.plugin_packages", lambda: {"plug"})
    found = {name: others(from_module(name)) for name in ("ctxsim_policy_x_1", "plug.in.it", "plugs", "ctxsim.mine")}
    assert found == {
        "ctxsim_policy_x_1": {"ctxsim_policy_x_1"}, "plug.in.it": {"plug.in.it"}, "plugs": set(), "ctxsim.mine": set()
    }  # fmt: skip
    assert others(SPEC) == set()
    links: Any = ((SPEC.links[0][0], "messages:f.py:shorten", {}),)
    function = Spec("messages:f.py:shorten", links, SPEC.estimator)
    assert others(function) == {"messages:f.py:shorten"}
    monkeypatch.setattr("os.name", "nt")
    assert others(from_module("plug.in.it")) == set()


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the process answers, the next first; then what was asked."""
    given: list[Any] = []

    def answer(one: AsSent, spec: Any, asked: Asked, tell: Any) -> Answer:
        found = given.pop(0)
        given.append(asked)
        return found  # type: ignore[no-any-return]

    monkeypatch.setattr(own_process, "_answer", answer)
    return given


def test_rows_are_those_of_the_process_and_as_many_as_calls(answers: list[Any]) -> None:
    rows = rows_of(ONE, [SPEC], [])
    fewer = rows_of(AsSent(conversation("one"), Provider()), [SPEC], [])
    failed: list[str] = []
    answers.append(Answer(("a line",), packed(rows)))
    found = rows_apart(ONE, SPEC, failed, what_if=WhatIf(False, False))
    assert found is not None and found.summaries == rows.summaries and failed == ["a line"]
    assert answers.pop() == Asked(SPEC.typed, False, WhatIf(False, False))
    answers.append(Answer(("raised",), None))
    assert rows_apart(ONE, SPEC, failed) is None and failed == ["a line", "raised"]
    assert answers.pop() == Asked(SPEC.typed, False, WHAT_IF)
    answers.append(Answer((), packed(fewer)))
    with pytest.raises(ContractError, match="its process gave something else than it was asked for"):
        rows_apart(ONE, SPEC, failed)


def test_what_is_sent_comes_up_to_where_the_policy_raises(answers: list[Any]) -> None:
    sent = list(replay(ONE.transcript, SPEC, ONE.provider, ONE.provider.counter()))
    answers.append(Answer((), pickle.dumps(sent)))
    assert len(list(sent_apart(ONE, SPEC))) == 3 and answers.pop() == Asked(SPEC.typed, True)
    answers.append(Answer(("it raised", "more"), pickle.dumps(sent[:2])))
    found = sent_apart(ONE, SPEC)
    assert [next(found).call, next(found).call] == [1, 2]
    with pytest.raises(ContractError, match=r"^it raised$"):
        next(found)
    answers.clear()
    answers.append(Answer(("a", "b"), None))
    with pytest.raises(ContractError, match=r"^a; b$"):
        next(sent_apart(ONE, SPEC))
    for data in (b"", b"no pickle", pickle.dumps(7), pickle.dumps([7]), pickle.dumps((sent[0],))):
        answers.clear()
        answers.append(Answer((), data))
        with pytest.raises(ContractError, match="gave something else"):
            next(sent_apart(ONE, SPEC))


BEGINS = "import os, sys, time, mmap, struct, signal; out, shown = int(sys.argv[1]), mmap.mmap(int(sys.argv[2]), 24)\n"


def process(code: str, monkeypatch: pytest.MonkeyPatch) -> Child:
    """A process that does something else than ours; it reads what it is asked."""
    monkeypatch.setattr(
        own_process, "python", lambda module, *rest: [sys.executable, "-S", "-E", "-c", BEGINS + code, *rest]
    )  # fmt: skip
    return Child(Shipped())


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    made: list[Child] = []

    def start(code: str) -> Child:
        made.append(process(code, monkeypatch))
        return made[-1]

    yield start
    for one in made:
        one.end()
        assert not one.alive


def framed(answer: Answer) -> bytes:
    data = msgspec.msgpack.encode(answer)
    return len(data).to_bytes(8, "big") + data


def test_an_answer_may_come_in_pieces_and_the_course_is_told(child: Any) -> None:
    data = framed(Answer(("a",), b"rows"))
    told: list[int] = []
    one = child(
        f"data = {data!r}\nshown[16:24] = struct.pack('Q', 5)\n"
        "for n in range(len(data)): os.write(out, data[n:n + 1])\ntime.sleep(9)"
    )
    assert one.alive and one.ask(ONE, Asked("mask"), told.append) == Answer(("a",), b"rows")
    assert set(told) <= {0, 5}


def test_an_answer_that_is_none_is_told(child: Any) -> None:
    one = child("os.write(out, (3).to_bytes(8, 'big') + b'xyz'); time.sleep(9)")
    with pytest.raises(ContractError, match="mask: its process gave an answer that is none: "):
        one.ask(ONE, Asked("mask"), lambda done: None)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("sys.exit(3)", "its process ended with status 3, without an answer"),
        ("os.kill(os.getpid(), 9)", "its process was ended by SIGKILL, without an answer"),
        ("shown[8:16] = struct.pack('Q', {moment}); os._exit(0)", "its process ended with status 0 in before_call"),
        ("os.write(out, b'half'); os.close(out); time.sleep(9)", "its process was ended by SIGKILL, without an answer"),
    ],
)  # fmt: skip
def test_its_end_is_told_with_the_moment(code: str, said: str, child: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_process, "_ENDS_S", 0.05)
    one = child(code.replace("{moment}", str(MOMENTS.index("before_call"))))
    with pytest.raises(ContractError, match=f"^mask: {said}"):
        one.ask(ONE, Asked("mask"), lambda done: None)


def test_limits_are_of_silence_within_a_moment_and_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXSIM_POLICY_SECONDS", "2")
    bare: Any = Child.__new__(Child)
    bare._limit("mask", Seen(1, 1), 2.0)
    bare._limit("mask", Seen(1, 0), 600.0)
    with pytest.raises(ContractError, match="took longer than 2 s"):
        bare._limit("mask", Seen(1, 1), 2.1)
    with pytest.raises(ContractError, match="mask: its process did nothing for 600 s"):
        bare._limit("mask", Seen(1, 0), 600.1)


class Answers:
    """A child of which nothing runs."""

    def __init__(self, code: Any) -> None:
        self.code, self.files, self.alive, self.ended = code, own_process.files_loaded(), True, 0

    def ask(self, one: AsSent, asked: Asked, tell: Any) -> Answer:
        if asked.label == "bad":
            raise ContractError("no")
        return Answer((), str(id(self)).encode())

    def end(self) -> None:
        self.ended += 1


def test_one_process_serves_all_rows_of_the_same_code(monkeypatch: pytest.MonkeyPatch) -> None:
    running: dict[Any, Any] = {}
    files = {"a": b"x"}
    monkeypatch.setattr(own_process, "_running", running)
    monkeypatch.setattr(own_process, "Child", Answers)
    monkeypatch.setattr(own_process, "files_loaded", lambda: dict(files))
    monkeypatch.setattr(own_process, "others", lambda spec: frozenset({spec}))

    def ask(spec: Any, label: str = "mask") -> bytes | None:
        monkeypatch.setattr(own_process, "shipped", lambda specs: f"code of {specs}")
        return own_process._answer(ONE, spec, Asked(label), lambda done: None).rows

    first = ask("a")
    assert ask("a") == first != ask("b") and len(running) == 2
    key = (threading.get_ident(), frozenset({"a"}))
    held = running[key]
    assert held.code == "code of ['a']"
    files["b"] = b"y"
    second = ask("a")
    assert second != first and held.ended == 1, "a file is another"
    running[key].alive = False
    dead = running[key]
    assert ask("a") != second and dead.ended == 1
    last = running[key]
    with pytest.raises(ContractError):
        ask("a", "bad")
    assert last.ended == 1 and key not in running
    other = running[(0, frozenset())] = Answers("")
    kept = running[threading.get_ident(), frozenset({"b"})]
    end_apart()
    assert running == {(0, frozenset()): other} and kept.ended == 1, "those of this thread"
    own_process._end_all()
    assert not running and other.ended == 1
