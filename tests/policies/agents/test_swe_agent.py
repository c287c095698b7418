"""SWE-agent, by hand."""

from __future__ import annotations

from by_hand import Driven

LINE = "Old environment output: (2 lines omitted)"


def test_all_but_the_task_and_the_newest_observations_become_a_line() -> None:
    driven = Driven("swe-agent:n=2", 100_000)
    driven.user("The task.")
    for number in range(4):
        driven.calls(f"{number}\nmore")
        results = [text for text in driven.sent() if text not in ("The task.", "{}")]
        assert results == [LINE] * max(0, number - 1) + [f"{n}\nmore" for n in range(max(0, number - 1), number + 1)]


def test_polling_waits_until_there_are_so_many() -> None:
    # The task and the results are observations: 15 of them, n=5. Counts of lines: 0 to the ninth, then 4, then 9.
    driven = Driven("swe-agent:n=5,polling=5", 100_000)
    driven.user("The task.")
    elided = [driven.sent().count(LINE)]
    for _ in range(14):
        driven.calls("a\nb")
        elided.append(driven.sent().count(LINE))
    assert elided == [0] * 9 + [4] * 5 + [9]


def test_without_the_processor_nothing_becomes_a_line() -> None:
    driven = Driven("swe-agent:n=0", 100_000)
    driven.user("The task.")
    for number in range(9):
        driven.calls(str(number))
    assert driven.sent() == ["The task.", *(text for number in range(9) for text in ("{}", str(number)))]
