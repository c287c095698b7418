"""What is exactly a limit isn't over it, and what a parameter may be."""

from __future__ import annotations

import pytest
from samples import conversation, run

from ctxsim.errors import CtxsimError
from ctxsim.policies import open_policy
from ctxsim.policies.char_budget import cut
from ctxsim.policies.policy import Policy
from ctxsim.policies.token_budget import MARKER

RESULTS = [one * 400 for one in "abcd"]


def made(label: str) -> Policy:
    (policy,) = open_policy(label).create()
    return policy


@pytest.mark.parametrize(
    "label",
    ["token-approx-budget:budget={},keep_tools=1",
     "three-triggers:only=tokens,budget={},buffer=0,target=100,estimator=chars",
     "three-triggers:only=percentage,at=1,window={},estimator=chars"],
)  # fmt: skip
def test_an_estimate_that_is_exactly_the_limit_is_not_over_it(label: str) -> None:
    sample = conversation(*RESULTS)
    last = run(sample, label.format(1_000_000))[-1].tokens_estimated
    if "chars" in label:
        # The task's 12 characters, four times tool and {}, and 4 x 400, each by four: 3 + 4 x 2 + 4 x 100.
        assert last == 411
    assert not any(one.edits for one in run(sample, label.format(last)))
    assert any(one.edits for one in run(sample, label.format(last - 1)))


@pytest.mark.parametrize(("length", "cut_to"), [(9, 9), (10, 10), (11, 10 + len(MARKER))])
def test_a_result_of_exactly_what_is_retained_stays(length: int, cut_to: int) -> None:
    sent = run(conversation("x" * length, "y"), "truncate-after-use:retain=10")
    assert [len(item.text) for item in sent[-1].view.results if item.place == 2] == [cut_to]


def test_what_ends_with_the_mark_was_cut_before() -> None:
    text = "x" * 20 + MARKER
    sent = run(conversation(text, "y"), "truncate-after-use:retain=10")
    assert not any(one.edits for one in sent)


@pytest.mark.parametrize(
    ("text", "units", "left"),
    # A smiling face is two units of UTF-16: half of it is none.
    [("abc", 2, "ab"), ("abc", 3, "abc"), ("abc", 0, ""), ("a\U0001f600b", 2, "a"), ("a\U0001f600b", 3, "a\U0001f600")],
)
def test_a_cut_as_in_javascript(text: str, units: int, left: str) -> None:
    assert cut(text, units) == left


def test_thresholds_by_hand() -> None:
    assert made("token-budget").limits() == {"budget": 40_000} and made("token-budget:budget=0").limits() == {}
    assert made("three-triggers").threshold() == pytest.approx(0.7 * 128_000)
    assert made("three-triggers:only=tokens").threshold() == 90_000 + 1_000
    assert made("three-triggers:only=messages").threshold() is None
    assert made("three-triggers").limits() == {"budget": 90_000}
    assert made("token-approx-budget").threshold() == 32_000


@pytest.mark.parametrize(
    "label",
    ["summary:at=1", "summary:at=0.01", "mask:keep=0", "mask:batch=1", "token-budget:budget=0,retain=0",
     "strands-summarizing:summary_ratio=0", "pydantic-clear:max_fraction=1", "json-aware:chars=1"],
)  # fmt: skip
def test_the_ends_of_what_a_parameter_may_be_are_taken(label: str) -> None:
    assert made(label).name == label.partition(":")[0]


@pytest.mark.parametrize(
    "label",
    ["summary:at=0", "summary:at=1.01", "mask:keep=-1", "mask:batch=0", "strands-summarizing:summary_ratio=-0.1",
     "strands-summarizing:summary_ratio=1.1", "json-aware:chars=0", "summary:max_tokens=0", "token-budget:retain=-5",
     "max-result-chars:chars=-1", "head-tail:lines=0", "max-messages:n=0", "retry:attempts=-1",
     "cline:preserve_tokens=0"],
)  # fmt: skip
def test_beyond_them_a_parameter_is_refused(label: str) -> None:
    with pytest.raises(CtxsimError, match=r"expected a (whole )?number"):
        open_policy(label)
