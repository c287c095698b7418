"""What options make of what is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from ctxsim.cli import options
from ctxsim.simulator.provider import RateLimit


def typed(*arguments: str) -> Any:
    """What a command with the provider's option gets."""
    found: list[Any] = []

    @click.command()
    @options.provider
    def command(rules: Any) -> None:
        found.append(rules)

    done = CliRunner().invoke(command, arguments)
    return found[0] if found else done.output


def test_rules_of_the_provider_have_their_fields_types() -> None:
    given = ("--provider", "window=5000", "--provider", "usage_factor=0.5", "--provider", "long_cache=true")
    assert typed(*given) == (("window", 5000), ("usage_factor", 0.5), ("long_cache", True))
    assert typed("--provider", "vendor=anthropic") == (("vendor", "anthropic"),)
    limit = typed("--provider", 'rate_limit={"tokens_per_minute": 9}')
    assert limit == (("rate_limit", RateLimit(9)),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("window", "is not FIELD=VALUE"),
        ("windows=5", "'windows' is no field; fields: tokenizer, "),
        ("window=many", "window=many: "),
    ],
)
def test_others_are_refused(text: str, message: str) -> None:
    assert message in typed("--provider", text)


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
    assert options.own_models("mine.toml") == ("mine.toml", "")
    assert options.own_models("at/mine.toml:llama3:8b") == ("at/mine.toml", "llama3:8b")
    assert options.own_models("llama3:8b") == ("", "llama3:8b")
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


def test_a_head_is_no_less_than_nothing() -> None:
    assert given(usual={"head": 300})["head"] == 300
    assert "'-3' is none of: fitted, none" in given(usual={"head": -3})["error"]


def test_flags_are_off_unless_typed() -> None:
    flags = ("across", "overwrite", "resume")
    assert not any(given()[name] for name in flags) and given()["text"] == "redacted"
    assert all(given("--across-compactions", "--force", "--resume")[name] for name in flags)
