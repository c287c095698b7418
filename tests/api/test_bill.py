"""The bill as a function: what of a project it reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from invented import write_logs

from ctxsim.api.bill import bill
from ctxsim.errors import InputError


def test_memory_files_of_a_project_are_counted(tmp_path: Path) -> None:
    logs, project = write_logs(tmp_path / "logs", 1), tmp_path / "project"
    project.mkdir()
    (project / "CLAUDE.md").write_text("one two three")
    (project / "README.md").write_text("no agent reads this at every request")
    assert bill(logs, project=project, index=False).memory == {"CLAUDE.md": 3}
    assert bill(logs, index=False).memory == {}
    with pytest.raises(InputError, match=r"CLAUDE\.md: is no folder"):
        bill(logs, project=project / "CLAUDE.md", index=False)
