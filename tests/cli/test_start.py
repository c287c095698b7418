"""`ctxsim --help` answers at once, and loads nothing but what it prints."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from invented import write_logs

from ctxsim.cli import COMMANDS, run
from ctxsim.results.run_info import __version__

MOST_S = 0.3


def test_help_takes_less_than_three_tenths_of_a_second(tmp_path: Path) -> None:
    taken = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, "-m", "ctxsim", "--help"], cwd=tmp_path, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        # Processor time: what others do on this machine is not ours.
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert done.returncode == 0
    assert min(taken) < MOST_S, taken
    assert all(f"\n  {name} " in done.stdout for name in COMMANDS)


def test_help_imports_no_command_no_room_and_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, contextlib, io\n"
        "from ctxsim.cli import run\n"
        "with contextlib.redirect_stdout(io.StringIO()): run(['--help'])\n"
        "heavy = ('ctxsim', 'matplotlib', 'numpy', 'pandas', 'pyarrow', 'rich', 'splintr', 'tiktoken')\n"
        "print(*sorted(name for name in sys.modules if name.partition('.')[0] in heavy))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    most = {"ctxsim", "ctxsim.cli", "ctxsim.cli.loudness", "ctxsim.cli.terminal", "ctxsim.errors"}
    assert set(done.stdout.split()) <= most, done.stderr


def test_bench_and_sweep_load_what_draws_and_reads_tables_only_to_do_so(tmp_path: Path) -> None:
    code = "import sys, ctxsim.cli.bench, ctxsim.cli.sweep; print({'matplotlib', 'pandas'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stdout + done.stderr


def test_a_check_loads_what_runs_agents_and_what_calibrates_only_to_do_so(tmp_path: Path) -> None:
    heavy = {"ctxsim.api.live", "ctxsim.api.runs", "ctxsim.answers.calibration", "ctxsim.answers.compactions"}
    code = f"import sys, ctxsim.cli.check; print({heavy} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stdout + done.stderr


def test_the_version_is_said_where_the_package_is_not_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "meta_path", [])
    assert run(["--version"]) == 0 and capsys.readouterr().out == f"ctxsim, version {__version__}\n"


def test_a_command_ends_without_looking_for_circles(tmp_path: Path) -> None:
    code = (
        "import atexit, gc, sys\n"
        "from ctxsim.cli import main\n"
        "atexit.register(lambda: print(len(gc.get_objects()) < gc.get_freeze_count() / 10, gc.get_threshold()[0]))\n"
        "sys.argv = ['ctxsim', '--version']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith("\nTrue 10000\n"), done.stdout + done.stderr


@pytest.mark.slow
def test_what_nobody_asked_for_is_not_loaded(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", count=1)
    code = (
        "import sys, contextlib, io\n"
        "from ctxsim.cli import run\n"
        "from ctxsim.report import figure\n"
        "figure.save = lambda one, path: path\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    lines = ['bench logs --policy head-tail --out run', 'report run', 'validate logs',\n"
        "             'bill logs --index none', 'calibrate logs --out own.json',\n"
        "             'transcripts check logs', 'list policies']\n"
        "    done = [run(line.split()) for line in lines]\n"
        "apart = {'transformers', 'tokenizers', 'tiktoken', 'plotly', 'scipy', 'distributed', 'requests', 'httpx'}\n"
        "print(done, sorted(apart & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "[0, 0, 0, 0, 0, 0, 0] []\n", done.stdout + done.stderr
