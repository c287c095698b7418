"""Claude Code, by hand."""

from __future__ import annotations

import json

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.policies import open_policy
from ctxsim.transcript import CLEARED

SMALL = "claude-code:reserve=200,buffer=130,tail_factor=1"  # 1,000 tokens leave 670


def test_what_joined_since_the_usage_weighs_more_from_2_1_330_on() -> None:
    # 400 characters are 100 tokens, and 133 in the newest version: 540 and 133 pass 670.
    for version, compacted in (("2.1.221", False), ("2.1.330", True), ("2.2.0", True)):
        driven = Driven(f"claude-code:reserve=200,buffer=130,version={version}", 1_000)
        driven.user("The task.")
        driven.calls("x" * 400, used=540)
        assert (SUMMARY in driven.sent()) is compacted, version


@pytest.mark.parametrize(
    ("characters", "compacted"),
    # Before any usage all of it is estimated: 503 tokens and a third, 167.499, are 670, 504 and 167.8 are 672.
    [(4 * 503, False), (4 * 504, True)],
)
def test_without_usage_the_whole_weighs_more(characters: int, compacted: bool) -> None:
    driven = Driven("claude-code:reserve=200,buffer=128", 1_000)
    driven.user("x" * characters)
    assert (SUMMARY in driven.sent()) is compacted


def test_only_what_joined_since_the_usage_weighs_more() -> None:
    # Nothing joined: a thousand times of that is nothing.
    driven = Driven(f"{SMALL}001", 1_000)
    driven.user("The task.")
    driven.says("Done.", used=100)
    assert SUMMARY not in driven.sent()


def test_a_file_that_cat_printed_comes_again_and_of_a_large_one_only_its_name() -> None:
    driven = Driven(f"{SMALL},file_tokens=10", 1_000)
    driven.user("The task.")
    for command, text in (("cat a.txt", "content of a"), ("cat b.txt", "b" * 41), ("cat c | wc", "content of c")):
        driven.calls(text, used=100, arguments=json.dumps({"command": command}))
    driven.calls("out", used=900)
    sent = driven.sent()
    assert sent[:3] == [SUMMARY, "{}", "out"]
    assert sent[3:] == ["b.txt was read before the summary and is too large to show again.", "content of a"]


@pytest.mark.parametrize(
    ("budget", "attached"),
    # Newest first: 40 characters are 10 tokens, then 41 are 11, of which at most ten are shown: a line of 61 instead,
    # 16 tokens. Then 4 are one token. What doesn't fit ends it.
    [(9, ""), (10, "c"), (25, "c"), (26, "cb"), (27, "cba")],
)
def test_files_come_again_within_a_budget(budget: int, attached: str) -> None:
    driven = Driven(f"{SMALL},file_tokens=10,file_budget={budget}", 1_000)
    driven.user("The task.")
    for name, size in (("a", 4), ("b", 41), ("c", 40)):
        driven.calls(name * size, tool="Read", used=100, arguments=json.dumps({"path": name}))
    driven.calls("out", used=900)
    sent = driven.sent()
    assert sent[:3] == [SUMMARY, "{}", "out"] and "".join(text[0] for text in sent[3:]) == attached


def test_everything_becomes_a_summary_and_the_files_read_last_come_again() -> None:
    driven = Driven(f"{SMALL},files=2", 1_000)
    driven.user("The task.")
    for name in ("a", "b", "c", "b"):
        path = json.dumps({"file_path": name})
        driven.calls(f"content of {name}", tool="Read", used=100, arguments=path)
    driven.calls("out", used=900)
    # The newest of each file, without those before the two newest files.
    assert driven.sent() == [SUMMARY, "{}", "out", "content of b", "content of c"]


def test_the_newest_exchange_stays_and_the_summariser_is_not_shown_it() -> None:
    # Seen in 2.1.330; what earlier versions recorded has none.
    for more, stay in (("", ["{}", "second"]), (",version=2.1.221", [])):
        driven = Driven(SMALL + more, 1_000)
        driven.user("The task.")
        driven.calls("first", used=100)
        driven.calls("second", used=900)
        assert driven.sent() == [SUMMARY, *stay]
        assert [item.text for item in driven.asked[0]][-2:] == (["{}", "first"] if stay else ["{}", "second"])


def test_after_an_idle_hour_all_but_the_newest_results_are_cleared() -> None:
    driven = Driven("claude-code:micro=time,keep_recent=1", 200_000)
    driven.user("The task.")
    driven.calls("one", used=100)
    assert CLEARED not in driven.sent()
    driven.calls("plan", tool="mcp__notes__read", used=100)
    driven.calls("two", used=100)
    driven.sees.now_s = 3_599
    assert CLEARED not in driven.sent()
    driven.calls("three", used=100)
    driven.sees.now_s = 3_600
    assert CLEARED not in driven.sent(), "a second later"
    driven.sees.now_s = 3_600 + 3_600
    assert [text for text in driven.sent() if text not in ("The task.", "{}")] == [CLEARED, "plan", CLEARED, "three"]


NEARLY_FULL = "auto_compact_enabled=False,estimator=chars:ratio=1"
"""In a window of 40,000."""


@pytest.mark.parametrize(
    ("sizes", "cleared"),
    [
        # Over 40,000 of results, but never the newest three, and only if that frees 20,000.
        ((20_000, 10_000, 5_000, 5_000), 0), ((20_000, 10_000, 5_000, 5_001), 1),
        ((19_999, 10_000, 10_000, 10_000), 0), ((90_000, 90_000, 90_000), 0),
        # As few as leave 40,000.
        ((20_000, 20_000, 10_000, 5_000, 5_000), 1), ((20_000, 20_000, 10_000, 5_000, 5_001), 2),
        ((10_000, 10_000, 30_000, 5_000, 5_000), 2), ((10_000, 9_999, 30_000, 5_000, 5_000), 0),
    ],
)  # fmt: skip
def test_by_size_the_oldest_results_are_cleared_if_that_is_worth_it(sizes: tuple[int, ...], cleared: int) -> None:
    driven = Driven(f"claude-code:micro=size,{NEARLY_FULL}", 40_000)
    driven.user("The task.")
    for number, size in enumerate(sizes):
        driven.calls(str(number) * size, tool="Read", used=100)
    kept = [str(number) for number in range(cleared, len(sizes))]
    assert [text[0] for text in driven.sent()[2::2]] == ["["] * cleared + kept


@pytest.mark.parametrize(("window", "enabled", "cleared"), [
    # What joined counts 4/3 times: 53,332. The threshold is the window less 20,000 and 13,000, without compaction less
    # 20,000; another 20,000 before it results are cleared.
    (106_332, True, 1), (106_333, True, 0), (93_332, False, 1), (93_333, False, 0),
])  # fmt: skip
def test_by_size_nothing_is_cleared_before_the_window_is_nearly_full(window: int, enabled: bool, cleared: int) -> None:
    driven = Driven(f"claude-code:micro=size,auto_compact_enabled={enabled},estimator=chars:ratio=1", window)
    driven.user("The task.")
    for size in (20_000, 10_000, 5_000, 5_001):
        driven.calls("x" * size, tool="Read", used=100)
    assert driven.sent().count(CLEARED) == cleared


def test_what_is_cleared_already_frees_nothing() -> None:
    # The first request clears the oldest result. 33 of it are left: with 19,999 of the next one too few are freed.
    driven = Driven(f"claude-code:micro=size,{NEARLY_FULL}", 40_000)
    driven.user("The task.")
    for size in (40_000, 19_999, 15_000, 15_000):
        driven.calls("x" * size, tool="Read", used=100)
    assert driven.sent().count(CLEARED) == 1
    driven.calls("x" * 15_000, tool="Read", used=100)
    assert driven.sent().count(CLEARED) == 1


def test_a_refused_request_is_compacted_and_the_turn_goes_on() -> None:
    for label in ("claude-code", "claude-code:proactive=False"):
        driven = Driven(label, 200_000)
        driven.user("The task.")
        driven.calls("old", used=100)
        driven.calls("result", used=100)
        assert SUMMARY not in driven.sent()
        answer = driven.refused()
        assert answer is not None and [item.text for item in answer] == [SUMMARY, "{}", "result"]


def test_without_compaction_a_refusal_ends_the_session() -> None:
    driven = Driven("claude-code:auto_compact_enabled=False", 200_000)
    driven.user("The task.")
    driven.calls("result", used=100)
    assert driven.refused() is None and not driven.asked


@pytest.mark.parametrize(
    ("version", "clears"), [("2.1.4", "off"), ("2.1.5", "size"), ("2.1.22", "size"), ("2.1.25", "off"), ("", "off")]
)
def test_some_versions_clear_by_size(version: str, clears: str) -> None:
    assert f",micro={clears}," in open_policy(f"claude-code:version={version}" if version else "claude-code").label
