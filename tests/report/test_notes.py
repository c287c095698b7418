"""What stands around the table of a bench or sweep: its order, its title, and what its figures stand on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas
import pytest

from ctxsim.answers.advice.figures import Figures, Share
from ctxsim.report import tables
from ctxsim.report.losses import basis
from ctxsim.report.sheet import text_rows, value_rows
from ctxsim.report.tables import bench_sheet, sweep_sheet


def figures(policy: str, usd: float, tokens: int, kept: float, refused: int = 0) -> Figures:
    usual = dict.fromkeys(Figures.__struct_fields__) | {
        "policy": policy, "bound": policy == "keep-all", "usd": usd, "usd_share": Share(usd / 10), "tokens": tokens,
        "tokens_share": Share(tokens / 10), "kept": Share(kept), "refused": refused, "peak": 1,
    }  # fmt: skip
    return Figures(**usual)


EVERY = {
    "keep-all": figures("keep-all", 10.0, 10, 1.0), "dear": figures("dear", 9.0, 6, 0.9),
    "worse": figures("worse", 9.5, 9, 0.5), "cheap": figures("cheap", 5.0, 7, 0.8),
}  # fmt: skip


def run_of(**columns: list[Any]) -> Any:
    rows = {"first_failure": None, "calls_until_first_failure": None, "survival": 1.0, "chance_rate": None,
            "calls_with_aged_needs": 1, "calls": 10}  # fmt: skip
    part = pandas.DataFrame({name: columns.get(name, [value] * 2) for name, value in rows.items()})
    return SimpleNamespace(
        of=lambda label: part,
        shown=str,
        labels=list(EVERY),
        info=SimpleNamespace(title="A title", bounds=("keep-all",)),
    )


def pooled_of(every: dict[str, Figures] | None = None, **given: Any) -> Any:
    usual = {
        "all": every or EVERY, "labels": list(EVERY), "transcripts": 2, "by_dollars": True, "priced": 2, "ranges": "",
        "sample": None, "refusals": lambda label: 0.0,
        "value": lambda label, of: (every or EVERY)[label].usd if of == "usd" else (every or EVERY)[label].tokens,
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **given})


BASIS = "2 of 20 calls, in 2 of 2 transcripts, used something from an older result."


@pytest.mark.parametrize(
    ("given", "title", "note"),
    [
        ({}, "A title (2 transcripts)", "USD and tokens are totals over all transcripts; kept is a mean."),
        ({"priced": 1, "ranges": "95 %"}, "A title (2 transcripts)",
         "Tokens are totals over all transcripts, USD over the 1 with known prices; kept is a mean; ranges: 95 %."),
        ({"priced": 1, "by_dollars": False, "transcripts": 1}, "A title (1 transcript)",
         "USD and tokens are totals over all transcripts; kept is a mean."),
        ({"priced": 1, "transcripts": 1_000, "sample": SimpleNamespace(transcripts=5_000), "ranges": "x"},
         "A title (1,000 of 5,000 transcripts, sampled)",
         "USD, tokens, kept, refused calls and shares of keep-all are estimates for this folder; ranges: 95 %, "
         "sampling error; all other columns are of the sampled transcripts."),
    ],
)  # fmt: skip
def test_a_table_says_what_its_figures_are_of(given: dict[str, Any], title: str, note: str) -> None:
    found = bench_sheet(run_of(), pooled_of(**given), None, names=["usd"])
    assert (found.title, found.notes) == (title, (note, BASIS))
    assert [one.name for one in found.columns] == ["policy", "usd"] and found.name == "policies"


def test_refused_calls_are_a_note_and_the_advised_policy_is_marked() -> None:
    every = {**EVERY, "dear": figures("dear", 9.0, 6, 0.9, refused=2)}
    advice: Any = SimpleNamespace(take=SimpleNamespace(policy="cheap"))
    found = bench_sheet(run_of(), pooled_of(every), advice, names=["tokens"])
    assert found.notes[1] == tables.REFUSED and len(found.notes) == 3
    assert found.marks == ("dim", "bad", "", "chosen") and bench_sheet(run_of(), pooled_of(), None).marks[3] == ""


@pytest.mark.parametrize(
    ("dollars", "order", "worth"),
    # By dollars nothing beats `dear` and `cheap`; by tokens `dear` beats both others.
    [(True, ["keep-all", "cheap", "dear", "worse"], [None, True, True, False]),
     (False, ["keep-all", "dear", "cheap", "worse"], [None, True, False, False])],
)  # fmt: skip
def test_settings_stand_by_worth_and_then_by_amount(dollars: bool, order: list[str], worth: list[Any]) -> None:
    advice: Any = SimpleNamespace(take=SimpleNamespace(policy="dear"))
    found = sweep_sheet(run_of(), pooled_of(by_dollars=dollars), advice, names=["usd"])
    assert found.name == "settings" and found.title == "A title (2 transcripts)" and len(found.notes) == 2
    assert [row["policy"] for row in value_rows(found)] == order
    assert [row["worth"] for row in value_rows(found)] == worth
    words = {None: "", True: "yes", False: "no"}
    assert [row["worth it"] for row in text_rows(found)] == [words[one] for one in worth]
    assert found.marks == tuple("dim" if one == "keep-all" else "chosen" if one == "dear" else "" for one in order)
    assert found.columns[-1].about.startswith("yes: no other setting, nor keep-all, is at least as good")


def test_the_table_of_a_bench_is_texts_by_heading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "figures_of", lambda run: pooled_of())
    assert tables.policy_rows(run_of())[1] == {
        "policy": "dear", "USD": "9.00", "of keep-all": "90%", "kept": "90%", "tokens": "60%", "refused": "-"
    }  # fmt: skip


def test_survival_stands_on_calls_that_used_something_old() -> None:
    one = run_of(survival=[0.5, None], chance_rate=[0.25, None], calls=[10, 30], calls_with_aged_needs=[4, 3])
    # Calls of transcripts whose survival is known, of all calls.
    assert basis(one) == (
        "4 of 40 calls, in 1 of 2 transcripts, used something from an older result; 25% of these identifiers are in "
        "another session too"
    )
