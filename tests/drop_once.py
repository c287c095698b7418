"""A policy for tests: after the first call it drops the first item, once."""

from dataclasses import dataclass

from ctxsim.policies import Policy
from ctxsim.transcript import Usage
from ctxsim.view import View


@dataclass
class DropOnce(Policy):
    """Drops the first item after the first call."""

    def after_call(self, view: View, usage: Usage) -> View:
        first = not self.__dict__.setdefault("done", False)
        self.__dict__["done"] = True
        return view.drop([view[0].place], "once") if first else view
