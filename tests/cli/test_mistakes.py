"""Mistakes are one line and a non-zero exit, whatever the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import ctxsim


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bnch"], "unknown command 'bnch'; did you mean bench?"),
        (["bench", "--scenario", "documented"], "did you mean documented-53k"),
        (["bench", "--policy", "tokn-budget"], "did you mean token-budget or"),
        (["bench", "--tokenizer", "o200"], "did you mean o200k_base?"),
        (["bench", "nothing-here"], "nothing-here: does not exist"),
        (["bench", "--model", "claude-sonet-4-5"], "did you mean claude-sonnet-4-5"),
        (["replay", "documented-53k", "--policy", "keep-all", "--request", "9"], "has 7 calls, there is no call 9"),
        (["replay", "fifty", "--policy", "keep-all"], "unknown scenario 'fifty'; did you mean fifty-turns?"),
        (["replay", "documented-53k", "--policy", "mask", "--format", "openai"], "say which by --request K"),
        (["claims", "--seed", "9"], "there is no document 9; --document is one of: 000, 001, 002, 003, 004"),
        (["check-policy", "mask", "--scenario", "fifty"], "unknown scenario 'fifty'; did you mean fifty-turns?"),
    ],
)
def test_mistakes_are_one_line_and_a_non_zero_exit(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = ctxsim(*arguments, cwd=tmp_path)
    assert done.returncode != 0
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir()), "a failed command left files"
