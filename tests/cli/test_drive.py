"""What `ctxsim drive` tells of an agent's run, and how a policy differs from it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import ctxsim

from ctxsim.api.defects import Diagnoses
from ctxsim.api.live import BESIDE
from ctxsim.cli import drive
from ctxsim.cli.drive import _compare, _tell, _tell_diagnosis
from ctxsim.errors import CtxsimError
from ctxsim.live.agent import Agent
from ctxsim.live.confined import FILES, NETWORK, SOCKETS
from ctxsim.live.differences import Amounts, Comparison, Difference
from ctxsim.live.log import Entry
from ctxsim.live.plan import Outcome


def entry(kind: str = "main", status: int = 200, **more: Any) -> Entry:
    return Entry("default", 1, kind, 1, status, 10, 5, None, {}, {}, **more)


ENCLOSED = (NETWORK, FILES, SOCKETS)


def driven(
    entries: list[Entry], statuses: tuple[int | None, ...] = (0,), steps: int = 3, enclosed: tuple[str, ...] = ENCLOSED,
    agent: Agent | None = None,
) -> Any:  # fmt: skip
    return SimpleNamespace(
        agent=agent or Agent("mine"), entries=entries, outcome=Outcome(12.6, statuses, enclosed, steps),
        said=Path("out/said.txt"), script=SimpleNamespace(steps=(1, 2, 3)),
    )  # fmt: skip


def test_a_run_that_went_well_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    _tell(driven([entry(), entry(), entry()]), ())
    said = capsys.readouterr()
    assert said.out == "observed:mine: 3 requests (3 of the conversation) in 13 s\n" and said.err == ""


def test_other_requests_and_refusals_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    made = [entry(), entry(status=429), entry(status=400), entry(status=429), entry("title"), entry("summary")]
    _tell(driven(made), ("a note",))
    said = capsys.readouterr()
    assert " ".join(said.out.split()) == (
        "observed:mine: 6 requests (4 of the conversation, 1 title, 1 summary) in 13 s, 1 x 400, 2 x 429"
    )
    assert said.err == "ctxsim: mine: a note\n"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"steps": 2, "statuses": (0, 3)}, "it ended early: exit status 3, its output is in out/said.txt"),
        ({"steps": 2, "statuses": (0, None)}, "it ended early: time limit"),
        ({"enclosed": (NETWORK, SOCKETS)}, "the system allows no namespaces here: it could use this machine's files"),
        ({"enclosed": ()},
         "the system allows no namespaces here: it could use this machine's network and files and sockets"),
        ({"agent": Agent("mine", tells="It reads the clock.")}, "It reads the clock."),
    ],
)  # fmt: skip
def test_what_went_otherwise_is_told(how: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    _tell(driven([entry()], **how), ())
    assert capsys.readouterr().err == f"ctxsim: mine: {said}\n"


def test_a_tool_that_nothing_can_stand_for_is_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    _tell(driven([entry(unused="b"), entry(unused="a"), entry(unused="b")]), ())
    assert capsys.readouterr().err == "".join(
        f"ctxsim: mine: no tool of its requests could stand for {tool}\n" for tool in "ab"
    )


@pytest.mark.parametrize(
    ("version", "said"), [("", ""), ("1.2.3", ""), ("1.2.4", "1.2.4 ran; its policy was compared with 1.2.3")]
)
def test_another_version_than_the_policys_is_told(
    version: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive, "compared_with", lambda name: "1.2.3")
    _tell(driven([entry()], agent=Agent("mine", version=version)), ())
    assert capsys.readouterr().err == (f"ctxsim: mine: {said}\n" if said else "")


def compared(first: Difference | None, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Comparison(first, Amounts(9_000, 4_000, 1.239), Amounts(8_000, 3_000, None))
    monkeypatch.setattr("ctxsim.cli.drive.compared", lambda *given: found)
    run: Any = SimpleNamespace(
        observation=SimpleNamespace(label="observed:mine", attempts=(1, 2, 3, 4)), driven=SimpleNamespace(provider=None)
    )  # fmt: skip
    _compare(run, "mask")


IN_ALL = "on the agent's own conversation: agent 9,000 tokens, peak 4,000, 1.24 USD; policy 8,000 tokens, peak 3,000"


def test_a_policy_that_sends_the_same_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared(None, monkeypatch)
    assert capsys.readouterr().out.splitlines() == [
        "mask sends what observed:mine sent, in all 4 calls", IN_ALL
    ]  # fmt: skip


@pytest.mark.parametrize(("many", "more"), [(12, []), (13, ["  ... and 1 more"])])
def test_the_first_difference_has_up_to_twelve_lines(
    many: int, more: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared(Difference(3, 2_000, 1_500, tuple(f"line {n}" for n in range(many))), monkeypatch)
    assert capsys.readouterr().out.splitlines() == [
        "mask differs from observed:mine first at call 3 of 4: agent 2,000 tokens, policy 1,500",
        *(f"  line {n}" for n in range(12)), *more, IN_ALL,
    ]  # fmt: skip


def test_a_diagnosis_is_a_detail(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(drive, "detail", told.append)
    for has_it in (True, False):
        one: Any = SimpleNamespace(
            policy="observed:mine", defect=SimpleNamespace(name="task-lost"), has_it=has_it, value=0.25
        )  # fmt: skip
        _tell_diagnosis(one)
    assert told == ["observed:mine, task-lost: has it, 0.25", "observed:mine, task-lost: no, 0.25"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is asked of agents, which do nothing."""
    heard: list[Any] = []

    def diagnosed(agents: Any, defects: Any, told: Any, **how: Any) -> Diagnoses:
        heard.append((agents, defects, how))
        return Diagnoses([], ("nothing was seen",))

    def driven(agents: Any, played: str, policies: Any, told: Any, **how: Any) -> None:
        heard.append((agents, played, policies, how))
        raise CtxsimError("enough")

    monkeypatch.setattr(drive, "diagnose_driven", diagnosed)
    monkeypatch.setattr(drive, "drive", driven)
    return heard


@pytest.mark.parametrize(("line", "said"), [
    ("--doctor", "--doctor is of agents alone"),
    ("codex --doctor --policy mask", "--doctor and --policy can't go together"),
    ("--doctor --command run", "--doctor and --command can't go together"),
    ("codex --doctor --out x", "--doctor and --out can't go together"), ("codex", "say which conversation to play"),
    ("codex --play a --play b", "say which conversation to play"),
])  # fmt: skip
def test_what_is_played_and_diagnosed_must_be_said(line: str, said: str, asked: list[Any], tmp_path: Path) -> None:
    done = ctxsim("drive", *line.split(), cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr and not asked


def test_what_is_said_is_handed_on(asked: list[Any], tmp_path: Path) -> None:
    for line in (
        "codex pi --doctor", "codex --doctor --play defects/zero-usage --install --window 9 --limit 7 --fault 429@2",
        "codex --play one-prompt", "pi --play one-prompt --policy mask --install --out here --limit 9",
    ):  # fmt: skip
        ctxsim("drive", *line.split(), cwd=tmp_path)
    usual = {"install": False, "faults": (), "limit_s": 300.0}
    assert asked == [
        (("codex", "pi"), [], usual),
        (("codex",), ["zero-usage"], {"install": True, "faults": ("429@2",), "limit_s": 7.0, "window": 9}),
        (("codex",), "one-prompt", BESIDE, usual),
        (("pi",), "one-prompt", ("mask",), {**usual, "install": True, "limit_s": 9.0, "out": Path("here")}),
    ]
