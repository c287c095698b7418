"""Labels: they say all, open the same policy again, and what is wrong in them is said."""

from __future__ import annotations

import csv
import dataclasses
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from project import ROOT
from samples import call_rows, conversation, run

from ctxsim.errors import LabelError, UnknownName
from ctxsim.plugins.labels import chain
from ctxsim.policies import installed, old_names, open_policy, registered_policies
from ctxsim.policies.agents.versions import numbers_of
from ctxsim.report.style import short
from ctxsim.runs.grid import expand


@pytest.mark.parametrize(
    "label",
    [
        "token-budget", "token-budget:budget=1", "three-triggers:only=tokens", "token-approx-budget",
        "token-approx-budget:budget=5,estimator=bytes", "json-aware+round-summary+token-approx-budget",
        "three-triggers:estimator=tool-chars", "fifo:budget=40000,estimator=chars:ratio=3",
        "token-approx-budget:estimator=chars",
    ],
)  # fmt: skip
def test_a_short_label_opens_the_same_policy(label: str) -> None:
    spec = open_policy(label)
    assert open_policy(spec.short).label == spec.label
    assert len(spec.short) <= len(spec.label)


@pytest.mark.parametrize(
    ("old", "today", "told"),
    [
        ("token-approx-budget:tokens=5", "token-approx-budget:budget=5", "tokens is called budget"),
        ("mask+three-triggers:trigger=0.5,budget=9", "mask+three-triggers:at=0.5,budget=9", "trigger is called at"),
        (
            "opencode:tail=5",
            "opencode:preserve_recent_tokens=5",
            "tail is called preserve_recent_tokens now; the old name",
        ),
    ],
)
def test_labels_with_old_names_open_the_same_policy(old: str, today: str, told: str) -> None:
    assert open_policy(old) == open_policy(today) and open_policy(old).create() == open_policy(today).create()
    assert old_names(today) == []
    (line,) = old_names(old)
    assert told in line
    grid = old.replace("=", "=1|", 1)
    assert old_names(grid) == [line]


def test_every_old_name_leads_to_a_parameter() -> None:
    for cls in registered_policies().values():
        names = {field.name for field in dataclasses.fields(cls)}
        assert set(cls.renamed.values()) <= names and not set(cls.renamed) & names
    # What the vendor calls it stays.
    assert old_names("clear-tool-uses:trigger=5") == []


LONG = "word " * 200  # 1,000 characters, about 200 tokens


def test_labels_say_all_and_can_be_pasted_back() -> None:
    for label in ("token-budget", "fifo:budget=7,estimator=chars:ratio=3.5", "head-tail:lines=3+mask", "keep-all",
                  "mask+keep-all:estimator=bytes"):  # fmt: skip
        spec = open_policy(label)
        assert open_policy(spec.label) == spec or open_policy(spec.label).label == spec.label
    assert open_policy("token-budget:retain=9").label == "token-budget:budget=40000,retain=9"


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("token-budgt", "did you mean token-budget"),
        ("token-budget:budget", "'budget' is not key=value"),
        ("token-budget:budget=x", "budget=x"),
        ("token-budget:size=3", "unknown parameter 'size'"),
        ("keep-all:x=1", "keep-all has no parameters"),
        ("fifo", "needs budget="),
        ("fifo:budget=1,budget=2", "given twice"),
        ("token-approx-budget:tokens=1,budget=2", "tokens is the old name of budget"),
        ("fifo:budget=1,estimator=chrs", "did you mean chars"),
        ("fifo:budget=1,estimator=chars:ratio=0", "ratio=0: expected a number > 0"),
        ("nowhere.py:X", "no policy file nowhere.py"),
        ("fifo:budget=1,estimator=chars:ratio=3+mask:keep=1,estimator=chars:ratio=2", "one estimator"),
        ("", "'' has no policy's name"),
    ],
)
def test_bad_labels_say_what_is_wrong(label: str, message: str) -> None:
    with pytest.raises((LabelError, UnknownName), match=message.replace("(", r"\(")):
        open_policy(label)


def test_a_misspelt_form_is_told_too() -> None:
    with pytest.raises(UnknownName, match="did you mean pipe"):
        open_policy("pip:node policy.js")


@pytest.mark.parametrize(
    ("label", "links", "shown"),
    [
        ("mask:keep=3+fifo:budget=40000", 2, "mask 3 + fifo 40K"),
        ("pipe:sh -c 'a+b' 9+mask", 2, "pipe:sh -c 'a+b' 9 + mask"),
        ("messages:mine.py:shorten:keep=5,lasting=True", 1, "messages:mine.py:shorten 5/True"),
    ],
)
def test_chains_and_names_of_every_form(label: str, links: int, shown: str) -> None:
    assert len(chain(label)) == links and "+".join(chain(label)) == label
    assert short(label) == shown


def test_a_sweep_looks_into_a_command_but_not_between_its_quotes() -> None:
    assert expand("pipe:python ../p.py --keep=1|2+mask:keep=1..2@2") == [
        f"pipe:python ../p.py --keep={a}+mask:keep={b},batch=1" for a in (1, 2) for b in (1, 2)
    ]
    assert expand("pipe:sh -c 'x=1|2'") == ["pipe:sh -c 'x=1|2'"]


def test_estimator_decides_and_is_in_the_label() -> None:
    # ratio=2 doubles every estimate of ratio=4, so a budget that fitted no longer does.
    transcript = conversation(LONG, LONG)
    assert not run(transcript, "fifo:budget=600")[2].edits
    halved = call_rows(transcript, "fifo:budget=600,estimator=chars:ratio=2")[2]
    assert halved.compactions and halved.policy == "fifo:budget=600,estimator=chars:ratio=2"


def test_labels_keep_every_digit() -> None:
    assert open_policy("summary:at=0.70000001").label != open_policy("summary:at=0.7").label
    assert open_policy("fifo:budget=1,estimator=chars/3.0").label == "fifo:budget=1,estimator=chars:ratio=3"


@pytest.mark.parametrize(
    ("text", "what"), [("def broken(:\n", "SyntaxError"), ("import nothing_here\n", "nothing_here")]
)
def test_a_policy_file_that_cannot_be_loaded(text: str, what: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(LabelError, match=f"line 1: .*{what}"):
        open_policy(f"{file}:X")


def test_a_path_with_a_plus_is_told(tmp_path: Path) -> None:
    (tmp_path / "c++").mkdir()
    (tmp_path / "c++" / "mine.py").write_text("")
    for before in ("", "messages:", "keep-all+"):
        with pytest.raises(LabelError, match=r"/c\+\+/mine\.py: a \+ stands between policies; a path must have none"):
            open_policy(f"{before}{tmp_path}/c++/mine.py:X")


def test_a_policy_made_of_an_agents_has_the_estimator_but_not_the_numbers_of_a_version(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from ctxsim.policies.agents.claude_code.policy import ClaudeCode\nclass Mine(ClaudeCode): pass\n"
    )
    spec = open_policy(f"{tmp_path}/mine.py:Mine")
    assert spec.as_shipped("claude-code", "2.1.33", "") == spec and open_policy(spec.typed) == spec


def test_a_users_own_parameters_may_be_called_as_what_a_version_ships(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\nfrom ctxsim.policies import Policy\n"
        "@dataclass\nclass Mine(Policy):\n    ships: int = 3\n    version: str = ''\n"
    )
    spec = open_policy(f"{tmp_path}/mine.py:Mine:ships=2,version=4")
    assert spec.as_shipped("claude-code", "2.1.33", "") == spec
    assert vars(spec.create()[0]) == {"ships": 2, "version": "4"}


def test_a_name_that_is_a_policy_and_a_framework_means_both() -> None:
    assert open_policy("langmem").links[0][1] == open_policy("langmem:max_tokens=300").links[0][1] == "langmem"
    with pytest.raises(LabelError, match="langmem:no_such_function"):
        open_policy("langmem:no_such_function:max_tokens=300")


def test_another_installed_version_of_a_framework_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"langchain": "1.5.0", "langchain-core": "1.7.2"}

    def version(package: str) -> str:
        if package not in here:
            raise PackageNotFoundError(package)
        return here[package]

    monkeypatch.setattr(installed, "version", version)
    told = "was compared with langchain 1.4.7; 1.5.0 is installed"
    assert list(installed.other_versions("mask+langchain-clear:keep=1")) == [f"langchain-clear {told}"]
    assert list(installed.other_versions("langchain:ClearToolUsesEdit:keep=1")) == [f"langchain {told}"]
    assert list(installed.other_versions("strands-sliding+codex")) == []


def test_an_agent_newer_than_its_policy_was_compared_with_is_told_in_one_line() -> None:
    # The newest of each agent counts; a commit is no version that another could be newer than.
    recorded = [("pi", "0.73.1"), ("pi", "1.100.0"), ("codex-rollout", "0.169.0"), ("crush", "99.1"), ("own", "9.9")]
    said = "is newer than 1.6.0, with which its policy was compared: newest rules used"
    assert list(installed.newer_versions(recorded)) == [f"pi 1.100.0 {said}"]
    assert list(installed.newer_versions([("codex-rollout", "0.169"), ("claude-code", "")])) == []
    # Where a newer one was driven, its policy says so.
    for row in csv.DictReader((ROOT / "evidence" / "driven.csv").read_text().splitlines()):
        compared = installed.compared_with(row["agent"])
        assert not compared or numbers_of(row["version"]) <= numbers_of(compared), row
