"""The bill as a function: what it reads, what it remembers, and its sums."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from invented import sets, write_logs

from ctxsim.answers.bill.dollars import PriceList, Rates
from ctxsim.answers.bill.facts import Response, Session
from ctxsim.answers.bill.index import Index
from ctxsim.answers.bill.sums import billed
from ctxsim.api.bill import DAYS, MEMORY_FILES, Bill, bill, compare_unpaired, forget
from ctxsim.errors import CtxsimError, InputError, UnknownName

DAY = 86_400.0

# Dollars of one token: read 1, written 10, for an hour 20, uncached 5, output 50.
PRICES: Any = type("Prices", (), {"of": lambda self, model, time_s, served="": Rates(1e6, 10e6, 20e6, 5e6, 50e6)})()


def made(*ones: tuple[str, float, int]) -> Bill:
    """A bill of sessions of a project each, of one response: project, day, tokens read; its output is a token."""
    sessions = [
        Session(f"{project}/s{n}", "", "claude-code", project, "1", (
            Response(DAY * day + DAY / 2, "m", read, 0, 0, 0, 1, False, None),), (), ())
        for n, (project, day, read) in enumerate(ones)
    ]  # fmt: skip
    return Bill(billed(sessions, PRICES, None), PriceList(Index()))


def test_sums_are_by_cost_and_those_of_days_in_order() -> None:
    found = made(("a", 9, 10), ("b", 3, 30), ("a", 1, 5), ("c", 2, 30))
    assert [(name, one.usd) for name, one in found.by().items()] == [("a", 115), ("b", 80), ("c", 80)]
    assert list(found.by("day")) == ["1970-01-02", "1970-01-03", "1970-01-04", "1970-01-10"]
    assert list(found.by("week")) == ["1969-12-29", "1970-01-05"]
    assert found.total().usd == 275 and found.by("model")["m"].responses == 4
    for wrong in ("part", "year"):
        with pytest.raises(UnknownName, match=f"unknown by '{wrong}'"):
            found.by(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="by=5: must be day, week, project, session, model, agent"):
        found.by(5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="days=-1: must be a whole number of at least 1"):
        found.ahead(-1)


def test_without_prices_sums_are_by_tokens() -> None:
    unpriced: Any = type("Prices", (), {"of": lambda self, model, time_s, served="": None})()
    sessions = made(("a", 1, 10), ("c", 1, 30), ("b", 2, 30)).lines.sessions
    assert list(Bill(billed(sessions, unpriced, None), PriceList(Index())).by()) == ["b", "c", "a"]


def test_a_frame_has_tokens_and_dollars_by_how_they_are_known() -> None:
    frame = made(("a", 1, 10), ("a", 2, 5)).frame()
    assert frame.to_dict("records") == [
        {"project": "a", "sessions": 2, "responses": 2, "read": 15, "write": 0, "plain": 0, "output": 2,
         "usd_recorded": 0.0, "usd_listed": 115.0, "unpriced": 0}
    ]  # fmt: skip
    assert made(("a", 1, 10)).frame("agent").columns[0] == "agent"


def test_days_ahead_need_sessions_with_times() -> None:
    many = made(*(("a", day, 10) for day in range(20)))
    ahead = many.ahead()
    assert (
        ahead is not None
        and (ahead.ahead.many, ahead.ahead.days, ahead.policy) == (30, True, "as it is")
        and DAYS == 30
    )
    assert (later := many.ahead(7)) is not None and later.ahead.many == 7
    assert made().ahead() is None
    timeless = [
        msgspec.structs.replace(one, responses=tuple(msgspec.structs.replace(r, time_s=None) for r in one.responses))
        for one in many.lines.sessions
    ]
    assert Bill(billed(timeless, PRICES, None), PriceList(Index())).ahead() is None


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write_logs(tmp_path / "logs", 1)


def test_memory_files_of_a_project_are_counted(logs: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    assert MEMORY_FILES == ("CLAUDE.md", "AGENTS.md", "GEMINI.md")
    (project / "GEMINI.md").write_text("one two")
    (project / "CLAUDE.md").write_text("one two three")
    (project / "README.md").write_text("no agent reads this at every request")
    found = bill(logs, project=project, index=False)
    assert list(found.memory.items()) == [("CLAUDE.md", 3), ("GEMINI.md", 2)]
    assert bill(logs, index=False).memory == {}
    with pytest.raises(InputError, match=r"CLAUDE\.md: is no folder"):
        bill(logs, project=project / "CLAUDE.md", index=False)


def test_figures_of_files_are_remembered_unless_nobody_wants_it(logs: Path) -> None:
    assert forget() is None
    bill(logs, index=False)
    assert forget() is None
    told: list[tuple[str, int, int, int]] = []
    first = bill([logs], tell=lambda *one: told.append(one))
    # The chat has no usage.
    assert told == [(str(logs / "chat-1.json"), 1, 0, 3), (str(logs / "claude-1.jsonl"), 1, 6, 3),
                    (str(logs / "rollout-1.jsonl"), 1, 6, 3)]  # fmt: skip
    again = bill(str(logs))
    assert again.total() == first.total() and again.total().responses == 12
    place = forget()
    assert place is not None and place.name == "facts.msgpack" and not place.exists()


def test_what_is_no_transcript_is_left_out_and_an_error_where_it_is_named(logs: Path) -> None:
    stranger, broken = logs / "package.json", logs / "broken.jsonl"
    stranger.write_text('{"name": "x"}')
    broken.write_text('{"cut": ')
    found = bill(logs, index=False)
    assert len(found.left_out) == 1 and found.left_out[0].startswith(f"{stranger}: is no transcript format")
    assert len(found.errors) == 1 and found.errors[0].startswith(f"{broken}: ")
    named = bill([stranger], index=False)
    assert named.left_out == [] and named.errors[0].startswith(f"{stranger}: is no transcript format")


def test_two_sets_of_sessions_are_compared_by_rules(tmp_path: Path) -> None:
    sets(tmp_path, 2_000)
    before, after = tmp_path / "before", tmp_path / "after"
    found = compare_unpaired(before, after, ["head > 10%", "calls > 0", "tokens < -1%"], index=False)
    assert [one.figure for one in found.broken] == ["head"] and found.errors == []
    # No project is recorded; the folders that they lie in are none.
    assert (found.alike, found.left_out) == (True, (0, 0)) and found.frame().figure.tolist() == [
        one.figure for one in found.differences
    ]
    (before / "broken.jsonl").write_text('{"cut": ')
    same = compare_unpaired(before, before, ["head > 10%"], index=False)
    assert same.broken == [] and len(same.errors) == 2
    assert "calls" in {one.figure for one in found.differences if not one.changed}
    with pytest.raises(CtxsimError, match="nothing for --fail-if to judge: too few sessions have cost_per_call"):
        compare_unpaired(_unpriced(before), after, ["cost_per_call > 1%"], index=False)
    for rule, unit, meant in (("head < -2.5", "per cent", "head < -2.5%"),
                              ("compactions > 1%", "a number", "compactions > 1")):  # fmt: skip
        with pytest.raises(CtxsimError, match=f"changes by {unit}: write '{meant}'"):
            compare_unpaired(before, after, [rule])


def _unpriced(folder: Path) -> Path:
    for file in folder.glob("?.jsonl"):
        file.write_text(file.read_text().replace("claude-sonnet-4-5", "nobody-sells-this"))
    return folder
