"""One source done by several processes gives what one process gives."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsim.runs.conduct import conduct
from ctxsim.runs.rows import LEAST_POLICIES, Share, shares
from ctxsim.runs.task import Setting

FAILS = """
from dataclasses import dataclass
from ctxsim.policies import Policy

@dataclass
class Fails(Policy):
    def before_call(self, view):
        raise ValueError("never")
"""


@given(st.integers(1, 40), st.integers(1, 9))
def test_shares_are_all_of_it_once_in_order(count: int, of: int) -> None:
    parts = [Share(number, of).among(range(count)) for number in range(of)]
    assert [one for part in parts for one in part] == list(range(count))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize(
    ("jobs", "sources", "policies", "count"),
    [
        (1, 1, 100, 1),
        (4, 1, 100, 4),
        (4, 4, 100, 1),
        # Two processes for each of three sources, so that eight have work.
        (8, 3, 100, 3),
        (8, 1, 2 * LEAST_POLICIES, 2),
        (8, 1, LEAST_POLICIES - 1, 1),
        (8, 0, 100, 8),
    ],
)
def test_as_many_shares_as_there_are_processes_for_each_source(
    jobs: int, sources: int, policies: int, count: int
) -> None:
    assert shares(jobs, sources, policies) == [Share(number, count) for number in range(count)]


@pytest.mark.slow
@pytest.mark.usefixtures("opened_at_once")
def test_two_processes_for_one_file_give_the_same_bytes(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a policy fails, where it is the second share that has one, and of a program that imports another."""
    (tmp_path / "beside.py").write_text("ANSWER = '{\"unchanged\": true}'")
    (tmp_path / "program.py").write_text(
        "import sys, beside\nfor n, _ in enumerate(sys.stdin): print(beside.ANSWER if n else '{}', flush=True)\n"
    )
    policy = tmp_path / "fails.py"
    policy.write_text(FAILS)
    one = tmp_path / "one"
    one.mkdir()
    shutil.copy(next(logs.iterdir()), one / "log.jsonl")
    labels = ("keep-all", "drop-all", "mask:keep=1", "token-budget:budget=300", "summary:at=0.1", "head-tail",
              f"{policy}:Fails", f"pipe:{sys.executable} {tmp_path}/program.py")  # fmt: skip
    setting = Setting("b", "b", labels, overrides={"window": 3_000})
    for jobs in (1, 2):
        conduct(setting, tmp_path / f"out{jobs}", paths=[str(one)], jobs=jobs)
    made = [{path.name: path.read_bytes() for path in (tmp_path / f"out{jobs}").iterdir()} for jobs in (1, 2)]
    assert made[0] == made[1]
    assert b"never" in made[0]["run.json"] and b"beside" not in made[0]["run.json"]
