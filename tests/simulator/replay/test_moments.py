"""Moments at which a policy acts: what it raises is one line."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from samples import conversation, run_class

from ctxsim.errors import ContractError
from ctxsim.policies import Policy
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
    with pytest.raises(ContractError, match=rf"^careless: before_call: item 7 is not in the view: .* {place}$"):
        run_class(Careless, conversation("a"))


def test_the_place_stands_behind_a_message_however_long() -> None:
    @dataclass
    class Wordy(Policy):
        def before_call(self, view: View) -> View:
            raise ValueError("no\n" * 9000)

    with pytest.raises(ContractError, match=rf"characters more\) \({__file__}:\d+\)$"):
        run_class(Wordy, conversation("a"))


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
