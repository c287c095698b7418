"""The bench of ourselves: what it compares with is what was measured, of the same files."""

from __future__ import annotations

import tomllib
from pathlib import Path

from samples import conversation

from ctxsim.counting.tokenizers import open_tokenizer
from evidence.corpora import told
from evidence.loaded import counts
from evidence.practice import bare_loop
from evidence.speed import COMMITTED, WORSE, slow_each_time, too_slow


def test_half_as_much_again_is_too_slow_and_what_is_gone_is_told() -> None:
    committed = {"one": 4.0, "two": 2.0, "three": 1.0}
    assert too_slow({"one": 4.0 * WORSE, "two": 2.0 * WORSE + 0.01}, committed) == [
        "two: 3.01, was 2.00",
        "three: was 1.00, isn't measured any more",
    ]


def test_what_is_slow_once_is_measured_again() -> None:
    """A ratio of 3.1 beside 2 is too slow, 2.9 isn't. One that is too slow each time is told with its least."""
    measured = iter([{"one": 3.1, "two": 1.0}, {"one": 2.9, "two": 1.6}, {"one": 9.0, "two": 9.0}])
    assert slow_each_time(measured, {"one": 2.0, "two": 1.0}) == []
    assert next(measured) == {"one": 9.0, "two": 9.0}
    twice = iter([{"one": 3.2}, {"one": 3.1}])
    assert slow_each_time(twice, {"one": 2.0}) == ["one: 3.10, was 2.00"]


def test_committed_ratios_are_of_the_same_things_for_both_corpora() -> None:
    generated, recorded = tomllib.loads(COMMITTED.read_text(encoding="utf-8")).values()
    assert generated.keys() == recorded.keys()
    assert all(ratio > 0 for ratio in (*generated.values(), *recorded.values()))


def test_another_byte_or_another_name_is_another_corpus(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    before = told(tmp_path)
    (tmp_path / "a").write_text("2")
    after = told(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    assert before != after != told(tmp_path)


def test_the_bare_loop_adds_up_what_is_sent() -> None:
    """Each call is sent all that stands before it. In the second sum all results but the newest are left out."""
    transcript = conversation("one", "two", "three")
    count = open_tokenizer("tiktoken:o200k_base").count_many
    sizes = [sum(count(list(item.texts))) for item in transcript.items]
    results = [item.place for item in transcript.items if item.kind == "tool_result"]
    whole = sum(sum(sizes[: call.start]) for call in transcript.calls)
    masked = sum(
        sizes[place] for call in transcript.calls for place in [place for place in results if place < call.start][:-1]
    )
    totals = bare_loop([transcript])
    assert (totals[0], totals[1]) == (whole, whole - masked)


def test_a_replay_loads_what_it_needs() -> None:
    """The way of a scenario has no readers, that of a recording not all formats: 150 and 225 modules before."""
    loaded = counts()
    assert loaded["scenario"] <= 70 and loaded["recording"] <= 90
