"""`messages:FILE.py:function`: which parameters a function of one's own has in a label."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxsim.errors import LabelError
from ctxsim.plugins import labels
from ctxsim.policies import open_policy

FUNCTIONS = """
def shorten(messages, size=3, share=0.5, name="a", strict=False, hinted: int = 0, *, context=None):
    return messages[-size:]

def needs(messages, first, second: float):
    return messages

def listed(messages, names=[]):
    return messages

def nothing():
    return []

def anything(*messages):
    return []

def checked(messages: "list[ChatMessage]", keep: int = 2) -> "list[ChatMessage]":
    return messages[-keep:]

def strange(messages, keep: "Unheard" = 2):
    return messages

def lasts(messages, lasting=True):
    return messages
"""


@pytest.mark.usefixtures("opened_at_once")
def test_a_functions_parameters_are_of_the_kinds_of_its_defaults_or_hints(tmp_path: Path) -> None:
    """Without either a parameter is a text."""
    (tmp_path / "f.py").write_text(FUNCTIONS)

    def parameters(label: str) -> dict[str, object]:
        (policy,) = open_policy(f"messages:{tmp_path}/f.py:{label}").create()
        return labels.parameters(policy)

    assert parameters("shorten") == {
        "size": 3, "share": 0.5, "name": "a", "strict": False, "hinted": 0, "lasting": True,
    }  # fmt: skip
    assert parameters("shorten:size=4,share=1,name=5,strict=true,hinted=6,lasting=false") == {
        "size": 4, "share": 1.0, "name": "5", "strict": True, "hinted": 6, "lasting": False,
    }  # fmt: skip
    assert parameters("checked:keep=3") == {"keep": 3, "lasting": True}, "a type for type checkers only"
    assert parameters("needs:first=1,second=2") == {"first": "1", "second": 2.0, "lasting": True}
    for label, said in (
        ("listed", "the default of names is a list; make it a plain value"), ("shorten:size=x", "size"),
        ("nothing", "must take a list of messages, and parameters by name"),
        ("anything", "must take a list of messages, and parameters by name"), ("needs:first=1", "second"),
        ("strange", "the type of a parameter is unknown: name 'Unheard' is not defined"),
        ("lasts", "every such policy has a parameter lasting; give yours another name"),
    ):  # fmt: skip
        with pytest.raises(LabelError, match=said):
            parameters(label)


def test_a_parameter_may_be_called_as_what_makes_the_session(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("def shorten(messages, made=2):\n    return messages[-made:]\n")
    (policy,) = open_policy(f"messages:{tmp_path}/f.py:shorten:made=3").create()
    policy.start()
    assert labels.parameters(policy) == {"made": 3, "lasting": True}
