"""Whole screens of `advise`, from advice written by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ctxsim.answers.advice.figures import Figures, Share
from ctxsim.answers.advice.predicted import Came, Prediction
from ctxsim.answers.advice.search_result import AgentAdvice, Framed, Seen, Tried
from ctxsim.answers.forecast.forecast import Amount
from ctxsim.policies.agents.given import Given
from ctxsim.report.advised import STEPS, answer, came_lines, constructor_screen, screen, tried_sheet
from ctxsim.report.sheet import text_rows
from ctxsim.report.style import day

FILE = "~/.claude/settings.json"
CUT = Given("claude-code", "bashOutputMaxChars", 10_000)


def figures(**given: Any) -> Figures:
    usual = dict.fromkeys(Figures.__struct_fields__) | {
        "policy": "p", "bound": False, "transcripts": 3, "priced": 3, "sessions": 3, "calls": 1_200, "usd": 30.0,
        "at_rate": 0.0, "tokens": 4_000_000, "tokens_share": Share(1.0), "peak": 160_000, "peak_mean": 150_000,
        "kept": Share(0.94, 0.91, 0.96), "refused": 0, "failing": 0,
    }  # fmt: skip
    return Figures(**{**usual, **given})


def advice(**given: Any) -> AgentAdvice:
    usual = {
        "agent": "claude-code", "title": "Claude Code 2.1.5", "models": ("opus",), "sessions": 3, "transcripts": 3,
        "goal": "dollars", "amount": "usd", "now": figures(kept=Share(0.99)), "take": figures(usd=21.0),
        "share": Share(0.7, 0.6, 0.8), "wins": None, "ahead": None, "open": (), "settings": (window(200_000),),
        "lines": {FILE: ['    "autoCompactWindow": 200000']}, "seen": (), "tried": (), "contradicted": (),
        "off_recorded": None, "caveats": (),
    }  # fmt: skip
    return AgentAdvice(**{**usual, **given})


def window(value: int) -> Given:
    return Given("claude-code", "autoCompactWindow", value)


def tried(value: int, amount: float | None, kept: float | None = 0.9, sessions: int = 3, idle: bool = False) -> Tried:
    return Tried((window(value),), amount, kept, sessions, idle)


def test_a_short_screen() -> None:
    assert screen(advice()) == [
        "Claude Code 2.1.5, opus: 3 sessions, 30.00 USD as you are set now.",
        "",
        "Set in ~/.claude/settings.json:",
        "",
        '    "autoCompactWindow": 200000',
        "",
        # 80 characters at most, and no unit begins a line.
        "These sessions: 21.00 USD instead of 30.00 USD, as you are set now (-30 %, -40",
        "to -20).",
        "This keeps 94 % (91 to 96) of what later calls used. As set now: 99 %.",
    ]


def test_of_settings_that_change_nothing_the_advised_one_is_none() -> None:
    assert screen(advice(tried=(tried(1, 1.0, 1.0, idle=True),)))[-1] == (
        "None of the other settings tried changes these sessions."
    )


MONTH = Prediction("claude-code", {}, {}, {}, ((10.0, 20.0), (5.0, 10.0)), seen=1_041, since=0.0,
                   saves=Amount(0.25, {"90": (0.1, 0.4)}))  # fmt: skip


def test_fetching_again_may_save() -> None:
    one = advice(take=figures(usd=21.0, usd_again=-1.5))
    assert "Fetching all lost results again would save 1.50 USD." in " ".join(" ".join(screen(one)).split())


def test_a_screen_with_all_there_is_to_say() -> None:
    one = advice(
        models=("opus", "sonnet", "haiku"), sessions=4, wins=0.595, ahead=10, off_recorded=-0.06, prediction=MONTH,
        take=figures(usd=21.0, usd_again=1.5, refused=2, priced=2, kept=Share(0.94, 0.91)),
        lines={FILE: ["    {", '      "autoCompactWindow": 200000  ', "    }"], "~/.codex/config.toml": ["a = 1"]},
        seen=(Seen("a", "honoured", "2.1.5", "2026-11-23", "by a note"), Seen("b", "not yet seen", "", "", ""),
              Seen("c", "not yet seen", "2.1", "", "")),
        open=(Tried((), 1.0, 1.0, 3), Tried((CUT,), 0.6, 0.9, 3)), caveats=("A caveat.", ""),
        contradicted=("It compacted at 150,000 tokens, not at 167,000.",),
        # The best of each setting comes first, then those that save the most; four are named.
        tried=(tried(1, 0.5), tried(2, 0.55), tried(3, 1.004, None), tried(4, None), tried(5, 0.996, 0.99),
               tried(6, 1.0, 1.0, idle=True), Tried((CUT,), 0.8, 0.9, 3), tried(8, 0.9, sessions=2)),
    )  # fmt: skip
    assert (
        "\n".join(screen(one))
        == """\
Claude Code 2.1.5, opus and 2 more: 4 sessions, 30.00 USD as you are set now.

Changing nothing may be as good. Of what was tried, this is the best so far.

Set in ~/.claude/settings.json:

    {
      "autoCompactWindow": 200000
    }

Set in ~/.codex/config.toml:

    a = 1

Next 30 days, forecast from the 1,041 sessions since 1 January 1970: 5.00 to
10.00 USD instead of 10.00 to 20.00 (90 % ranges). On the same draws of
sessions: -25 % (-40 to -10). The share below is of all sessions, so it may
differ.
These sessions: 21.00 USD instead of 30.00 USD, as you are set now (-30 %, -40
to -20). Fetching all lost results again would add 1.50 USD.
This keeps 94 % of what later calls used. 2 of 1,200 calls are refused. As set
now: 99 %.
a: seen honoured on 2026-11-23 (by a note).
b: not yet tested; --verify tests the installed agent.
c: not yet tested with 2.1, the newest version in these sessions; --verify tests
the installed agent.
It compacted at 150,000 tokens, not at 167,000.

From 3 transcripts, 2 with known prices.
Not settled: chosen in only 60 % of resamples of these sessions;
bashOutputMaxChars = 10000 may be as good. With 90 % probability, a range
contains the next 10 sessions' figure.
Weak: keep-all is -6 % off what was recorded, so all figures may be off.
A caveat.

Also tried: autoCompactWindow = 1 (-50 %, keeps 90 %, on 3 sessions),
bashOutputMaxChars = 10000 (-20 %, keeps 90 %, on 3 sessions),
autoCompactWindow = 2 (-45 %, keeps 90 %, on 3 sessions), autoCompactWindow = 3
(+0 %, on 3 sessions). 4 more settings tried, 1 of which changed nothing."""
    )
    page = list(answer([one]))
    # A page has paragraphs and no empty ones; nothing is wrapped.
    assert page[:6] == [
        "Changing nothing may be as good. Of what was tried, this is the best so far.",
        "Set in ~/.claude/settings.json:", "    {", '      "autoCompactWindow": 200000', "    }",
        "Set in ~/.codex/config.toml:",
    ]  # fmt: skip
    assert page[7].startswith("Claude Code 2.1.5, opus and 2 more: 4 sessions") and len(page) == 20
    assert page[-2] == "A caveat." and page[-1].startswith("Also tried: autoCompactWindow = 1 (")


@pytest.mark.parametrize(
    ("of_all", "lines"),
    [
        ((tried(1, 0.9), tried(2, 0.996, idle=True), tried(3, 1.0, idle=True)),
         ["Also tried: autoCompactWindow = 1 (-10 %, keeps 90 %), autoCompactWindow = 4",
          "(-80 %, keeps 90 %, on 2 sessions), autoCompactWindow = 5 (-15 %, keeps 70 %, on",
          "1 session). 2 more settings changed nothing."]),
        ((), ["Also tried: autoCompactWindow = 4 (-80 %, keeps 90 %, on 2 sessions),",
              "autoCompactWindow = 5 (-15 %, keeps 70 %, on 1 session)."]),
    ],
)  # fmt: skip
def test_what_is_tried_is_told_by_how_many_sessions_it_was_tried_on(
    of_all: tuple[Tried, ...], lines: list[str]
) -> None:
    some = (tried(4, 0.2, sessions=2), tried(5, 0.85, 0.7, sessions=1))
    assert screen(advice(tried=(*of_all, *some)))[-len(lines) - 1 :] == ["", *lines]


HEAD = "Claude Code 2.1.5, opus: 3 sessions, 30.00 USD as you are set now."


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({}, ["Change nothing: ctxsim can replay no setting of Claude Code 2.1.5, so it tried",
              "none."]),
        ({"goal": "kept", "tried": (tried(1, 1.0, 1.0, idle=True), tried(2, 1.0, 1.0, idle=True))},
         ["Change nothing. None of 2 settings tried over 3 sessions saves more than 2 %",
          "without losing more than 1 % of what later calls used. See what you pay for:", "ctxsim bill --by part", "",
          "None of the settings tried changes these sessions."]),
        ({"tried": (tried(1, 1.0, 1.0, 1, idle=True), tried(2, 1.0, 1.0, 2, idle=True))},
         ["Change nothing. None of 2 settings tried over 2 of 3 sessions saves more than",
          "2 % without losing more than 10 % of what later calls used. See what you pay",
          "for: ctxsim bill --by part", "",
          "None of the settings tried changes the 2 sessions that they were tried on."]),
        ({"tried": (tried(1, 0.9, 0.4), tried(2, 0.8, 0.4, 2)), "ahead": 10, "wins": 0.6},
         ["Change nothing. None of 2 settings tried over 3 sessions (1 on 2 of them) surely",
          "saves more than 2 % without losing more than 10 % of what later calls used. See",
          "what you pay for: ctxsim bill --by part", "",
          "This stays the answer in 60 % of resamples of these sessions. With 90 %",
          "probability, a range contains the next 10 sessions' figure.", "",
          "Also tried: autoCompactWindow = 1 (-10 %, keeps 40 %), autoCompactWindow = 2",
          "(-20 %, keeps 40 %, on 2 sessions)."]),
        ({"tried": (tried(1, 0.9, 0.4), tried(2, 0.8, 0.4)), "now": figures(kept=Share(0.83))},
         ["Change nothing. None of 2 settings tried over 3 sessions saves more than 2 %",
          "without losing more than 10 % of what later calls used. As set now, requests",
          "keep 83 % of what later calls used. See what you pay for: ctxsim bill --by part", "",
          "Also tried: autoCompactWindow = 1 (-10 %, keeps 40 %), autoCompactWindow = 2",
          "(-20 %, keeps 40 %)."]),
        ({"tried": (tried(1, 0.9, 0.4),), "sampled": True, "wins": 0.9},
         ["Change nothing. None of 1 setting tried over 3 sessions surely saves more than",
          "2 % without losing more than 10 % of what later calls used. See what you pay",
          "for: ctxsim bill --by part", "", "Also tried: autoCompactWindow = 1 (-10 %, keeps 40 %)."]),
        ({"wins": 0.5, "ahead": 10, "caveats": ("A caveat.",), "contradicted": ("It differs.",)},
         ["Change nothing: ctxsim can replay no setting of Claude Code 2.1.5, so it tried",
          "none.", "", "It differs.", "", "A caveat."]),
    ],
)  # fmt: skip
def test_screens_of_those_who_need_change_nothing(given: dict[str, Any], lines: list[str]) -> None:
    one = advice(settings=(), lines={}, **given)
    told, page = screen(one), list(answer([one]))
    assert told[-len(lines) - 1 :] == ["", *lines] and " ".join(told[: -len(lines) - 1]) == page[1]
    assert page[0].startswith("Change nothing") and (page[1] == HEAD) is not one.sampled


SHORT = [
    "These sessions: 21.00 USD instead of 30.00 USD, as you are set now (-30 %, -40", "to -20).",
    "This keeps 94 % (91 to 96) of what later calls used. As set now: 99 %.",
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({"prediction": msgspec.structs.replace(MONTH, days=None)}, SHORT),
        ({"prediction": msgspec.structs.replace(MONTH, since=None)},
         ["Next 30 days: 5.00 to 10.00 USD instead of 10.00 to 20.00 (90 % ranges). On the",
          "same draws of sessions: -25 % (-40 to -10).", *SHORT]),
        ({"prediction": msgspec.structs.replace(MONTH, saves=None)},
         ["Next 30 days, forecast from the 1,041 sessions since 1 January 1970: 5.00 to",
          "10.00 USD instead of 10.00 to 20.00 (90 % ranges).", *SHORT]),
        ({"prediction": msgspec.structs.replace(MONTH, since=None, saves=None, by_priors=True)},
         ["Next 30 days: 5.00 to 10.00 USD instead of 10.00 to 20.00 (ranges from other", "projects).", *SHORT]),
        ({"wins": 0.599, "ahead": 10},
         [*SHORT, "", "Not settled: chosen in only 60 % of resamples of these sessions. With 90 %",
          "probability, a range contains the next 10 sessions' figure."]),
        # How sure it is is told of several sessions alone, and of several all the same.
        ({"sessions": 1, "transcripts": 1, "wins": 1.0, "ahead": 5, "share": None, "now": figures(kept=None),
          "take": figures(kept=None, refused=3, usd=21.0, transcripts=1, priced=1)},
         ["These sessions: 21.00 USD instead of 30.00 USD, as you are set now.",
          "No later call used an old result, so what it loses is unknown. 3 of 1,200 calls", "are refused.", "",
          "From one session; the answer may not hold for others."]),
        ({"sessions": 2, "wins": 0.5, "take": figures(usd=21.0, transcripts=2, priced=2)}, SHORT),
        # Of tokens it isn't told what fetching again would add.
        ({"defaults": True, "wins": 0.6, "ahead": 7, "amount": "tokens",
          "take": figures(usd=None, priced=1, tokens=2_000_000, usd_again=3.0, kept=Share(0.5, 0.4, 0.6))},
         ["These sessions: 2,000,000 tokens instead of 4,000,000 tokens, with the agent's",
          "default settings (-30 %, -40 to -20).",
          "This keeps 50 % (40 to 60) of what later calls used. With the defaults: 99 %.", "",
          "From 3 transcripts, 1 with known prices, so tokens are compared.",
          "This stays the answer in 60 % of resamples of these sessions. 7 sessions are too",
          "few for intervals: the ranges' width comes from other projects."]),
        ({"goal": "tokens", "amount": "tokens", "take": figures(usd=None, priced=1, kept=Share(0.5, None, 0.6))},
         ["These sessions: 4,000,000 tokens instead of 4,000,000 tokens, as you are set now",
          "(-30 %, -40 to -20).", "This keeps 50 % of what later calls used. As set now: 99 %."]),
    ],
)  # fmt: skip
def test_what_is_told_of_the_advised_settings(given: dict[str, Any], lines: list[str]) -> None:
    told = screen(advice(**given))
    assert told[told.index('    "autoCompactWindow": 200000') + 2 :] == lines


def test_a_head_says_whose_settings_are_meant() -> None:
    found = screen(advice(models=(), defaults=True, sessions=1, now=figures(usd=None)))
    assert found[:2] == ["Claude Code 2.1.5: 1 session, 4,000,000 tokens with the agent's default settings",
                         "(--settings reads yours)."]  # fmt: skip
    peak = " ".join(screen(advice(amount="peak", take=figures(peak_mean=700))))
    assert "3 sessions, 150,000 tokens in the largest request of a transcript on average as you are set now." in peak
    assert "700 tokens in the largest request of a transcript on average instead of 150,000 tokens, as you are" in peak
    assert screen(advice(models=("a", "b")))[0].startswith("Claude Code 2.1.5, a and 1 more: 3 sessions, ")


def test_dollars_of_a_sample_are_those_of_its_folder() -> None:
    found = screen(advice(sampled=True))
    assert found[:2] == ["Claude Code 2.1.5, opus: a sample of 3 sessions; the whole folder: about",
                         "30.00 USD as you are set now."]  # fmt: skip
    assert found[7] == "The whole folder: about 21.00 USD instead of 30.00 USD, as you are set now"
    head = "LangChain: a sample of 3 transcripts; the whole folder: about 30.00 USD without"
    assert constructor_screen(framed(sampled=True))[0] == head


def test_long_words_stay_whole() -> None:
    path, hyphens = "/a" * 45, "one-word-of-several"
    told = screen(advice(caveats=(path, f"{'word ' * 13}{hyphens}")))
    assert told[-3:] == [path, ("word " * 13).strip(), hyphens]


@pytest.mark.parametrize("held", ["5 %", "key = 1", "2.00 USD", "ctxsim bill --by part"])
def test_what_belongs_together_stays_on_a_line(held: str) -> None:
    for room in range(55, 80):
        told = screen(advice(caveats=(f"{'x' * room} {held}",)))
        assert told[-1].endswith(held) and max(map(len, told)) <= 80


def test_an_end_without_the_other_is_no_interval() -> None:
    for share in (Share(0.7, 0.6), Share(0.7, None, 0.8)):
        assert "as you are set now (-30 %)." in " ".join(screen(advice(share=share)))


def framed(**given: Any) -> Framed:
    usual = {"framework": "LangChain", "goal": "dollars", "amount": "usd", "policy": "p", "code": ("keep(", "    1)"),
             "now": figures(), "take": figures(usd=21.0, refused=2), "share": Share(0.7), "tried": 12}  # fmt: skip
    return Framed(**{**usual, **given})


def test_who_builds_with_a_framework_gets_what_to_construct() -> None:
    assert constructor_screen(framed()) == [
        "LangChain: 3 transcripts, 30.00 USD without compaction.", "", "Construct:", "", "    keep(", "        1)", "",
        "21.00 USD instead of 30.00 USD (-30 %).",
        "This keeps 94 % (91 to 96) of what later calls used. 2 of 1,200 calls are",
        "refused. 12 settings tried.",
    ]  # fmt: skip
    assert constructor_screen(framed(code=(), take=figures(transcripts=1), tried=1)) == [
        "LangChain: 1 transcript, 30.00 USD without compaction.", "",
        "Change nothing: none of 1 setting tried saves more than 2 % without losing more",
        "than 10 % of what later calls used.",
    ]  # fmt: skip


def test_what_came_of_predictions_is_told_one_by_one() -> None:
    held = Prediction("pi", {"k": 1}, {5: (3.0, 9.0)}, {5: (2.0, 7.0)}, made=86_400.0 * 33)
    missed = Prediction("claude-code", {}, {10: (3.0, 5.0)}, {10: (2.0, 5.0)}, made=86_400.0 * 34 - 1)
    assert came_lines([Came(held, 5, 6.5, True, True), Came(missed, 10, 6.5, False, False)]) == [
        "1 of 2 predictions held for the advised settings, 1 for the earlier ones; nine in ten should.",
        "",
        "pi, advised on 3 February 1970: 6.50 USD in the first 5 sessions.",
        "    Predicted with the advised settings: 2.00 to 7.00 (held).",
        "    Predicted with the earlier settings: 3.00 to 9.00 (held).",
        "",
        "Claude Code, advised on 3 February 1970: 6.50 USD in the first 10 sessions.",
        "    Predicted with the advised settings: 2.00 to 5.00 (missed).",
        "    Predicted with the earlier settings: 3.00 to 5.00 (missed).",
    ]
    assert came_lines([]) == [] and day(86_400.0 * 34) == "4 February 1970"


def test_a_table_has_the_advised_setting_first_and_a_dash_for_what_is_not_known() -> None:
    one = advice(tried=(Tried((CUT,), None, None, 2),))
    nothing = advice(agent="pi", settings=(), share=None, take=figures(kept=None), tried=(tried(1, 0.5),))
    unknown = advice(agent="pi", share=None, take=figures(kept=None))
    found = tried_sheet([one, nothing, unknown])
    assert [list(row.values()) for row in text_rows(found)] == [
        ["claude-code", "autoCompactWindow = 200000", "70.0%", "94.0%", "3"],
        ["claude-code", "bashOutputMaxChars = 10000", "-", "-", "2"],
        ["pi", "autoCompactWindow = 1", "50.0%", "90.0%", "3"],
        ["pi", "autoCompactWindow = 200000", "-", "-", "3"],
    ]
    assert (found.name, found.title) == ("tried", "Settings tried")
    assert [(one.heading, one.left) for one in found.columns] == [
        ("agent", True), ("settings", True), ("of as-set", False), ("kept", False), ("sessions", False)
    ]  # fmt: skip
    # What can be added to the command fits 80 columns too.
    assert max(map(len, STEPS)) <= 80
