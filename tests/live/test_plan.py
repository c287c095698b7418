"""What a driven run fills into its templates, and what a probe's requests say."""

from __future__ import annotations

import pytest
from probed_agent import agent
from samples import conversation

from ctxsim.live.faults import Faults
from ctxsim.live.plan import Plan
from ctxsim.live.probe.plan import Probed, Sent
from ctxsim.simulator.provider import Provider


def test_every_place_of_a_template_is_filled() -> None:
    plan = Plan(conversation("r"), Provider(window=524_288), agent(), Faults(), "/w", "/bin", 60.0)
    # Half of a half of the 1,048,576 tokens that Gemini CLI believes in is a quarter.
    text = "{url} {window} {output} {share} {prompt} {home} {folder} {model} {other}"
    filled = "http://u 524288 4096 0.250000 Go. /w/home /w/project mock {other}"
    assert plan.fill(text, "http://u", "Go.") == filled


def main(*tokens: int, refused: bool = False) -> list[Sent]:
    return [Sent("main", one, one, one, refused, 20, 1_000) for one in tokens]


SUMMARY = [Sent("summary", 9_000, 9_000, 9_000)]


@pytest.mark.parametrize(
    ("sent", "fired"),
    [
        # Two thirds of 9,000 are 6,000: that isn't smaller by a third yet.
        (main(9_000, 6_000), None), (main(9_000, 5_999), 1), (main(9_000, 10_000) + SUMMARY, 2), ([], None),
        # A title between two requests of the conversation is none of it.
        ([*main(9_000), Sent("title", 10, 10, 10), *main(9_500)], None),
    ],
)  # fmt: skip
def test_the_first_request_that_shows_a_compaction(sent: list[Sent], fired: int | None) -> None:
    assert Probed(tuple(sent), 1.0, True).fired == fired


@pytest.mark.parametrize(
    ("tokens", "leapt"),
    # Of three requests the first and the last may be 4,000 apart; two tell nothing.
    [((1_000, 2_000, 5_000), False), ((1_000, 2_000, 5_001), True), ((1_000, 2_000), True),
     ((1, 10_000, 11_000, 12_000), False)],
)  # fmt: skip
def test_a_leap_shows_in_the_last_three_requests(tokens: tuple[int, ...], leapt: bool) -> None:
    assert Probed((*main(*tokens), *SUMMARY, *main(90_000)), 1.0, True).leapt is leapt


def test_refusals_before_a_compaction_and_the_largest_request_that_was_accepted() -> None:
    sent = (*main(8_000), *main(9_500, 9_600, refused=True), *SUMMARY, *main(5_000), *main(7_000, refused=True))
    done = Probed(sent, 1.0, True)
    assert done.most == 8_000 and done.bracket("sent") is None
    assert Probed((), 1.0, True).most == 0


def test_a_bracket_needs_a_request_before_the_one_that_compacted() -> None:
    done = Probed((*main(9_000), *SUMMARY), 1.0, True)
    # 9,000 + 20 answered + 1,000 pending.
    assert done.bracket("sent") == (0, 10_020)
    assert done.bracket("usage") == (0, 9_020)
    assert Probed(tuple(SUMMARY), 1.0, True).bracket("sent") is None
    # The one before the last may have been larger with its answer than the last: 7,000 is less than 8,020 and 9,020.
    done = Probed((*main(6_000, 8_000, 7_000), *SUMMARY), 1.0, True)
    assert done.bracket("sent") == (7_000, 8_020)
    assert done.bracket("usage") == (8_020, 7_020)
    assert done.bracket("beside") == (8_020, 7_000)
