"""What is said beside a run's tables."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from made_runs import made_run

from ctxsim.api.runs import read_run
from ctxsim.cli.loudness import taken
from ctxsim.cli.output import tell_fit, tell_recorded
from ctxsim.errors import InputError, agreed, many
from ctxsim.runs.identity import refuse_another


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


@pytest.mark.parametrize(("number", "said"), [
    (1, "1 policy, 1 day, 1 key"), (2, "2 policies, 2 days, 2 keys"), (1_001, "1,001 policies, 1,001 days, 1,001 keys"),
])  # fmt: skip
def test_nouns_in_y_agree_with_their_number(number: int, said: str) -> None:
    assert ", ".join(many(number, what) for what in ("policy(s)", "day(s)", "key(s)")) == said
    assert agreed(f"{number:,} summary(s) of {number:,} tool call(s)").startswith(said.split()[0] + " summar")


def test_a_run_of_one_policy_has_one_policy(tmp_path: Path) -> None:
    run = read_run(made_run(tmp_path / "run", {"keep-all": [{}]}).folder)
    assert repr(run).endswith("1 transcript, 1 policy>")
    with pytest.raises(InputError, match=r"holds another run \(.*; 1 policy\)"):
        refuse_another(run.folder, "another question")
