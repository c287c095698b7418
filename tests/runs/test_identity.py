"""Where a run may be written: in place of itself, of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxsim.errors import InputError
from ctxsim.runs.identity import REFERENCE, refuse_another


def test_a_run_takes_the_place_of_the_same_question_alone(tmp_path: Path) -> None:
    refuse_another(tmp_path, "a")
    (tmp_path / "run.json").write_text('{"question": "a", "title": "Logs", "policies": ["keep-all"]}')
    refuse_another(tmp_path, "a")
    with pytest.raises(InputError, match=r"holds another run \(Logs; 1 policy\); give another --out"):
        refuse_another(tmp_path, "b")
    (tmp_path / "run.json").write_text("cut off")
    with pytest.raises(InputError, match="holds another run; give"):
        refuse_another(tmp_path, "a")
    (tmp_path / REFERENCE).touch()
    with pytest.raises(InputError, match="is a documented reference"):
        refuse_another(tmp_path, "a")
