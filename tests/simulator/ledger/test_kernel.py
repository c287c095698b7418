"""What a provider says to one request and what it bills, worked by hand. " a" is one token."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import pytest
from samples import conversation

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.ledger.kernel import OTHER_MODEL, Bill, Kernel, SummaryCall, Verdict
from ctxsim.simulator.provider import Provider, RateLimit
from ctxsim.simulator.provider.prices import Cost, Prices, Split
from ctxsim.simulator.provider.rules import Other
from ctxsim.simulator.provider.summaries import PROMPT
from ctxsim.transcript import Call, Head, Item, Transcript
from ctxsim.view import Edit

COUNTER = Counter(open_tokenizer())
MADE = conversation(" a" * 96, " a" * 98, system=" a" * 296)
"""Three requests of 300, 398 and 498 tokens: a head of 296, a task of 4, calls of 2, results of 96 and 98."""
DOLLAR = Prices(input=1e6, output=5e6, cache_read=1e5, cache_write=2e6)
"""A dollar a token: 0.1 read, 2 written, 5 of output."""


def ledger_of(made: Transcript = MADE, **rules: object) -> Ledger:
    return Ledger(made, Provider(**rules), COUNTER)  # type: ignore[arg-type]


class Answer(NamedTuple):
    """To a request that nobody edits: the verdict, the bill, and the seconds before and after."""

    verdict: Verdict
    bill: Bill
    clock: tuple[float, float]


def answers(ledger: Ledger, kernel: Kernel | None = None, calls: int = 3) -> list[Answer]:
    """What a kernel says to the first calls."""
    kernel, found = kernel or ledger.kernel(), []
    for leg in ledger.legs[:calls]:
        ledger.enter(kernel.request, leg)
        kernel.begin(leg)
        began_s = kernel.now_s
        verdict = kernel.judge()
        found.append(Answer(verdict, kernel.bill(leg), (began_s, kernel.now_s)))
    return found


def begun(number: int = 1, made: Transcript = MADE, **rules: object) -> tuple[Ledger, Kernel]:
    """A kernel that has the request of a call, and has judged and billed those before it."""
    ledger = ledger_of(made, **rules)
    kernel = ledger.kernel()
    answers(ledger, kernel, number - 1)
    kernel.begin(ledger.legs[number - 1])
    ledger.enter(kernel.request, ledger.legs[number - 1])
    return ledger, kernel


def test_another_model_has_its_own_prices_and_its_own_cache() -> None:
    calls = [
        msgspec.structs.replace(call, model=model) for call, model in zip(MADE.calls, ("a", "b", "a"), strict=True)
    ]
    others = (Other("b", "model-b", Prices(input=2e6, output=1e6)),)
    made = msgspec.structs.replace(MADE, calls=tuple(calls))
    bills = [one.bill for one in answers(ledger_of(made, cache="deepseek", prices=DOLLAR, others=others))]
    # In units of 64 tokens: b reads nothing of the first request's 256, and the third only these, not b's 384.
    assert [bill.split for bill in bills] == [Split(0, 0, 300), Split(0, 0, 398), Split(256, 0, 242)]
    assert [(bill.tokens_rewritten, bill.cause) for bill in bills] == [(0, ""), (256, OTHER_MODEL), (128, OTHER_MODEL)]
    # Two tokens of output each: 300 + 10; 2 x 398 + 2; 25.6 + 242 + 10.
    assert [bill.cost and bill.cost.total for bill in bills] == pytest.approx([310, 798, 277.6])


@pytest.mark.parametrize(("window", "reserved", "reasons"), [
    (498, 0, ["", "", ""]), (497, 0, ["", "", "498 tokens exceed the window of 497"]), (598, 100, ["", "", ""]),
    (597, 100, ["", "", "498 + 100 reserved for output tokens exceed the window of 597"]),
])  # fmt: skip
def test_a_request_may_be_as_large_as_the_window(window: int, reserved: int, reasons: list[str]) -> None:
    verdicts = [one.verdict for one in answers(ledger_of(window=window, reserved_output=reserved))]
    assert verdicts == [Verdict("overflow" if reason else "ok", reason) for reason in reasons]


@pytest.mark.parametrize(("count", "more"), [(3, ""), (4, " ...")])
def test_of_torn_pairs_three_are_named(count: int, more: str) -> None:
    _, kernel = begun()
    kernel.request.join([Item("tool_result", place, 7, "r", answers=90) for place in range(5, 5 + count)])
    reason = "; ".join(f"result {place} has no call in the message before it" for place in (5, 6, 7)) + more
    assert kernel.judge() == Verdict("invalid_pairs", reason)


@pytest.mark.parametrize(("limit", "waits", "clocks"), [
    # 600 tokens, and 10 more a second: 300 are left for the second request, none for the third.
    (RateLimit(600), [0.0, 9.8, 49.8], [0.0, 9.8, 59.6]),
    # A refused request takes its tokens: 98 too few, then 398 to gain; and so on from none.
    (RateLimit(600, failed_requests_count=True), [0.0, 49.6, 99.6], [0.0, 49.6, 149.2]),
    # One request a minute, whichever takes longer.
    (RateLimit(600, 1), [0.0, 60.0, 60.0], [0.0, 60.0, 120.0]), (RateLimit(600, 3), [0.0, 9.8, 49.8], [0.0, 9.8, 59.6]),
    (RateLimit(100_000, 2), [0.0, 0.0, 30.0], [0.0, 0.0, 30.0]),
    # A refused request counts as one too: one too few, then one to gain.
    (RateLimit(100_000, 2, failed_requests_count=True), [0.0, 0.0, 60.0], [0.0, 0.0, 60.0]),
])  # fmt: skip
def test_a_request_waits_until_the_limit_holds_what_it_takes(
    limit: RateLimit, waits: list[float], clocks: list[float]
) -> None:
    ledger = ledger_of(rate_limit=limit)
    kernel = ledger.kernel()
    found = answers(ledger, kernel)
    assert [one.verdict for one in found] == [Verdict("ok", "", int(wait > 0), pytest.approx(wait)) for wait in waits]
    assert [one.clock for one in found] == [
        (pytest.approx(after - wait), pytest.approx(after)) for wait, after in zip(waits, clocks, strict=True)
    ]
    # What is asked for is asked for without any waiting.
    assert kernel.demands == [(pytest.approx(0.0), tokens) for tokens in (300, 398, 498)]


def test_all_that_follows_is_later_by_the_waiting() -> None:
    # After 9 seconds 390 tokens are there, for 398. The third begins 0.8 seconds late, and finds 90 for 498.
    assert [one.clock for one in answers(ledger_of(rate_limit=RateLimit(600), pace_s=9.0))] == [
        (0.0, 0.0), (9.0, pytest.approx(9.8)), (pytest.approx(18.8), pytest.approx(59.6))
    ]  # fmt: skip


def test_what_a_limit_never_holds_is_refused() -> None:
    verdicts = [one.verdict for one in answers(ledger_of(rate_limit=RateLimit(398)))]
    reason = "498 tokens exceed what the bucket can ever hold (398)"
    # The second waits until the bucket is full again: 300 of 398 a minute.
    assert verdicts[1:] == [
        Verdict("ok", "", 1, pytest.approx(300 / 398 * 60)), Verdict("rate_limited", reason, 1)
    ]  # fmt: skip


def test_bills_where_nobody_edits() -> None:
    bills = [one.bill for one in answers(ledger_of(cache="deepseek", prices=DOLLAR))]
    # Read in units of 64: 256 of the first 300, 384 of the 398 that the second had. Output is 2, 2, and 2 of "Done.".
    assert bills == [
        Bill(Split(0, 0, 300), Cost(0.0, 0.0, 300.0, 10.0), 0, 0, ""),
        Bill(Split(256, 0, 142), Cost(pytest.approx(25.6), 0.0, 142.0, 10.0), 0, 0, ""),
        Bill(Split(384, 0, 114), Cost(pytest.approx(38.4), 0.0, 114.0, 10.0), 0, 0, ""),
    ]


@pytest.mark.parametrize(("cut", "split", "rewritten"), [
    # The first result stands behind 302 tokens: 256 of them in whole units, where 384 could have been read.
    (" b" * 96, Split(256, 0, 242), 128),
    # What begins alike is read: 32 words more are 334, of which 320 in whole units; the others are gone.
    (" a" * 32, Split(320, 0, 114), 0),
])  # fmt: skip
def test_what_an_edit_makes_unreadable_is_rewritten(cut: str, split: Split, rewritten: int) -> None:
    ledger, kernel = begun(3, cache="deepseek", prices=DOLLAR)
    result = MADE.items[2]
    kernel.request.edit([Edit(result, result.with_text(cut), 2, "because")])
    bill = kernel.bill(ledger.legs[2])
    assert (bill.split, bill.tokens_missed) == (split, 0)
    assert (bill.tokens_rewritten, bill.cause) == (rewritten, "because" if rewritten else "")
    assert bill.cost == Cost(pytest.approx(split.read / 10), 0.0, float(split.uncached), 10.0)


@pytest.mark.parametrize(("held", "reads", "missed"), [
    # The log says what was read of each request: less than the rules allow is missed, more of the first is a beginning
    # that others had sent.
    ((None, None, None), [0, 256, 384], [0, 0, 0]), ((64, 100, None), [64, 100, 384], [0, 156, 0]),
    ((None, 0, None), [0, 0, 384], [0, 256, 0]), ((9_999, None, None), [300, 256, 384], [0, 0, 0]),
    ((None, 300, 999), [0, 256, 384], [0, 0, 0]),
])  # fmt: skip
def test_what_was_read_by_the_log(held: tuple[int | None, ...], reads: list[int], missed: list[int]) -> None:
    calls = [msgspec.structs.replace(call, held=one) for call, one in zip(MADE.calls, held, strict=True)]
    ledger = ledger_of(msgspec.structs.replace(MADE, calls=tuple(calls)), cache="deepseek")
    found = [one.bill for one in answers(ledger)]
    assert [bill.split for bill in found] == [
        Split(read, 0, total - read) for read, total in zip(reads, (300, 398, 498), strict=True)
    ]
    assert [(bill.tokens_missed, bill.cost) for bill in found] == [(one, None) for one in missed]


@pytest.mark.parametrize(("vendor", "taken"), [
    # Of 300, 398 and 498 tokens 0, 256 and 384 are read. OpenAI takes at least what is reserved for output.
    ("none", [300, 398, 498]), ("anthropic", [300, 142, 114]), ("openai", [350, 398, 498]),
])  # fmt: skip
def test_what_a_limit_would_be_asked_for_where_there_is_none(vendor: str, taken: list[int]) -> None:
    ledger = ledger_of(vendor=vendor, cache="deepseek", reserved_output=350)
    kernel = ledger.kernel()
    answers(ledger, kernel)
    assert [tokens for _, tokens in kernel.demands] == taken


def test_a_summary_is_a_request_of_its_own() -> None:
    _, kernel = begun(2, cache="deepseek", prices=DOLLAR, window=1_000)
    prompt = COUNTER.text(PROMPT)
    asked = kernel.summarize(kernel.request.items, 50, (), "empty")
    text = asked.text or ""
    # All of the second request and the prompt; 256 tokens of it were in the first. None of it is written.
    cost = Cost(pytest.approx(25.6), 0.0, 142.0 + prompt, 5.0 * COUNTER.text(text))
    assert asked == SummaryCall(text, 398 + prompt, COUNTER.text(text), cost, Verdict("ok"))
    assert kernel.demands == [(0.0, 300), (0.0, 398 + prompt)]
    # Its output has to fit in as well.
    assert kernel.summarize(kernel.request.items, 602 - prompt, (), "empty").verdict == Verdict("ok")
    refused = kernel.summarize(kernel.request.items, 603 - prompt, (), "empty")
    assert refused.verdict.status == "overflow"
    assert (refused.text, refused.tokens_in, refused.tokens_out, refused.cost) == (None, 398 + prompt, 0, None)
    assert [item.place for item in kernel.request.items] == [0, 1, 2], "the conversation goes on as it was"


@pytest.mark.parametrize(("cache", "read", "writes"), [
    # 2,000 of the 2,200 tokens were sent before: OpenAI marks the end of each request itself, Moonshot writes the rest.
    ("openai-paid-writes", 2_000, True), ("moonshot-paid-writes", 1_792, True), ("openai", 1_920, False),
    ("anthropic", 2_000, False), ("none", 0, False),
])  # fmt: skip
def test_a_summary_pays_for_writing_where_the_vendor_writes_unasked(cache: str, read: int, writes: bool) -> None:
    made = conversation(" a" * 198, "ok", system=" a" * 1_996)
    _, kernel = begun(2, made, cache=cache, breakpoints="automatic", prices=DOLLAR)
    cost = kernel.summarize(kernel.request.items, 50, (), "empty").cost
    rest = 2_200 + COUNTER.text(PROMPT) - read
    assert cost and (cost.read, cost.write) == (pytest.approx(read / 10), 2.0 * rest if writes else 0.0)
    assert cost.uncached == (0.0 if writes else rest)


@pytest.mark.parametrize(("cache", "writes"), [
    ("openai-paid-writes", True), ("moonshot-paid-writes", True), ("openai", False), ("anthropic", False),
])  # fmt: skip
@pytest.mark.parametrize("system", [" a" * 1_996, " b" * 1_496], ids=["without tools", "of its own"])
def test_a_summary_with_another_head_reads_nothing(system: str, cache: str, writes: bool) -> None:
    head = Head(system=" a" * 1_996, tools=('{"name": "run"}',))
    made = msgspec.structs.replace(conversation(" a" * 198, "ok"), head=head)
    _, kernel = begun(2, made, cache=cache, breakpoints="automatic", prices=DOLLAR)
    before = kernel.request.total
    asked = kernel.summarize(kernel.request.items, 50, (), "empty", Head(system=system))
    # The task of 4, the call of 2, the result of 198, the prompt, and the system prompt of its own.
    tokens = 204 + COUNTER.text(PROMPT) + len(system) // 2
    assert asked.tokens_in == tokens and asked.cost and asked.cost.read == 0.0
    assert (asked.cost.write, asked.cost.uncached) == ((2.0 * tokens, 0.0) if writes else (0.0, tokens))
    assert kernel.request.total == before, "the conversation goes on with its own"


def test_what_is_recorded_of_a_call_says_nothing_of_a_summary_with_another_head() -> None:
    calls = (MADE.calls[0], msgspec.structs.replace(MADE.calls[1], held=64), MADE.calls[2])
    ledger, kernel = begun(2, msgspec.structs.replace(MADE, calls=calls), cache="deepseek", prices=DOLLAR)
    asked = kernel.summarize(kernel.request.items, 50, (), "empty", Head(system=" b" * 296))
    assert asked.cost is not None and asked.cost.read == 0.0
    # 256 tokens could be read, 64 were.
    bill = kernel.bill(ledger.legs[1])
    assert (bill.split.read, bill.tokens_missed) == (64, 192)


def test_a_summary_after_a_call_is_not_read_as_the_call_was() -> None:
    # The log says that the second call read 64 tokens. Its request is an entry now, of 384 tokens in whole steps.
    calls = (MADE.calls[0], msgspec.structs.replace(MADE.calls[1], held=64), MADE.calls[2])
    ledger, kernel = begun(2, msgspec.structs.replace(MADE, calls=calls), cache="deepseek", prices=DOLLAR)
    assert kernel.bill(ledger.legs[1]).split.read == 64
    asked = kernel.summarize(kernel.request.items, 50, (), "empty")
    assert asked.cost is not None and asked.cost.read == pytest.approx(38.4)


@pytest.mark.parametrize(("held", "read"), [(None, 1_104), (0, 0)])
def test_where_the_log_says_that_nothing_was_read_older_entries_are_gone(held: int | None, read: int) -> None:
    # The first request of 1,104 tokens and the second are entries; an edit behind the first one's end leaves that one.
    made = conversation(" a" * 96, " a" * 98, system=" a" * 1_100)
    calls = (made.calls[0], msgspec.structs.replace(made.calls[1], held=held), made.calls[2])
    made = msgspec.structs.replace(made, calls=calls)
    ledger, kernel = begun(3, made, cache="anthropic", breakpoints="automatic")
    kernel.request.edit([Edit(made.items[2], made.items[2].with_text("cut"), 2, "because")])
    assert kernel.bill(ledger.legs[2]).split.read == read


@pytest.mark.parametrize(("held", "cut", "read"), [
    # By the rules only the first request is left of a turn whose thinking went. The log says that more was read: an
    # agent had sent the finished turn by itself, as a policy's edits before that left it, but not a later one's.
    (None, "", 1_101), (9_999, "", 1_167), (1_150, "", 1_150), (9_999, "before", 1_153), (9_999, "since", 1_101),
    (1_000, "", 1_000),
])  # fmt: skip
def test_an_agent_may_have_sent_a_finished_turn_by_itself(held: int | None, cut: str, read: int) -> None:
    call = Item("tool_call", 2, 1, "{}", "f", call_id="c")
    items = (
        Item("user", 0, 0, " a"), Item("reasoning", 1, 1, " a" * 50), call,
        Item("tool_result", 3, 2, " a" * 24, "f", answers=2), Item("assistant", 4, 3, " a" * 40),
        Item("user", 5, 4, " a" * 10),
    )  # fmt: skip
    calls = (Call(1, 3, time_s=0.0), Call(4, 5, time_s=1.0), Call(6, 6, time_s=2.0, held=held))
    made = Transcript("t", Head(" a" * 1_100), items, calls)
    ledger, kernel = begun(2, made, cache="anthropic", breakpoints="automatic", reasoning="current_turn")
    edits = [Edit(items[3], items[3].with_text(" a" * 10), 3, "because")]
    kernel.bill(ledger.legs[1])
    kernel.request.edit(edits if cut == "before" else [])
    ledger.enter(kernel.request, ledger.legs[2])
    kernel.begin(ledger.legs[2])
    kernel.request.edit(edits if cut == "since" else [])
    assert kernel.bill(ledger.legs[2]).split.read == read
