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

    with pytest.raises(ContractError, match=r"before_call raised IndexError: 99 \(.*view\.py:\d+\)"):
        run_class(Buggy, conversation("a"))
