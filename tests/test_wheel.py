"""What is installed from a wheel is whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from command_line import process
from project import ROOT


@pytest.mark.slow
def test_a_wheel_holds_everything_and_works_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    builds = f"from hatchling.build import build_wheel; build_wheel({str(tmp_path / 'wheels')!r})"
    subprocess.run([sys.executable, "-c", builds], cwd=ROOT, check=True)
    (wheel,) = (tmp_path / "wheels").glob("ctxsim-*.whl")
    assert wheel.stat().st_size < 1_750_000, "CONTRIBUTING says 1.75 MB"
    with ZipFile(wheel) as archive:
        held = set(archive.namelist())
        archive.extractall(tmp_path / "installed")
    sources = [file.relative_to(ROOT) for file in (ROOT / "ctxsim").rglob("*") if file.is_file()]
    wanted = {str(file) for file in sources if "__pycache__" not in file.parts}
    wanted |= {f"ctxsim/{file.relative_to(ROOT)}" for file in (ROOT / "scenarios").rglob("*.toml")}
    assert len(wanted) > 200 and not wanted - held
    assert not [name for name in held - wanted if ".dist-info/" not in name], "and nothing else"
    done = process("list", "scenarios", cwd=tmp_path, PYTHONPATH=str(tmp_path / "installed"))
    assert done.returncode == 0, done.stderr
    for scenario in (ROOT / "scenarios").glob("*.toml"):
        assert f"{scenario.stem}: " in done.stdout
