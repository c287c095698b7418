"""What options make of what is typed."""

from __future__ import annotations

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
    [("window", "is not FIELD=VALUE"), ("windows=5", "is not FIELD=VALUE"), ("window=many", "window=many: ")],
)
def test_others_are_refused(text: str, message: str) -> None:
    assert message in typed("--provider", text)


def test_what_a_run_is_told_where_little_is_typed() -> None:
    def told(*arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def command(**values: Any) -> None:
            found.update(values)

        for option in reversed(options.RUN_OPTIONS):
            command = option(command)
        done = CliRunner().invoke(click.command()(command), arguments)
        assert done.exit_code == 0, done.output
        return found

    assert {name: value for name, value in told().items() if value not in (None, ())} == {
        "head": "fitted", "across": False, "force": False, "resume": False, "text": "redacted", "seed": 0, "jobs": 1,
    }  # fmt: skip
    flags = ("--across-compactions", "--force", "--resume")
    assert {name for name, value in told(*flags).items() if value is True} == {"across", "force", "resume"}
