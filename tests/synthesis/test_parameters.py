"""What a generator makes unless a scenario says otherwise, what it takes, and how conversations are put together."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from ctxsim.errors import CtxsimError
from ctxsim.simulator.provider import Provider
from ctxsim.synthesis import coding_agent, job_search, needles, rounds, scenario, turns
from ctxsim.synthesis.scenario import Session, is_scenario
from ctxsim.synthesis.words import digits, fit, hexadecimal, host, picked, prose
from ctxsim.transcript import Call, Head, Item, Media, Needle

TURN = {
    "user": 40, "calls": 1, "results": [1_000], "arguments": 20, "says": 20, "thinks": 0, "image_tokens": 0,
    "content": "code",
}  # fmt: skip


@pytest.mark.parametrize(
    ("made", "values"),
    [
        (
            coding_agent.Parameters(),
            {"turns": 50, "calls_per_turn": 6, "median_chars": 1_500, "p90_chars": 12_000, "cap_chars": 192_000,
             "head_tokens": 6_000, "output_tokens": 200, "tools": True},
        ),
        (
            needles.Parameters(),
            {"result_chars": 3_000, "ages": [1, 5, 15, 40], "rule_every": 30, "rule_ages": [2, 10, 30],
             "head_words": 400},
        ),
        (
            rounds.Parameters(),
            {"each": 4, "kinds": ["value", "name", "decision", "constraint", "correction", "negation"], "superseded": 0,
             "rounds": 10, "calls_per_round": 24, "result_chars": 1_500, "head_words": 400},
        ),
        (turns.Parameters((turns.Turn(),)), {"turns": [TURN], "head_tokens": 500, "repeat": 1}),
        (job_search.Parameters([1]), {"input_tokens": [1]}),
    ],
    ids=lambda value: "",
)  # fmt: skip
def test_parameters_that_nobody_gives(made: msgspec.Struct, values: dict[str, Any]) -> None:
    assert msgspec.json.decode(msgspec.json.encode(made)) == values


@pytest.mark.parametrize(
    ("kind", "name", "low", "high"),
    [
        (coding_agent.Parameters, "turns", 1, 10_000_000), (coding_agent.Parameters, "head_tokens", 0, 10_000_000),
        (needles.Parameters, "result_chars", 200, 10_000_000), (needles.Parameters, "rule_every", 1, 100_000),
        (rounds.Parameters, "rounds", 1, 10_000), (rounds.Parameters, "superseded", 0, 10_000),
        (rounds.Parameters, "result_chars", 100, 10_000_000), (turns.Turn, "user", 0, 10_000_000),
        (turns.Turn, "calls", 1, 100_000),
    ],
)  # fmt: skip
def test_the_ends_of_what_is_taken(kind: type[Any], name: str, low: int, high: int) -> None:
    for value in (low, high):
        assert getattr(msgspec.convert({name: value}, kind), name) == value
    for value in (low - 1, high + 1):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({name: value}, kind)


def test_what_must_be_at_least_one() -> None:
    for kind, given in (
        (needles.Parameters, {"ages": []}),
        (turns.Parameters, {"turns": []}),
        (rounds.Parameters, {"kinds": []}),
        (rounds.Parameters, {"kinds": ["value\n"]}),
    ):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(given, kind)


def test_scenarios_that_come_along() -> None:
    assert is_scenario("needles") and is_scenario("defects/task-lost") and not is_scenario("task-lost")


def test_a_conversation_is_put_together_from_steps() -> None:
    made = Session()
    assert made.message == 1 and made.user("Do.") == 0 and made.message == 2
    made.respond("I look.", "grep", "{}", "[]", thoughts="Hm.")
    assert made.result("one", "two", media=(Media("image", 9),)) == 6
    made.respond("", "read", "{}", call_id="mine")
    assert made.result("three") == 8
    made.needles.append(Needle("fact", "one", 4, "middle", (3,)))
    made.respond("Done.")
    image = (Media("image", 9),)
    items = (
        Item("user", 0, 1, "Do."), Item("reasoning", 1, 2, "Hm."), Item("assistant", 2, 2, "I look."),
        Item("tool_call", 3, 2, "{}", "grep", None, "call_3"), Item("tool_call", 4, 2, "[]", "grep", None, "call_4"),
        Item("tool_result", 5, 3, "one", "grep", 3, "call_3", image),
        Item("tool_result", 6, 3, "two", "grep", 4, "call_4", image),
        Item("tool_call", 7, 4, "{}", "read", None, "mine"), Item("tool_result", 8, 5, "three", "read", 7, "mine"),
        Item("assistant", 9, 6, "Done."),
    )  # fmt: skip
    calls = (Call(1, 5), Call(7, 8), Call(9, 10))
    made.needles.append(Needle("fact", "two", 5, "middle", ()))
    found = made.transcript(Head("Be kind."))
    assert (found.head, found.items, found.calls) == (Head("Be kind."), items, calls)
    assert found.needles == tuple(made.needles[:1]) and found.format == "synthetic", "what no call uses is left out"


def test_a_conversation_has_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (scenario.MOST_CALLS, scenario.MOST_CHARS) == (50_000, 50_000_000)
    monkeypatch.setattr(scenario, "MOST_CHARS", 10)
    made = Session()
    made.user("12345")
    made.user("67890")
    with pytest.raises(CtxsimError, match="more than 50,000 calls or 10 characters"):
        made.user("x")
    monkeypatch.setattr(scenario, "MOST_CALLS", 2)
    few = Session()
    few.respond("a")
    few.respond("b")
    with pytest.raises(CtxsimError, match="more than 2 calls"):
        few.respond("c")


@pytest.mark.parametrize(
    ("target", "page"),
    # By the character: words of four, as many as fit, and endings of three to six, up to four of them.
    [(3, " so"), (4, "aaaa"), (7, "aaaa so"), (8, "aaaa too"), (9, "aaaa aaaa"), (12, "aaaa aaaa so"),
     (13, "aaaa aaaa too"),
     (5, " then"), (6, " again"),
     (14, "aaaa aaaa aaaa"), (15, "aaaa aaaa again"), (17, "aaaa aaaa aaaa so"), (19, "aaaa aaaa aaaa aaaa")],
)  # fmt: skip
def test_a_text_of_an_exact_size(target: int, page: str) -> None:
    found = fit(lambda text: text, ["aaaa"] * 9, target, len)
    assert found == page


@pytest.mark.parametrize(
    ("target", "page"), [(8, " too now"), (9, " now then"), (13, " too now then"), (19, " too now then again")]
)
def test_endings_are_up_to_four_words(target: int, page: str) -> None:
    assert fit(lambda text: text, ["a" * 30] * 3, target, len) == page


def test_what_no_text_can_have_is_told() -> None:
    with pytest.raises(CtxsimError, match="cannot synthesize 4 tokens: 5 without prose, 10 with all of it"):
        fit(lambda text: f"page {text}", ["aaaaa"], 4, len)
    with pytest.raises(CtxsimError, match="cannot synthesize 11 tokens"):
        fit(lambda text: f"page {text}", ["aaaaa"], 11, len)
    with pytest.raises(CtxsimError, match="cannot synthesize exactly 1 tokens"):
        fit(lambda text: text, ["aaaa"] * 2, 1, len)


def test_words_by_chance() -> None:
    chance = random.Random(1)
    for n in (1, 2, 9):
        assert len(digits(chance, n)) == n and digits(chance, n)[0] != "0"
    for n in (2, 6, 10):
        text = hexadecimal(chance, n)
        assert len(text) == n and not text.isdigit() and not text.isalpha()
    assert (
        sorted(picked(chance, ("a", "b", "c"), 3)) == ["a", "b", "c"] and len(picked(chance, ("a", "b", "c"), 2)) == 2
    )
    assert host("Blue Harbour Ltd") == "blueharbourltd.example"
    assert 400 <= len(prose(chance, 400)) < 440
    numbers = turns.PIECES["digits"](chance)
    assert [len(one) for one in numbers.rstrip("\n").split(",")] == [9] * 6 and numbers.endswith("\n")
    chinese = turns.PIECES["chinese"](chance)
    assert len(chinese) == 19 and chinese.endswith("\u3002")


@pytest.mark.parametrize(("turn", "said"), [
    # A response that holds nothing at all says that it is done.
    ({"results": [], "says": 0}, ["assistant"]), ({"results": [], "says": 0, "thinks": 9}, ["reasoning"]),
    ({"results": [5], "says": 0}, ["tool_call", "tool_result", "assistant"]),
    ({"results": [5, 5], "says": 9, "calls": 2},
     [*["assistant", "tool_call", "tool_call", "tool_result", "tool_result"] * 2, "assistant"]),
])  # fmt: skip
def test_what_a_turn_consists_of(turn: dict[str, Any], said: list[str]) -> None:
    made = turns.generate(
        random.Random(1), Provider().counter(), msgspec.convert({"turns": [turn], "repeat": 2}, turns.Parameters)
    )
    assert [item.kind for item in made.items] == ["user", *said] * 2
    spoken = [item.text for item in made.items if item.kind == "assistant"]
    if turn["results"]:
        assert [spoken[len(spoken) // 2 - 1], spoken[-1]] == ["Task 1 is done.", "Task 2 is done."]
    else:
        assert spoken == [] if turn.get("thinks") else ["Done."] * 2


@pytest.mark.parametrize("chars", [200, 1_200, 3_000])
def test_every_fact_is_in_its_result(chars: int) -> None:
    """A line of JSON has about 150 characters, so it may span from before a fact's place to the result's end."""
    for seed in range(5):
        made = needles.generate(random.Random(seed), Provider().counter(), needles.Parameters(result_chars=chars))
        assert all(one.text in made.items[one.place].text for one in made.needles)
