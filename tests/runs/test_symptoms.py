"""Each symptom, counted by hand on conversations of a few lines."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from samples import ASK, RESULT, TASK, chat, conversation, spec_of

from ctxsim.policies import Policy, Spec, open_policy
from ctxsim.runs.symptoms import SYMPTOMS
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Item, Transcript
from ctxsim.view import View


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
