"""What all frameworks share: labels of their classes, parameters, and summaries that somebody else writes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest
from samples import RESULT, conversation

from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.errors import ContractError, LabelError, UnknownName
from ctxsim.plugins import labels
from ctxsim.policies import Policy, Spec, open_policy, registered_policies
from ctxsim.policies.foreign import about, forms, framework
from ctxsim.policies.foreign.conversation import Message
from ctxsim.policies.foreign.framework import Framework, Scribe, asking, literal
from ctxsim.policies.foreign.shortener import Session
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.sent import Sent


class Reducer:
    """A framework's class: its parameters have names that a policy uses for something else."""

    def __init__(self, threshold: int, end: str = "x", label: float = 0.5, keep: int = 1, counter: Any = len) -> None:
        self.given = (threshold, end, label)
        self.keep = keep


def session(cls: Any, given: dict[str, Any], scribe: Scribe) -> Session:
    """Everything but the newest `keep` becomes a summary; it asks `threshold` times for it and takes the last."""
    reducer = cls(**given)

    def shorten(messages: list[Message]) -> Sequence[Message] | None:
        if len(messages) <= reducer.keep + 2:
            return None
        texts = [scribe.ask(f"the {len(messages)} messages") for _ in range(reducer.given[0])]
        return [{"role": "user", "content": f"So far: {texts[-1]}"}, *messages[-reducer.keep :]]

    return asking(shorten, scribe)


FAKE = Framework("fake", "fake-framework", ("fake_framework",), session, lambda cls: True, frozenset({"counter"}))


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    """A framework that only these tests know."""
    module = ModuleType("fake_framework")
    module.Reducer = Reducer  # type: ignore[attr-defined]
    sys.modules["fake_framework"] = module
    yield
    del sys.modules["fake_framework"]


def opened(rest: str) -> tuple[type[Policy], Policy]:
    name, cls, given = framework.opened(FAKE, rest)
    return cls, labels.build("policy", cls, name, given)


def sent(rest: str) -> list[Sent]:
    name, cls, given = framework.opened(FAKE, rest)
    spec = Spec(name, ((cls, name, given),), open_estimator())
    return list(replay(conversation(*[RESULT] * 4), spec, Provider(), Counter(open_tokenizer())))


def test_without_a_summary_messages_are_what_the_framework_gave() -> None:
    given = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "[[summary 9]] is no marker of ours."},
    ]
    assert Scribe(opened("Reducer:threshold=1")[1]).written(given) == given


def test_a_class_is_named_with_its_own_parameters() -> None:
    _, policy = opened("Reducer:threshold=2,end=a:b")
    assert labels.of(policy.name, policy) == "fake:Reducer:threshold=2,end=a:b,label=0.5,keep=1"
    assert labels.parameters(policy) == {"threshold": "2", "end": "a:b", "label": 0.5, "keep": 1}
    # What it calls its parameters doesn't take the place of what a policy has.
    assert policy.threshold() is None and policy.end() is None


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("Reducr:threshold=1", "unknown class of fake-framework 'Reducr'; did you mean Reducer"),
        ("Reducer:treshold=1", "unknown parameter 'treshold'; did you mean threshold"),
        ("Reducer:counter=1", "unknown parameter 'counter'"),
        ("Reducer", "needs threshold="),
        ("Reducer:threshold=1,label=x", "label=x"),
    ],
)
def test_bad_labels_say_what_is_wrong(rest: str, said: str) -> None:
    with pytest.raises((LabelError, UnknownName), match=said):
        opened(rest)


def test_what_is_not_installed_says_what_to_install() -> None:
    missing = FAKE._replace(modules=("fake_framework", "no_such_framework"))
    with pytest.raises(LabelError, match="fake:Reducer needs fake-framework: pip install fake-framework"):
        framework.opened(missing, "Reducer:threshold=1")


def test_ctxsim_writes_and_bills_the_summaries() -> None:
    calls = sent("Reducer:threshold=1,keep=2")
    summaries = [call for call in calls if call.tally.summaries]
    assert summaries and all(len(call.tally.summaries) == 1 for call in summaries)
    first = summaries[0]
    assert first.view[0].kind == "summary" and first.view[0].text == f"So far: {first.tally.summaries[0].text}"
    assert first.view[0].sources and "[[" not in "".join(item.text for item in first.view)


def test_what_is_asked_for_in_vain_is_billed_too() -> None:
    (first, *_) = [call for call in sent("Reducer:threshold=3,keep=2") if call.tally.summaries]
    assert len(first.tally.summaries) == 3


def test_who_asks_again_and_again_is_stopped() -> None:
    assert len(sent("Reducer:threshold=20,keep=2")[-1].tally.summaries) == 20
    with pytest.raises(ContractError, match="more than 20 summaries at one call"):
        sent("Reducer:threshold=21,keep=2")


def test_no_framework_is_loaded_unless_a_label_asks_for_it() -> None:
    assert {"langchain", "langmem", "autogen", "agent-framework", "pydantic-ai", "strands"} <= set(forms())
    # Each form is described by a pattern of its labels.
    assert sorted(pattern.partition(":")[0] for pattern in about()) == sorted(forms())
    # langmem is a policy by name too: what is only parameters means that.
    assert {name for name in registered_policies() if name in forms()} == {"langmem"}


def test_a_policy_that_is_called_like_a_framework_opens_by_its_parameters() -> None:
    for name in [name for name in registered_policies() if name in forms()]:
        for label in (name, f"{name}:estimator=chars:ratio=4"):
            ((cls, opened, _),) = open_policy(label).links
            assert (cls, opened) == (registered_policies()[name], name)


@pytest.mark.parametrize(
    ("label", "module"),
    [
        ("langchain:ClearToolUsesEdit:trigger=8000", "langchain"),
        ("autogen:BufferedChatCompletionContext:buffer_size=5", "autogen_core"),
        ("agent-framework:SlidingWindowStrategy:keep_last_groups=6", "agent_framework"),
        ("pydantic-ai:ClearToolResults:max_tokens=8000", "pydantic_ai_harness"),
        ("strands:SlidingWindowConversationManager:window_size=20", "strands"),
    ],
)
def test_labels_of_frameworks_open_or_say_what_to_install(label: str, module: str) -> None:
    try:
        __import__(module)
    except ImportError:
        with pytest.raises(LabelError, match="pip install"):
            open_policy(label)
    else:
        assert open_policy(open_policy(label).label).label == open_policy(label).label


def test_a_class_is_what_its_framework_says() -> None:
    for lasting, retries in ((True, None), (False, 3)):
        kind = FAKE._replace(lasting=lambda cls, lasting=lasting: lasting, retries=retries)
        name, cls, given = framework.opened(kind, "Reducer:threshold=1")
        assert (name, given) == ("fake:Reducer", {"threshold": "1"})
        assert cls.__doc__ == "Reducer of fake-framework, driven as it is."
        policy = labels.build("policy", cls, name, given)
        flags = (policy.per_request, policy.ephemeral, policy.others_code, policy.retries)
        assert flags == (not lasting, not lasting, True, retries)
        assert not vars(cls)["shows_reasoning"]


@pytest.mark.parametrize("target", ["_hidden", "number", "Missing"])
def test_what_is_no_class_of_a_framework_is_told(target: str) -> None:
    vars(sys.modules["fake_framework"]).update(_hidden=Reducer, number=5)
    with pytest.raises(UnknownName, match="class of fake-framework"):
        framework.opened(FAKE, target)


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), ("0.5", 0.5), ("true", True), ("FALSE", False), ("none", None), ("a", "a"), ("tokens:9", ("tokens", 9)),
     ("1e3", 1000.0), ("a:none:1.5", ("a", None, 1.5)), ("[cleared]", "[cleared]")],
)  # fmt: skip
def test_what_a_parameter_means(text: str, value: object) -> None:
    found = literal(text)
    assert found == value and type(found) is type(value)
