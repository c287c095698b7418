"""Arguments of public functions: each wrong one is one line that says what it must be, before anything is done."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy
import pytest

import ctxsim
from ctxsim.errors import CtxsimError, InputError

LISTED = "must be a list (each item: a text)"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"replay": "one-prompt", "number": 0}, "number=0: must be a whole number of at least 1"),
        ({"replay": "one-prompt", "number": True}, "number=True: must be a whole number of at least 1"),
        ({"replay": "one-prompt", "number": 1.0}, "number=1.0: must be a whole number of at least 1"),
        ({"replay": "one-prompt", "head": -1}, "head=-1: must be fitted, none or a whole number of at least 0"),
        ({"replay": "one-prompt", "head": "Fitted"}, "head='Fitted': must be fitted, none or a whole number of at "
         "least 0"),
        ({"replay": "one-prompt", "estimator": 5}, "estimator=5: must be a text or an object of Estimator or a class "
         "of Estimator or None"),
        ({"open_policy": 7}, "policy=7: must be a text or an object of Spec or an object of Policy or a class of "
         "Policy"),
        ({"open_policy": "mask", "estimator": 5}, "estimator=5: must be a text or an object of Estimator or a class of "
         "Estimator or None"),
        ({"replay": 5}, "what=5: must be a text or a path or an object of Transcript or an object of Scenario"),
        ({"serve": "one-prompt", "port": 99_999}, "port=99999: must be a whole number from 0 to 65,535"),
        ({"serve": "one-prompt", "number": 0}, "number=0: must be a whole number of at least 1"),
        ({"serve": "one-prompt", "faults": "429@3"}, f"faults='429@3': {LISTED}"),
        ({"serve": "one-prompt", "told": "print"}, "told='print': must be a function"),
        ({"drive": "codex", "what": "one-prompt", "limit_s": -1}, "limit_s=-1: must be a number of at least 1"),
        ({"drive": "codex", "what": "one-prompt", "limit_s": float("inf")}, "limit_s=inf: must be a number of at "
         "least 1"),
        ({"calibrate": (), "risk": 2}, "risk=2: must be a number from 0 to 0.5 or None"),
        ({"calibrate": (), "risk": float("nan")}, "risk=nan: must be a number from 0 to 0.5 or None"),
        ({"calibrate": (), "by": "kinds"}, "unknown by 'kinds'; did you mean kind?"),
        ({"estimates": (), "threshold": -5}, "threshold=-5: must be a whole number of at least 1 or None"),
        ({"estimates": (), "estimators": "chars"}, "estimators='chars': must be a list (each item: a text or an "
         "object of Estimator or a class of Estimator) or None"),
        ({"bench": "one-prompt", "text": "None"}, "unknown text 'None'; did you mean none?"),
        ({"bench": "one-prompt", "text": None}, "text=None: must be redacted, kept, none"),
        ({"bench": "one-prompt", "jobs": 0}, "jobs=0: must be a whole number of at least 1 or None"),
        ({"bench": "one-prompt", "resume": "no"}, "resume='no': must be True or False"),
        ({"sweep": "one-prompt", "grids": [5]}, "grids=[5]: must be a text or a list (each item: a text)"),
        ({"sweep": "one-prompt", "grids": "fifo:budget=1..2@2", "seed": -1}, "seed=-1: must be a whole number of at "
         "least 0"),
        ({"compare": "a", "policies": ("mask",)},
         "policies=('mask',): must be a list of 2 (each item: a text) or None"),
        ({"compare": "a", "after": "b", "fail_if": "cost_usd > 1"}, f"fail_if='cost_usd > 1': {LISTED}"),
        ({"forecast": (), "next": 5}, "next=5: must be a text"),
        ({"bill": (), "days": 0}, "days=0: must be a whole number of at least 1 or None"),
        ({"change": "codex", "settings": ["a"]}, "settings=['a']: must be a dict"),
        ({"check_setting": "codex", "settings": {}}, "settings={}: name at least one; ctxsim list settings has all"),
        ({"bisect_setting": "codex", "settings": {}, "first": "new", "last": "2"},
         "codex: 'new' is no version; write dotted numbers, as in 2.1.153"),
        ({"read": 5}, "paths=(5,): must be a list (each item: a text or a path or a list (each item: a text or a "
         "path))"),
        ({"replay": "one-prompt", "model": 5}, "unknown model '5'; see: ctxsim list models"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_one_line_that_says_what_it_must_be(call: dict[str, Any], said: str) -> None:
    (name, first), *others = call.items()
    with pytest.raises(CtxsimError) as caught:
        getattr(ctxsim, name)(first, **dict(others))
    assert str(caught.value) == said


def test_every_public_function_with_options_is_checked() -> None:
    functions = [one for name in ctxsim.__all__ if inspect.isfunction(one := getattr(ctxsim, name))]
    unchecked = {one.__name__ for one in functions if not hasattr(one, "__wrapped__")}
    assert unchecked == {"scenario", "undo"}


def test_what_worked_goes_on_to_work(tmp_path: Path) -> None:
    assert ctxsim.replay("one-prompt", number=numpy.int64(1), pace_s=2).summary.calls == 60
    with pytest.raises(CtxsimError, match="no recording"):
        ctxsim.bench([])
    with pytest.raises(InputError, match="does not exist"):
        ctxsim.bench(one for one in [tmp_path / "a", tmp_path / "b"])
