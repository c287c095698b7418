"""What policies see and say at each moment, and what a call then tells of them, by hand."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace
from samples import ASK, TASK, chat, conversation, run, run_class

from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import Overflow, Policy, Spec, Stop
from ctxsim.simulator.ledger.kernel import Bill, Verdict
from ctxsim.simulator.provider import Provider, RateLimit
from ctxsim.simulator.provider.prices import Cost, Prices, Split
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.moments import RETRIES
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Head, Item, Usage
from ctxsim.view import Edit, View

TOLD: list[tuple[Any, ...]] = []
"""What the policies below were told."""


@pytest.fixture(autouse=True)
def told() -> None:
    TOLD.clear()


def chain(*links: type[Policy], **rules: Any) -> list[Sent]:
    spec = Spec("chain", tuple((cls, cls.name, {}) for cls in links), open_estimator())
    return list(replay(conversation(" a" * 9, " a" * 5), spec, Provider(**rules), Counter(open_tokenizer())))


@dataclass
class Listener(Policy):
    """Edits nothing."""

    def start(self) -> None:
        TOLD.append(("start", self.sees.window))

    def end(self) -> None:
        TOLD.append(("end",))

    def before_call(self, view: View) -> View:
        self.sees.say(f"{len(view)} items")
        TOLD.append(("before", self.sees.now_s, self.sees.usage, self.sees.head.system))
        return view

    def after_call(self, view: View, usage: Usage) -> View:
        reported = self.sees.reported
        TOLD.append(("after", self.sees.now_s, usage, len(view), reported.usage is usage, dict(reported.outputs)))
        return view


def test_a_policy_is_told_of_each_call_and_of_its_usage() -> None:
    sent = run_class(Listener, conversation(" a" * 9, system="Be brief."), pace_s=5.0, window=1_000)
    tokens = [one.tokens_sent for one in sent]
    usages = [Usage(tokens[0], sent[0].tokens_output, 0, 0), Usage(tokens[1], sent[1].tokens_output, 0, 0)]
    outputs = {2: sent[0].tokens_output}
    expected: list[tuple[object, ...]] = [
        ("start", 1_000), ("before", 0.0, None, "Be brief."), ("after", 0.0, usages[0], 2, True, outputs),
        ("before", 5.0, usages[0], "Be brief."),
        ("after", 5.0, usages[1], 4, True, outputs | {4: sent[1].tokens_output}), ("end",),
    ]  # fmt: skip
    assert expected == TOLD
    assert [one.said for one in sent] == [("1 items",), ("3 items",)]


def test_behind_a_call_its_waiting_is_over() -> None:
    sent = run_class(Listener, conversation(" a" * 400, "b"), rate_limit=RateLimit(tokens_per_minute=500))
    before, after = ([one[1] for one in TOLD if one[0] == moment] for moment in ("before", "after"))
    waited = [one.wait_s for one in sent]
    assert [b - a for a, b in zip(before, after, strict=True)] == pytest.approx(waited) and waited[2] > 0


def test_what_a_call_tells() -> None:
    prices = Prices(input=1e6, output=2e6)
    made = chat(TASK, ASK, ("tool_result", " a" * 9), ("assistant", "Done."))
    first, second = run(made, "keep-all", prices=prices, pace_s=5.0)
    counter = Counter(open_tokenizer())
    task, asked = (counter.item(item) for item in made.items[:2])
    assert (first.call, first.recorded, list(first.view)) == (1, made.calls[0], [made.items[0]])
    assert (first.changed_from, first.attempts) == (sys.maxsize, 1)
    assert first.verdict == Verdict("ok")
    assert first.bill == Bill(Split(0, 0, task), Cost(0.0, 0.0, float(task), 2.0 * asked), 0, 0, "")
    assert (first.tokens_sent, first.tokens_output) == (task, asked)
    assert (first.edits, first.said, first.compactions, first.summary_calls, first.tally.thinking_dropped) == (
        (), (), 0, 0, 0
    )  # fmt: skip
    assert (second.call, list(second.view), second.changed_from) == (2, list(made.items[:3]), 1)
    assert second.tokens_sent == task + asked + 9
    assert first.cost_usd == task + 2 * asked and (first.http_429, first.wait_s, first.bill.cause) == (0, 0.0, "")


def test_what_a_rate_limit_and_a_refusal_add() -> None:
    # 4, 15 and 22 tokens. Of 17 a minute 13 are left for the second, which waits for two more.
    sent = run(conversation(" a" * 9, " a" * 5), "keep-all", rate_limit=RateLimit(17), window=16)
    assert [one.tokens_sent for one in sent] == [4, 15, 22]
    assert [one.status for one in sent] == ["ok", "ok", "overflow"]
    assert [(one.http_429, one.wait_s) for one in sent] == [(0, 0.0), (1, pytest.approx(2 * 60 / 17)), (0, 0.0)]
    assert sent[2].verdict.reason == "22 tokens exceed the window of 16"


class Limits(Policy, abstract=True):
    limit: ClassVar[float | None] = None

    def threshold(self) -> float | None:
        return self.limit


@dataclass
class Low(Limits):
    limit = 5.0


@dataclass
class High(Limits):
    limit = 50.0


def test_the_first_threshold_of_a_chain_is_what_it_decides_by() -> None:
    for links, limit in (((Low, High), 5.0), ((High, Low), 50.0), ((Listener, Low), 5.0)):
        sent = chain(*links)
        assert [one.tally.believed for one in sent] == [(one.tokens_estimated, limit) for one in sent]
    assert [one.tally.believed for one in chain(Listener)] == [None] * 3


@dataclass
class Shrinks(Policy):
    """Takes a word off the first result with each refusal."""

    most: ClassVar[int | None] = None

    @property
    def retries(self) -> int | None:
        return self.most

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        TOLD.append((error.message, error.window))
        result = next(item for item in view if item.kind == "tool_result")
        return view.rewrite({result.place: result.text[2:]}, "a word less")


@dataclass
class Once(Shrinks):
    most = 1


@dataclass
class Thrice(Shrinks):
    most = 3


@pytest.mark.parametrize(("links", "attempts"), [
    ((Once,), 2), ((Thrice,), 4), ((Once, Thrice), 4), ((Shrinks,), RETRIES + 1), ((Shrinks, Once), 2),
])  # fmt: skip
def test_a_refused_request_is_sent_again_as_often_as_somebody_says(
    links: tuple[type[Policy], ...], attempts: int
) -> None:
    # 4 tokens and 2 of a call fit; of a result of 40 no more than ten words go.
    spec = Spec("chain", tuple((cls, cls.name, {}) for cls in links), open_estimator())
    _, sent = replay(conversation(" a" * 40), spec, Provider(window=10), Counter(open_tokenizer()))
    assert (sent.status, sent.attempts, sent.compactions) == ("overflow", attempts, attempts - 1)
    assert [text for _, edit in sent.edits if edit.after for text in [edit.after.text]] == [
        " a" * (40 - n) for n in range(1, attempts)
    ]
    assert TOLD[0] == ("46 tokens exceed the window of 10", 10) and len(TOLD) == attempts - 1
    assert RETRIES == 10


@dataclass
class Cuts(Policy):
    def on_tool_result(self, item: Item) -> Item:
        return item.with_text("short")


@dataclass
class Trims(Policy):
    def on_tool_result(self, item: Item) -> Item:
        TOLD.append((item.text,))
        return item.with_text("s")


def test_a_result_passes_each_policy_as_it_joins() -> None:
    first, second, third = chain(Cuts, Listener, Trims)
    made = conversation(" a" * 9, " a" * 5).items
    short, one = made[2].with_text("short"), made[2].with_text("s")
    assert first.edits == () and second.edits == (
        ("on_tool_result", Edit(made[2], short, 2, "cuts")), ("on_tool_result", Edit(short, one, 2, "trims"))
    )  # fmt: skip
    assert [edit.position for _, edit in third.edits] == [4, 4]
    assert second.compactions == 0
    assert [told for told in TOLD if len(told) == 1 and told != ("end",)] == [("short",), ("short",)]


@dataclass
class Masks(Policy):
    """Edits only requests: it comes after all others, wherever it stands."""

    per_request = True

    def before_call(self, view: View) -> View:
        TOLD.append(tuple(item.text for item in view))
        place = view[-1].place
        return view.rewrite({place: "masked"}, "of this request") if len(view) > 1 else view


@dataclass
class Drops(Policy):
    def before_call(self, view: View) -> View:
        return view.drop([0], "the task") if view[0].kind == "user" and len(view) > 1 else view


@pytest.mark.parametrize("links", [(Masks, Drops), (Drops, Masks)])
def test_what_edits_only_requests_acts_last(links: tuple[type[Policy], ...]) -> None:
    sent = chain(*links)
    assert TOLD == [("Do the task.",), ("{}", " a" * 9), ("{}", " a" * 9, "{}", " a" * 5)]
    assert [[item.text for item in one.view] for one in sent[1:]] == [
        ["{}", "masked"],
        ["{}", " a" * 9, "{}", "masked"],
    ]
    assert [one.compactions for one in sent] == [0, 2, 1]
    assert [[(moment, edit.reason) for moment, edit in one.edits] for one in sent] == [
        [], [("before_call", "the task"), ("before_call", "of this request")], [("before_call", "of this request")]
    ]  # fmt: skip


def test_who_gives_up_behind_another_leaves_what_that_one_did() -> None:
    @dataclass
    class GivesUp(Policy):
        def before_call(self, view: View) -> View | Stop:
            return Stop("enough") if view[0].kind != "user" else view

    first, second, third = chain(Drops, GivesUp)
    assert (first.status, second.verdict, third.status) == ("ok", Verdict("stopped", "enough"), "stopped")
    assert [item.text for item in second.view] == ["{}", " a" * 9]
    assert second.tokens_sent == 2 + 9 and second.compactions == 1


def test_each_calls_head_is_seen_by_the_policy() -> None:
    made = conversation("a", system="one")
    calls = (made.calls[0], replace(made.calls[1], head=Head("two")))
    run_class(Listener, replace(made, calls=calls))
    assert [told[3] for told in TOLD if told[0] == "before"] == ["one", "two"]
