"""Predictions see nothing of what they are held against: planted recordings, and a script of its own."""

from __future__ import annotations

import random

import msgspec
import pytest
from half_by_half import errors

from ctxsim.answers.validation.unseen import Predicted, Stretch, of_later_calls, predicted, unseen
from ctxsim.recorded.size_fit import Request, fit_size


def stretch(rows: list[tuple[int, int, int]], name: str = "a", number: int = 0, **more: object) -> Stretch:
    requests = tuple(Request(call, *row) for call, row in enumerate(rows, 1))
    fields: dict[str, object] = {
        "project": name, "format": "f", "model": "m", "sub_agent": False, "prior": 1.0, "summarised": number > 0,
        "whole": False, **more,
    }  # fmt: skip
    return Stretch(transcript=name, number=number, requests=requests, **fields)  # type: ignore[arg-type]


def grown(head: int, rate: float, texts: list[int]) -> list[tuple[int, int, int]]:
    return [(text, 10, round(head + rate * text + 10)) for text in texts]


def test_a_later_call_is_told_under_its_own_model() -> None:
    calls = tuple(Request(n, 1_000 * n, 0, 1_000 * n, "first" if n < 9 else "other") for n in range(1, 11))
    several = Stretch("a", 0, "a", "f", "first", False, 1.0, False, False, calls)
    assert [one.model for one in of_later_calls(several)] == ["first"] * 3 + ["other"] * 2


def test_a_recording_that_a_fit_reproduces_prints_its_bad_forecast() -> None:
    """From the sixth call on 8,000 tokens are sent that no log holds: a step to a fit, unseen to a forecast."""
    rows = grown(500, 1.0, [1_000 * n for n in range(1, 11)])
    planted = [(text, framing, size + 8_000 * (n >= 5)) for n, (text, framing, size) in enumerate(rows)]
    fitted = fit_size([Request(call, *row) for call, row in enumerate(planted, 1)])
    assert fitted is not None and fitted.p95_error == 0, "the fit has seen it"
    [later] = unseen(list(of_later_calls(stretch(planted))))
    # 8,000 of 14,510 to 18,510: the middle of five is 8,000 / 16,510.
    assert later.median == pytest.approx(8_000 / 16_510, abs=1e-4)


def test_the_p95_of_twenty_errors_is_the_nineteenth() -> None:
    # 1 % to 20 %, in any order: the tenth is the median; 96 % would be the twentieth. All are too low but the largest.
    found = [Predicted("later calls", "t", "f", "m", n, 100 - n if n < 20 else 120, 100) for n in range(20, 0, -1)]
    (row,) = unseen(found)
    assert (row.n, row.median, row.p95, row.bias) == (20, 0.1, 0.19, round((20 - 190) / 2_000, 4))


def test_half_by_half_says_the_same() -> None:
    dice = random.Random(7)
    for _ in range(300):
        rows = [
            (text, dice.randint(0, 60), round(dice.uniform(0.5, 4) * text) + dice.randint(50, 9_000))
            for text in sorted(dice.sample(range(100, 90_000), dice.randint(8, 40)))
        ]
        prior = dice.choice((1.0, 1.2))
        ours = [one.error for one in of_later_calls(stretch(rows, prior=prior))]
        assert ours == pytest.approx(errors(rows, prior))


def test_past_a_compaction_and_of_another_project_by_hand() -> None:
    # Two sessions, head 1,000, factor 1. Behind their compactions 300 and 500 tokens are attached that no log holds: of
    # each the other's is expected, so 200 too many and too few: 300 + 1,000 + 200 + 10 and 500 + 1,000 + 200 + 10.
    plain = grown(1_000, 1.0, [1_000, 2_000])
    found = [
        stretch(rows, name, number)
        for name, again in (("a", 300), ("b", 500))
        for number, rows in enumerate((plain, grown(1_000 + again, 1.0, [200])))
    ]
    past = [one for one in predicted(found) if one.way == "past a compaction"]
    assert [(one.transcript, round(one.tokens), one.recorded) for one in past] == [
        ("a", 1_710, 1_510),
        ("b", 1_510, 1_710),
    ]
    # Its head is that of the first request, whatever joined before the second.
    late = [(1_000, 10, 2_010), (2_000, 10, 12_010)]
    more = [msgspec.structs.replace(one, requests=stretch(late).requests) if one.number == 0 else one for one in found]
    assert [one for one in predicted(more) if one.way == "past a compaction"] == past
    # A session of another project is told by the other's head: here they are alike.
    others = [one for one in predicted(found) if one.way == "another project"]
    assert [one.call for one in others] == [0, 0] and [one.call for one in past] == [1, 1]
    assert [(one.transcript, round(one.tokens), one.recorded) for one in others] == [
        ("a", 5_020, 5_020),
        ("b", 5_020, 5_020),
    ]
    same = [msgspec.structs.replace(one, project="p") for one in found]
    assert not [one for one in predicted(same) if one.way == "another project"], "its own project tells nothing"
    clones = [msgspec.structs.replace(one, project=f"/home/{one.transcript}/p") for one in found]
    assert not [one for one in predicted(clones) if one.way == "another project"], "nor does a clone of it"


def test_what_is_attached_again_is_the_sessions_own_and_what_else_joins_is_the_others() -> None:
    # As above, but of a's files 40 tokens are known: 260 are left of its 300. So 200 + 1,040 + 500 + 10, and of b 200 +
    # 1,000 + 260 + 10.
    plain = grown(1_000, 1.0, [1_000, 2_000])
    known = [
        stretch(rows, name, number, again=files if number == 0 else 7)
        for name, again, files in (("a", 300, 40), ("b", 500, 0))
        for number, rows in enumerate((plain, grown(1_000 + again, 1.0, [200])))
    ]

    def past(found: list[Stretch]) -> list[int]:
        return [round(one.tokens) for one in predicted(found) if one.way == "past a compaction"]

    assert past(known) == [1_750, 1_470]
    # Of another format nothing is told, nor of one whose summary is unknown or whose log is whole.
    for changes in ({"format": "g"}, {"summarised": False}, {"whole": True}):
        assert past([*known[:2], *(msgspec.structs.replace(one, **changes) for one in known[2:])]) == []


def test_another_project_of_the_same_model_tells_before_others() -> None:
    def one(name: str, head: int, **more: object) -> Stretch:
        # 9,000 tokens join before the second request: the head is that of the first.
        return stretch([(1_000, 10, head + 1_010), (2_000, 10, head + 11_010)], name, **more)

    found = [one("a", 1_000), one("b", 3_000), one("c", 9_000, model="n"), one("d", 50, sub_agent=True),
             one("e", 70, format="g"), one("f", 90, whole=True)]  # fmt: skip
    told = {each.transcript: each.tokens - 3_020 for each in predicted(found) if each.way == "another project"}
    assert told == {"a": 2 * 3_000, "b": 2 * 1_000, "c": 2 * 2_000}
    recorded = {each.transcript: each.recorded for each in predicted(found) if each.way == "another project"}
    assert recorded["a"] == 2_010 + 12_010
