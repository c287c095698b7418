"""Every known defect is one that some policy has and another has not, by what was sent alone."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from functools import cache

import msgspec
import pytest
from project import ROOT
from samples import spec_of

from ctxsim.api.defects import Diagnoses
from ctxsim.errors import InputError, UnknownName
from ctxsim.policies import Policy, open_policy
from ctxsim.runs import doctor
from ctxsim.runs.doctor import Case, defect_names, examine, load_defect, prepare_case, shortest
from ctxsim.runs.symptoms import SYMPTOMS
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import problems
from ctxsim.view import View
from evidence.live_doctor import rows as driven
from evidence.live_doctor import table


@dataclass
class LastMessages(Policy):
    """The newest `n` items and nothing else, whatever they answer."""

    n: int = 3

    def before_call(self, view: View) -> View:
        return view.drop([item.place for item in view[: max(0, len(view) - self.n)]], "old")


@dataclass
class DropsUntilItFits(Policy):
    """Drops the oldest messages until the estimate fits: to nothing, if must be."""

    def before_call(self, view: View) -> View:
        while len(view) and self.sees.estimate(view) > 0.9 * self.sees.window:
            view = view.drop([item.place for item in view.messages()[0]], "too long")
        return view


OWN = {cls.name: spec_of(cls) for cls in (LastMessages, DropsUntilItFits)}

# One policy that has the defect and one that hasn't. Policies that cut anything cut too early somewhere, so no single
# one is free of all.
CASES = {
    "big-arguments": ("mask", "summary"),
    "big-head": ("summary", "keep-all"),
    "big-head-uncounted": ("keep-all", "summary"),
    "broken-prefix": ("mask", "mask:batch=20"),
    "chat-without-tools": ("mask", "summary"),
    "chinese": ("summary", "summary:estimator=tokenizer"),
    "cuts-what-fits": ("mask", "summary"),
    "dearer-than-nothing": ("mask", "keep-all"),
    "digits": ("summary", "summary:estimator=tokenizer"),
    "empty-request": ("drops-until-it-fits", "keep-all"),
    "half-usage": ("token-budget:budget=60000", "summary"),
    "images": ("mask", "summary"),
    "irreducible-head": ("summary:at=0.1", "keep-all"),
    "one-huge-result": ("summary", "head-tail"),
    "one-user-message": ("keep-all", "summary"),
    "parallel-results": ("last-messages", "mask"),
    "steps-over-the-trigger": ("keep-all", "mask:keep=2"),
    "stubs-pile-up": ("truncate-after-use", "summary"),
    "summary-of-a-summary": ("summary", "keep-all"),
    "task-lost": ("summary", "mask"),
    "thinking": ("keep-all", "summary"),
    "unread-results": ("head-tail", "mask"),
    "user-texts-lost": ("summary", "mask"),
    "zero-usage": ("token-budget:budget=60000", "summary"),
}


@cache
def prepared(name: str) -> Case:
    """A case is the same for each policy, and takes longer to make than to replay."""
    return prepare_case(load_defect(name))


def test_every_defect_has_a_case() -> None:
    assert sorted(CASES) == defect_names()
    assert {load_defect(name).expectation.symptom for name in CASES} == set(SYMPTOMS)


@pytest.mark.parametrize("name", CASES)
def test_some_policy_has_it_and_another_has_not(name: str) -> None:
    sick, sound = (OWN.get(label) or open_policy(label) for label in CASES[name])
    case = prepared(name)
    assert examine(sick, case).has_it
    assert not examine(sound, case).has_it


@pytest.mark.parametrize("name", defect_names())
def test_every_defect_says_who_has_reported_it_and_what_would_mend_it(name: str) -> None:
    expected = load_defect(name).expectation
    assert expected.seen and expected.mend
    for one in expected.seen:
        assert date.fromisoformat(one.date) and one.source and one.who


def test_a_call_that_is_refused_and_then_passes_counts() -> None:
    case = prepared("zero-usage")
    found = examine(open_policy("pi:version=0.73.1"), case)
    assert found.has_it and found.value == 1


def test_the_shortest_case_shows_it_and_one_call_less_does_not() -> None:
    spec, case = open_policy("mask"), prepared("chat-without-tools")
    found = shortest(spec, case)
    assert found is not None
    cut, sent = found
    # 500 of the head, 1,500 of each text and 1,200 of each answer before: the 38th request is the first over 100,000.
    # Sizes are "about".
    assert 36 <= len(cut.calls) == len(sent) <= 41
    assert problems(cut) == [] and sent[-1].status == "overflow"
    assert {one.status for one in sent[:-1]} == {"ok"}
    assert shortest(open_policy("summary"), case) is None


@pytest.mark.parametrize("name", defect_names())
def test_scenarios_hold_together(name: str) -> None:
    scenario = load_defect(name).scenario
    assert problems(prepared(name).one.transcript) == []
    assert prepared(name).one.provider == msgspec.convert(scenario.provider, Provider) and scenario.provider["window"]
    assert scenario.expect and scenario.expect.that[0].isupper() and not scenario.expect.that.endswith(".")


def test_of_a_policy_that_breaks_its_contract_no_defect_is_known() -> None:
    @dataclass
    class Raises(Policy):
        """Fails."""

        def before_call(self, view: View) -> View:
            raise KeyError("no such thing")

    found = examine(spec_of(Raises), prepared("task-lost"))
    assert not found.has_it and "before_call raised KeyError" in found.broken
    assert not Diagnoses([found]).ok


def test_mistakes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownName, match="did you mean zero-usage"):
        load_defect("zero-use")
    scenario = load_defect("zero-usage").scenario
    bare = msgspec.structs.replace(scenario, expect=None)
    monkeypatch.setattr(doctor, "load_scenario", lambda name: bare)
    with pytest.raises(InputError, match="expect needs a symptom"):
        load_defect("zero-usage")


@pytest.mark.slow
def test_the_published_matrix_is_what_the_doctor_says() -> None:
    rows = {row["policy"]: row for row in csv.DictReader((ROOT / "evidence" / "defects.csv").read_text().splitlines())}
    for label in ("codex", "strands-sliding"):
        told = [name for name in defect_names() if examine(open_policy(label), prepared(name)).has_it]
        assert rows[label]["defects"].split() == told and int(rows[label]["has"]) == len(told)


def test_the_page_counts_what_was_published() -> None:
    page = (ROOT / "docs" / "doctor.md").read_text()
    rows = list(csv.DictReader((ROOT / "evidence" / "defects.csv").read_text().splitlines()))
    has = Counter(name for row in rows for name in row["defects"].split())
    told = re.findall(r"^\| `([\w-]+)` \| .* \| (\d+) \|$", page, re.MULTILINE)
    assert sorted(told) == sorted((name, str(has[name])) for name in defect_names())
    assert f"of {len(rows)} policies" in page and table(driven()) in page
