"""What `ctxsim forecast` says of a forecast: its lines, its table, and how earlier ones held."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from ctxsim.answers.forecast.backtest import Tried
from ctxsim.answers.forecast.drift import Change
from ctxsim.answers.forecast.forecast import Amount, Forecast
from ctxsim.answers.forecast.known_texts import Told
from ctxsim.answers.forecast.sessions import Next
from ctxsim.cli import forecast as room
from ctxsim.cli.forecast import _backtests, _lines, _table
from ctxsim.report.sheet import Cell
from ctxsim.results.run_info import Recorder


def amount(middle: float, low: float, high: float) -> Amount:
    """One whose narrower ranges lie a quarter and a half of the way to its middle."""
    ends = {"90": 0.0, "80": 0.25, "50": 0.5}
    return Amount(middle, {name: (low + of * (middle - low), high - of * (high - middle)) for name, of in ends.items()})


USD = {
    "usd": amount(8.0, 4.0, 16.0), "tokens": amount(200_000, 99_999, 300_000), "calls": amount(50, 1, 1_200),
    "compactions": amount(1, 0, 3), "refused": amount(0, 0, 0.4),
}  # fmt: skip


def one(**fields: Any) -> Forecast:
    plain: dict[str, Any] = {
        "policy": "as it is", "ahead": Next(20), "basis": "sessions", "seen": 40, "known": 40, "priced": 40,
        "change": None, "since": None, "come": amount(20, 20, 20), "amounts": USD, "recorded": {},
    }  # fmt: skip
    return Forecast(**(plain | fields))


def tried(ahead: int, level: int, held: bool, low: float = 1.0, high: float = 3.0, **scores: Any) -> Tried:
    return Tried(9, ahead, "usd", level, low, high, 2.0, held, scores.get("score", 0.5), scores.get("plain_held", held),
                 scores.get("plain", 1.0))  # fmt: skip


def forecasts(today: Forecast, **more: Any) -> Any:
    plain = {
        "today": today, "ahead": today.ahead, "all": {"as it is": today}, "tried_alike": [], "tried": [], "told": [],
        "run": SimpleNamespace(info=SimpleNamespace(recorders=())),
        "recorded": SimpleNamespace(names=()),
    }  # fmt: skip
    return SimpleNamespace(**(plain | more))


REST = "99,999 to 0.3 M tokens; 1 to 1,200 calls; 0 to 3 compactions; no request refused."


def test_the_answer_is_dollars_and_the_rest_stands_below() -> None:
    assert _lines(forecasts(one())) == [
        "Next 20 sessions: 4.00 to 16 USD (90 %).", REST,
        "From 40 sessions.",
    ]  # fmt: skip


def test_without_prices_tokens_are_the_answer() -> None:
    bare = {name: of for name, of in USD.items() if name != "usd"} | {"refused": amount(0, 0, 0.5)}
    found = _lines(forecasts(one(amounts=bare, priced=0, seen=1)))
    assert found == [
        "Next 20 sessions: 99,999 to 0.3 M tokens (90 %).", "1 to 1,200 calls; 0 to 3 compactions; no request refused.",
        "From 1 session.",
    ]  # fmt: skip
    assert _lines(forecasts(one(amounts=bare | {"refused": amount(1, 0, 1_234)})))[1].endswith("; up to 1,234 refused.")


def test_days_say_how_many_sessions_and_missing_prices_how_many() -> None:
    found = _lines(forecasts(one(ahead=Next(7, True), come=amount(1, 1, 1), priced=39)))
    assert found[0] == "Next 7 days, 1 session at your pace: 4.00 to 16 USD (90 %)."
    assert found[2] == "Prices are known for 39 of 40 sessions: what the others cost is missing."
    found = _lines(forecasts(one(priced=39, untimed=2)))
    assert found[3] == "Not in the forecast: 2 sessions without a start time."
    found = _lines(forecasts(one(ahead=Next(1, True), come=amount(3, 2, 5))))
    assert found[0] == "Next 1 day, 2 to 5 sessions at your pace: 4.00 to 16 USD (90 %)." and len(found) == 3


def test_few_sessions_have_a_range_of_other_projects() -> None:
    alike = [tried(20, 90, True)]
    found = _lines(forecasts(one(basis="priors", seen=3), tried_alike=alike))
    assert found[0].endswith(" (a range from other projects, as the sessions seen are too few).")
    assert found[2:] == ["From 3 sessions."], "forecasts that held had intervals"


def test_a_range_this_far_ahead_is_called_wider() -> None:
    found = _lines(forecasts(one(basis="far")))
    assert found[0].endswith(" (a 90 % range, widened because it is for more than half as many sessions as were seen).")
    assert found[2:] == ["From 40 sessions."]


def test_forecasts_like_this_one_are_counted_at_the_widest_level() -> None:
    alike = [tried(20, 90, True), tried(20, 90, False), tried(20, 90, True), tried(20, 50, False)]
    assert _lines(forecasts(one(), tried_alike=alike))[2] == (
        "From 40 sessions; 2 of 3 earlier forecasts like this one held (--backtest shows all)."
    )
    assert _lines(forecasts(one(), tried_alike=alike[3:]))[2] == "From 40 sessions."


def test_what_lies_outside_the_conversations_is_named_in_dollars() -> None:
    some = [Recorder("a", "codex", beside_usd=1.25), Recorder("b", "pi", beside_usd=2.0), Recorder("c", "codex")]
    run = SimpleNamespace(info=SimpleNamespace(recorders=some))
    assert _lines(forecasts(one(), run=run))[2:] == [
        "Not in the forecast: responses outside the conversations, which cost 3.25 USD so far.", "From 40 sessions.",
    ]  # fmt: skip


def test_a_change_says_since_when_what_and_of_whom_all_is_before() -> None:
    run = SimpleNamespace(info=SimpleNamespace(recorders=(
        Recorder("a", "codex"), Recorder("b", "claude-code"), Recorder("c", "codex"), Recorder("d", "pi"),
    )))  # fmt: skip
    recorded = SimpleNamespace(names=("d", "b", "a", "c", "nobody"), started=(86_400.0 * 2,) * 5)
    size = one(change=Change(3, "size", 0.01, True), seen=2)
    assert _lines(forecasts(size, run=run, recorded=recorded))[3:] == [
        "Since 3 January 1970 sessions are of another size: the forecast goes by the 2 sessions from then on.",
        "All sessions of Claude Code and pi are before it. To forecast one agent, give its folder.",
    ]
    for more, said in ((True, "more"), (False, "less")):
        model = one(change=Change(0, "gpt-5", 0.01, more))
        assert _lines(forecasts(model, run=run, recorded=recorded))[3:] == [
            f"Since 3 January 1970 gpt-5 is used {said} than before: the forecast goes by the 40 sessions from then on."
        ]
    alike = one(change=Change(3, "gpt-5", 0.01, True, cuts=False))
    assert _lines(forecasts(alike, run=run, recorded=recorded))[3:] == [
        "Since 3 January 1970 gpt-5 is used more than before: no change of their size or of a token's price was found, "
        "so all sessions count."
    ]


def test_the_table_has_a_row_for_each_policy_and_ranges_at_each_level() -> None:
    other = one(amounts=USD | {"usd": amount(0.5, 0.5, 0.5)})
    found = _table(forecasts(one(), all={"as it is": one(), "mask": other}))
    assert (found.name, found.title) == ("forecast", "The next 20 sessions")
    assert [(column.name, column.heading, column.rank) for column in found.columns] == [
        ("policy", "under", 0), ("middle", "USD", 0), ("level_50", "50 %", 0), ("level_80", "80 %", 0),
        ("level_90", "90 %", 0), ("compactions", "compactions", 0), ("refused", "refused", 1),
    ]  # fmt: skip
    ends = {"50": (6.0, 12.0), "80": (5.0, 14.0), "90": (4.0, 16.0)}
    first = [Cell({"low": low, "high": high}, f"{low:.2f}-{high:.0f}") for low, high in ends.values()]
    rest = (Cell({"low": 0.0, "high": 3.0}, "0-3"), Cell({"low": 0.0, "high": 0.4}, "0"))
    assert found.rows[0] == ("as it is", Cell(8.0, "8.00"), *first, *rest)
    same = Cell({"low": 0.5, "high": 0.5}, "0.50")
    assert found.rows[1] == ("mask", Cell(0.5, "0.50"), same, same, same, *rest)
    bare = {name: of for name, of in USD.items() if name != "usd"}
    found = _table(forecasts(one(amounts=bare, basis="priors"), all={"x": one(amounts=bare)}))
    assert found.columns[1].heading == "tokens" and found.rows[0][1] == Cell(200_000, "0.2 M")


@pytest.mark.parametrize(
    ("value", "said"), [(99_999.0, "99,999"), (100_000.0, "0.1 M"), (12_340_000.0, "12.3 M"), (0.0, "0")]
)
def test_many_tokens_are_millions(value: float, said: str) -> None:
    bare = {"tokens": amount(value, value, value), "refused": amount(0, 0, 0)}
    assert _lines(forecasts(one(amounts=bare)))[0] == f"Next 20 sessions: {said} tokens (90 %)."


@pytest.mark.parametrize(("value", "said"), [(9.994, "9.99"), (10.0, "10"), (1_234.5, "1,234"), (0.0, "0.00")])
def test_few_dollars_have_cents(value: float, said: str) -> None:
    assert _lines(forecasts(one(amounts=USD | {"usd": amount(value, value, value)})))[0] == (
        f"Next 20 sessions: {said} USD (90 %)."
    )


def test_backtests_are_grouped_by_horizon_and_level() -> None:
    scores = [
        tried(5, 90, True, 1.0, 4.0, score=1.0, plain_held=False, plain=3.0),
        tried(5, 90, False, 1.0, 2.0, score=2.0, plain_held=True, plain=4.0),
        tried(5, 90, True, 1.0, 3.0, score=3.0, plain_held=False, plain=5.0), tried(10, 50, False, 0.0, 3.0),
    ]  # fmt: skip
    (found,) = _backtests(forecasts(one(), tried=scores))
    assert (found.name, found.title) == ("backtest", "Forecasts that know nothing of the next sessions")
    assert [(column.name, column.heading, column.rank) for column in found.columns] == [
        ("ahead", "next", 0), ("level", "level", 0), ("forecasts", "forecasts", 0), ("held", "held", 0),
        ("width", "width", 0), ("score", "score", 0), ("plain_held", "plain held", 1),
        ("plain_score", "plain score", 1),
    ]  # fmt: skip
    # Widths of 4, 2 and 3: the median is 3.
    assert found.rows == (
        (5, Cell(90, "90 %"), 3, Cell(2 / 3, "67%"), Cell(3.0, "x 3.00"), Cell(2.0, "2.00"), Cell(1 / 3, "33%"),
         Cell(4.0, "4.00")),
        (10, Cell(50, "50 %"), 1, Cell(0.0, "0%"), Cell(float("inf"), "x inf"), Cell(0.5, "0.50"), Cell(0.0, "0%"),
         Cell(1.0, "1.00")),
    )  # fmt: skip


def test_sessions_whose_texts_are_known_have_tables_of_their_own() -> None:
    told = [Told(f"s{n}", 100.0, 100.0 + n, None, None, n % 2 == 0, n % 4 == 0) for n in range(30)]
    first, second = _backtests(forecasts(one(), told=[(each, each) for each in told]))
    assert (first.name, first.title) == ("texts", "Forecasts that know the next session's texts, 90 %")
    assert (second.name, second.title) == (
        "first_call", "Forecasts that know its texts and its first call, 90 %"
    )  # fmt: skip
    assert first.rows == second.rows and [row[0] for row in first.rows] == ["tokens"]
    assert [(column.name, column.heading) for column in first.columns] == [
        ("amount", "amount"), ("forecasts", "forecasts"), ("held", "held"), ("width", "width")
    ]  # fmt: skip
    # Every second one is forecast to, of these every second one did.
    assert first.notes == (
        "Of 30 transcripts, sub-agents' included, a compaction came in 8, was forecast in 15, and both in 8.",
    )  # fmt: skip
    assert _backtests(forecasts(one())) == []


def test_too_few_sessions_to_test_a_forecast_on_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # Texts of sessions are tested all the same.
    told = [Told(f"s{n}", 100.0, 100.0 + n, None, None, n % 2 == 0, n % 4 == 0) for n in range(30)]
    monkeypatch.setattr(room, "forecast", lambda *paths, **how: forecasts(one(), told=[(each, each) for each in told]))
    monkeypatch.setattr(room, "tell_what_was_left_out", lambda info: False)
    done = CliRunner().invoke(room.command, ["logs", "--backtest"])
    assert "No forecast of several sessions could be tested: these sessions are too few." in done.output
    assert "Forecasts that know the next session's texts" in done.output and done.exit_code == 0
    rows = CliRunner().invoke(room.command, ["logs", "--backtest", "--format", "csv"])
    assert rows.stderr == "No forecast of several sessions could be tested: these sessions are too few.\n"
