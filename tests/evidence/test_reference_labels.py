"""The hand-labelled references, on recordings that have none of them."""

from __future__ import annotations

from pathlib import Path

from command_line import evidence
from invented import write_logs


def test_without_labelled_cases_there_is_no_recall(tmp_path: Path) -> None:
    done = evidence("reference_labels", str(write_logs(tmp_path / "logs", 1)), cwd=tmp_path)
    assert done.returncode == 1 and done.stdout.startswith("0 of ") and "| strict | 0 | 0 |" in done.stdout
