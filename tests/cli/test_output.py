"""What is said beside a run's tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_runs import made_run

from ctxsim.cli.output import tell_recorded


def test_a_run_of_keep_all_alone_says_how_its_sizes_are_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tell_recorded(made_run(tmp_path / "run", {"keep-all": [{"size": "prior"}, {}]}))
    said = capsys.readouterr()
    assert "No recorded usage to compare with. Sizes of transcripts: 1 prior, 1 counted" in said.err + said.out
