"""Lists: what fits a pattern, each as values for programs and as texts for people."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from ctxsim.api import lists
from ctxsim.api.lists import KINDS, completions, listed, page
from ctxsim.api.settings import SettingRow
from ctxsim.errors import CtxsimError
from ctxsim.results.compactions import COMPACTION_TABLES
from ctxsim.results.run_info import TABLES


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "models"])
def test_a_kind_has_rows_as_wide_as_its_columns(kind: str) -> None:
    found, said = listed(kind)
    assert found.rows and all(len(row) == len(found.columns) for row in found.rows)
    assert (said == []) is (kind in ("tokenizers", "config")) and all(len(one) == 2 for one in said)
    with pytest.raises(CtxsimError, match="zzzz"):
        listed(kind, "zzzz")


def test_a_pattern_is_contained_unless_it_has_wildcards() -> None:
    assert [row[0] for row in listed("policies", "token-budg")[0].rows] == ["token-budget"]
    assert [row[0] for row in listed("policies", "fif?")[0].rows] == ["fifo"]
    assert listed("policies", "[f]ifo")[0].rows == listed("policies", "fifo*")[0].rows
    # A family's name is that of its policies, also where it is within a policy's name: deepagents is of the frameworks.
    for family in ("agents", "frameworks", "seeds", "papers"):
        named = listed("policies", family)[0].rows
        assert {row[3] for row in named} == {family}
    assert len(listed("policies", "seeds,papers")[0].rows) == sum(
        len(listed("policies", one)[0].rows) for one in ("seeds", "papers")
    )
    assert {row[0] for row in listed("columns", "*survival*")[0].rows} == {"frontier", "summary"}
    # All together begin with the forms of policies that run elsewhere.
    assert len(listed("policies")[1]) > len(listed("policies")[0].rows)
    with pytest.raises(CtxsimError, match=r"none of the policies fits 'token\*x'; without"):
        listed("policies", "token*x")


@pytest.mark.parametrize(
    ("kind", "pattern", "names"),
    [
        ("policies", "mask", "mask"), ("estimators", "chars*", "chars chars-total"), ("agents", "pi", "pi copilot-cli"),
        ("formats", "codex", "codex-rollout"), ("scenarios", "documented-53k*", "documented-53k documented-53k-cached"),
        ("tokenizers", "tiktoken:*", "tiktoken:o200k_base tiktoken:cl100k_base"), ("config", "window", "window"),
        ("vendors", "gemini", "google"), ("columns", "survival_loose", "summary"), ("columns", "losses.*", "losses"),
        ("columns", "table.usd*", "table"), ("columns", "*worth*", "table"), ("columns", "estimates.*", "estimates"),
    ],
)  # fmt: skip
def test_a_pattern_lists_what_fits_it(kind: str, pattern: str, names: str) -> None:
    assert {row[0] for row in listed(kind, pattern)[0].rows} == set(names.split())


def test_a_vendor_may_be_said_in_part_and_a_model_whole() -> None:
    rows = listed("vendors", "anthro")[0].rows
    assert {row[0] for row in rows} == {"anthropic"} and rows[0][1] == "models" and rows[0][3:] == ("*", "", "")
    assert {row[0] for row in listed("vendors", "claude-sonnet-4-5")[0].rows} == {"anthropic"}


def test_models_of_ones_own_come_first(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[[model]]\nid = "gpt-4o-mine"\nwindow = 1000\nvendor = "openai"\n'
                    'prices = { input = 1.0, output = 2.5 }\n')  # fmt: skip
    found = listed("models", "gpt-4o-mine", str(file))[0]
    [row] = found.rows
    assert (row[0], row[1], row[2], row[5], row[6]) == (
        f"{file}/gpt-4o-mine", (1000, "1,000"), (1.0, "1"), (2.5, "2.5"), "openai"
    )  # fmt: skip
    assert {one.name: one.rank for one in found.columns if one.rank} == {"write": 2, "read": 1, "rules": 3,
                                                                        "tokenizer": 4}  # fmt: skip
    with pytest.raises(CtxsimError, match="no model fits 'gpt-4o-mine'"):
        listed("models", "gpt-4o-mine")


def test_a_rate_that_grows_has_a_plus() -> None:
    assert lists._rate(None) == (None, "-") and lists._rate(2.5) == (2.5, "2.5")
    assert lists._rate(((0, 1.25), (200_000, 2.5))) == (1.25, "1.25+")


def test_a_settings_lines_say_what_is_known() -> None:
    bare: SettingRow = SimpleNamespace(**dict.fromkeys(SettingRow.__struct_fields__, ""))  # type: ignore[assignment]
    assert lists._told(bare) == "can't be set"
    full = {"where": "file", "unit": "tokens", "bounds": "1..9", "outside": "refused", "cap": "5", "needs": "x",
            "opposite": True, "policy": "p", "parameter": "q", "honoured": "yes", "defaults": "1: 2",
            "note": "n"}  # fmt: skip
    told: SettingRow = SimpleNamespace(**(vars(bare) | full))  # type: ignore[assignment]
    assert lists._told(told).splitlines() == [
        "file; tokens; 1..9; refused outside; at most 5; needs x", "by version or model: 1: 2",
        "policy: the opposite of p:q", "installed: yes", "n",
    ]  # fmt: skip


def test_a_shell_completes_with_what_must_be_given() -> None:
    policies = completions("policies")
    assert "keep-all" in policies and policies == sorted(policies, key=lambda one: one.partition(":")[0])
    assert completions("columns")[0] == "all" and "documented-53k" in completions("scenarios")
    models = completions("models")
    assert models == sorted(set(models)) and "gpt-4o" in models


def test_pages_are_those_of_the_site() -> None:
    assert page("policies") == ""
    assert page("formats").startswith("# ")
    columns = page("columns")
    assert re.findall("^## (.*)", columns, re.MULTILINE) == [*TABLES, "estimates", *COMPACTION_TABLES, "table"]
    head = "| column | type | kind | unit | meaning |\n|---|---|---|---|---|\n"
    assert f"\n## calls\n\n{head}| transcript | str | fact |  | the transcript's name |\n" in columns
    assert "\n| usd |  | modelled |  | cost of all transcripts with known prices (heading: USD) |\n" in columns
    kinds = {line.split(" | ")[2] for line in columns.splitlines() if line.startswith("| ")} - {"kind"}
    assert kinds == {*re.findall(r"^- \*(.*?)\*: ", columns, re.MULTILINE)}
    (csv,) = re.findall("Each table is a Parquet file. (.*) are also CSV files.", columns)
    assert re.findall("`(.*?)`", csv) == [name for name, (_, csv_too) in TABLES.items() if csv_too]
