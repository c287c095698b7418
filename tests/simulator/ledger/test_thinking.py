"""Thinking bound to its prefix, worked by hand: edits before, inside, behind a block; the server's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import pytest

from ctxsim.policies import open_policy
from ctxsim.policies.policy import Policy
from ctxsim.simulator.measure.measured import Basis, measure
from ctxsim.simulator.measure.summary import summary_row
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.simulator.replay import Sent, replay
from ctxsim.transcript import Call, Head, Item, Transcript
from ctxsim.view import View

CALLS = 5


def thought() -> Transcript:
    """A task, then five responses that each think and call a tool: of call n the thinking stands at place 3 n - 2."""
    items, calls = [Item("user", 0, 0, "Find the leak.")], []
    for n in range(1, CALLS + 1):
        start, message = len(items), 2 * n - 1
        items.append(Item("reasoning", start, message, f"I look at file {n} first, then at the next."))
        items.append(Item("tool_call", start + 1, message, "{}", tool="read", call_id=f"c{n}"))
        calls.append(Call(start, len(items)))
        items.append(Item("tool_result", start + 2, message + 1, f"line {n}\n" * 40, tool="read", answers=start + 1))
    return Transcript("thought", Head("Be brief."), tuple(items), tuple(calls))


def provider(thinking: str, **more: object) -> Provider:
    fields = {"vendor": "anthropic", "reasoning": "all", "thinking": thinking, **more}
    return msgspec.convert(fields, Provider)


@dataclass
class EditsAt(Policy):
    """Before call `call`, does one thing."""

    call: int = 4
    how: Callable[[View], View] = lambda view: view

    def start(self) -> None:
        self._asked = 0

    def before_call(self, view: View) -> View:
        self._asked += 1
        return self.how(view) if self._asked == self.call else view


def cleared(place: int) -> Callable[[View], View]:
    return lambda view: view.rewrite({place: "gone"}, "cleared")


def sent(how: Callable[[View], View], thinking: str = "refuse", call: int = 4, server: bool = False) -> list[Sent]:
    cls = type("Edits", (EditsAt,), {"server_side": server, "__module__": __name__})
    spec = open_policy("keep-all")
    links = tuple((cls, label, {"call": call, "how": how}) for _, label, _ in spec.links)
    return list(replay(thought(), msgspec.structs.replace(spec, links=links), provider(thinking)))


def statuses(found: list[Sent]) -> list[str]:
    return [one.status for one in found]


def test_an_edit_before_thinking_is_refused_from_that_call_on() -> None:
    # The result of call 1, at place 3, is cleared before call 4. The thinking of calls 2 and 3 stands behind it.
    found = sent(cleared(3))
    assert statuses(found) == ["ok", "ok", "ok", "invalid_thinking", "invalid_thinking"]
    assert "thinking of call 2 is bound" in found[3].verdict.reason


def test_an_edit_behind_all_thinking_is_accepted() -> None:
    # The result of call 3, at place 9, is the newest item before call 4: no thinking stands behind it.
    assert statuses(sent(cleared(9))) == ["ok"] * CALLS


def test_what_is_written_after_an_edit_is_valid_behind_it() -> None:
    # Before call 4 the thinking of call 3, at place 7, is the only one behind place 6. Call 4's own is written behind
    # the cleared text: with the old block dropped, call 5 is as it should be.
    found = sent(cleared(6), "drop")
    assert statuses(found) == ["ok"] * CALLS
    dropped = [one.tally.thinking_dropped for one in found]
    assert dropped[3] > 0 and dropped[:3] == [0, 0, 0] and dropped[4] == 0
    kinds = [item.place for item in found[4].view if item.kind == "reasoning"]
    assert kinds == [1, 4, 10], "of calls 1, 2 and 4; that of call 3 is gone for good"


def test_refused_calls_and_dropped_tokens_are_added_up() -> None:
    # `mask:keep=1` clears the result of call 1 before call 3, and one more before each later call: in three calls
    # thinking stands behind what was cleared. Its text is that of calls 2, 3 and 4 by then, each dropped once.
    for thinking, refused in (("refuse", 3), ("drop", 0)):
        basis = Basis(thought(), provider(thinking), provider(thinking).counter())
        found = summary_row(basis, measure(basis, open_policy("mask:keep=1")))
        assert found.invalid_thinking == refused
        texts = [thought().items[place].text for place in (4, 7, 10)] if thinking == "drop" else []
        assert found.tokens_thinking_dropped == sum(map(basis.counter.text, texts))


def test_thinking_left_out_between_others_counts_as_a_change() -> None:
    # The thinking of call 2, at place 4, goes; that of call 3 stands behind it.
    found = sent(lambda view: view.drop([4], "thinking"))
    assert statuses(found)[3:] == ["invalid_thinking", "invalid_thinking"]


def test_an_edited_block_is_invalid_itself() -> None:
    found = sent(lambda view: view.rewrite({7: "other thoughts"}, "inside"), "none", call=5)
    assert statuses(found) == ["ok"] * CALLS, "the newest response is that of call 4"
    assert statuses(sent(lambda view: view.rewrite({7: "other thoughts"}, "inside"), call=5))[4] == "invalid_thinking"


def test_the_newest_thinking_may_not_be_changed_on_any_model() -> None:
    # Before call 4 the newest response is that of call 3, at places 7 and 8.
    for how in (lambda view: view.drop([7], ""), lambda view: view.rewrite({7: "other thoughts"}, "")):
        found = sent(how, "none")
        assert found[3].status == "invalid_thinking" and "newest response" in found[3].verdict.reason
        assert found[4].status == "ok"
    assert statuses(sent(lambda view: view.drop([1], ""), "none")) == ["ok"] * CALLS, "an older one"


def test_the_servers_own_edits_are_accepted() -> None:
    for how in (cleared(3), lambda view: view.drop([7], "the newest response's")):
        assert statuses(sent(how, server=True)) == ["ok"] * CALLS


def test_a_summary_of_everything_leaves_nothing_bound() -> None:
    def whole(view: View) -> View:
        return view.drop([item.place for item in view], "all").insert("So far: nothing.", 0, "all")

    assert statuses(sent(whole)) == ["ok"] * CALLS


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        ("claude-opus-5-5", "refuse"), ("claude-fable-5-1", "refuse"), ("claude-sonnet-5.5", "refuse"),
        ("claude-opus-5", "none"), ("claude-mythos-5-1", "none"), ("gpt-5.4", "none"),
    ],
)  # fmt: skip
def test_the_models_rule(model: str, rule: str) -> None:
    transcript = msgspec.structs.replace(
        thought(), calls=tuple(msgspec.structs.replace(call, model=model) for call in thought().calls)
    )
    assert resolve({}, None, transcript).thinking == rule


@pytest.mark.parametrize(("how", "valid"), [
    (lambda view: view, True), (lambda view: view.rewrite({1: "Other words."}, "before it"), False),
    (lambda view: view.rewrite({3: '{"x": 1}'}, "behind it"), True), (lambda view: view.drop([1], "before it"), False),
])  # fmt: skip
def test_thinking_between_other_parts_is_bound_to_those_before_it(how: Callable[[View], View], valid: bool) -> None:
    items = (
        Item("user", 0, 0, "Go."), Item("assistant", 1, 1, "I look."), Item("reasoning", 2, 1, "Hm."),
        Item("tool_call", 3, 1, "{}", tool="read", call_id="c"), Item("tool_result", 4, 2, "a", tool="read", answers=3),
        Item("assistant", 5, 3, "b"), Item("user", 6, 4, "And?"), Item("assistant", 7, 5, "c"),
    )  # fmt: skip
    made = Transcript("t", Head("Be brief."), items, (Call(1, 4), Call(5, 6), Call(7, 8)))
    cls = type("Edits", (EditsAt,), {"__module__": __name__})
    spec = open_policy("keep-all")
    links = tuple((cls, label, {"call": 3, "how": how}) for _, label, _ in spec.links)
    found = list(replay(made, msgspec.structs.replace(spec, links=links), provider("refuse")))
    assert statuses(found) == ["ok", "ok", "ok" if valid else "invalid_thinking"]
