"""Transcripts cut at recorded compactions."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.assembly.assembly import kept_and_new
from ctxsim.readers.assembly.segments import across, segments
from ctxsim.transcript import CLEARED, NO_RESULT, Call, Compaction, Item, Kind, Needle, Transcript, Usage, problems
from tests.strategies import transcripts


def session() -> Transcript:
    """Two calls, a compaction that keeps the second exchange, and one call after it."""
    made = Assembly("s.jsonl", "invented")
    made.user("Any mail?")
    made.response([Part("tool_call", "{}", "search", "c1")], Usage(100))
    made.result("2 messages", "c1")
    made.response([Part("assistant", "Two."), Part("tool_call", "{}", "read", "c2")], Usage(150))
    made.result("Dear Sir", "c2")
    made.compacted("auto", ["Looked at the mail."], [3, 4, 5], tokens_before=160)
    made.user("Answer it.")
    made.response([Part("assistant", "Done.")], Usage(60))
    return made.transcript()


def shown(transcript: Transcript) -> list[tuple[str, int, str]]:
    """Kind, message and text of each item."""
    return [(item.kind, item.message, item.text) for item in transcript.items]


def test_without_a_compaction_a_transcript_is_its_only_segment() -> None:
    whole = msgspec.structs.replace(session(), compactions=())
    assert segments(whole) == [whole]
    assert across(whole) is whole


def test_what_lies_outside_the_conversation_is_in_the_first_segment() -> None:
    beside = (Call(0, 0, usage=Usage(9)),)
    assert [one.beside for one in segments(msgspec.structs.replace(session(), beside=beside))] == [beside, ()]


def test_a_segment_begins_with_the_summary_and_what_was_kept() -> None:
    first, second = segments(session())
    assert (first.name, first.parent, first.carried, len(first.items), len(first.calls)) == ("s.jsonl", None, 0, 6, 2)
    assert (second.name, second.parent, second.carried) == ("s.jsonl~2", "s.jsonl", 4)
    assert shown(second) == [
        ("user", 1, "Looked at the mail."),
        ("assistant", 2, "Two."),
        ("tool_call", 2, "{}"),
        ("tool_result", 3, "Dear Sir"),
        ("user", 4, "Answer it."),
        ("assistant", 5, "Done."),
    ]
    # The log says it was 160 tokens; where it doesn't, the last request's usage does.
    silent = msgspec.structs.replace(session().compactions[0], tokens_before=None)
    unsaid = segments(msgspec.structs.replace(session(), compactions=(silent,)))
    assert [one.compacted_at for one in (first, second, *unsaid)] == [160, None, 150, None]
    assert second.items[3].answers == 2
    assert [(call.start, call.end, call.usage) for call in second.calls] == [(5, 6, Usage(60))]
    assert first.notes == ("segment 1 of 2: up to the first recorded compaction",)
    assert second.notes == ("segment 2 of 2: begins with the recorded summary, 19 characters, and 3 kept item(s)",)
    assert problems(first) == problems(second) == []


def test_pairs_stay_whole() -> None:
    whole = session()
    (compaction,) = whole.compactions
    torn = msgspec.structs.replace(compaction, kept=(1, 5), summary=())
    _, second = segments(msgspec.structs.replace(whole, compactions=(torn,)))
    assert shown(second)[:2] == [("tool_call", 1, "{}"), ("tool_result", 2, NO_RESULT)]
    assert [item.text for item in second.items[2:]] == ["Answer it.", "Done."]
    assert second.notes == (
        "segment 2 of 2: the log doesn't keep the summary that it begins with, and 2 kept item(s)",
        f"1 kept tool call(s) without their result: '{NO_RESULT}' stands for it",
        "1 result(s) of calls that left the request left out",
    )
    assert problems(second) == []


def test_a_result_recorded_after_the_compaction_still_answers_a_kept_call() -> None:
    whole = session()
    (compaction,) = whole.compactions
    early = msgspec.structs.replace(compaction, at=5, kept=(3, 4))
    _, second = segments(msgspec.structs.replace(whole, compactions=(early,)))
    assert [item.text for item in second.items[1:4]] == ["Two.", "{}", "Dear Sir"]
    assert (second.carried, second.items[3].answers) == (3, 2)
    assert problems(second) == []


def test_a_segment_without_a_call_is_left_out() -> None:
    whole = session()
    last = Compaction(4, len(whole.items), summary=("All done.",))
    made = segments(msgspec.structs.replace(whole, compactions=(*whole.compactions, last)))
    assert [segment.name for segment in made] == ["s.jsonl", "s.jsonl~2"]
    assert made[1].notes[0].startswith("segment 2 of 2")


def test_what_points_at_places_and_calls_follows() -> None:
    needle = Needle("fact", "Dear", 5, "deep", (2, 3))
    whole = msgspec.structs.replace(
        session(), needles=(needle,), cleared=((2, 2), (3, 5)), notes=("read",), cost_usd=0.5
    )
    assert problems(whole) == []
    # The clearing of result 2 before call 2 begins a segment too: all is there but its text.
    first, cleared, second = segments(whole)
    assert [item.text for item in cleared.items[:3]] == [*(item.text for item in whole.items[:2]), CLEARED]
    assert len(cleared.calls) == 1 and cleared.carried > 0
    # A clearing is no compaction, nor is one that no line tells of.
    assert [one.after_compaction for one in (first, cleared, second)] == [False, False, True]
    assert not any(one.after_compaction for one in segments(whole, {3}))
    assert (cleared.needles[0].place, cleared.needles[0].used) == (5, (1,))
    assert (second.needles[0].place, second.needles[0].used) == (3, (1,))
    assert second.items[3].text == CLEARED, "kept, and cleared before call 3"
    assert (first.cleared, cleared.cleared, second.cleared) == ((), (), ())
    assert (first.notes[0], first.cost_usd, second.cost_usd) == ("read", None, None)
    assert any("1 old result(s) cleared" in note for note in cleared.notes)


def test_a_result_cleared_before_the_compaction_stays_cleared() -> None:
    whole = session()
    (compaction,) = whole.compactions
    kept = msgspec.structs.replace(compaction, kept=(1, 2))
    _, _, second = segments(msgspec.structs.replace(whole, compactions=(kept,), cleared=((2, 2),)))
    assert second.items[2].text == CLEARED


def test_across_keeps_the_whole_history() -> None:
    whole = session()
    made = across(whole)
    assert made.items == whole.items
    assert [call.comparable for call in made.calls] == [True, True, False]
    assert [call.usage for call in made.calls] == [call.usage for call in whole.calls]
    assert made.compactions == whole.compactions, "what happened can still be told"


def test_of_equal_texts_the_latest_is_kept() -> None:
    items = [Item("user", 0, 1, "go on"), Item("assistant", 1, 2, "yes"), Item("user", 2, 3, "go on")]
    assert kept_and_new(items, [("user", "go on"), ("user", "Summary")]) == ([2], ["Summary"])
    said: list[tuple[Kind, str]] = [("assistant", "yes"), *[("user", "go on")] * 3, ("tool_call", "{}")]
    assert kept_and_new(items, said) == ([0, 1, 2], ["go on"])


@pytest.mark.parametrize(
    ("compaction", "problem"),
    [
        (Compaction(1, 0), "compaction 1 is before call 1, which doesn't follow an earlier call"),
        (Compaction(5, 8), "compaction 1 is before call 5, which doesn't follow an earlier call"),
        (Compaction(2, 4), "compaction 1 before call 2 is at place 4, not between its neighbours"),
        (Compaction(3, 4), "compaction 1 before call 3 is at place 4, not between its neighbours"),
        (Compaction(3, 6, kept=(6,)), "compaction 1 keeps places that are not earlier ones in order"),
        (Compaction(3, 6, kept=(3, 2)), "compaction 1 keeps places that are not earlier ones in order"),
    ],
)
def test_compactions_that_cannot_be_are_problems(compaction: Compaction, problem: str) -> None:
    assert problems(msgspec.structs.replace(session(), compactions=(compaction,))) == [problem]


def test_clearings_and_carried_items_that_cannot_be_are_problems() -> None:
    whole = session()
    cleared = msgspec.structs.replace(whole, cleared=((2, 0), (9, 2)))
    assert [text.partition(",")[0] for text in problems(cleared)] == ["place 0", "place 2"]
    carried = msgspec.structs.replace(whole, carried=2)
    assert problems(carried) == ["2 items are carried over, but the first request has 1"]
    back = msgspec.structs.replace(whole, compactions=(Compaction(3, 6), Compaction(2, 3)))
    assert problems(back) == ["compaction 2 is before call 2, which doesn't follow an earlier call"]


@st.composite
def compacted(draw: st.DrawFn) -> Transcript:
    """Generated transcripts, compacted anywhere, with anything kept."""
    whole = draw(transcripts())
    made: list[Compaction] = []
    for call in sorted(draw(st.sets(st.integers(2, len(whole.calls) + 1), max_size=3))):
        start = whole.calls[call - 1].start if call <= len(whole.calls) else len(whole.items)
        at = draw(st.integers(whole.calls[call - 2].end, start))
        kept = draw(st.sets(st.integers(0, at - 1), max_size=6)) if at else ()
        made.append(Compaction(call, at, "", tuple(draw(st.lists(st.text(), max_size=2))), tuple(sorted(kept))))
    return msgspec.structs.replace(whole, compactions=tuple(made))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(compacted())
def test_segments_are_valid_and_hold_every_call(whole: Transcript) -> None:
    assert problems(whole) == []
    made = segments(whole)
    assert [found for segment in made for found in problems(segment)] == []
    said = [[item.texts for item in segment.items[call.start : call.end]] for segment in made for call in segment.calls]
    assert said == [[item.texts for item in whole.items[call.start : call.end]] for call in whole.calls]
    assert [call.usage for segment in made for call in segment.calls] == [call.usage for call in whole.calls]
    assert len({segment.name for segment in made}) == len(made)
    assert problems(across(whole)) == []
    # Each call's tool calls are answered as they were.
    for segment in made:
        answered = [item.answers for item in segment.items if item.kind == "tool_result"]
        assert len(answered) == len(set(answered))


def test_a_recording_that_begins_with_a_response_keeps_its_place() -> None:
    made = Assembly("s")
    made.response([Part("tool_call", "{}", "search", "c1")])
    made.result("2 messages", "c1")
    made.compacted("auto", ["So far."], [0, 1])
    made.response([Part("assistant", "Done.")])
    first, second = segments(made.transcript())
    assert [(call.start, call.end) for call in (*first.calls, *second.calls)] == [(0, 1), (3, 4)]
    assert [item.answers for item in (*first.items, *second.items)] == [None, 0, None, None, 1, None]
