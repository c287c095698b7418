"""Generated conversations hold what they promise, and a policy that isn't the same is seen."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import pytest
from drive_upstream import DRIVERS
from project import ROOT

from ctxsim.transcript import problems
from evidence.framework_conversations import (
    Conversation,
    with_other_ids,
    with_results_in_order,
    without_images,
)
from evidence.framework_fuzz import ADAPTED, Result, Way, by_adapter, by_itself, differing, explanation, upstream, ways


def in_new_process() -> list[Conversation]:
    """As the command generates them: what else is loaded changes what Hypothesis draws."""
    show = "import json; from evidence.framework_conversations import generated; print(json.dumps(generated(35)))"
    done = subprocess.run([sys.executable, "-c", show], cwd=ROOT, capture_output=True, text=True, check=True)
    made: list[Conversation] = json.loads(done.stdout)
    return made


made_once = cache(in_new_process)
WAY = Way("mask", "adapter", "nothing")


def ids(conversation: Conversation) -> list[str]:
    return [call["id"] for one in conversation["messages"] for call in one.get("tool_calls", ())]


def results(conversation: Conversation) -> list[str]:
    return [one["tool_call_id"] for one in conversation["messages"] if one["role"] == "tool"]


def test_conversations_are_valid_the_same_each_time_and_hold_what_recordings_lack() -> None:
    assert in_new_process() == made_once()
    assert all(problems(upstream.transcript_of(one)) == [] for one in made_once())
    assert any(len(set(ids(one))) < len(ids(one)) for one in made_once())
    assert any(results(one) != results(with_results_in_order(one)) for one in made_once())
    assert any(one.get("images") for made in made_once() for one in made["messages"])


def test_what_is_taken_out_of_a_conversation_is_gone_and_nothing_else() -> None:
    for made in made_once():
        other = with_other_ids(made)
        assert len(set(ids(other))) == len(ids(other)) == len(ids(made))
        assert [one["content"] for one in other["messages"]] == [one["content"] for one in made["messages"]]
        assert sorted(results(with_results_in_order(other))) == sorted(results(other))
        assert results(with_results_in_order(other)) == ids(other)
        assert not any(one["images"] for one in without_images(made)["messages"])


def test_another_policy_differs_and_the_same_one_does_not() -> None:
    assert Result(WAY, [by_adapter("mask:keep=1", "mask:keep=1")], made_once()).differ == 0
    other = Result(WAY, [by_adapter("mask:keep=1", "mask:keep=2")], made_once())
    assert 0 < other.differ < other.requests and not other.explained
    assert other.smallest is not None and "upstream" in other.smallest[2]


def test_an_original_that_runs_alone_and_differs_is_told_where(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = (lambda made: ([] for _ in upstream.transcript_of(made).calls), "", "keep=1")
    monkeypatch.setitem(DRIVERS, "mask", nothing)
    told = differing(by_itself("mask"), made_once()[0])
    assert told and all(one.endswith("messages, upstream 0") for one in told)


def test_a_difference_is_explained_only_if_it_goes_with_its_reason() -> None:
    def repeats(conversation: Conversation) -> Iterator[str]:
        yield "repeats" if len(set(ids(conversation))) < len(ids(conversation)) else ""

    def always(conversation: Conversation) -> Iterator[str]:
        raise ValueError("no")

    made = next(one for one in made_once() if len(set(ids(one))) < len(ids(one)))
    assert differing(always, made) == ["ValueError: no"]
    assert "clears every result" in explanation("pydantic-clear", repeats, made)
    assert explanation("pydantic-clear", always, made) == explanation("mask", repeats, made) == ""


@pytest.mark.parametrize("built_in", sorted(set(ADAPTED.values())))
def test_every_setting_that_is_compared_acts(built_in: str) -> None:
    assert any(any(differing(by_adapter("keep-all", built_in), made)) for made in made_once())


def test_every_policy_that_is_driven_is_compared() -> None:
    assert {way.name for way in ways() if way.how == "alone"} == set(DRIVERS)
