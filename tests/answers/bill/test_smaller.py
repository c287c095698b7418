"""Which changes are offered, in what order, and what they save together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from billed import PRICES, RATES, response, session

from ctxsim.answers.bill import offers
from ctxsim.answers.bill.changes import compacted_at
from ctxsim.answers.bill.dollars import Rates, paid
from ctxsim.answers.bill.facts import ASKING, Large, Response, Session
from ctxsim.answers.bill.offers import Offer
from ctxsim.answers.bill.smaller import AHEAD, LEAST, _Paid, smaller
from ctxsim.answers.bill.sums import Bill, billed, sessions_of, summaries
from ctxsim.answers.forecast.forecast import forecast
from ctxsim.policies.agents.given import Given
from ctxsim.simulator.provider.models import Model


def bill(*responses: Response, **more: Any) -> Bill:
    return billed([session(*responses, **more)], PRICES, None)


FIRST = response(0, 1_100, 1_000)


def test_savings_are_of_the_whole_bill_the_largest_first() -> None:
    of = bill(FIRST, response(100, 1_050, 50, missed=1_000, cause=1, pause_s=1_000.0),
              response(1_150, 50, 50, turn=True), response(1_200, 30, 30))  # fmt: skip
    # 11,000; 100 + 10,500; 1,150 + 500; 1,200 + 300; four answers of 500.
    assert of.total().usd == 26_750
    found = smaller(of, PRICES)
    assert [one.name for one in found.savings] == ["pauses within the cache's life", "a new session per task"]
    pauses, anew = found.savings
    # 1,000 tokens read at 1 and not written at 10.
    assert pauses.usd == pytest.approx(9_000) and pauses.share == pytest.approx(9_000 / 26_750)
    # The third is 150 tokens, all written: 1,500 instead of 1,650; the fourth reads 150: 450 instead of 1,500.
    assert anew.usd == pytest.approx(1_200)
    # They touch other requests: what they save together is their sum. An hour's cache saves nothing here.
    assert found.together and found.together.usd == pytest.approx(10_200)
    assert pauses.ahead is None, "without dates nobody knows what comes in some days"


def test_a_compactions_own_request_is_told_beside_the_total() -> None:
    # Of the 200 tokens after the head, 80 are the summary; the others are kept messages and files.
    of = bill(FIRST, response(0, 300, 200, compacted=80))
    # 1,100 tokens are read once more at 1, and 80 written by the model at 50.
    assert summaries(of) == (1, 1_100 + 80 * 50)
    # Of a request without cache reads and writes, 300 plain tokens are paid once more at 5.
    plain = msgspec.structs.replace(response(0, 0, 300), plain=300)
    assert summaries(bill(plain, response(0, 300, 200, compacted=80))) == (1, 300 * 5 + 80 * 50)
    assert summaries(bill(FIRST, response(1_100, 50, 50))) == (0, 0.0)
    unpriced = [msgspec.structs.replace(FIRST, model="nobodys"), response(0, 300, 200, compacted=True)]
    assert summaries(bill(*unpriced)) == (1, None)
    assert summaries(bill(*unpriced, response(0, 300, 200, compacted=True))) == (2, None), "one price is unknown"
    # Two after the last response wrote 70, and 30 when the cache had expired. One beside it isn't the last.
    ending = bill(FIRST, response(1_100, 50, 50), ending=((70, False), (30, True)), beside=(response(9, 0, 0),))
    assert summaries(ending) == (2, 1_150 + 1_150 * 5 + 100 * 50)
    assert summaries(bill(FIRST, response(0, 300, 200, compacted=80, cold=True))) == (1, 1_100 * 5 + 80 * 50)
    # The log has one of two requests for summaries: it is billed.
    asked = response(900, 0, 0, parts=(0, 900, 0, 0))
    thrice = [response(0, 300, 200, compacted=at > 0) for at in range(3)]
    assert summaries(bill(*thrice, beside=(asked,), parts=(ASKING,)))[0] == 1
    # A sub-agent may have written it.
    agent = session(beside=(asked,), parts=(ASKING,), parent="s", name="agent")
    assert summaries(billed([agent, session(*thrice)], PRICES, None))[0] == 1


@pytest.mark.parametrize(("format", "sent"), [
    # Read from the cache, 1,100 at 1; or 1,000 without the head of 100, at 5. What Codex leaves out is the server's.
    ("claude-code", 1_100), ("codex-rollout", 1_100), ("pi", 5_000), ("hermes", 5_000),
])  # fmt: skip
def test_a_compactions_own_request_reads_the_cache_if_its_agent_goes_on_with_the_head(format: str, sent: int) -> None:
    of = bill(FIRST, response(0, 300, 200, compacted=80), format=format)
    assert summaries(of) == (1, sent + 80 * 50)


def test_what_saves_less_than_a_fiftieth_is_no_line() -> None:
    of = bill(FIRST, response(1_100, 50, 50, turn=True), *[response(0, 5_000, 4_900) for _ in range(9)])
    assert all(one.share >= LEAST for one in smaller(of, PRICES).savings)
    assert "a new session per task" not in {one.name for one in smaller(of, PRICES).savings}


def test_what_loses_more_than_a_twentieth_of_what_was_used_is_not_offered() -> None:
    parts = ("head, not in the log", "results of Read")
    sizes = [response(0, 9_100, 9_000, needs=10), response(9_100, 30, 30, needs=10)]
    kept = bill(*sizes, parts=parts, large=(Large(0, 2, 8_000, 1, 1),))
    (cut,) = (one for one in smaller(kept, PRICES).savings if "READ" in one.name)
    # Cut to 2,500: 5,500 less are written once and read once; one use of 20 may be lost.
    assert cut.usd == pytest.approx(5_500 * 11) and cut.kept == pytest.approx(0.95)
    assert cut.name == "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS = 2500"
    assert cut.how == '"env": { "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS": "2500" } in ~/.claude/settings.json'
    assert cut.given == Given("claude-code", "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", 2_500)
    for needs, uses in ((10, 2), (8, 1)):  # a tenth, a sixteenth
        fewer = [msgspec.structs.replace(one, needs=needs) for one in sizes]
        lost = bill(*fewer, parts=parts, large=(Large(0, 2, 8_000, 1, uses),))
        assert not any("READ" in one.name for one in smaller(lost, PRICES).savings)


def test_a_model_whose_window_is_too_small_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap = response(0, 100, 0, model="x-cheap")
    for window, offered in ((1_150, True), (1_149, False), (None, True)):
        known = Model("x-cheap", window=window)
        monkeypatch.setattr("ctxsim.simulator.provider.models.find_model", lambda model, known=known: known)
        found = smaller(bill(FIRST, cheap, response(1_100, 50, 50)), PRICES)
        assert any(one.name == "x-cheap for most" for one in found.savings) == offered, window


def test_another_model_stands_last_and_in_no_sum() -> None:
    cheap = response(0, 100, 0, model="x-cheap")
    found = smaller(bill(FIRST, cheap, response(1_100, 50, 50)), PRICES)
    assert found.savings[-1].name == "x-cheap for most" and found.savings[-1].how == "/model x-cheap"
    # 11,000 + 1,600 and two answers of 500, at a tenth of the price.
    assert found.savings[-1].usd == pytest.approx(0.9 * 13_600)
    # Beside it another change: that one alone is no sum either.
    paused = response(100, 1_050, 50, missed=1_000, cause=1, pause_s=1_000.0)
    found = smaller(bill(FIRST, cheap, paused), PRICES)
    assert [one.name for one in found.savings] == ["pauses within the cache's life", "x-cheap for most"]
    assert found.together is None


def test_what_adds_nothing_to_what_is_done_is_in_no_sum() -> None:
    # Where no pause outlives the cache, an hour's cache only costs more.
    responses = [FIRST, *(response(100, 9_050, 50, missed=9_000, cause=1, pause_s=1_000.0) for _ in range(9))]
    found = smaller(bill(*responses, response(9_150, 50, 50, turn=True), response(9_200, 30, 30)), PRICES)
    names = [one.name for one in found.savings]
    assert names[0] == "pauses within the cache's life" and "one-hour cache" in names
    assert "one-hour cache" not in (found.together.name if found.together else "")


def test_memory_files_half_as_long_leave_every_request() -> None:
    found = {one.name: one for one in smaller(bill(FIRST, response(1_100, 50, 50)), PRICES, {"CLAUDE.md": 60}).savings}
    # 30 tokens less, written once and read once.
    assert found["memory files half as long"].usd == pytest.approx(30 * 11)


@pytest.mark.parametrize(("folder", "cut"), [("/p", {"a": 30, "b": 20}), ("/q", {"a": 30, "b": 20, "c": 30})])
def test_only_sessions_of_the_folder_send_its_memory_files_each_its_agents_own(
    folder: str, cut: dict[str, int]
) -> None:
    made = [bill(FIRST, name=name, project=project, format=format).sessions[0] for name, project, format in (
        ("a", "/p/src", "claude-code"), ("b", "/p", "codex-rollout"), ("c", "/pq", "claude-code"))]  # fmt: skip
    memory = {"CLAUDE.md": 60, "AGENTS.md": 40, "GEMINI.md": 9_000}
    found = {one.name: one for (one, *_) in offers.offers(billed(made, PRICES, None), PRICES, memory, Path(folder))}
    change: Any = found["memory files half as long"].change
    assert change.args == (cut,)


def test_what_is_done_together_loses_what_each_loses_and_no_more_than_may_be() -> None:
    parts, large = ("results of Bash", "results of Read"), (Large(0, 3, 8_000, 0, 1), Large(0, 3, 8_000, 1, 1))

    def found(needs: int) -> tuple[str, str, float | None]:
        sizes = (response(0, 16_100, 16_000, needs=needs), response(16_100, 30, 30, turn=True, crossing=1),
                 response(16_130, 30, 30, needs=needs))  # fmt: skip
        together = smaller(bill(*sizes, parts=parts, large=large), PRICES).together
        assert together is None or together.given is None, "several are not one setting"
        return (together.name, together.loses, together.kept) if together else ("", "", None)

    # Each of the cuts may lose one of 40 uses, both together two; of 24 it is a 24th each and a twelfth together.
    read, bash = "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS = 2500", "bashOutputMaxChars = 4000"
    kept = "keeps about 97% of what was used"
    assert found(20) == (f"{bash} + {read}", f"{kept}; {kept}", pytest.approx(0.95))
    assert found(12) == ("", "", None)


def test_what_is_outside_a_conversation_is_paid_and_no_part_of_a_saving() -> None:
    of = bill(FIRST, response(1_100, 50, 50), beside=(response(0, 1_000, 0), response(0, 1_000, 0)))
    (one,) = (one for one in smaller(of, PRICES, {"CLAUDE.md": 200}).savings if one.name.startswith("memory"))
    # 100 tokens less, written once and read once, of 11,000 + 1,600, two times 10,000 and four answers of 500.
    assert one.usd == pytest.approx(100 * 11) and one.share == pytest.approx(1_100 / 34_600)


@pytest.mark.parametrize(("days", "usd", "kept"), [(30, 0, None), (None, -13_000, 0.25)])
def test_a_summary_is_paid_on_its_day_in_the_bill_of_that_day(days: int | None, usd: float, kept: float | None) -> None:
    # Compacted before its second request; 40 days later, at no price, the recorded agent compacted too.
    later = 40 * 86_400.0
    responses = [msgspec.structs.replace(FIRST, time_s=0.0), response(1_100, 800, 800, needs=4, crossing=3, time_s=0.0),
                 response(0, 400, 300, compacted=True, time_s=later), response(400, 30, 30, time_s=later)]  # fmt: skip
    free = Rates(0.0, 0.0, 0.0, 0.0, 0.0)
    prices: Any = SimpleNamespace(of=lambda model, time_s, served="": free if time_s else RATES[model])
    sessions = [msgspec.structs.replace(one, responses=tuple(responses)) for one in bill(FIRST).sessions]
    paid = _Paid(billed(sessions, prices if days is None else PRICES, days), prices if days is None else PRICES)
    found = paid.saving([Offer("", 5, partial(compacted_at, 1_500, 200), "", keeps=True)])
    # 1,100 + 8,000 is 3,000 then, and a summary reads and writes the same again and answers 200: 9,100 - 22,100.
    assert found.usd == pytest.approx(usd) and found.kept == kept


def test_a_change_is_as_large_a_share_of_what_a_log_states() -> None:
    paid = [response(0, 1_100, 1_000, usd=2.0),
            response(100, 1_050, 50, usd=2.0, missed=1_000, cause=1, pause_s=1_000.0)]  # fmt: skip
    (one,) = (one for one in smaller(bill(*paid), PRICES).savings if one.name.startswith("pauses"))
    # By listed prices 11,000 + 10,600 and two answers of 500, of which 9,000 are saved.
    assert one.usd == pytest.approx(4.0 * 9_000 / 22_600)


@pytest.mark.parametrize(
    ("one", "read", "output"),
    [
        # Listed 100 and 500: a sixth of what is stated was for reading.
        (response(100, 0, 0, usd=60.0), 10, 50),
        # Without prices by tokens, 100 and 10; without tokens all is output.
        (response(100, 0, 0, usd=11.0, model="nobodys"), 10, 1),
        (response(0, 0, 0, usd=0.5, model="nobodys", output=0), 0, 0.5),
    ],
)
def test_stated_dollars_are_shared_by_prices_else_by_tokens(one: Response, read: float, output: float) -> None:
    ((_, [(_, made)]),) = paid([session(one)], PRICES)
    assert (made.read, made.write, made.plain, made.output, made.how) == (read, 0, 0, pytest.approx(output), "recorded")


def test_sessions_of_one_name_have_the_dollars_that_each_states() -> None:
    two = [session(response(100, 0, 0), usd=usd) for usd in (2.0, 3.0)]
    assert [made.usd for _, [(_, made)] in paid(two, PRICES)] == [pytest.approx(2), pytest.approx(3)]


MISSED = response(100, 1_050, 50, missed=1_000, cause=1, pause_s=1_000.0)


def dated(days: Sequence[int], *responses: Response) -> list[Session]:
    """A session on each of the days, named by it."""
    return [
        session(*(msgspec.structs.replace(one, time_s=day * 86_400.0) for one in responses), name=f"s{day}")
        for day in days
    ]


def test_savings_are_of_the_dollars_that_are_forecast_at_this_pace() -> None:
    # One session a day in eight weeks, after a pause of 300 days. Each saves 9,000 of 22,600 dollars.
    sessions = dated([*range(14), *range(314, 370)], FIRST, MISSED)
    for days in (None, 30):
        of = billed(sessions, PRICES, days)
        (one,) = (one for one in smaller(of, PRICES).savings if one.name.startswith("pauses"))
        low, high = forecast(sessions_of(of), "", AHEAD).amounts["usd"].ranges["90"]
        share = 9_000 / 22_600
        assert one.share == pytest.approx(share) and one.kept is None and one.ahead is not None
        # Of what comes at this pace, 30 sessions, the share that the sessions saved; it varies too.
        assert one.ahead[0] < low * share < 30 * 9_000 < high * share < one.ahead[1] < high
        assert np.sqrt(one.ahead[0] * one.ahead[1]) == pytest.approx(30 * 9_000, rel=0.1)


def test_without_a_price_or_a_time_no_saving_is_forecast() -> None:
    unpriced = [msgspec.structs.replace(one, model="nobodys") for one in (FIRST, MISSED)]
    sessions = [*dated(range(3), *unpriced), *dated([3, 4], FIRST, MISSED)]
    assert [one.ahead for one in smaller(billed(sessions, PRICES, None), PRICES).savings] == [None]
    assert smaller(billed(sessions[2:], PRICES, None), PRICES).savings[0].ahead
    # Nor where nothing is saved.
    assert smaller(billed(dated(range(9), FIRST), PRICES, None), PRICES).savings == []


def test_what_is_written_for_an_hour_is_saved_at_its_price() -> None:
    long = response(0, 1_100, 1_000, long=1_100)
    of = bill(long, response(100, 1_050, 50, long=1_000, missed=1_000, cause=1, pause_s=9_000.0))
    (one,) = (one for one in smaller(of, PRICES).savings if one.name.startswith("pauses"))
    # Of 1,050 written, 1,000 for an hour, 1,000 are read: 50 are left, of them 48 for an hour.
    assert one.usd == pytest.approx((1_000 * 20 + 50 * 10) - (48 * 20 + 2 * 10 + 1_000))


def test_sub_agents_are_drawn_with_their_session() -> None:
    made = bill(FIRST, MISSED).sessions[0]

    def saved(parent: str) -> list[float]:
        plain = msgspec.structs.replace(made, name="other", responses=(FIRST, response(1_100, 50, 50)), parent=parent)
        of = billed([made, plain], PRICES, None)
        paid = _Paid(of, PRICES)
        (pauses,) = (one for (one, *_) in offers.offers(of, PRICES, {}, None) if "pauses" in one.name)
        assert paid.saving([pauses]).usd == 9_000
        return paid.saved[pauses.name].tolist()

    # Two sessions, of which one saves 9,000. With its sub-agent it is one session.
    assert saved("") == [9_000, 0] and saved("s") == [9_000] and saved("unknown") == [9_000, 0]
    # Of what has no price nothing is saved.
    unpriced = session(msgspec.structs.replace(FIRST, model="nobodys"), name="unpriced")
    assert smaller(billed([made, unpriced], PRICES, None), PRICES).savings[0].usd == pytest.approx(9_000)
