"""What a policy may not return, print or take, and what is told of it."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from samples import conversation, run_class, spec_of

from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.errors import ContractError
from ctxsim.plugins.limit import VARIABLE
from ctxsim.policies import Overflow, Policy, Spec, Stop, open_policy
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.contract import violations
from ctxsim.simulator.replay.guard import guarded
from ctxsim.transcript import Item, Sizes, Usage
from ctxsim.view import View


@dataclass
class Wrong(Policy):
    """Returns at some moment what it may not."""

    moment: str = ""
    value: Any = None

    def start(self) -> None:
        self.kept: list[View] = []

    def on_tool_result(self, item: Item) -> Item:
        made: Item = self.value(item) if self.moment == "on_tool_result" else item
        return made

    def before_call(self, view: View) -> View:
        self.kept.append(view)
        made: View = self.value(self, view) if self.moment == "before_call" else view
        return made

    def after_call(self, view: View, usage: Usage) -> View:
        made: View = self.value(self, view) if self.moment == "after_call" else view
        return made

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        made: View | None = self.value(self, view) if self.moment == "on_overflow" else None
        return made


@pytest.mark.parametrize(("moment", "value", "said"), [
    ("on_tool_result", lambda item: None, "on_tool_result must return the item or an edit of it, not NoneType"),
    ("on_tool_result", lambda item: Item("tool_result", 0, 0, item.text), "may change only the text of item 2"),
    ("on_tool_result", lambda item: item.with_text(5), "on_tool_result must give a text, not int"),
    ("on_tool_result", lambda item: item.with_text("\ud800"), "half a surrogate pair"),
    ("before_call", lambda one, view: None, "must return the view it was given or an edit of it, not NoneType"),
    ("before_call", lambda one, view: View(Sizes(len)), "must return the view it was given or an edit of it, not View"),
    ("before_call", lambda one, view: list(view), "must return the view it was given or an edit of it, not list"),
    ("before_call", lambda one, view: Stop(5), "before_call must give Stop a reason, not int"),
    ("before_call", lambda one, view: one.kept[0], "before_call returned a view from an earlier moment"),
    ("before_call", lambda one, view: one.kept[0].drop([0], "") if view.results else view,
     "before_call returned a view from an earlier moment"),
    ("before_call", lambda one, view: view.drop([0], "\ud800"), "half a surrogate pair"),
    ("before_call", lambda one, view: Stop("\ud800"), "half a surrogate pair"),
    ("before_call", lambda one, view: view.rewrite({0: "\ud800"}, "r"), "half a surrogate pair"),
    ("before_call", lambda one, view: view.rewrite({0: b"short"}, "r"), "an item's text is a str, not bytes"),
    ("before_call", lambda one, view: view.drop(view[:1], "r"), "a place is a number, as item.place, not Item"),
    ("before_call", lambda one, view: view.partners(view[:1]), "a place is a number, as item.place, not Item"),
    ("before_call", lambda one, view: view.insert(None, 0, "r"), "an item's text is a str, not NoneType"),
    ("before_call", lambda one, view: view.insert("", view[0], "r"), "a place is a number, as item.place, not Item"),
    ("before_call", lambda one, view: view.insert("", 0, "r", "summary", view[:1]), "as item.place, not Item"),
    ("before_call", lambda one, view: view.insert("", 0, "r", "tool_result"),
     "inserts a tool_result; a policy makes only a summary or a note"),
    ("before_call", lambda one, view: one.sees.summarize(view, 0),
     "a summary's max_tokens must be a whole number of at least 1, not 0"),
    ("before_call", lambda one, view: one.sees.summarize(view, 50.5), "at least 1, not 50.5"),
    ("before_call", lambda one, view: view.drop([0], None), "before_call gave a reason that is no text: None"),
    ("after_call", lambda one, view: Stop("no"), "after_call must return the view it was given or an edit of it"),
    ("after_call", lambda one, view: None, "after_call must return"),
    ("on_overflow", lambda one, view: Stop("no"), "on_overflow must return the view it was given or an edit of it"),
])  # fmt: skip
def test_what_may_not_be_returned_is_told_with_the_policy(moment: str, value: Any, said: str) -> None:
    links = ((Wrong, "wrong", {"moment": moment, "value": value}),)
    spec = Spec("wrong", links, open_estimator())
    with pytest.raises(ContractError, match=r"^call \d: wrong") as raised:
        list(replay(conversation("ok"), spec, Provider(window=5), Counter(open_tokenizer())))
    assert said in str(raised.value)


def test_a_threshold_is_a_number_and_retries_are_a_whole_one() -> None:
    @dataclass
    class Vague(Policy):
        def threshold(self) -> Any:
            return "soon"

    with pytest.raises(ContractError, match="threshold must return a number or None, not str"):
        run_class(Vague, conversation("a"))

    class Often(Policy):
        retries = "3"  # type: ignore[assignment]

    with pytest.raises(ContractError, match="often: retries must be a whole number or None, not str"):
        run_class(Often, conversation("a"))


@pytest.mark.parametrize(("length", "whole"), [(948, True), (951, False)])
def test_a_long_error_leaves_room_for_its_place(length: int, whole: bool) -> None:
    class Loud(Policy):
        def before_call(self, view: View) -> View:
            raise ValueError("x" * length)

    with pytest.raises(ContractError) as raised:
        run_class(Loud, conversation("a"))
    assert ("x" * length in str(raised.value)) is whole and "test_held_to.py" in str(raised.value)


def test_a_summarys_head_is_a_head() -> None:
    class Headed(Policy):
        summary_head = "You summarize."  # type: ignore[assignment]

        def before_call(self, view: View) -> View:
            self.sees.summarize(view, 10)
            return view

    with pytest.raises(ContractError, match=r"^call 1: headed: summary_head must be a Head or None, not str"):
        run_class(Headed, conversation("a"))


def test_dice_stand_where_they_stood_after_a_policy_was_checked() -> None:
    random.seed(5)
    np.random.seed(5)
    expected = random.Random(5).random(), np.random.RandomState(5).random_sample()
    assert list(violations(open_policy("mask:keep=1"), [conversation("a", "b")], Provider())) == []
    assert (random.random(), np.random.random_sample()) == expected


@dataclass
class Sleepy(Policy):
    """Is busy for three seconds."""

    def before_call(self, view: View) -> View:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            pass
        return view


@dataclass
class Deaf(Policy):
    """Catches what interrupts it first, and goes on for longer than a second."""

    def before_call(self, view: View) -> View:
        with suppress(BaseException):
            time.sleep(3)
        time.sleep(1.25)
        return view


@pytest.mark.parametrize("policy", [Sleepy, Deaf])
def test_what_takes_too_long_is_interrupted_each_second(policy: type[Policy], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0.02")
    with pytest.raises(ContractError, match=r": before_call took longer than 0\.02 s; CTXSIM_POLICY_SECONDS sets"):
        run_class(policy, conversation("a"))


def test_what_a_policy_prints_is_no_output(capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass
    class Prints(Policy):
        def before_call(self, view: View) -> View:
            print("hello")
            raise SystemExit(3)

    (policy,) = spec_of(Prints).create()
    with pytest.raises(
        ContractError, match=r"^prints: before_call wanted to end the process \(.*test_held_to\.py:\d+\)$"
    ):
        guarded(policy, "before_call", None)
    assert capsys.readouterr() == ("", "hello\n")


def test_ctrl_c_stops_a_replay_in_this_process() -> None:
    @dataclass
    class Pressed(Policy):
        def before_call(self, view: View) -> View:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_class(Pressed, conversation("a"))


SOURCES: list[int] = []


@dataclass
class Inserts(Policy):
    """Puts in a note before the second call, of `SOURCES`."""

    def before_call(self, view: View) -> View:
        return view.insert("note", 1, "noted", sources=SOURCES) if len(view) == 3 else view


@pytest.mark.parametrize(
    ("sources", "wrong"), [([], False), ([0], False), ([2], False), ([-5], False), ([3], True), ([0, 9], True)]
)
def test_what_is_put_in_names_what_was_recorded(sources: list[int], wrong: bool) -> None:
    # The second call is sent what stands at 0 to 2.
    SOURCES[:] = sources
    found = [text for text in violations(spec_of(Inserts), [conversation("a")], Provider()) if "names sources" in text]
    assert bool(found) is wrong
    if wrong:
        assert found[0].endswith("synthetic item -1 names sources that don't exist")
