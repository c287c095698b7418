"""Moments at which a policy acts: what it raises is one line."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest
from samples import conversation, run_class

from ctxsim.errors import ContractError
from ctxsim.policies import Policy, Surroundings, open_policy
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.moments import Moments
from ctxsim.transcript import Item, Usage
from ctxsim.view import View


def test_a_policy_that_raises_is_one_line_with_its_place() -> None:
    @dataclass
    class Buggy(Policy):
        def before_call(self, view: View) -> View:
            return view[99]  # type: ignore[return-value]

    # The policy's line, not that of the view which it led to.
    place = rf"\({__file__}:{Buggy.before_call.__code__.co_firstlineno + 1}\)"
    with pytest.raises(ContractError, match=rf"before_call raised IndexError: 99 {place}$"):
        run_class(Buggy, conversation("a"))


def test_what_breaks_the_contract_within_the_view_is_told_with_policy_and_place() -> None:
    @dataclass
    class Careless(Policy):
        def before_call(self, view: View) -> View:
            return view.drop([7], "gone")

    place = rf"\({__file__}:{Careless.before_call.__code__.co_firstlineno + 1}\)"
    with pytest.raises(ContractError, match=rf"^call 1: careless: before_call: item 7 is not in the view: .* {place}$"):
        run_class(Careless, conversation("a"))


def test_the_place_stands_behind_a_message_however_long() -> None:
    @dataclass
    class Wordy(Policy):
        def before_call(self, view: View) -> View:
            raise ValueError("no\n" * 9000)

    with pytest.raises(ContractError, match=rf"characters more\) \({__file__}:\d+\)$"):
        run_class(Wordy, conversation("a"))


def test_half_a_surrogate_pair_in_a_message_is_escaped() -> None:
    @dataclass
    class Halved(Policy):
        def before_call(self, view: View) -> View:
            raise ValueError("\ud800 is half")

    with pytest.raises(ContractError, match=r"raised ValueError: \\ud800 is half"):
        run_class(Halved, conversation("a"))


def test_an_object_may_have_moments_of_its_own() -> None:
    heard: list[str] = []

    @dataclass
    class Late(Policy):
        def start(self) -> None:
            self.after_call = self._after  # type: ignore[method-assign]
            self.on_tool_result = self._short  # type: ignore[method-assign]
            self.threshold = lambda: 7.0  # type: ignore[method-assign]

        def _after(self, view: View, usage: Usage) -> View:
            heard.append("after")
            return view

        def _short(self, item: Item) -> Item:
            return item.with_text("short")

    sent = run_class(Late, conversation("a", "b"))
    assert heard == ["after"] * len(sent)
    assert [item.text for item in sent[-1].view.results] == ["short"] * 2
    assert sent[0].tally.believed is not None and sent[0].tally.believed[1] == 7.0


@pytest.mark.parametrize(("label", "limit"), [
    ("mask:keep=1", None), ("summary:at=0.5", 500), ("mask:keep=1+summary:at=0.25+summary:at=0.5", 250),
])  # fmt: skip
def test_the_threshold_of_a_chain_is_the_first_that_one_of_it_has(label: str, limit: int | None) -> None:
    assert replay(conversation("a"), open_policy(label), Provider(window=1_000)).moments.threshold == limit


def test_a_policy_can_be_pickled_once_its_replay_has_ended() -> None:
    replayed = replay(conversation("a", "b"), open_policy("mask:keep=1"), Provider())
    assert len(list(replayed)) == 3
    (mask,) = pickle.loads(pickle.dumps(replayed.moments.links))
    assert mask.label == "mask:keep=1,batch=1" and mask.sees.summarize([], 1) is None


def test_outside_of_calls_no_summary_is_given() -> None:
    given: list[str | None] = []

    class Early(Policy):
        def start(self) -> None:
            given.append(self.sees.summarize([], 9))

        def before_call(self, view: View) -> View:
            given.append(self.sees.summarize(view, 9))
            return view

        end = start

    run_class(Early, conversation())
    assert given[0] is None and given[1] is not None and given[2:] == [None]


def test_what_the_vendor_drops_is_out_of_the_request_and_of_the_view() -> None:
    task, thought, said = (
        Item("user", 0, 0, "Go."), Item("reasoning", 1, 1, "Well."), Item("assistant", 2, 1, "Done."),
    )  # fmt: skip
    moments = Moments(open_policy("keep-all"), Surroundings(window=100))
    moments.join((task, thought, said))
    left = moments.leave_out(moments.view, [thought], "dropped")
    assert list(left) == [task, said] and moments.view is left and left.edits == ()
    # A request that an edit of its own makes different from the view: both are without the thinking, each as it was.
    moments = Moments(open_policy("keep-all"), Surroundings(window=100))
    moments.join((task, thought, said))
    request = moments.view.rewrite({2: "cut"}, "for this request")
    left = moments.leave_out(request, [thought], "dropped")
    assert [item.text for item in left] == ["Go.", "cut"]
    assert list(moments.view) == [task, said]


def test_results_that_join_together_are_edited_each_in_its_place() -> None:
    asked = [Item("user", 0, 0, "Go."), *(Item("tool_call", at, 1, "{}", call_id=f"c{at}") for at in (1, 2))]
    results = [Item("tool_result", 2 + at, 1 + at, "whole", call_id=f"c{at}", answers=at) for at in (1, 2)]
    moments = Moments(open_policy("max-result-chars:chars=2"), Surroundings(window=100))
    for items in (asked, results):
        moments.join(items)
    assert [made.edit.position for made in moments.tally.edits] == [3, 4]


@pytest.mark.parametrize("one_request", [True, False])
def test_an_edit_after_a_call_outlasts_the_request(one_request: bool) -> None:
    @dataclass
    class Shortens(Policy):
        per_request = one_request

        def after_call(self, view: View, usage: Usage) -> View:
            return view.rewrite({item.place: "short" for item in view.results if item.text == "whole"}, "a test")

    sent = run_class(Shortens, conversation("whole", "other"))
    made = [made for one in sent for made in one.tally.edits]
    assert [(one.moment, one.lasting) for one in made] == [("after_call", True)]
    assert [one.view.results[0].text for one in sent[1:]] == ["whole", "short"]


@pytest.mark.parametrize(("one_request", "third"), [(True, "whole"), (False, "short")])
def test_an_edit_of_one_request_is_not_in_the_next(one_request: bool, third: str) -> None:
    @dataclass
    class Once(Policy):
        per_request = one_request

        def before_call(self, view: View) -> View:
            results = view.results
            return view.rewrite({results[0].place: "short"}, "a test") if len(results) == 1 else view

    sent = run_class(Once, conversation("whole", "other"))
    assert [one.view.results[0].text for one in sent[1:]] == ["short", third]
    # What is billed differs from the request before at that result, the item at 2, or only grows.
    assert sent[2].changed_from == (2 if one_request else 3)
