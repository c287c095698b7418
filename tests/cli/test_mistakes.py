"""Mistakes are one line and a non-zero exit, whatever the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import ctxsim

from ctxsim.cli import BEFORE, COMMANDS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bnch"], "unknown command 'bnch'; did you mean bench?"),
        (["bench", "--scenario", "documented"], "did you mean documented-53k"),
        (["bench", "--policy", "tokn-budget"], "did you mean token-budget or"),
        (["bench", "--provider", "tokenizer=o200"], "did you mean o200k_base?"),
        (["bench", "nothing-here"], "nothing-here: does not exist"),
        (["bench", "--model", "claude-sonet-4-5"], "did you mean claude-sonnet-4-5"),
        (["replay", "documented-53k", "--policy", "keep-all", "--request", "9"], "has 7 calls, there is no call 9"),
        (["replay", "fifty", "--policy", "keep-all"], "unknown scenario 'fifty'; did you mean fifty-turns?"),
        (["replay", "documented-53k", "--policy", "mask", "--format", "openai"], "say which by --request K"),
        (["check", "policy", "mask", "--scenario", "fifty"], "unknown scenario 'fifty'; did you mean fifty-turns?"),
        (["check", "estimator", "chrs"], "did you mean chars"),
        (["check", "agent", "codx"], "did you mean codex or "),
        (["check", "vendor", "antropic"], "did you mean anthropic?"),
        (["check", "setting", "codx", "a=1"], "did you mean codex or "),
        (["check", "run", "nothing-here"], "nothing-here: is no finished run: run.json is missing"),
        (["check", "reader", "mine.py", "x"], "no reader file mine.py"),
        (["check", "policy", "mask", "--doctor", "--defect", "task"], "did you mean task-lost"),
        (["bench", "--cache", "antropic"], "did you mean anthropic?"),
        (["list", "policies", "no-such"], "none of the policies fits 'no-such'; without a pattern all are listed"),
        (["list", "models", "no-such-model"], "no model fits 'no-such-model'"),
        (["list", "vendors", "no-such-vendor"], "no vendor fits 'no-such-vendor'"),
        (["serve"], "say what to play: --scenario NAME or --transcript FILE"),
        (["drive", "--scenario", "documented-53k"], "name an agent (claude-code, "),
    ],
)
def test_mistakes_are_one_line_and_a_non_zero_exit(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = ctxsim(*arguments, cwd=tmp_path)
    assert done.returncode != 0
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir()), "a failed command left files"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("window", "'window' is not FIELD=VALUE; fields: tokenizer, window, "),
        ("windows=5", "'windows=5' is not FIELD=VALUE"),
        ("window=large", "window=large: Expected `int | null`"),
        ("rate_limit={", "rate_limit={: "),
        ("summaries=short", "summaries=short: Invalid enum value 'short'"),
    ],
)
def test_a_rule_that_is_none_is_told_before_anything_runs(rule: str, message: str, tmp_path: Path) -> None:
    done = ctxsim("bench", "--provider", rule, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_names_of_before_say_what_to_type_now(tmp_path: Path) -> None:
    assert len(COMMANDS) == 17 and not set(BEFORE) & set(COMMANDS)
    for name, now in BEFORE.items():
        done = ctxsim(name, "whatever", "--policy", "mask", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"ctxsim: '{name}' is now: {now}\n"
        words = now.split()
        assert words[0] == "python" or (words[0] == "ctxsim" and words[1] in COMMANDS)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("check agent codex --scenario documented-53k", "--doctor, --defect and --scenario are for policies"),
        ("check run out --doctor", "--doctor, --defect and --scenario are for policies"),
        ("check agent codex --install", "--version, --model, --window, --install and --bisect are for settings"),
        ("check setting codex", "name a setting too: ctxsim check setting AGENT KEY=VALUE"),
        ("check setting codex limit", "'limit' is no KEY=VALUE"),
        ("check setting codex a=1 --bisect 1.0", "--bisect wants two versions"),
        ("check setting codex a=1 --bisect 1.0..2.0 --install", "--bisect chooses and installs versions itself"),
        ("check policy mask --defect task-lost", "--defect goes with --doctor"),
    ],
)
def test_options_that_say_nothing_of_what_is_checked_are_told(line: str, message: str, tmp_path: Path) -> None:
    done = ctxsim(*line.split(), cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr


def test_a_family_is_checked_policy_by_policy(tmp_path: Path) -> None:
    done = ctxsim("check", "policy", "papers", "--scenario", "documented-53k", cwd=tmp_path)
    said = done.stdout.splitlines()
    assert done.returncode == 0 and said[-2] == "mask:keep=10,batch=1: keeps the contract"
    assert len(said) == 10, "each with whether it is append-only"
