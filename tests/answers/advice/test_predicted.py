"""What advice predicted, and what came: by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from made_runs import made_run

from ctxsim.answers.advice.predicted import Came, Prediction, keep, kept, mark, not_scored, place, predict, scored
from ctxsim.answers.forecast.sessions import Sessions
from ctxsim.api.advising import score
from ctxsim.errors import CtxsimError
from ctxsim.results.run_info import Drawn, Sample

SAID = Prediction(
    "codex", {"key": 1}, {5: (9.0, 20.0), 10: (20.0, 40.0)}, {5: (4.0, 8.0), 10: (8.0, 16.0)}, None, 100.0
)


def sessions(times: list[float], each: float) -> Sessions:
    many = len(times)
    names = tuple(f"s{n}" for n in range(many))
    return Sessions(names, tuple(times), names, names, {"usd": np.full(many, each)}, many)


def test_predictions_are_kept_with_their_time_and_without_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert kept() == []
    keep(SAID, 7.0, ["logs"])
    keep(SAID, 8.0, [])
    with place().open("ab") as stream:
        stream.write(b'{"cut')
    assert [one.made for one in kept()] == [7.0, 8.0] and kept()[0].advised == SAID.advised


def test_predictions_that_are_equal_but_for_their_time_are_the_first_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for made, seen, paths in ((7.0, 4, "a"), (8.0, 4, "a"), (9.0, 5, "a"), (10.0, 4, "b")):
        keep(msgspec.structs.replace(SAID, seen=seen), made, [paths])
    assert [one.made for one in kept()] == [7.0, 9.0, 10.0]


def test_a_prediction_is_of_what_it_was_made_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    keep(SAID, 7.0, [])
    assert list(not_scored([])) == []
    for made, key in ((8.0, 1), (9.0, 2)):
        keep(msgspec.structs.replace(SAID, settings={"key": key}), made, ["theirs"])
    assert [one.over for one in kept()] == [mark(["@found"]), *[mark([str(tmp_path / "theirs")])] * 2]
    assert list(not_scored([])) == ["Not scored: 2 predictions from other paths."]
    with pytest.raises(CtxsimError, match="nothing was predicted from these sessions yet"):
        score("elsewhere")


def test_twice_the_bill_is_predicted_twice_as_high(tmp_path: Path) -> None:
    rows = [{"cost_usd": 1.0 + n % 3, "started": 86_400.0 * n} for n in range(20)]
    half = [{**row, "cost_usd": row["cost_usd"] / 2} for row in rows]
    found = predict(made_run(tmp_path, {"keep-all": rows, "a": half}), "a", "codex", {})
    assert found is not None and found.days is not None
    for many in (5, 10):
        assert [2 * end for end in found.advised[many]] == pytest.approx(found.as_set[many])
    assert [2 * end for end in found.days[1]] == pytest.approx(found.days[0])
    assert found.saves is not None and found.saves.middle == pytest.approx(0.5, abs=0.02)
    low, high = found.saves.ranges["90"]
    assert 0.2 < low < 0.45 and 0.55 < high < 0.8, "what is drawn cancels out; what nobody has seen yet remains"
    assert predict(made_run(tmp_path / "b", {"keep-all": [{}], "a": [{}]}), "a", "codex", {}) is None


def test_changing_nothing_saves_exactly_nothing(tmp_path: Path) -> None:
    rows = [{"cost_usd": 1.0, "started": 86_400.0 * n} for n in range(20)]
    found = predict(made_run(tmp_path, {"keep-all": rows, "a": rows}), "keep-all", "codex", {})
    assert found is not None and found.saves is not None and set(found.saves.ranges.values()) == {(0.0, 0.0)}


def test_a_sample_foretells_nothing_and_few_sessions_go_by_those_of_others(tmp_path: Path) -> None:
    rows = [{"cost_usd": 1.0 + n % 3, "started": 864_000.0 * n} for n in range(20)]
    drawn = Sample(4, 0, "", "tokens", 40, 40, 400, 100_000, 50.0, tuple(Drawn(f"t{n}", 0.1) for n in range(4)))
    table = {"keep-all": rows, "a": rows}
    assert predict(made_run(tmp_path / "drawn", table, sample=drawn), "a", "codex", {}) is None
    # Of 20 sessions, one in ten days, three come in 30 days; of four as many are more than half.
    for seen, by_priors in ((20, False), (4, True)):
        some = {label: each[:seen] for label, each in table.items()}
        found = predict(made_run(tmp_path / str(seen), some), "a", "codex", {})
        assert found is not None and found.days is not None and found.by_priors is by_priors
        assert found.days[0][1] < 30, "some three of one to three dollars, not thirty"


def test_where_most_transcripts_have_no_price_no_dollars_are_predicted(tmp_path: Path) -> None:
    rows = [{"cost_usd": 1.0}, {"cost_usd": 1.0}, *({"root": "t9"} for _ in range(3))]
    assert predict(made_run(tmp_path, {"keep-all": rows, "a": rows}), "a", "codex", {}) is None, "two of three sessions"


def test_what_changed_since_when_is_kept(tmp_path: Path) -> None:
    rows = [
        {"cost_usd": 1.0 + n / 10, "tokens_sum": (100 if n < 20 else 9000) + n % 3, "started": 86_400.0 * n}
        for n in range(40)
    ]
    found = predict(made_run(tmp_path / "a", {"keep-all": rows, "a": rows}), "a", "codex", {})
    assert found is not None and (found.seen, found.since) == (20, 20 * 86_400.0)
    # What is advised sends as much all the time; still the same sessions count, whose dollars are the same here.
    even = [{**row, "tokens_sum": 100} for row in rows]
    held = predict(made_run(tmp_path / "c", {"keep-all": rows, "a": even}), "a", "codex", {})
    assert held is not None and held.advised == held.as_set == found.as_set
    alike = predict(made_run(tmp_path / "b", {"keep-all": rows[:20], "a": rows[:20]}), "a", "codex", {})
    assert alike is not None and (alike.seen, alike.since) == (20, None)


@pytest.mark.parametrize(("each", "as_set", "advised"), [
    # Ranges of five are 9 to 20 dollars as set and 4 to 8 as advised, with their ends.
    (1.8, True, False), (4.0, True, False), (4.001, False, False), (0.8, False, True), (1.6, False, True),
    (0.799, False, False),
])  # fmt: skip
def test_a_range_holds_its_ends(each: float, as_set: bool, advised: bool) -> None:
    # One that began with the advice isn't after it.
    (found,) = scored([SAID], {"codex": sessions([100.0, 101, 102, 103, 104, 105], each)})
    assert found == Came(SAID, 5, pytest.approx(5 * each), as_set, advised)


def test_as_many_as_a_horizon_are_added_up() -> None:
    said = msgspec.structs.replace(SAID, as_set=dict.fromkeys((5, 10, 20), (0.0, 99.0)), advised=dict.fromkeys(
        (5, 10, 20), (0.0, 1.0)))  # fmt: skip
    told = {}
    for many in (5, 9, 10, 19, 20, 30):
        (found,) = scored([said], {"codex": sessions([200.0 + n for n in range(many)], 1.0)})
        told[many] = found.sessions, found.usd
    assert told == {5: (5, 5), 9: (5, 5), 10: (10, 10), 19: (10, 10), 20: (20, 20), 30: (20, 20)}
    # Four are too few, another agent's say nothing, and without prices nobody knows what came.
    known = sessions([200.0 + n for n in range(5)], 1.0)
    assert scored([said], {"codex": known.part(1)}) == [] == scored([said], {"pi": known})
    assert scored([said], {"codex": msgspec.structs.replace(known, amounts={"tokens": known.amounts["usd"]})}) == []


def test_where_predictions_lie_and_what_marks_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert place() == tmp_path / ".local" / "state" / "ctxsim" / "advised.jsonl"
    monkeypatch.chdir(tmp_path)
    # The order says nothing, and none are those of the user's home.
    assert mark(["a", "b"]) == mark(["b", str(tmp_path / "a"), "a"]) != mark(["a"])
    assert mark([]) == mark(["@found"]) == mark([str(tmp_path)]) and len(mark([])) == 8
