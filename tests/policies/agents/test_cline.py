"""Cline, by hand."""

from __future__ import annotations

from by_hand import SUMMARY, Driven


def loop(driven: Driven, count: int, size: int = 3_000) -> list[str]:
    """A call with a result of `size` characters, so often; what was sent last."""
    sent: list[str] = []
    for number in range(count):
        driven.calls(f"{number:02}" * (size // 2), used=1)
        sent = driven.sent()
    return sent


def test_usage_over_the_count_lowers_the_limit_four_times_at_most() -> None:
    # Nine tenths of 100,000 are 90,000 tokens; a call and its result are about 1,200. 25 of them are 30,000: beside a
    # usage that is 4 times the count or more, 22,500 are the limit; beside one of 2 times, 45,000.
    for used, summarised in ((1_000_000, True), (60_000, False), (1, False)):
        driven = Driven("cline", 100_000)
        driven.user("The task.")
        for number in range(25):
            driven.calls(f"{number:02}" * 1_500, used=used)
            sent = driven.sent()
        assert (SUMMARY in sent) is summarised


def test_its_own_count_decides() -> None:
    # 3,000 characters, their JSON and the fields around them are about 1,100 tokens; of a call about 110. Nine tenths
    # of 10,000 are reached with the eighth result.
    driven = Driven("cline:preserve_tokens=1000", 10_000)
    driven.user("The task.")
    assert SUMMARY not in loop(driven, 6)
    assert SUMMARY in loop(driven, 2)


def test_the_tail_reaches_its_tokens_and_begins_with_a_response() -> None:
    driven = Driven("cline:preserve_tokens=2000", 10_000)
    driven.user("The task.")
    sent = loop(driven, 8)
    while SUMMARY not in sent:
        sent = loop(driven, 1)
    # One exchange is about 1,250 tokens: two are the first to reach 2,000.
    assert sent[0] == SUMMARY and len(sent) == 5
    assert all(len(item.text) <= 16 for item in driven.asked[0] if item.kind == "tool_result")


def test_after_the_first_compaction_results_count_whole() -> None:
    """A result of 30,000 characters is sent with 8,000: 2,700 tokens at first, over 10,000 afterwards."""
    driven = Driven("cline:preserve_tokens=100", 40_000)
    driven.user("The task.")
    counts = []
    for _ in range(2):
        before = len(driven.asked)
        calls = 0
        while len(driven.asked) == before:
            loop(driven, 1, 30_000)
            calls += 1
        counts.append(calls)
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
    while len(later) != len(folded):
        later = [text for text in loop(driven, 1) if text.startswith("0")]
    assert later == folded


def test_a_refused_request_is_folded_to_half_once_per_run() -> None:
    driven = Driven("cline", 1_000_000)
    driven.user("The task.")
    loop(driven, 8)
    answer = driven.refused()
    assert answer is not None and 3 <= len(answer.results) <= 4
    assert driven.refused() is None


def test_a_result_keeps_its_ends_on_arrival() -> None:
    driven = Driven("cline", 1_000_000)
    driven.user()
    (place,) = driven.calls("a" * 10_000 + "b" * 10_000)
    text = driven.text(place)
    assert 7_950 <= len(text) <= 8_050 and text[0] == "a" and text[-1] == "b"
