"""Every known defect is one that some policy has and another has not, by what was sent alone."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from functools import cache
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from project import ROOT
from samples import ASK, RESULT, TASK, chat, conversation, spec_of

from ctxsim.api.defects import Diagnoses
from ctxsim.errors import InputError, UnknownName
from ctxsim.policies import Policy, Spec, open_policy
from ctxsim.runs import doctor
from ctxsim.runs.doctor import SYMPTOMS, Case, defect_names, examine, load_defect, prepare_case, shortest
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Item, Transcript, problems
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


def seen(symptom: str, transcript: Transcript, policy: Spec, **provider: object) -> float:
    rules = Provider(**provider)  # type: ignore[arg-type]
    counter = rules.counter()
    whole = list(replay(transcript, open_policy("keep-all"), rules, counter))
    return SYMPTOMS[symptom](transcript, list(replay(transcript, policy, rules, counter)), whole)


@dataclass
class Forgetful(Policy):
    """Drops everything but the newest item, each time."""

    def before_call(self, view: View) -> View:
        return view.drop([item.place for item in view[:-1]], "forgotten")


@dataclass
class CutsUserTexts(Policy):
    """Cuts user texts to `chars` characters."""

    chars: int = 3

    def before_call(self, view: View) -> View:
        cut = {item.place: item.text[: self.chars] for item in view if item.kind == "user"}
        return view.rewrite(cut, "cut")


@dataclass
class CutsOnArrival(Policy):
    """Cuts results to three characters as they come."""

    def on_tool_result(self, item: Item) -> Item:
        return item.with_text(item.text[:3])


FORGETFUL, CUT_USER, ON_ARRIVAL = map(spec_of, (Forgetful, CutsUserTexts, CutsOnArrival))
KEEP_ALL, DROP_ALL = map(open_policy, ("keep-all", "drop-all"))


def test_the_task_and_what_users_said() -> None:
    said = chat(TASK, ASK, ("tool_result", "a"), ("assistant", "b"), ("user", "Never touch main."), ("assistant", "c"))
    # Three calls. Forgetful's first request still ends with the task, its second and third don't.
    assert seen("calls-without-the-task", said, FORGETFUL) == 2
    assert seen("calls-without-the-task", said, CUT_USER) == 3
    assert seen("calls-without-the-task", said, KEEP_ALL) == 0
    # The last request: the second text is the newest item.
    assert seen("user-texts-lost", said, FORGETFUL) == 1
    assert seen("user-texts-lost", said, CUT_USER) == 2


def test_cut_before_it_was_read() -> None:
    four = conversation(*[RESULT] * 4)
    assert seen("results-cut-unread", four, ON_ARRIVAL) == 4
    # drop-all empties what is older: each was read once.
    assert seen("results-cut-unread", four, DROP_ALL) == 0


def call(**fields: object) -> Any:
    """One call as a symptom sees it; nothing went wrong with it."""
    plain = {"status": "ok", "attempts": 1, "view": [1, 2], "changed_from": 2, "cost_usd": 1.0, "edits": (),
             "summary_calls": 0, "tokens_sent": 100}  # fmt: skip
    return SimpleNamespace(**(plain | fields))


def counted(symptom: str, sent: list[Any], whole: list[Any] = []) -> float:  # noqa: B006 - never changed
    return SYMPTOMS[symptom](conversation("a"), sent, whole)


def test_each_is_counted_over_calls_at_its_limit() -> None:
    refused = [call(), call(attempts=2), call(status="overflow"), call(status="stopped")]
    assert counted("refused-calls", refused) == 3
    assert counted("unpaired-calls", [call(status="invalid_pairs"), call(status="overflow"), call()]) == 1
    assert counted("empty-requests", [call(view=[]), call(view=[1]), call()]) == 1
    # Of a continuation of two items the whole is the same, or it isn't.
    pair = [call(view=[1, 2]), call(view=[1, 2, 3], changed_from=2), call(changed_from=2), call(changed_from=2)]
    assert counted("broken-prefixes", pair) == pytest.approx(1 / 3) and counted("broken-prefixes", [call()]) == 0
    edits = [
        call(edits=(("on_tool_result", 1),)),
        call(edits=(("before_call", 1), ("on_tool_result", 1))),
        call(),
        call(),
    ]
    assert counted("edits-share", edits) == 0.25
    assert counted("summaries-share", [call(summary_calls=2), call(), call(summary_calls=1), call()]) == 0.75
    assert counted("dollars-of-keep-all", [call(cost_usd=3.0), call(cost_usd=None)], [call(cost_usd=2.0)] * 2) == 0.75
    assert counted("dollars-of-keep-all", [call(cost_usd=3.0)], [call(cost_usd=None)]) == 3
    assert counted("tokens-lost-early", [call(), call(tokens_sent=30)], [call(), call(tokens_sent=120)]) == 0.75


def test_without_a_users_text_no_task_is_lost() -> None:
    silent = chat(ASK, ("tool_result", "a"), ("assistant", "b"))
    assert seen("calls-without-the-task", silent, FORGETFUL) == 0


def test_a_text_that_stands_in_another_item_is_held() -> None:
    said = chat(TASK, ASK, ("tool_result", f"You asked: {TASK[1]}"), ("assistant", "b"))
    # The second request has the result alone, which says the task word for word.
    assert seen("calls-without-the-task", said, FORGETFUL) == 0
    assert seen("user-texts-lost", said, FORGETFUL) == 0
