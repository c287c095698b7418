"""Options (`ctxsim.cli.options`) at their bounds, and what they stand for where they aren't typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click
import pytest
from click.testing import CliRunner

from ctxsim.api.bill import DAYS
from ctxsim.cli import cli, options
from ctxsim.report.sheet import FORMS
from ctxsim.simulator.provider.wire import Format

USUAL: dict[str, dict[str, Any]] = {
    "bench": {"goal": "dollars", "form": "table", "columns": None, "head": "fitted", "across": False,
              "overwrite": False, "resume": False, "text": "redacted", "jobs": None, "rules": (), "scenarios": (),
              "policies": (), "out": None},
    "replay": {"losses": False, "request": None, "wire": None, "across": False, "head": "fitted", "number": None},
}  # fmt: skip


@pytest.mark.parametrize("name", USUAL)
def test_what_is_not_typed_is_usual(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    found = command.make_context(name, ["x", "--policy", "y"] if name == "replay" else []).params
    assert {key: found[key] for key in USUAL[name]} == USUAL[name] and DAYS == 30


def typed(option: Any, *arguments: str) -> Any:
    """What a command with this option gets of it, and beside it; an error's text otherwise."""
    found: dict[str, Any] = {}

    @click.command()
    @option
    def command(**said: Any) -> None:
        found.update(said)

    done = CliRunner().invoke(command, arguments)
    return found or done.output


@pytest.mark.parametrize(
    ("option", "name", "least", "most"),
    [(options.number, "--number", 1, None), (options.window, "--window", 1, 10**12),
     (options.jobs(""), "--jobs", 1, None),
     (options.sample(""), "--sample", 1, None)],
)  # fmt: skip
def test_numbers_have_bounds(option: Any, name: str, least: int, most: int | None) -> None:
    key = name[2:]
    assert typed(option, name, str(least))[key] == least
    assert "is not in the range" in typed(option, name, str(least - 1))
    if most is not None:
        assert typed(option, name, str(most))[key] == most and "is not in the range" in typed(
            option, name, str(most + 1)
        )


def test_a_head_is_up_to_a_million_million() -> None:
    assert [typed(options.head, "--head", text)["head"] for text in ("fitted", "none", "0", str(10**12))] == [
        "fitted", "none", 0, 10**12
    ]  # fmt: skip
    for text in (str(10**12 + 1), "-1", "1.5", "all"):
        assert "is none of: fitted, none, a number of tokens up to 10^12" in typed(options.head, "--head", text)


def test_a_seed_is_no_less_than_nothing_and_draws_are_one_at_least() -> None:
    assert typed(options.sample(""), "--sample", "3:seed=0") == {"sample": 3, "seed": 0}
    assert "-1 is not in the range" in typed(options.sample(""), "--sample", "3:seed=-1")
    assert "may end in :seed=N, and in nothing else" in typed(options.sample(""), "--sample", "3:draws=1")
    assert "may end in :seed=N" in typed(options.sample(""), "--sample", "3:")
    (refetch,) = [one for one in options.RUN_OPTIONS if "--refetch" in str(typed(one, "--help"))]
    assert typed(refetch, "--refetch", "0") == {"refetch": 0.0} and typed(refetch, "--refetch", "1:draws=1") == {
        "refetch": 1.0, "draws": 1
    }  # fmt: skip
    assert "is not in the range" in typed(refetch, "--refetch", "1.01")
    assert "0 is not in the range" in typed(refetch, "--refetch", "0.5:draws=0")


def test_columns_are_named_or_all() -> None:
    assert typed(options.columns)["columns"] is None and typed(options.columns, "--columns", "all")["columns"] == ("*",)
    assert typed(options.columns, "--columns", "usd,kept")["columns"] == ("usd", "kept")


def test_a_rule_has_the_type_of_its_field() -> None:
    def rules(*texts: str) -> Any:
        return typed(options.provider, *(part for text in texts for part in ("--provider", text)))

    assert rules("window=9", "window=8")["rules"] == (("window", 8),)
    assert "is not FIELD=VALUE" in rules("window")
    assert "'windows' is no field; fields: tokenizer, " in rules("windows=5")
    assert rules("usage_factor=0.5", "long_cache=true")["rules"] == (("usage_factor", 0.5), ("long_cache", True))
    assert rules("rate_limit=none", "thinking=none", "cache=none")["rules"] == (
        ("rate_limit", None), ("thinking", "none"), ("cache", "none"),
    )  # fmt: skip
    assert rules('rate_limit={"tokens_per_minute": 9}')["rules"] == (("rate_limit", {"tokens_per_minute": 9}),)
    assert rules("cache=none")["rules"] == (("cache", "none"),) and rules("cache=")["rules"] == (("cache", ""),)
    assert "thinking=x: expected none, drop, refuse" in rules("thinking=x").replace("\n", " ")
    assert "window=large: Expected `int | null`" in rules("window=large") and "rate_limit={: " in rules("rate_limit={")


def test_arguments_leave_out_what_is_not_said() -> None:
    assert options.fields({"a": None, "jobs": None, "b": 0, "c": False, "rules": (("window", 9),)}) == {
        "jobs": None, "b": 0, "c": False, "window": 9
    }  # fmt: skip
    assert options.fields({}) == {}


def test_names_of_models_and_their_file() -> None:
    cases = {
        "mine.toml": ("mine.toml", ""), "llama3:8b": ("", "llama3:8b"), ".toml": (".toml", ""), "": ("", ""),
        "a.toml:": ("a.toml", ""), "a.toml:b.toml:c": ("a.toml:b.toml", "c"),
    }  # fmt: skip
    assert {text: options.own_models(text) for text in cases} == cases
    assert FORMS == ("table", "json", "csv", "md") and get_args(Format) == ("anthropic", "openai")


def given(*arguments: str, usual: Any = None) -> dict[str, Any]:
    """What a command with the options of a run and of settings gets; `usual` are a project's defaults."""
    found: dict[str, Any] = {}

    @click.command()
    @options.given(*options.RUN_OPTIONS, options.as_set)
    def command(**said: Any) -> None:
        found.update(said)

    done = CliRunner().invoke(command, arguments, default_map=usual)
    return found or {"error": done.output}


def test_a_file_of_models_stands_before_the_model() -> None:
    own = given("--model", "at/mine.toml:llama3:8b")
    assert (own["models"], own["model"]) == (Path("at/mine.toml"), "llama3:8b")
    # The project's file holds beside a model that is typed.
    own = given("--model", "gpt-5", usual={"models": "ours.toml"})
    assert (own["models"], own["model"]) == (Path("ours.toml"), "gpt-5")
    assert (given()["models"], given()["model"]) == (None, None)


def test_a_second_number_stands_behind_a_colon() -> None:
    assert [given().get(name) for name in ("sample", "seed", "refetch", "draws")] == [None] * 4
    said = given("--sample", "60:seed=4", "--refetch", "0.5:draws=20")
    assert [said[name] for name in ("sample", "seed", "refetch", "draws")] == [60, 4, 0.5, 20]
    assert "seed" not in given("--sample", "60")


def test_work_is_done_by_processes_or_at_an_address() -> None:
    assert [given("--jobs", "3").get(name) for name in ("jobs", "cluster")] == [3, None]
    assert [given("--jobs", "tcp://here:8786")[name] for name in ("jobs", "cluster")] == [1, "tcp://here:8786"]
    assert given(usual={"jobs": 2})["jobs"] == 2


def test_what_is_typed_goes_before_the_projects_rules_and_the_others_stay() -> None:
    usual = {"rules": ("tokenizer=cl100k_base", "cache=openai")}
    assert dict(given(usual=usual)["rules"]) == {"tokenizer": "cl100k_base", "cache": "openai"}
    said = given("--provider", "cache=none", "--provider", "thinking=drop", usual=usual)
    assert dict(said["rules"]) == {"tokenizer": "cl100k_base", "cache": "none", "thinking": "drop"}


def test_a_folder_of_settings_is_a_project(tmp_path: Path) -> None:
    assert [given("--settings", str(tmp_path))[name] for name in ("settings", "project")] == [None, tmp_path]
    file = tmp_path / "settings.json"
    assert [given("--settings", str(file))[name] for name in ("settings", "project")] == [file, None]


def test_flags_are_off_unless_typed() -> None:
    flags = ("across", "overwrite", "resume")
    assert not any(given()[name] for name in flags) and given()["text"] == "redacted"
    assert all(given("--across-compactions", "--force", "--resume")[name] for name in flags)
