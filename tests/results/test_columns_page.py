"""The page of columns, of two small tables; and what run.json and the tables say of columns."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from ctxsim.results import columns_page, run_info
from ctxsim.results.columns import Calls, Counted, Dollars, Fact, Number, OfPolicy, OfTranscript, Seconds, column
from ctxsim.results.run_info import RunInfo, is_as_set, is_nothing


class One(OfPolicy, frozen=True):
    """One thing. More of it.

    And more.
    """

    call: Annotated[int, Number, "its number"]
    tokens_sent: Annotated[int, Counted, "what was sent"]
    cost_usd: Annotated[float | None, Dollars, "what it cost"]
    kept: Annotated[bool | None, Fact, "whether it was kept"]
    wait_s: Annotated[float, Seconds, "how long"]
    took: Annotated[float, Seconds, "how long too"]
    share: Annotated[float, column("counted", "share of all"), "how much"] = 0.5


class Two(OfTranscript, frozen=True):
    """Another thing."""

    call: Annotated[int, Number, "its number"]
    age: Annotated[int, Calls, "how old"]
    tokens_sent: Annotated[int, Counted, "another meaning"]


TABLES = {"ones": (One, True), "twos": (Two, False), "threes": (Two, True), "fours": (Two, True)}


def test_the_page_lists_each_table_s_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_page, "TABLES", TABLES)
    found = columns_page.markdown()
    assert "Each table is a Parquet file. `ones`, `threes` and `fours` are also CSV files." in found
    assert (
        found[found.index("\n## ones") :]
        == """
## ones

One thing.

- `call`: its number
- `tokens_sent` (counted): what was sent
- `cost_usd`? (modelled): what it cost
- `kept`?: whether it was kept
- `wait_s` (modelled): how long
- `took` (modelled seconds): how long too
- `share` (counted share of all): how much

## twos

Another thing.

- `age` (calls): how old
- `tokens_sent` (counted): another meaning
- as in a table above: `call`

## threes

Another thing.

- as in a table above: `call`, `age`, `tokens_sent`

## fours

Another thing.

- as in a table above: `call`, `age`, `tokens_sent`
"""
    )


def test_every_column_is_a_row_with_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_page, "TABLES", {"twos": (Two, False)})
    monkeypatch.setattr(columns_page, "COMPACTION_TABLES", {"ones": One})
    rows = columns_page.column_rows()
    assert rows[:4] == [
        ("twos", "transcript", "str", "fact", "", "the transcript's name"),
        ("twos", "call", "int", "fact", "count", "its number"), ("twos", "age", "int", "fact", "calls", "how old"),
        ("twos", "tokens_sent", "int", "counted", "tokens", "another meaning"),
    ]  # fmt: skip
    assert [row[1:3] for row in rows[4:]] == [
        ("transcript", "str"), ("policy", "str"), ("call", "int"), ("tokens_sent", "int"), ("cost_usd", "float?"),
        ("kept", "bool?"), ("wait_s", "float"), ("took", "float"), ("share", "float"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "as_set", "nothing"),
    [("as-set", True, False), ("as-set:given=a/b=1", True, False), ("as-setting", False, False),
     ("keep-all", False, True), ("keep-all:estimator=chars", False, True), ("keep-all-else", False, False)],
)  # fmt: skip
def test_two_labels_have_a_meaning(label: str, as_set: bool, nothing: bool) -> None:
    assert (is_as_set(label), is_nothing(label)) == (as_set, nothing)


def test_what_a_run_leaves_out_has_these_values() -> None:
    names = ("name", "title", "ctxsim", "tokenizers", "policies", "shown", "bounds", "limits", "providers", "inputs",
             "detectors")  # fmt: skip
    info = RunInfo(**dict.fromkeys(names))  # type: ignore[arg-type]
    rest = {name: value for name, value in msgspec.structs.asdict(info).items() if name not in names}
    assert rest == {
        **dict.fromkeys(("secrets_kept", "sample", "recorders", "refetch", "setting", "others_code"), msgspec.UNSET),
        "complete": True, "scenario": None, "question": "", "schema": 4, "columns": {}, "files": {}, "digest": "",
    }  # fmt: skip
    source = run_info.InputInfo("a", "b", 1, 2)
    assert (source.failures, source.error, source.notes) == ((), None, ())
    assert msgspec.structs.replace(source, failed=("x",)).failures == ("x",)
    assert {name: csv for name, (_, csv) in run_info.TABLES.items()} == {
        "calls": True, "events": False, "items": False, "needs": False, "losses": False, "frontier": True,
        "needles": True, "draws": True, "summary": True,
    }  # fmt: skip
