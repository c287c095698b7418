"""What run.json and the tables say of columns."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from ctxsim.results import run_info
from ctxsim.results.columns import CallRow, Dollars, Fact, Number, OfPolicy, column, described
from ctxsim.results.run_info import RunInfo, is_as_set, is_nothing
from ctxsim.simulator.ledger.kernel import CAUSES


class One(OfPolicy, frozen=True):
    """One thing."""

    call: Annotated[int, Number, "its number"]
    cost_usd: Annotated[float | None, Dollars, "what it cost"]
    kept: Annotated[bool | None, Fact, "whether it was kept"]
    share: Annotated[float, column("counted", "share of all"), "how much"] = 0.5


def test_every_column_is_described_with_its_type() -> None:
    assert list(described(One)) == [
        ("transcript", "str", "fact", "", "the transcript's name"),
        ("policy", "str", "fact", "", "the policy's full label"), ("call", "int", "fact", "count", "its number"),
        ("cost_usd", "float?", "modelled", "USD", "what it cost"),
        ("kept", "bool?", "fact", "", "whether it was kept"),
        ("share", "float", "counted", "share of all", "how much"),
    ]  # fmt: skip


def test_the_column_of_cache_breaks_names_every_cause() -> None:
    (meaning,) = [told for name, *_, told in described(CallRow) if name == "cache_break"]
    for cause, word in zip(CAUSES, ("miss", "model", "tools", "prompt", "lifetime", "reach"), strict=True):
        assert word in meaning, cause


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
