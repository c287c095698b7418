"""Cline, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven


def loop(driven: Driven, count: int, size: int = 3_000) -> list[str]:
    """A call with a result of `size` characters, so often; what was sent last."""
    sent: list[str] = []
    for number in range(count):
        driven.calls(f"{number:02}" * (size // 2), used=1)
        sent = driven.sent()
    return sent


def test_after_the_first_compaction_results_count_whole() -> None:
    """A result of 30,000 characters is sent with 8,000: 2,700 tokens at first, over 10,000 afterwards."""
    driven = Driven("cline:preserve_tokens=100", 40_000)
    driven.user("The task.")
    counts = []
    for _ in range(2):
        before = len(driven.asked)
        for calls in range(1, 30):
            loop(driven, 1, 30_000)
            if len(driven.asked) > before:
                counts.append(calls)
                break
    assert counts[0] > 10 and counts[1] <= 3


def test_the_tail_never_begins_behind_the_newest_text_of_the_user() -> None:
    """So one long turn that isn't the first can't be made shorter: the defect is upstream's."""
    driven = Driven("cline:preserve_tokens=1000", 10_000)
    driven.user("One.")
    driven.says("Done.")
    driven.user("Two.")
    sent = loop(driven, 10)
    assert sent[:2] == [SUMMARY, "Two."] and len(sent) == 22


def test_what_one_fold_kept_the_next_one_keeps_and_all_that_came_since_goes() -> None:
    driven = Driven("cline:strategy=basic", 10_000)
    driven.user("The task.")
    folded = [text for text in loop(driven, 8) if text.startswith("0")]
    assert 0 < len(folded) < 8 and not driven.asked
    later: list[str] = []
    for _ in range(20):
        if len(later) == len(folded):
            break
        later = [text for text in loop(driven, 1) if text.startswith("0")]
    assert later == folded


# By the character a text of the user counts itself and 120 / 3 of its message; a call of bash and {} 6 and 283 / 3, up,
# which are 101; a result itself and 207 / 3.
BY_CHARACTERS = "threshold_ratio=1,estimator=chars:ratio=1"
TASK, STEP = 10 + 40, 101 + 100 + 69


def steps(driven: Driven, count: int) -> list[str]:
    """A task, and calls with results of a hundred characters each; the first two characters of what is sent."""
    driven.user("t" * 10)
    for number in range(count):
        driven.sent()
        driven.calls(f"{number:02}" * 50)
    return [text[:2] for text in driven.sent()]


@pytest.mark.parametrize(
    ("window", "used", "summarised"),
    [
        # 50 and 270 are the window's 320, but not 321.
        (TASK + STEP, None, True), (TASK + STEP + 1, None, False),
        # A usage of four times the count and more makes a quarter of the limit, one of twice the count half.
        (4 * (TASK + STEP), 9_999, True), (4 * (TASK + STEP) + 1, 9_999, False),
        (2 * (TASK + STEP), 640, True), (2 * (TASK + STEP) + 1, 640, False),
    ],
)  # fmt: skip
def test_its_count_to_the_character(window: int, used: int | None, summarised: bool) -> None:
    driven = Driven(f"cline:preserve_tokens=1,{BY_CHARACTERS}", window)
    driven.user("t" * 10)
    driven.calls("r" * 100, used=used)
    driven.sent()
    assert bool(driven.asked) is summarised


@pytest.mark.parametrize(
    ("preserve", "tail"),
    # Messages are kept until the number is reached: a result of 169, its call, and so on. What would begin with a
    # result begins with its call.
    [(1, ["{}", "03"]), (270, ["{}", "03"]), (271, ["{}", "02", "{}", "03"]), (540, ["{}", "02", "{}", "03"]),
     (541, ["{}", "01", "{}", "02", "{}", "03"])],
)  # fmt: skip
def test_the_tail_to_the_character(preserve: int, tail: list[str]) -> None:
    driven = Driven(f"cline:preserve_tokens={preserve},{BY_CHARACTERS}", TASK + 4 * STEP)
    sent = steps(driven, 4)
    assert sent == ["Wh", *tail]
    assert all(len(item.text) <= 16 for item in driven.asked[0] if item.kind == "tool_result")


def test_what_stays_is_decided_by_whole_results() -> None:
    # 20,000 characters are sent with 7,970, a mark of 32 in which two line ends count double as JSON: 8,006 with its
    # quotes. The whole is 20,002: 12,203 / 3 more, up, are 4,068.
    whole = 101 + 8_002 + 4_068
    for preserve, kept in ((whole, 1), (whole + 1, 2)):
        driven = Driven(f"cline:preserve_tokens={preserve},{BY_CHARACTERS}", TASK + 3 * (101 + 8_002 + 69))
        driven.user("t" * 10)
        for _ in range(3):
            driven.calls("x" * 20_000)
        assert len(driven.sent()) == 1 + 2 * kept


NOTICE = """<SYSTEM_NOTICE>
Earlier context was compacted.
Tools used:
grep {"q":"0"}
Commands ran:
bash {}
bash {}
bash {}
</SYSTEM_NOTICE>"""


def test_a_fold_keeps_what_fits_seven_tenths_and_tells_the_rest() -> None:
    # A head of 164: 0.7 x 2,750 less that and the task's 140 are 1,621, six steps of 270. The tenth passes 2,750.
    driven = Driven(f"cline:strategy=basic,{BY_CHARACTERS}", 2_750, head=164)
    driven.user("t" * 100)
    driven.calls("r" * 100)
    driven.calls("r" * 100)
    driven.calls("r" * 94, tool="grep", arguments='{"q":"0"}')
    driven.calls("r" * 100)
    for number in range(6):
        assert NOTICE not in driven.sent()
        driven.calls(f"{number:02}" * 50)
    kept = [text for number in range(6) for text in ("{}", f"{number:02}" * 50)]
    assert driven.sent() == ["t" * 100, NOTICE, *kept]


def test_after_a_fold_results_count_whole() -> None:
    # The task is 50; a call with a result of 20,000 characters 8,172 as it is sent, 12,171 whole. Three pass 20,000; by
    # what is whole one fits 14,000, and with another one it is over 20,000 again.
    driven = Driven(f"cline:strategy=basic,{BY_CHARACTERS}", 20_000)
    driven.user("t" * 10)
    lengths = []
    for number in range(4):
        driven.calls(f"{number}" * 20_000)
        lengths.append("".join(text[0] for text in driven.sent()))
    assert lengths == ["t{0", "t{0{1", "t<{2", "t<{2"]


def test_a_fold_that_may_keep_nothing_tells_the_last_three_texts_and_the_beginning_of_a_call() -> None:
    driven = Driven(f"cline:strategy=basic,{BY_CHARACTERS}", 1_000)
    driven.user("t" * 10)
    for number in range(4):
        driven.says(f"Text {number}.")
    driven.calls("r" * 600, arguments="a" * 101)
    notice = f"""<SYSTEM_NOTICE>
Earlier context was compacted.
Commands ran:
bash {"a" * 100}
Text 1.
Text 2.
Text 3.
</SYSTEM_NOTICE>"""
    # Each text is 7 and 95. The newest step alone is 200 + 669: more than 700 less the task's 50.
    assert driven.sent() == ["t" * 10, notice]
    # Over the limit by what the user says alone, nothing but the notice could leave.
    driven.user("u" * 2_000)
    assert driven.sent() == ["t" * 10, notice, "u" * 2_000]


def test_where_no_step_stays_the_notice_stands_behind_the_users_texts() -> None:
    driven = Driven(f"cline:strategy=basic,{BY_CHARACTERS}", 1_000)
    driven.user("t" * 10)
    driven.calls("r" * 900)
    driven.user("New.")
    sent = driven.sent()
    assert sent[:2] == ["t" * 10, "New."] and sent[2].startswith("<SYSTEM_NOTICE>") and len(sent) == 3


def test_a_response_stays_with_the_text_that_it_began_with() -> None:
    driven = Driven(f"cline:preserve_tokens=1,{BY_CHARACTERS}", 1_000)
    driven.user("t" * 10)
    driven.calls("r" * 900, said="I look.")
    assert driven.sent() == [SUMMARY, "I look.", "{}", "r" * 900]


def test_a_refused_request_is_folded_to_half_once_per_run() -> None:
    # 50 and eight steps of 270 are 2,210: half of it less the task's 50 is 1,055, three steps.
    driven = Driven(f"cline:{BY_CHARACTERS}", 1_000_000)
    driven.user("t" * 10)
    for number in range(8):
        driven.calls(f"{number:02}" * 50)
    answer = driven.refused()
    assert answer is not None and [item.text[:2] for item in answer] == ["tt", "<S", "{}", "05", "{}", "06", "{}", "07"]
    loop(driven, 8)
    assert driven.refused() is None
    driven.says()
    driven.user("More.")
    driven.sent()
    assert driven.refused() is not None


@pytest.mark.parametrize("head", [0, 10_000])
def test_an_empty_request_stays_empty(head: int) -> None:
    assert Driven("cline:estimator=chars", 1_000, head=head).sent() == []
