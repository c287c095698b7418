"""Estimators from elsewhere, and the contract that all of them keep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import ctxsim
from samples import conversation

from ctxsim import replay
from ctxsim.api.trust import estimates
from ctxsim.counting.estimators import estimator_label, judged_estimators, open_estimator, registered_estimators
from ctxsim.counting.estimators.contract import violations
from ctxsim.errors import CtxsimError
from ctxsim.policies import open_policy

MINE = """
from dataclasses import dataclass
from ctxsim.counting.estimators import Estimator

@dataclass(frozen=True)
class Half(Estimator):
    "Half a token per character, and so much per text."
    extra: int = 0

    def text(self, text: str) -> int:
        return (len(text) + 1) // 2 + self.extra
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    yield


def test_an_estimator_by_path_and_its_label(mine: None) -> None:
    found = open_estimator("mine.py:Half:extra=3")
    assert found.text("abcd") == 5
    assert estimator_label(found) == "mine.py:Half:extra=3"
    assert open_estimator(estimator_label(found)) == found


def test_a_policy_decides_by_it(mine: None) -> None:
    spec = open_policy("fifo:budget=60000,estimator=mine.py:Half:extra=3")
    assert spec.estimator.text("abcd") == 5
    assert spec.label == "fifo:budget=60000,estimator=mine.py:Half:extra=3"
    assert open_policy(spec.label) == spec
    chain = open_policy("fifo:budget=60000,estimator=mine.py:Half+mask:estimator=mine.py:Half")
    assert chain.estimator.text("abcd") == 2


def test_a_bench_by_it(mine: None, tmp_path: Path) -> None:
    policies = ["--policy", "fifo:budget=3000", "--policy", "keep-all"]
    arguments = ["bench", "--scenario", "text-only", "--estimator", "mine.py:Half", *policies, "--out", "out"]
    done = ctxsim(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "fifo:budget=3000,estimator=mine.py:Half" in (tmp_path / "out" / "summary.csv").read_text()


def test_the_short_form_of_a_ratio() -> None:
    assert open_estimator("chars/3:unit=utf16") == open_estimator("chars:ratio=3,unit=utf16")


def test_a_mistake_is_one_line(mine: None, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE.replace("(frozen=True)", ""))
    done = ctxsim("check", "estimator", "mine.py:Half", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "estimator file mine.py, line 5: TypeError" in done.stderr
    with pytest.raises(CtxsimError, match=r"no estimator file nowhere\.py"):
        open_estimator("nowhere.py:X")


def test_families_that_need_a_parameter_are_not_judged_by_themselves() -> None:
    judged = {open_estimator(label).name for label in judged_estimators()}
    # Frameworks' counters that see whole messages, which a text by itself can't show.
    by_message = {"adk", "ag2", "agent-framework", "chars-total", "haystack", "litellm", "openclaw", "strands"}
    assert set(registered_estimators()) - judged == {"calibrated"} | by_message
    assert judged_estimators()[0] == "chars" and "chars:ratio=3.5" in judged_estimators()


@pytest.mark.parametrize("label", judged_estimators())
def test_every_family_keeps_the_contract(label: str) -> None:
    sample = conversation("zebra " * 40, "漢字 \ud800" * 9, system="Be brief.")
    assert not list(violations(lambda: open_estimator(label), [sample]))


BROKEN = {
    "dice": ("import random\n", "return random.randrange(10**9)", "is it deterministic"),
    "memory": ("SEEN = []\n", "SEEN.append(text); return len(SEEN)", "is it deterministic"),
    "fraction": ("", "return len(text) / 4", "`text` of '' returned 0.0; it must return a whole number of at least 0"),
    "negative": ("", "return len(text) - 9**9", "`text` of '' returned -387420489; it must return a whole number of"),
    "huge": (
        "",
        "return 10**30",
        "`text` of '' returned too many; it must return a whole number of at most 1,000,000,000,000",
    ),
    "nothing": ("", "pass", "bad.py:Half: `text` of '' returned None; it must return a whole number of at least 0"),
    "exits": ("", "raise SystemExit(0)", "bad.py:Half: `text` of '' raised SystemExit"),
    "raises": ("", "return 10 // (len(text) % 1)", "bad.py:Half: `text` of '' raised ZeroDivisionError"),
    "missing": ("", "pass\n    del text", "bad.py:Half has no method `text`; it must return a whole number of at"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_estimator_is_caught(name: str, tmp_path: Path) -> None:
    imports, body, message = BROKEN[name]
    (tmp_path / "bad.py").write_text(imports + MINE.replace("return (len(text) + 1) // 2 + self.extra", body))
    done = ctxsim("check", "estimator", "bad.py:Half", cwd=tmp_path)
    assert done.returncode == 1
    several = name in ("dice", "memory")
    assert message in done.stderr and f"{'1,054 violations' if several else '1 violation'}\n" in done.stdout


@pytest.mark.parametrize("name", sorted(set(BROKEN) - {"dice", "memory"}))
def test_a_broken_estimator_is_named_wherever_it_is_asked(name: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(MINE.replace("return (len(text) + 1) // 2 + self.extra", BROKEN[name][1]))
    label, sample = f"{tmp_path}/bad.py:Half", conversation("word " * 90)
    told = rf"estimator {label}(: `text` of '.*' (returned|raised) .*;| has no method `text`;) it must return a whole"
    for asked in (lambda: estimates(sample, [label]), lambda: replay(sample, "fifo:budget=9", estimator=label)):
        with pytest.raises(CtxsimError, match=told):
            asked()


MOMENTS = {
    "shrinks": ("def request(self, head, size, items, reported): return max(0, 90_000 - size)", "more must not count"),
    "drops": (
        "def request(self, head, size, items, reported): return 9 if size == sum(map(self.item, items)) else 1",
        "more must not count",
    ),
    "meddles": (
        "def request(self, head, size, items, reported): reported.outputs[-1] = 1; return size",
        "changed what was reported to it",
    ),
    "messages": (
        "def messages(self, messages, system=''): return -1",
        "`messages` returned -1; it must return a whole",
    ),
    "messages in turn": (
        "def messages(self, messages, system=''): Half.asked = getattr(Half, 'asked', 0) + 1; return Half.asked",
        "sample, its messages: 1, then 2, and 3 from a fresh object",
    ),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_a_broken_moment_is_caught(name: str, tmp_path: Path) -> None:
    added, message = MOMENTS[name]
    (tmp_path / "bad.py").write_text(f"{MINE}\n    {added}\n")
    found = list(violations(lambda: open_estimator(f"{tmp_path}/bad.py:Half"), [conversation("a" * 400, "b" * 90)]))
    assert any(message in line for line in found), found
