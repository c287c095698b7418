"""A worker of a cluster, which stands elsewhere and has other plug-ins, makes what is made here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from bench_runs import content
from project import ROOT, TESTS

from ctxsim.policies import Policy, register, registered_policies
from ctxsim.results import InputInfo, read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.view import View

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("opened_at_once")]

PLUG_IN = {
    "plug/__init__.py": "",
    "plug/policies.py": """
from dataclasses import dataclass
from pathlib import Path
from ctxsim.policies import Policy
from plug.shared import CHARS

@dataclass
class Plugged(Policy):
    def before_call(self, view):
        chars = CHARS + int((Path(__file__).parent / "more.txt").read_text())
        return view.rewrite({item.place: item.text[:chars] for item in view.results[:-1]}, "a test")
""",
    "plug/shared.py": "CHARS = 5\n",
    "plug/more.txt": "2",
    "plug/reading.py": """
from ctxsim.readers.formats import ctxsim_jsonl

NAME = "plugged"

def matches(sample):
    return ctxsim_jsonl.matches(sample)

def read(source, sample):
    for one in ctxsim_jsonl.read(source, sample):
        yield __import__("msgspec").structs.replace(one, name=f"{source.name} read by plug")
""",
    "plug-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: plug\nVersion: 1\n",
    "plug-1.dist-info/entry_points.txt": (
        "[ctxsim.policies]\nplugged = plug.policies:Plugged\n\n[ctxsim.readers]\nplugged = plug.reading\n"
    ),
}
OTHER = {
    "plug/shared.py": "CHARS = 500\n",
    "plug/reading.py": (
        "def matches(sample): return True\ndef read(source, sample): raise RuntimeError('the wrong one')\n"
    ),
}


def installed(place: Path, files: dict[str, str]) -> str:
    """A search path with these packages."""
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return os.pathsep.join([str(ROOT), str(place)])


@pytest.fixture(scope="module")
def elsewhere(scheduler: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where a worker stands, which has another version of the plug-in."""
    folder = tmp_path_factory.mktemp("elsewhere")
    path = installed(tmp_path_factory.mktemp("theirs"), PLUG_IN | OTHER)
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny", "--nthreads", "1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(folder)},
    )  # fmt: skip
    yield folder
    worker.kill()
    worker.wait()


@pytest.fixture
def here(few_logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two logs, in the current folder. A busy machine takes its time until a worker is there."""
    monkeypatch.setattr("ctxsim.runs.workers.CLUSTER_S", 120.0)
    (tmp_path / "here" / "logs").mkdir(parents=True)
    for file in sorted(few_logs.iterdir())[:2]:
        shutil.copy(file, tmp_path / "here" / "logs")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


OWN = {
    "mine.py": """
from dataclasses import dataclass
from ctxsim.policies import Policy

print("at import")

@dataclass
class Mine(Policy):
    def before_call(self, view):
        print("a moment")
        return view.rewrite({item.place: item.text[:5] for item in view.results[:-1]}, "a test")
""",
    "count.py": """
from dataclasses import dataclass
from ctxsim.counting.estimators import Estimator

@dataclass(frozen=True)
class Half(Estimator):
    def text(self, text):
        return len(text) // 2
""",
    "read.py": """
from ctxsim.readers.formats import ctxsim_jsonl

def matches(sample):
    return False

def read(source, sample):
    return ctxsim_jsonl.read(source, sample)
""",
    "vendor.toml": '[cache]\nkind = "prefix"\nlifetime_s = 600\n',
    "shorten.py": """
def shorten(messages):
    print("a function")
    return messages[-4:] if len(messages) > 4 else messages
""",
}
"""Files of one's own, by their paths from where the command runs."""


def test_files_by_a_relative_path_reach_workers(
    here: Path, elsewhere: Path, scheduler: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """And what they print is in no row, nor where a command's result goes."""
    for name, text in OWN.items():
        Path(name).write_text(text)
    policies = ("keep-all", "mine.py:Mine:estimator=count.py:Half+messages:shorten.py:shorten")
    setting = Setting("a", "a", policies, overrides={"cache": "vendor.toml"})
    paths = ["reader:read.py:logs"]
    alone = conduct(setting, Path("alone"), paths=paths)
    assert not any(one.error or one.failures for one in alone.inputs)
    capfd.readouterr()
    conduct(setting, Path("processes"), paths=paths, jobs=2)
    printed, told = capfd.readouterr()
    assert not printed and all(said in told for said in ("at import", "a moment", "a function"))
    conduct(setting, Path("cluster"), paths=paths, cluster=scheduler)
    for out in ("processes", "cluster"):
        assert content(Path(out)) == content(Path("alone"))
    _a_worker_outlives_policies_and_benches(scheduler)


def _a_worker_outlives_policies_and_benches(scheduler: str) -> None:
    """One that ends its process is a line. And it has the policy of the bench before: the file is read again."""
    text = (
        "import os\nfrom ctxsim.policies import Policy, Stop\n\nclass Mine(Policy):\n    def before_call(self, view): "
    )
    Path("bad.py").write_text(f"{text}os._exit(0)\n")
    Path("mine.py").write_text(f"{text}return Stop('enough')\n")
    setting = Setting("a", "a", ("bad.py:Mine", "mine.py:Mine"))
    info = conduct(setting, Path("again"), paths=["logs/log00.jsonl"], cluster=scheduler)
    ((failure,),) = (one.failures for one in info.inputs)
    assert "bad.py:Mine: its process ended with status 0 in before_call" in failure
    assert read_run(Path("again")).of("mine.py:Mine").stopped.sum() > 0


def test_classes_reach_workers(here: Path, elsewhere: Path, scheduler: str) -> None:
    """And of two that are defined one after the other under one name, each in its bench, however often."""
    kept = []
    for chars in (5, 50, 5):

        @dataclass
        class Beginnings(Policy):
            """Results but the last become their beginning."""

            def before_call(self, view: View, chars: int = chars) -> View:
                return view.rewrite({item.place: item.text[:chars] for item in view.results[:-1]}, "a test")

        label = register(Beginnings).name
        conduct(Setting("a", "a", (label,)), Path("classes"), paths=["logs"], cluster=scheduler, replace=True)
        kept.append(int(read_run(Path("classes")).of(label).tokens_sum.sum()))
    registered_policies().pop("beginnings")
    assert kept[0] == kept[2] < kept[1]


def test_installed_plug_ins_are_sent_as_source(here: Path, elsewhere: Path, scheduler: str, tmp_path: Path) -> None:
    """The worker's own don't count. What it wrote lies in the folder that dask deletes when it ends."""
    Path("logs/broken.json").write_text('{"what"')
    common = ["bench", "logs", "--policy", "keep-all", "--policy", "plugged", "--out"]
    benches = [[*common, "here"], [*common, "there", "--jobs", scheduler]]
    code = (
        "from not_drawn import not_drawn\nfrom ctxsim.cli import run\n"
        f"with not_drawn(): assert [run(one) for one in {benches}] == [1, 1]"
    )
    path = os.pathsep.join([installed(tmp_path / "ours", PLUG_IN), str(TESTS)])
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, check=True)
    assert [one.name for one in elsewhere.iterdir()] == ["dask-scratch-space"]
    made = content(Path("here"))
    assert content(Path("there")) == made
    infos = msgspec.convert(msgspec.json.decode(made["run.json"])["inputs"], list[InputInfo])
    assert b"logs/log00.jsonl read by plug" in made["summary.csv"] and sum(bool(one.error) for one in infos) == 1
    totals = read_run(Path("here")).summary.groupby("policy").tokens_sum.sum()
    assert totals["plugged"] < totals["keep-all"]
