"""One replay's way along the calls: what the ledger answers up to the first edit, and what follows it. By hand."""

from __future__ import annotations

import sys

import pytest
from samples import conversation

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.ledger import Course, Ledger
from ctxsim.simulator.ledger.kernel import Verdict
from ctxsim.simulator.provider import Provider, RateLimit
from ctxsim.simulator.provider.prices import Split
from ctxsim.simulator.provider.summaries import PROMPT
from ctxsim.transcript import Item
from ctxsim.view import Edit

COUNTER = Counter(open_tokenizer())
MADE = conversation(" a" * 96, " a" * 98, system=" a" * 296)
"""Three requests of 300, 398 and 498 tokens; the results stand at 2 and 4."""
FIRST = MADE.items[2]
OTHER = FIRST.with_text(" b" * 96)
EDIT = Edit(FIRST, OTHER, 2, "because")
EDITED = [*MADE.items[:2], OTHER, *MADE.items[3:]]
LIMIT = RateLimit(600)
CLOCK = [(0.0, 0.0), (9.0, 9.8), (18.8, 59.6)]
"""9 seconds from call to call: the second finds 390 tokens of 398, the third, 0.8 seconds late, 90 of 498."""
SENT = [300, 398, 498]
READ = [0, 256, 384]


def course() -> tuple[Course, Ledger]:
    ledger = Ledger(MADE, Provider(cache="deepseek", pace_s=9.0, rate_limit=LIMIT), COUNTER)
    return Course(ledger), ledger


def follow(one: Course, ledger: Ledger, number: int) -> None:
    """One call that nobody edits, looked at throughout."""
    leg, items = ledger.legs[number - 1], MADE.items[: ledger.legs[number - 1].call.start]
    began, ended = CLOCK[number - 1]
    one.begin(leg, items)
    assert one.now_s == pytest.approx(began) and one.drop_thinking(items) == ()
    assert (one.ask(items, False), one.tokens) == (SENT[number - 1], SENT[number - 1])
    # Growth is no change; of the first request there is none before.
    assert one.changed_from == (sys.maxsize, 1, 3)[number - 1]
    assert one.judge() == Verdict("ok", "", number > 1, pytest.approx(ended - began))
    bill = one.bill(leg)
    assert (bill.split.read, bill.split.uncached, bill.cause) == (
        READ[number - 1],
        SENT[number - 1] - bill.split.read,
        "",
    )
    assert one.now_s == pytest.approx(ended)
    assert demands(one) == [(9.0 * n, tokens) for n, tokens in enumerate(SENT[:number])]


def demands(one: Course) -> list[tuple[float, int]]:
    return [(pytest.approx(at_s), tokens) for at_s, tokens in one.demands]  # type: ignore[misc]


def test_without_an_edit_each_call_is_as_the_ledger_says() -> None:
    one, ledger = course()
    assert (one.demands, one.now_s) == ([], 0.0)
    for number in (1, 2, 3):
        follow(one, ledger, number)


def check_third(one: Course, ledger: Ledger) -> None:
    """The edited request is the third: what stands behind 302 tokens is written again, 256 were in whole units."""
    assert (one.ask(EDITED[:5], True), one.tokens, one.changed_from) == (498, 498, 2)
    assert one.judge() == Verdict("ok", "", 1, pytest.approx(40.8))
    bill = one.bill(ledger.legs[2])
    assert (bill.split, bill.tokens_rewritten, bill.cause) == (Split(256, 0, 242), 128, "because")
    assert one.now_s == pytest.approx(59.6)
    assert demands(one) == [(0.0, 300), (9.0, 398), (18.0, 498)]


def test_an_edit_before_a_call_is_in_its_request() -> None:
    one, ledger = course()
    follow(one, ledger, 1)
    follow(one, ledger, 2)
    one.begin(ledger.legs[2], MADE.items[:5])
    one.edit(MADE.items[:5], [EDIT])
    assert one.now_s == pytest.approx(18.8)
    check_third(one, ledger)


def test_an_edit_behind_a_call_is_in_the_next_request() -> None:
    one, ledger = course()
    follow(one, ledger, 1)
    follow(one, ledger, 2)
    one.edit(MADE.items[:4], [EDIT])
    assert one.now_s == pytest.approx(9.8), "call 2 is over"
    one.begin(ledger.legs[2], EDITED[:5])
    assert one.now_s == pytest.approx(18.8)
    check_third(one, ledger)


def test_an_edit_of_one_request_is_not_in_the_next() -> None:
    one, ledger = course()
    follow(one, ledger, 1)
    one.begin(ledger.legs[1], MADE.items[:3])
    one.edit(MADE.items[:3], [EDIT])
    assert (one.ask(EDITED[:3], True), one.changed_from) == (398, 1), "the second request is the first to hold it"
    assert one.judge().status == "ok"
    assert one.bill(ledger.legs[1]).split == Split(256, 0, 142)
    one.undo([EDIT])
    one.begin(ledger.legs[2], MADE.items[:5])
    # The item that differs begins otherwise: 302 tokens are as they were.
    assert (one.ask(MADE.items[:5], True), one.changed_from) == (498, 2)
    assert one.judge().status == "ok"
    bill = one.bill(ledger.legs[2])
    assert (bill.split, bill.tokens_rewritten, bill.cause) == (Split(256, 0, 242), 128, "")


def test_an_edit_that_was_not_taken_leaves_no_trace() -> None:
    one, ledger = course()
    follow(one, ledger, 1)
    follow(one, ledger, 2)
    one.begin(ledger.legs[2], MADE.items[:5])
    assert one.ask(MADE.items[:5], False) == 498
    one.edit(MADE.items[:5], [EDIT])
    assert one.changed_from == 2
    one.reject([EDIT])
    assert (one.ask(MADE.items[:5], True), one.changed_from) == (498, 3)
    assert one.judge().status == "ok"
    bill = one.bill(ledger.legs[2])
    assert (bill.split, bill.tokens_rewritten, bill.cause) == (Split(384, 0, 114), 0, "")


def test_what_the_vendor_edits_is_the_ledgers_until_a_policy_edits() -> None:
    one, ledger = course()
    one.begin(ledger.legs[0], MADE.items[:1])
    one.edit(MADE.items[:1], [Edit(MADE.items[0], None, 0, "the vendor's")], by_policy=False)
    assert one.ask(MADE.items[:1], False) == 300
    one.undo([])
    assert one.tokens == 300
    one.edit(MADE.items[:1], [Edit(MADE.items[0], None, 0, "a policy's")])
    assert one.ask([], True) == 296


def test_a_summary_is_asked_for_in_the_midst_of_a_call() -> None:
    one, ledger = course()
    follow(one, ledger, 1)
    one.begin(ledger.legs[1], MADE.items[:3])
    items: list[Item] = list(MADE.items[:3])
    one.ask(items, False)
    asked = one.summarize(items, 20, (), "empty")
    prompt = COUNTER.text(PROMPT)
    assert (asked.tokens_in, asked.verdict.status) == (398 + prompt, "ok")
    # It waits for what the first request left: 390 tokens are there.
    assert asked.verdict.wait_s == pytest.approx((398 + prompt - 390) / 10)
    assert one.now_s == pytest.approx(9.0 + asked.verdict.wait_s)
    assert demands(one) == [(0.0, 300), (9.0, 398 + prompt)]
