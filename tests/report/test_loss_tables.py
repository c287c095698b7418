"""What was lost, from needs and losses written by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas
import pytest

from ctxsim.report import losses
from ctxsim.report.losses import breakdown, of_summaries, pooled, survival_by_age
from ctxsim.report.sheet import text_rows, value_rows

# Detector, age, depth, kind, tool of each need; the last two are fresh, or no identifier.
NEEDS = [
    ("strict", 1, "head", "value", "read"), ("strict", 2, "tail", "value", "read"),
    ("strict", 3, "head", "name", "grep"), ("strict", 9, "head", "value", "grep"),
    ("strict", 10, "middle", "value", "read"),
    ("strict", 29, "middle", "value", "read"), ("strict", 30, "middle", "value", "bash"),
    ("strict", 0, "head", "value", "read"), ("loose", 5, "head", "quotation", "read"),
]  # fmt: skip
# By policy, which of them were lost, and how.
LOST = {"a": {0: "truncated", 3: "dropped", 7: "dropped", 8: "dropped"}, "b": dict.fromkeys(range(9), "summarised")}


@pytest.fixture
def run() -> Any:
    columns = ("detector", "age", "depth", "kind", "tool")
    needs = pandas.DataFrame(NEEDS, columns=columns)
    lost = pandas.DataFrame(
        {**dict(zip(columns, NEEDS[number], strict=True)), "policy": policy, "form": form}
        for policy, which in LOST.items() for number, form in which.items()
    )  # fmt: skip
    tables = {"needs": needs, "losses": lost}

    def batches(table: str, columns: list[str]) -> list[pandas.DataFrame]:
        # In two pieces, of which none ends where a group does.
        return [tables[table][columns][:4], tables[table][columns][4:]]

    return SimpleNamespace(batches=batches, labels=["a", "b", "c"], shown=str.upper)


def test_needs_are_counted_by_groups_of_ages(run: Any) -> None:
    assert pooled(run, "needs", "group").to_dict() == {"1-2": 2, "3-9": 2, "10-29": 2, "30+": 1}
    assert pooled(run, "needs", "group", fresh=True).to_dict() == {"0": 1, "1-2": 2, "3-9": 2, "10-29": 2, "30+": 1}
    found = pooled(run, "losses", "policy", "depth").to_dict()
    assert found == {("a", "head"): 2, ("b", "head"): 3, ("b", "tail"): 1, ("b", "middle"): 3}
    none: Any = SimpleNamespace(batches=lambda table, columns: [])
    assert len(pooled(none, "needs", "group")) == 0


def test_what_each_policy_kept_by_age_depth_kind_and_tool(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    by_age = breakdown(run, "age")
    assert text_rows(by_age) == [
        {"policy": "A", "1-2 (n=2)": "50%", "3-9 (n=2)": "50%", "10-29 (n=2)": "100%", "30+ (n=1)": "100%"},
        {"policy": "B", "1-2 (n=2)": "0%", "3-9 (n=2)": "0%", "10-29 (n=2)": "0%", "30+ (n=1)": "0%"},
        {"policy": "C", "1-2 (n=2)": "100%", "3-9 (n=2)": "100%", "10-29 (n=2)": "100%", "30+ (n=1)": "100%"},
    ]
    assert (by_age.name, by_age.title, by_age.columns[0].left) == ("age", "Kept identifiers by age (pooled over all "
                                                                   "calls)", True)  # fmt: skip
    # Of three in heads one is kept; values have four decimals.
    assert value_rows(breakdown(run, "depth"))[0] == {"policy": "A", "head": 0.3333, "middle": 1.0, "tail": 1.0}
    assert list(text_rows(breakdown(run, "depth"))[0]) == ["policy", "head (n=3)", "middle (n=3)", "tail (n=1)"]
    # The one with the most needs comes first, and what has no column of its own is in the last.
    assert text_rows(breakdown(run, "kind"))[0] == {"policy": "A", "value (n=6)": "67%", "name (n=1)": "100%"}
    assert losses.TOOLS_SHOWN == 4
    monkeypatch.setattr(losses, "TOOLS_SHOWN", 1)
    assert text_rows(breakdown(run, "tool"))[0] == {"policy": "A", "read (n=4)": "75%", "others (n=3)": "67%"}


def test_how_it_was_lost_is_counted(run: Any) -> None:
    found = breakdown(run, "form")
    assert text_rows(found) == [
        {"policy": "A", "truncated": "1", "dropped": "1", "summarised": "0"},
        {"policy": "B", "truncated": "0", "dropped": "0", "summarised": "7"},
        {"policy": "C", "truncated": "0", "dropped": "0", "summarised": "0"},
    ]
    assert (found.name, found.title) == ("form", "Lost identifiers by form of loss (pooled over all calls)")
    assert len(found.notes) == 1 and breakdown(run, "age").notes == ()


def test_by_age_fresh_ones_count_too(run: Any) -> None:
    groups, kept = survival_by_age(run)
    assert groups == ["0 (n=1)", "1-2 (n=2)", "3-9 (n=2)", "10-29 (n=2)", "30+ (n=1)"]
    assert kept == {"a": [0, 50, 50, 100, 100], "b": [0] * 5, "c": [100] * 5}


def test_whose_summaries_the_tables_are_of_is_said(run: Any) -> None:
    calls = {"a": [0, 0], "b": [0, 2], "c": [1, 0]}
    run.of = lambda label: pandas.DataFrame({"summary_calls": calls[label]})
    run.info = SimpleNamespace(providers=({}, {"summaries": "empty"}))
    told = "B, C: figures are of ctxsim's own extractive/empty summaries; a model's may keep more or less."
    assert of_summaries(run) == [told]
    run.labels = ["a"]
    assert of_summaries(run) == []
