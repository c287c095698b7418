"""What `ctxsim replay` prints of each call, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from rich.text import Text
from samples import ASK, TASK, chat, conversation

from ctxsim.cli import replay as room
from ctxsim.cli.replay import LostReferences, _coloured, lines_of
from ctxsim.cli.tracker import HEADINGS, TokenTracker
from ctxsim.policies import open_policy
from ctxsim.simulator.ledger import Verdict
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay


def call(**fields: Any) -> Any:
    plain = {"call": 3, "tokens_sent": 500, "tokens_output": 20, "wait_s": 0.0, "status": "ok",
             "verdict": Verdict("ok"), "said": (), "edits": (), "tally": SimpleNamespace(edits=())}  # fmt: skip
    return SimpleNamespace(**(plain | fields))


def told(one: Any, watch: Any = None) -> list[tuple[str, bool]]:
    return list(lines_of(one, TokenTracker(1_000), None, watch))  # type: ignore[arg-type]


FIRST = ("   3           500  50.0%      +500        +0      -      20", False)


def test_a_call_is_a_line_and_what_happened_stands_below(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(call()) == [FIRST] and HEADINGS == "    tokens   used    growth   average   left  output"
    assert told(call(wait_s=1.6)) == [FIRST, ("         waited 2 s  ", False)]
    assert told(call(status="overflow", verdict=Verdict("overflow", "too long"), wait_s=3)) == [
        FIRST, ("         waited 3 s  ✗ overflow: too long", False)
    ]  # fmt: skip
    assert told(call(said=("a", "b"))) == [FIRST, ("a", True), ("b", True)]
    watch = SimpleNamespace(of=lambda one: ["lost a", "lost b"])
    assert told(call(said=("a",)), watch) == [FIRST, ("lost a", False), ("lost b", False), ("a", True)]
    moments = (("before_call", 1), ("after_call", 2), ("before_call", 3))
    monkeypatch.setattr(room, "event_rows", lambda *seen: ())
    for taken, removed in ((1_234, "1,234 tokens removed"), (0, "0 tokens removed"), (-5, "5 added")):
        monkeypatch.setattr(room, "edits_of", lambda events, taken=taken: (2, 1, taken))
        assert told(call(edits=moments)) == [
            FIRST, (f"         compaction (before_call, after_call): 2 edited, 1 dropped, {removed}", False)
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "number", "status", "style"),
    [("x", 1, "ok", "cyan"), ("lost: x", 2, "ok", "yellow"), ("lost: x", 2, "overflow", "yellow"),
     ("x", 1, "overflow", "cyan")],
)  # fmt: skip
def test_lines_below_a_call_have_their_colour(line: str, number: int, status: str, style: str) -> None:
    found = _coloured(line, number, call(status=status), 1_000)
    assert found == Text.assemble((line, style)) and found.spans[0].style == style


def test_the_first_line_stands_behind_the_bar_and_is_red_where_it_was_refused() -> None:
    fine, bad = (_coloured("x\x1b", 0, call(status=status), 1_000) for status in ("ok", "overflow"))
    assert fine.plain == bad.plain == "█" * 9 + "░" * 9 + " x\\x1b"
    assert [span.style for span in bad.spans if span.end == len(bad)][-1:] == ["red"]
    assert "red" not in {str(span.style) for span in fine.spans}


def test_what_a_call_had_lost_is_told_with_its_sentence_and_the_edit() -> None:
    made = chat(
        TASK, ASK, ("tool_result", "order zebra_1001 is here"), ASK, ("tool_result", "nothing"), ASK,
        ("tool_result", "more"), ("assistant", "x " * 30 + "about order zebra_1001 now " + "y " * 60),
    )  # fmt: skip
    watch, provider = LostReferences(made), Provider()
    counter = provider.counter()
    (line,) = [line for one in replay(made, open_policy("mask:keep=1"), provider, counter) for line in watch.of(one)]
    # Forty characters before it and sixty from it on.
    sentence = f"{'x ' * 14}about order zebra_1001 now {'y ' * 23}".strip()
    assert line == (
        f"         lost: 'zebra_1001' (strict, 2 calls old), used in: '{sentence}'; it was in item 2 (read), edited "
        "at call 3 (before_call: older than the newest 1 results)"
    )


def test_what_a_policy_did_after_a_call_took_nothing_from_it() -> None:
    made = conversation("one", "two")
    watch = LostReferences(made)

    def edit(place: int, action: str, reason: str, added: bool = False) -> Any:
        before = None if added else SimpleNamespace(place=place)
        return SimpleNamespace(before=before, action=action, reason=reason)

    moments = (("before_call", edit(2, "dropped", "old")), ("after_call", edit(2, "edited", "new")),
               ("on_tool_result", edit(4, "edited", "long")),
               ("before_call", edit(9, "inserted", "x", True)))  # fmt: skip
    watch._note(call(edits=moments), after_call=False)
    assert watch._edits == {2: "dropped at call 3 (before_call: old)", 4: "edited at call 3 (on_tool_result: long)"}
    watch._note(call(edits=moments), after_call=True)
    assert watch._edits[2] == "edited at call 3 (after_call: new)" and len(watch._edits) == 2


def test_a_tracker_knows_what_is_left() -> None:
    large = TokenTracker(1_000_000)
    assert large.report() == "         0   0.0%        +0        +0      -       0"
    # 5K, then 20K more per call: 955K left are 47 calls.
    for used in (5_000, 25_000, 45_000):
        large.record(used, 850)
    assert large.report() == "    45,000   4.5%   +20,000   +20,000     47     850"
    tracker = TokenTracker(1_000)
    for used, left in ((400, None), (500, 5), (700, 2), (1_000, 0), (1_200, 0)):
        tracker.record(used, 7)
        assert tracker.calls_left == left, used
    assert tracker.report() == "     1,200 120.0%      +200      +200      0       7"
    shrinking = TokenTracker(1_000)
    for used, average in ((500, 0), (700, 200), (400, 0), (430, 30), (480, 40)):
        shrinking.record(used, 1)
        # Of the growth since it fell: (480 - 400) / 2, of which 13 fit into 520.
        assert shrinking.average == average
    assert shrinking.calls_left == 13
    even = TokenTracker(1_000)
    for used in (500, 500):
        even.record(used, 1)
    assert even.calls_left is None
