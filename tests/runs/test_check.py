"""The process that checks a policy, within this one: what it counts, and what it says."""

from __future__ import annotations

import pickle
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from ctxsim.policies import Policy, register, registered_policies
from ctxsim.runs import check as room
from ctxsim.runs.check import CODE, Checked, _answer, _append_only, _checking, _here, check
from ctxsim.runs.user_code import Shipped
from ctxsim.view import View

CHANGED = (
    "append-only: no, 2 of 5 requests, with the whole window and with a quarter of it, change what stood before: a "
    "model that binds thinking refuses them, or drops the thinking behind each edit"
)


@pytest.mark.parametrize(
    ("server_side", "edited", "calls", "said"),
    [(True, 2, 5, "append-only: yes, the provider itself edits"), (False, 0, 0, ""), (False, 2, 5, CHANGED),
     (False, 0, 5, "append-only: yes, in every scenario tried"), (False, 1, 0, "")],
)  # fmt: skip
def test_what_is_sent_is_only_added_to_or_not(server_side: bool, edited: int, calls: int, said: str) -> None:
    assert _append_only(server_side, edited, calls) == said


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What would be refused in this process from now on."""
    heard: list[Any] = []
    monkeypatch.setattr(room, "refuse", lambda events, what: heard.append((events, what)))
    return heard


def test_a_policy_is_replayed_with_its_window_and_with_a_quarter_of_it(refused: list[Any]) -> None:
    found = _here("keep-all", ["documented-53k"], True)
    assert (found.violations, found.findings) == ([], [])
    assert found.append_only == "append-only: yes, in every scenario tried" and len(found.done) == 64
    assert _here("keep-all", ["documented-53k"], False).done == found.done
    assert refused[0][1] == "starts another process" and "os.fork" in refused[0][0]
    edits = _here("mask:keep=1", ["documented-53k"], False)
    # Twice seven requests; the first that empties a result is that of the third call.
    assert edits.append_only.startswith("append-only: no, 10 of 14 requests, ") and edits.done != found.done
    refused.clear()
    assert not _here("pipe:cat", [], False).violations and refused == [], "another program is what that is"


@dataclass
class Splits(Policy):
    """Drops results, and leaves their calls."""

    def before_call(self, view: View) -> View:
        return view.drop([item.place for item in view.results], "for a test")

    def before_calls(self) -> None:
        """No moment."""


@dataclass
class Fails(Policy):
    """Fails."""

    def before_call(self, view: View) -> View:
        raise ValueError("no")


@dataclass
class Overflows(Policy):
    """Fails where a request is too large for its window."""

    def on_overflow(self, view: View) -> View:
        raise ValueError("no")


class Plain(Policy):
    """Its field sets nothing. Nobody needs its method to be a moment."""

    budget: int = 5
    known: ClassVar[int] = 6

    def extend(self) -> None:
        pass


@pytest.fixture
def own() -> Any:
    for cls in (Splits, Fails, Overflows, Plain):
        register(cls)
    yield
    for name in ("splits", "fails", "overflows", "plain"):
        registered_policies().pop(name)


def test_findings_are_what_nobody_calls_and_what_a_provider_refuses(own: None, refused: list[Any]) -> None:
    found = _here("splits", ["documented-53k"], False)
    assert found.findings == [
        "Splits.before_calls is no moment, and never called; did you mean before_call or after_call?",
        "12 of 14 requests split a tool call from its result: a provider refuses them",
    ]
    found = _here("plain", ["documented-53k"], False)
    assert found.findings == ["Plain is no @dataclass, so no label sets budget"]
    # `Summary.at` is a number, `VercelPrune._calls` its own affair.
    assert [_here(label, ["documented-53k"], False).findings for label in ("summary", "vercel-prune")] == [[], []]


def test_a_violation_is_told_of_each_window(own: None, refused: list[Any]) -> None:
    found = _here("fails", ["documented-53k"], True)
    assert len(found.violations) == 2 and all("before_call raised ValueError: no" in one for one in found.violations)
    assert found.append_only == ""
    # The requests that fit the whole window are only added to; those of the quarter are unknown.
    found = _here("overflows", ["small-results"], True)
    assert len(found.violations) == 1 and found.append_only == ""


def test_a_class_that_only_this_process_knows_is_checked(own: None) -> None:
    found = check("splits", scenarios=["documented-53k"])
    assert found.violations == [] and "12 of 14 requests split a tool call from its result" in found.findings[1]


def fake(monkeypatch: pytest.MonkeyPatch, first: Checked, second: Checked) -> Checked:
    monkeypatch.setattr(room, "python", lambda *module: [sys.executable, "-S", "-E", "-c", ""])
    monkeypatch.setattr(room, "_answer", lambda label, running, answer, until: {"1": first, "2": second}[answer.stem])
    return check("mask")


def test_two_processes_are_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Checked([], ["f"], "a", "yes")
    assert fake(monkeypatch, plain, Checked([], [], "a")) == plain
    assert fake(monkeypatch, plain, Checked([], [], "b")) == Checked(
        ["mask: another PYTHONHASHSEED gave another result; does it go by the order of a set?"], ["f"], "a", "yes"
    )  # fmt: skip
    assert fake(monkeypatch, Checked(["x", "x"], [], "a"), Checked(["y"], [], "b")).violations == ["x"]
    assert fake(monkeypatch, plain, Checked(["y"], [], "b")).violations == ["y"]


def test_an_answer_is_read_and_none_is_a_violation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = tmp_path / "1.json"

    def asked(code: str, seconds: float = 9.0) -> Checked:
        monkeypatch.setattr(room, "python", lambda *module: [sys.executable, "-S", "-E", "-c", code])
        with _checking("mask", answer, ["a"]) as running:
            return _answer("mask", running, answer, time.monotonic() + seconds)

    assert asked("raise SystemExit(3)") == Checked(["mask: ended its process (status 3)"], [], "")
    answer.write_bytes(msgspec.json.encode(Checked(["v"], ["f"], "a", "b")))
    assert asked("") == Checked(["v"], ["f"], "a", "b")
    answer.write_text("cut")
    assert asked("") == Checked(["mask: ended its process (status 0)"], [], "")
    assert asked("import time; time.sleep(9)", 0.01) == Checked(["mask: did not come back"], [], "")


def test_who_stops_a_check_waits_for_no_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = [sys.executable, "-S", "-E", "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(room, "python", lambda *module: waits)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), _checking("mask", tmp_path / "1.json", []) as running:
        raise KeyboardInterrupt
    assert running.poll() is not None and time.monotonic() - began < 30


def test_the_process_writes_its_answer_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def here(label: str, scenarios: Any, thoroughly: bool) -> Checked:
        asked.append((label, scenarios, thoroughly))
        if label == "bad":
            raise KeyError("x")
        return Checked([], [], "a")

    class Ended(BaseException):
        pass

    def exit(status: int) -> None:
        raise Ended(status)

    monkeypatch.setattr(room, "_here", here)
    monkeypatch.setattr("os._exit", exit)
    monkeypatch.setattr(room, "scenario_names", lambda: ["every"])
    (tmp_path / CODE).write_bytes(pickle.dumps(Shipped()))
    found = []
    for label, name, more in (("mask", "1", ("a",)), ("mask", "2", ()), ("bad", "1", ())):
        answer = tmp_path / f"{name}.json"
        monkeypatch.setattr(sys, "argv", ["check", label, str(answer), *more])
        with pytest.raises(Ended) as ended:
            room.main()
        assert ended.value.args == (0,)
        found.append(msgspec.json.decode(answer.read_bytes(), type=Checked))
    assert asked == [("mask", ["a"], True), ("mask", ["every"], False), ("bad", ["every"], True)]
    assert found[:2] == [Checked([], [], "a")] * 2 and found[2].violations[0].startswith("bad: KeyError: 'x' (")


BEGINNING = """import os, subprocess, sys, threading, time
from dataclasses import dataclass
from ctxsim.policies import Policy, Stop

@dataclass
class Mine(Policy):
    def before_call(self, view):
"""

BREAKING = {
    "        if len(view) > 6: os._exit(0)\n        return view": "ended its process",
    # A refusal that it swallows, and another that it doesn't.
    "        try: os.fork() or os._exit(0)\n        except Exception: subprocess.run(['true'])\n        return view":
        r"starts another process \(subprocess.Popen\)",
    "        names = {str(item.place) for item in view if item.kind == 'tool_result'}\n"
    "        return view.drop([int(next(iter(names)))], 'any') if len(names) > 3 else view": "another PYTHONHASHSEED",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("opened_at_once")
@pytest.mark.parametrize("body", BREAKING)
def test_what_a_policy_does_to_its_process_is_a_violation(body: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BEGINNING + body + "\n")
    found = check(f"{tmp_path}/mine.py:Mine", scenarios=["documented-53k"])
    # Told once, and not whether what nobody could replay is only added to.
    assert len({line.rpartition(": mine: ")[2] for line in found.violations}) == len(found.violations) > 0
    assert found.append_only == "" or "PYTHONHASHSEED" in BREAKING[body]
    assert all(re.search(BREAKING[body], line) and "\n" not in line for line in found.violations), found.violations
