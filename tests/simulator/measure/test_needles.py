"""Planted facts are found lost exactly where a policy cut."""

from __future__ import annotations

import pytest
from samples import basis_of

from ctxsim.policies import open_policy
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.results.columns import NeedleRow
from ctxsim.simulator.measure.measured import Measured, measure
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.synthesis import load_scenario, synthesize
from ctxsim.transcript import Transcript

PRICES = Prices(input=1.0, output=1.0)


def measured(transcript: Transcript, label: str) -> Measured:
    return measure(basis_of(transcript, Provider(prices=PRICES)), open_policy(label))


@pytest.fixture(scope="module")
def planted() -> Transcript:
    return synthesize(load_scenario("needles"))


def needles(transcript: Transcript, label: str) -> list[NeedleRow]:
    return measured(transcript, label).losses.needles


def test_needles_are_planted_once_where_they_say(planted: Transcript) -> None:
    facts = [needle for needle in planted.needles if needle.kind != "rule"]
    assert len(facts) == 48 and len({(n.kind, n.depth, n.used) for n in facts}) == 48
    for needle in facts:
        text = planted.items[needle.place].text
        assert sum(needle.text in item.text for item in planted.items) == 2  # its result and its one use
        at = text.index(needle.text) / len(text)
        assert {"head": at < 0.15, "middle": 0.4 < at < 0.6, "tail": at > 0.85}[needle.depth]
        (call,) = needle.used
        used = planted.calls[call - 1]
        assert any(needle.text in item.text for item in planted.items[used.start : used.end])
    assert [row for row in needles(planted, "keep-all") if not row.kept] == []


def test_needles_are_lost_exactly_where_a_policy_cut(planted: Transcript) -> None:
    results = [item for item in planted.items if item.kind == "tool_result"]
    order = {item.place: number for number, item in enumerate(results)}
    facts = {n: needle for n, needle in enumerate(planted.needles) if needle.kind != "rule"}

    def kept(label: str) -> dict[int, bool]:
        return {row.needle: row.kept for row in needles(planted, label) if row.needle in facts}

    def end(number: int) -> int:
        needle = facts[number]
        text = planted.items[needle.place].text
        return text.index(needle.text) + len(needle.text)

    # Cut at 1,500 characters on arrival: what ends later is gone, whatever its age.
    assert kept("max-result-chars:chars=1500") == {number: end(number) <= 1500 for number in facts}
    # The newest ten stay: at call k results 0 .. k - 2 are there.
    assert kept("mask:keep=10") == {n: order[needle.place] >= needle.used[0] - 1 - 10 for n, needle in facts.items()}
    assert not any(kept("drop-all").values())
    assert all(kept("oracle-lossless").values())


def test_a_rule_that_was_dropped_is_lost(planted: Transcript) -> None:
    rules = [row for row in needles(planted, "max-messages:n=19") if row.kind == "rule"]
    # The user's message leaves after nine more exchanges: rules that are 2 calls old are there, older ones not.
    assert {row.age: row.kept for row in rules} == {2: True, 10: False, 30: False}
    assert all(row.kept for row in needles(planted, "mask:keep=3") if row.kind == "rule")


def test_compactions_between_request_and_use_are_counted(planted: Transcript) -> None:
    rows = {row.needle: row for row in needles(planted, "mask:keep=1") if row.kind != "rule"}
    # mask edits on every call once there are two results, so one compaction per call from the first request on.
    assert all(row.compactions == row.age + (row.call - row.age > 2) for row in rows.values())


def test_needles_travel_in_our_own_format(planted: Transcript) -> None:
    assert b"needles" in next(lines(planted))
