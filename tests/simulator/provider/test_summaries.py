"""What the mock LLM answers when asked for a summary."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import call_rows, conversation
from strategies import transcripts

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.summaries import EMPTY, MODES, identifiers
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Transcript


def test_summary_modes_bracket_each_other() -> None:
    results = [f"ticket ABC-{n}4711 lives at https://x.example/{n}77\n" + "filler words here\n" * 40 for n in range(6)]
    assembly = Assembly("modes")
    assembly.user("Do it.")
    for n, text in enumerate(results):
        assembly.response([Part("tool_call", "{}", "t", f"c{n}")])
        assembly.result(text, f"c{n}")
    assembly.response([Part("assistant", "It was ABC-04711, see https://x.example/077.")])
    transcript = assembly.transcript()

    def summary(mode: str) -> str:
        provider = Provider(window=2_000, summaries=mode)  # type: ignore[arg-type]
        sent = list(replay(transcript, open_policy("summary:at=0.3,keep_last=2"), provider, Counter(open_tokenizer())))
        return next(item.text for item in sent[-1].view if item.kind == "summary")

    assert summary("empty") == "The earlier part of the conversation was summarized."
    assert "abc-04711" in summary("clairvoyant") and "abc-34711" not in summary("clairvoyant").lower()
    assert len(summary("empty")) < len(summary("extractive"))


def test_extractive_summary_keeps_identifiers_and_fits() -> None:
    counter = Counter(open_tokenizer())
    filler = "nothing to see here at all\n" * 200
    transcript = conversation(
        filler + "contact ana.abel@velora.example about REF-482913\n" + filler, "src/core/x_17.py failed"
    )
    text = MODES["extractive"](transcript.items, 80, counter.text)
    assert counter.text(text) <= 80
    assert "Do the task." in text and "ana.abel@velora.example" in text and "src/core/x_17.py" in text
    assert MODES["empty"](transcript.items, 80, counter.text, ()) == EMPTY


@pytest.mark.parametrize(("text", "found"), [
    ("see https://a.example/x?y=1 now", ["https://a.example/x?y=1"]), ("to a.b@velora.example", ["a.b@velora.example"]),
    ("in src/core or ./run", ["src/core", "./run"]), ("REF-4829 of 12", ["REF-4829"]),
    ("os.path here", ["os.path"]), ("a_b here", ["a_b"]), ("plain words only", []), ("one. two", []),
])  # fmt: skip
def test_links_addresses_paths_numbers_and_dotted_names(text: str, found: list[str]) -> None:
    assert identifiers(text) == found


def test_a_line_is_looked_into_as_far_as_300_characters_and_a_sentence_that_just_fits_is_taken() -> None:
    counter = Counter(open_tokenizer())
    # The name ends at character 300, or one behind it: of the latter its beginning is all that is known.
    for spaces, kept in ((290, "ref_000001"), (291, "ref_00000")):
        (task, call, result) = conversation("." + " " * (spaces - 1) + "ref_000001").items[:3]
        text = MODES["extractive"]([call, result], 2_000, counter.text)
        assert text.endswith(" " + kept)
    first = counter.text("Do the task.") + 1
    assert [MODES["extractive"]([task], room, counter.text) for room in (first - 1, first)] == [EMPTY, "Do the task."]


def test_lines_are_taken_until_the_room_is_full() -> None:
    # "Do the task." and its line feed are 13 characters, each of the three lines 8.
    transcript = conversation("id-1111\nid-2222\nid-3333")
    kept = {room: MODES["extractive"](transcript.items, room, len).count("id-") for room in (20, 21, 28, 29, 37)}
    assert kept == {20: 0, 21: 1, 28: 1, 29: 2, 37: 3}


@pytest.mark.parametrize(("long", "found"), [(19, True), (20, False)])
def test_twenty_lines_that_do_not_fit_are_enough(long: int, found: bool) -> None:
    # Lines with two names come first. They are longer than the 8 characters behind "Do the task." and its line feed.
    lines = [f"ab-{number:04} cd-{number:04}" for number in range(long)]
    transcript = conversation("\n".join([*lines, "id-9999"]))
    assert ("id-9999" in MODES["extractive"](transcript.items, 21, len)) is found


@settings(max_examples=30)
@given(transcripts(), st.integers(1, 200))
def test_extractive_summary_never_exceeds_its_room(transcript: Transcript, room: int) -> None:
    counter = Counter(open_tokenizer())
    text = MODES["extractive"](transcript.items, room, counter.text)
    # Lines are counted one by one with their line feed; joined they may tokenize to a little less, hardly to more.
    assert counter.text(text) <= room + 2 or text == EMPTY


def test_summary_requests_are_billed_and_can_overflow() -> None:
    transcript = conversation("word " * 300, "word " * 300, "x")
    label = "summary:at=0.3,keep_last=2,max_tokens=50"
    billed = [row for row in call_rows(transcript, label, window=1_500) if row.summary_calls]
    assert billed and all(row.tokens_summary_in > 300 and 0 < row.tokens_summary_out <= 52 for row in billed)
    tight = call_rows(transcript, label, window=330)[2]
    assert tight.summary_calls == 1 and tight.tokens_summary_in > 330 and tight.tokens_summary_out == 0


def test_lines_are_chosen_by_the_names_that_no_chosen_line_has() -> None:
    # The second one names one thing more than the first, and so comes behind the last; the third names none.
    (_, _, result, _) = conversation("a_a b_b c_c d_d\nb_b c_c e_e\na_a d_d\nf_f g_g").items
    lines = ["a_a b_b c_c d_d", "f_f g_g", "b_b c_c e_e"]
    assert MODES["extractive"]([result], 100, len, ()) == "\n".join(lines)
    # Of 24 characters a line takes one more for its end.
    assert MODES["extractive"]([result], 24, len, ()) == "\n".join(lines[:2])
    assert MODES["extractive"]([result], 23, len, ()) == lines[0]
