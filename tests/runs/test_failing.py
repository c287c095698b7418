"""One bad recording or policy takes nothing else with it."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from bench_runs import write
from command_line import ctxsim
from samples import ASK, TASK, chat

from ctxsim.results import read_run

BEGINNING = """import os, sys, time
from dataclasses import dataclass
from ctxsim.policies import Policy, Stop

@dataclass
class Bad(Policy):
"""

BAD = {
    "raises": ("    def before_call(self, view): raise KeyError('no')", "raised KeyError: 'no'"),
    "raises much": ("    def before_call(self, view): raise ValueError('no\\n' * 9000)", "raised ValueError: no"),
    "start": ("    def start(self): raise ValueError('no')", "start raised ValueError: no"),
    "result": ("    def on_tool_result(self, item): return {}['x']", "on_tool_result raised KeyError: 'x'"),
    "threshold": ("    def threshold(self): raise ValueError('no')", "threshold raised ValueError: no"),
    "threshold text": ("    def threshold(self): return 'many'", "threshold"),
    "after": ("    def after_call(self, view, usage): return 1 / 0", "after_call raised ZeroDivisionError"),
    "exit": ("    def before_call(self, view): sys.exit(3)", "wanted to end the process"),
    "interrupt": ("    def before_call(self, view): raise KeyboardInterrupt", "wanted to end the process"),
    "stop at overflow": ("    def after_call(self, view, usage): return Stop('now')", "after_call"),
    "recursion": ("    def before_call(self, view): return self.before_call(view)", "raised RecursionError"),
    "loop": ("    def before_call(self, view):\n        while True: pass", "took longer than 0.3 s"),
    "stubborn": ("    def before_call(self, view):\n        while True:\n            try: time.sleep(9)\n"
                 "            except Exception: pass", "took longer than 0.3 s"),
    "place": ("    def before_call(self, view): return view.drop([99], 'no')",
              ": before_call: item 99 is not in the view"),
    "replaced": ("    def before_call(self, view): return view.rewrite({0: 7}, 'no')", "a str, not int"),
    "end": ("    def end(self): raise ValueError('no')", "end raised ValueError: no"),
}  # fmt: skip

PLACED = {
    BAD[how][1]
    for how in (
        "raises", "raises much", "start", "result", "threshold", "after", "exit", "recursion",
        "place", "replaced", "end",
    )
}  # fmt: skip
"""What the policy's own line led to: the line is told."""


def one(folder: Path) -> str:
    write(folder, chat(TASK, ASK, ("tool_result", "zebra_one " * 50), ("assistant", "zebra_one")), "a")
    return str(folder)


@pytest.mark.slow
@pytest.mark.usefixtures("opened_at_once")
@pytest.mark.parametrize("limited", [False, True])
def test_the_others_finish(limited: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All bad policies in one file, which one process runs as long as none of them ends it."""
    text, _, _ = BEGINNING.partition("@dataclass")
    placed: dict[str, str] = {}
    kinds = [said for said in BAD.values() if ("took longer" in said[1]) == limited]
    for number, (body, said) in enumerate(kinds):
        # Called Bada, Badb, ...
        text += f"\n@dataclass\nclass Bad{chr(97 + number)}(Policy):\n"
        placed[f"bad{chr(97 + number)}"] = f"(bad.py:{text.count(chr(10)) + 1})" if said in PLACED else ""
        text += body + "\n"
    (tmp_path / "bad.py").write_text(text + "\ndef shorten(messages, context):\n    while True: pass\n")
    bad = [f"bad.py:{name.title()}" for name in placed]
    if limited:  # the others need no limit, which a busy machine would break
        monkeypatch.setenv("CTXSIM_POLICY_SECONDS", "0.3")
        kinds.append(("", "before_call took longer than 0.3 s"))
        placed["shorten"] = ""
        bad.append("messages:bad.py:shorten")
    began = time.monotonic()
    done = ctxsim(
        "bench", one(tmp_path / "logs"), "--out", "out", "--policy", "keep-all",
        *(part for label in bad for part in ("--policy", label)), "--policy", "drop-all", cwd=tmp_path,
    )  # fmt: skip
    assert time.monotonic() - began < 30
    assert done.returncode == 1
    run = read_run(tmp_path / "out")
    told = [line for one in run.info.inputs for line in one.failures]
    assert len(told) == len(kinds) and f"no rows of {told[0]}" in done.stderr
    for (name, place), (_, said) in zip(placed.items(), kinds, strict=True):
        (mine,) = [line for line in told if re.search(rf"\b{name}\b", line, re.IGNORECASE)]
        assert said in mine and len(mine) < 2000 and place in mine[-12:], mine
    assert run.labels == ["keep-all", "drop-all"] and len(run.summary) == 2 and run.info.complete


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which a policy failed on one of two transcripts."""
    folder = tmp_path_factory.mktemp("some")
    (folder / "bad.py").write_text(
        BEGINNING
        + "    def before_call(self, view):\n        assert view[0].text == 'Do it.', 'no'\n        return view\n"
    )
    for name, task in (("a", "Do it."), ("b", "Do that.")):
        write(folder / "logs", chat(("user", task), ASK, ("tool_result", "x " * 50), ("assistant", "ok")), name)
    done = ctxsim(
        "bench", "logs", "--out", "out", "--policy", "mask:keep=0", "--policy", "bad.py:Bad", "-q", cwd=folder
    )  # fmt: skip
    assert done.returncode == 1 and "no rows of b: call 1: bad: " in done.stderr, done.stderr
    assert "Left out: bad.py:Bad, which failed on 1 of 2 transcripts." in done.stdout
    assert "Traceback" not in done.stderr and "mask:keep=0" in done.stdout
    return folder


def test_a_policy_that_fails_on_some_transcripts_is_left_out_and_said_so(some: Path) -> None:
    run = read_run(some / "out")
    assert run.labels == ["keep-all", "mask:keep=0,batch=1"] and run.partial == {"bad.py:Bad": 1}
    told = "Left out: bad.py:Bad, which failed on 1 of 2 transcripts."
    for line, words in (
        ("report out", told), ("report out --only pictures", told), ("report out --only losses", told),
        ("compare out out", "not compared: only in A: bad.py:Bad"),
    ):  # fmt: skip
        done = ctxsim(*line.split(), cwd=some)
        assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
        assert words in done.stdout + done.stderr
    checked = ctxsim("check", "run", "out", cwd=some)
    assert checked.returncode == 0 and "Left out: bad.py:Bad, which failed on 1 of 2 " in checked.stderr
    both = ctxsim("compare", "out", "--policy", "bad.py:Bad", "keep-all", cwd=some)
    assert both.returncode == 1 and "policy bad.py:Bad has results of 1 of 2 transcripts" in both.stderr


@pytest.mark.parametrize(
    "body",
    ["    def __post_init__(self): sys.exit(0)", "    pass\n1/0"],
)
def test_a_policy_that_can_not_be_made_is_a_line(body: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BEGINNING + body + "\n")
    done = ctxsim("bench", one(tmp_path / "logs"), "--out", "out", "--policy", "bad.py:Bad", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "bad.py" in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()


def test_a_mistake_in_a_reader_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ctxsim.readers.formats import ctxsim_jsonl

    logs = one(tmp_path / "logs")
    write(tmp_path / "logs", chat(TASK, ("assistant", "b")), "b")
    real = ctxsim_jsonl.read

    def stumbling(source, sample):  # type: ignore[no-untyped-def]
        if source.name.endswith("a.jsonl"):
            raise KeyError("role")
        return real(source, sample)

    monkeypatch.setattr(ctxsim_jsonl, "read", stumbling)
    done = ctxsim("bench", logs, "--out", "out", cwd=tmp_path)
    assert done.returncode == 1 and "by a mistake of ctxsim's reader: KeyError: 'role' (" in done.stderr
    assert read_run(tmp_path / "out").transcripts == 1
    done = ctxsim("transcripts", "check", logs, cwd=tmp_path)
    assert done.returncode == 1 and "a mistake of ctxsim's reader" in done.stderr and "b:" in done.stdout
