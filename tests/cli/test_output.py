"""What is said beside a run's tables."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from made_runs import made_run

from ctxsim.cli.loudness import taken
from ctxsim.cli.output import tell_fit, tell_recorded


def test_a_run_of_keep_all_alone_says_how_its_sizes_are_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tell_recorded(made_run(tmp_path / "run", {"keep-all": [{"size": "prior"}, {}]}))
    said = capsys.readouterr()
    assert "No recorded usage to compare with. Sizes of transcripts: 1 prior, 1 counted" in said.err + said.out


def test_how_a_transcript_was_fitted_is_told_with_v(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["-v"]):
        with click.Context(click.Command("bench")) as context:
            taken(context, arguments)
            tell_fit("a", "fitted", 1_200, 1.0)
            tell_fit("b", "prior", 0, 1.25)
    assert capsys.readouterr().err.splitlines()[:2] == [
        "a: fitted, 1,200 tokens that the log doesn't hold",
        "b: prior, 0 tokens that the log doesn't hold, 1.25 tokens for each counted one",
    ]
