"""`ctxsim check setting AGENT KEY=VALUE`: what the installed agent does with a setting."""

import json
import sys
from collections.abc import Sequence

import click

from ctxsim.api.probing import bisect_setting, check_setting
from ctxsim.cli.output import tell
from ctxsim.cli.show import show
from ctxsim.cli.terminal import say
from ctxsim.live.configs.edit import Value
from ctxsim.live.probe.check import SettingCheck
from ctxsim.report.sheet import sheet

COLUMNS = ("agent", "version", "model", "key", "value", "verdict", "firing", "lower", "upper", "expected", "unit",
           "inside", "calls", "seconds", "offline")  # fmt: skip


def run(targets: Sequence[str], version: str, model: str, window: int | None, install: bool, form: str) -> None:
    """Check a setting and print the result. Exit with status 1 if it isn't what the policy's formula gives."""
    agent, given = targets[0], dict(map(_pair, targets[1:]))
    if not given:
        raise click.UsageError("name a setting too: ctxsim check setting AGENT KEY=VALUE")
    first, between, last = version.partition("..")
    if between:
        if not (first and last):
            raise click.UsageError("between which two versions? As in --version 2.1.118..2.1.330")
        done = bisect_setting(
            agent, given, first, last, model=model, window=window or 0,
            told=lambda one: tell(f"{one.agent} {one.version}: {_did(one)}"),
        )  # fmt: skip
        checks, changes = done.checks, done.changes
    else:
        checks = (check_setting(agent, given, version=version, model=model, window=window or 0, install=install),)
        changes = []
    if form != "table":
        rows = [tuple(getattr(one, name) for name in COLUMNS) for one in checks]
        show("check", [sheet("settings", "", COLUMNS, rows)], form)
    elif between:
        for before, after in changes:
            say(f"It changed in {after.version}: {_did(before)} in {before.version}, then {_did(after)}.")
        if not changes:
            say(f"{checks[0].version} and {checks[-1].version} do the same: {_did(checks[0])}.")
    else:
        say("\n".join(lines(checks[0])))
    if not all(one.inside for one in checks):
        sys.exit(1)


def _pair(text: str) -> tuple[str, Value]:
    """Parse KEY=VALUE. The value is a number, true or false, or else a text; a number in quotes is a text too."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"'{text}' is no KEY=VALUE")
    try:
        decoded = json.loads(value)
    except ValueError:
        return key, value
    return (key, decoded) if isinstance(decoded, bool | int | float | str) else (key, value)


def lines(one: SettingCheck) -> list[str]:
    """Return a check's result as lines: the verdict, what the agent did, the formula, and seconds and calls."""
    did = _did(one)
    awaited = f"expected {one.expected:,.0f}" if one.expected is not None else f"expected: {one.expected_firing}"
    said = [f"{one.agent} {one.version}, {one.model}: {_verdict(one)}.", f"{did[0].upper()}{did[1:]}; {awaited}."]
    if one.formula and one.unit == "tokens" and one.expected is not None:
        said.append(f"({one.formula})")
    where = "offline" if one.offline else "not enclosed: it could have used the network"
    return [*said, f"{one.seconds:.0f} s, {one.calls} calls, {where}."]


def _verdict(one: SettingCheck) -> str:
    if one.verdict == "needs more":
        return f"acts only with {', '.join(one.needs)}"
    if one.verdict == "capped" and one.cap:
        return f"capped at {one.cap} of {one.window:,} tokens" if "window" in one.cap else f"capped at {one.cap}"
    return one.verdict


def _did(one: SettingCheck) -> str:
    if one.unit == "characters":
        return f"a large result keeps {one.lower:,} characters"
    if one.lower is None or one.upper is None:
        return f"fires {one.firing}"
    return f"fires between {one.lower / 1_000:.1f}K and {one.upper / 1_000:.1f}K tokens"
