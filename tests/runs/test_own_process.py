"""Policies that end, hang, copy or bend their process: their row fails, the others are as they would be without."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest
from bench_runs import write
from command_line import ctxsim
from samples import ASK, TASK, chat

from ctxsim.api.inputs import open_policy
from ctxsim.counting.estimators import open_estimator
from ctxsim.errors import LabelError
from ctxsim.policies import registered_policies, trial
from ctxsim.results import read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.runs.transcript_rows import sent_of
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.provider import Provider

BEGINNING = """import ctypes, json, os, signal, sys, threading, time
from dataclasses import dataclass
from ctxsim.policies import Policy
"""

CLASS = "\n@dataclass\nclass Bad{}(Policy):\n"

BEFORE = "    def before_call(self, view):\n        "

KINDS = {
    # The process goes on behind these, up to the one that ends it.
    "copies itself": (BEFORE + "os.fork()\n        return view", "starts a copy of its process (os.fork)"),
    "takes all memory": (BEFORE + "self.x = [bytes(1 << 28) for _ in range(99)]", "raised MemoryError"),
    "replaces json": (BEFORE + "json.dumps = print\n        return view", "replaced json.dumps, which others use too"),
    "dies with status 0": (BEFORE + "os._exit(0)", "its process ended with status 0 in before_call"),
    "another program": (BEFORE + "os.execv('/bin/true', ['true'])", "ended with status 0"),
    "hangs": (BEFORE + "[signal.signal(n, signal.SIG_IGN) for n in (2, 14, 15)]\n"
              "        while True:\n            try: time.sleep(9)\n            except BaseException: pass",
              "before_call took longer than 0.5 s"),
    "stops itself when made": ("    def __post_init__(self):\n"
                               "        if 'own_process_main' in sys.argv[0]: os.kill(os.getpid(), signal.SIGSTOP)",
                               "constructor took longer than 0.5 s"),
    "leaves a thread": (BEFORE + "threading.Thread(target=time.sleep, args=(999,)).start(); ctypes.string_at(0)",
                        "was ended by SIGSEGV in before_call"),
}  # fmt: skip


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log and all bad policies, in one file."""
    folder = tmp_path_factory.mktemp("apart")
    write(folder / "log", chat(TASK, ASK, ("tool_result", "zebra_one " * 50), ("assistant", "zebra_one")), "a")
    bodies = (CLASS.format(number) + body + "\n" for number, (body, _) in enumerate(KINDS.values()))
    (folder / "bad.py").write_text(BEGINNING + "".join(bodies))
    return folder


LIMITS = {"CTXSIM_POLICY_SECONDS": "0.5", "CTXSIM_POLICY_MB": "1000"}


@pytest.mark.slow
def test_their_rows_fail_and_the_others_are_the_same(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in LIMITS.items():
        monkeypatch.setenv(name, value)
    # Nothing of theirs happens when they are opened, which has tests of its own.
    monkeypatch.setattr(trial, "_answer", lambda label: "fine")
    bad = [f"--policy=bad.py:Bad{number}" for number in range(len(KINDS))]
    done = ctxsim(
        "bench", "log", "--out", "out", "--policy=keep-all", *bad, "--policy=mask:keep=0", "--format", "json", cwd=own
    )
    assert done.returncode == 1 and json.loads(done.stdout)["command"] == "bench", done.stderr
    assert "Traceback" not in done.stderr
    assert "no rows of a: bad" in done.stderr
    run = read_run(own / "out")
    told = [line for one in run.info.inputs for line in one.failures]
    assert len(told) == len(KINDS), told
    for number, (_, said) in enumerate(KINDS.values()):
        (line,) = [line for line in told if re.search(rf"\bbad{number}\b", line, re.IGNORECASE)]
        assert said in line, (said, told)
    assert run.info.complete and run.labels == ["keep-all", "mask:keep=0,batch=1"]
    conduct(Setting("log", "log", ("keep-all", "mask:keep=0")), own / "alone", paths=[str(own / "log")])
    assert rows(run.folder) == rows(own / "alone")


def rows(folder: Path) -> list[list[str]]:
    run = read_run(folder)
    return [frame.to_csv(index=False).splitlines() for frame in (run.summary, run.table("calls"))]


@pytest.mark.slow
def test_one_conversation_and_the_doctor_outlive_it(tmp_path: Path) -> None:
    body, said = KINDS["dies with status 0"]
    (tmp_path / "bad.py").write_text(BEGINNING + CLASS.format("") + body + "\n")
    for line in ("replay documented-53k --policy bad.py:Bad",
                 "check policy bad.py:Bad --doctor --scenario defects/task-lost"):  # fmt: skip
        done = ctxsim(*line.split(), cwd=tmp_path)
        assert done.returncode == 1 and "Traceback" not in done.stderr
        assert done.stderr.count(said) == 1


def test_what_is_sent_is_the_same_apart(tmp_path: Path) -> None:
    (tmp_path / "same.py").write_text("from ctxsim.policies.mask import Mask\nclass Mine(Mask): pass\n")
    told = [ctxsim("replay", "documented-53k", "--losses", "--policy", label, cwd=tmp_path)
            for label in ("mask:keep=2", "same.py:Mine:keep=2")]  # fmt: skip
    assert told[0].returncode == 0 and "compaction" in told[0].stdout and not told[1].stderr
    assert told[0].stdout.splitlines()[2:] == told[1].stdout.splitlines()[2:]


@pytest.mark.parametrize(
    ("body", "said"),
    [("    pass\nos._exit(0)", "its process ended with status 0"),
     ("    def __post_init__(self): os._exit(0)", "its process ended with status 0"),
     ("    pass\nos.fork()", "starts a copy of its process"),
     ("    pass\njson.dumps = print", "replaced json.dumps")],
)  # fmt: skip
def test_a_file_that_bends_the_process_that_opens_it_is_refused(body: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BEGINNING + CLASS.format("") + body + "\n")
    before = json.dumps
    with pytest.raises(LabelError, match=said):
        open_policy(f"{tmp_path}/bad.py:Bad")
    assert json.dumps is before


DEFAULTS = {
    "str | None": "None", "int | None": "None", "int | float": "5.0", "int | str": "7", "Color": "Color.red",
    "float": "5", "tuple[int, ...]": "(1, 2)", "str": "'a,b+c\\n (bound)'",
    "list[int]": "field(default_factory=lambda: [1])",
}  # fmt: skip
SHOWS = """from dataclasses import dataclass, field
from enum import Enum
from ctxsim.policies import Policy
class Color(Enum):
    red = "r"
"""


def test_every_default_is_the_same_in_hand_typed_printed_and_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shows = "    def before_call(self, view): return view.rewrite({view[0].place: repr(self.x)}, 'r')\n"
    classes = [f"@dataclass\nclass Shows{n}(Policy):\n    x: {kind} = {default}\n{shows}"
               for n, (kind, default) in enumerate(DEFAULTS.items())]  # fmt: skip
    function = "def f(messages, x: int | None = None): return messages[:-1] + [messages[-1] | {'content': repr(x)}]\n"
    (tmp_path / "shows.py").write_text("\n".join([SHOWS, *classes, function]))
    monkeypatch.syspath_prepend(tmp_path)
    one = AsSent(chat(TASK, ASK, ("tool_result", "zebra_one " * 50), ("assistant", "zebra_one")), Provider())
    for n in range(len(DEFAULTS)):
        typed = open_policy(f"{tmp_path}/shows.py:Shows{n}", open_estimator("bytes"))
        cls = getattr(importlib.import_module("shows"), f"Shows{n}")
        specs = (typed, open_policy(typed.label), open_policy(cls()), open_policy(cls))
        sent = [next(iter(sent_of(one, spec))).view[0].text for spec in specs]
        registered_policies().pop(cls.name)
        assert sent == [repr(cls().x)] * 4, typed.label
        assert open_policy(typed.short).label == open_policy(typed.typed).label == typed.label
    called = next(iter(sent_of(one, open_policy(f"messages:{tmp_path}/shows.py:f"))))
    assert called.view[-1].text == "None"
