"""What reads files that anybody may have written, recordings aside: settings, scenarios, vendors, agents, runs, labels.

Each takes bytes and may raise nothing but our own errors. `mutated` changes a seed; the same number, the same bytes.
"""
# ruff: noqa: E501

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from mutants import RAW, Seed, mutant
from project import ROOT

from ctxsim.cli.settings import found
from ctxsim.counting.estimators.calibrated import read_calibration
from ctxsim.live.agent import parsed_agent
from ctxsim.policies import open_policy
from ctxsim.policies.agents.settings import parsed
from ctxsim.results import read_run
from ctxsim.runs.grid import expand
from ctxsim.simulator.provider.models import read_overrides
from ctxsim.simulator.provider.vendor import parsed_vendor
from ctxsim.synthesis import load_scenario, synthesize

AGENT = ROOT / "ctxsim" / "policies" / "agents" / "codex"
RUN = ROOT / "results" / "documented-53k"
SETTINGS = b'[tool.ctxsim]\npolicies = ["keep-all", "mask:keep=2"]\ngoal = "tokens"\nwindow = 128000\njobs = 2\npaths = ["a"]\n'
MODELS = b'[[model]]\nid = "x"\nwindow = 1000\n\n[model.prices]\ninput = 1.0\noutput = 2.0\n'
LABEL = (
    b"token-budget:budget=20000..80000@4,retain=1|2+mask:keep=3+token-approx-budget:budget=9000,estimator=chars:ratio=4"
)
STRANGE = [b"a.b.c=", b"[[", b"]]", b"=", b"\n", b'"""', b"1e999", b"-1", b"nan", b"inf", b"9" * 30, b"{}", b"+", b"|", b"..", b"@",
           b"pipe:", b":", b",", b"\\u", b"1979-05-27", b"true", b'""', b"[]", b"'"]  # fmt: skip


def in_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    def target(data: bytes, work: Path) -> object:
        (work / name).write_bytes(data)
        return read(work / name)

    return target


def of_run(name: str) -> Callable[[bytes, Path], object]:
    """A run of which one file is another; `run.json` with no checksums, so that it is read."""

    def target(data: bytes, work: Path) -> object:
        run = work / "run"
        if not run.exists():
            shutil.copytree(RUN, run)
        (run / name).write_bytes(data)
        made = read_run(run)
        return made.problems(), made.caveats, made.summary

    return target


def label(data: bytes, work: Path) -> None:
    text = data.decode("utf-8", "replace")
    open_policy(text)
    expand(text)


def old_run() -> bytes:
    text = (RUN / "run.json").read_bytes()
    return text[: text.index(b',\n  "files"')] + b"\n}\n"


TARGETS: dict[str, tuple[bytes, Callable[[bytes, Path], object]]] = {
    "pyproject.toml": (SETTINGS, in_file("pyproject.toml", lambda path: found(path.parent))),
    "scenario": ((ROOT / "scenarios" / "text-only.toml").read_bytes(),
                 in_file("x.toml", lambda path: synthesize(load_scenario(str(path))))),
    "vendor": ((ROOT / "ctxsim/simulator/provider/vendors/openai.toml").read_bytes(),
               in_file("y.toml", lambda path: parsed_vendor(str(path), path.read_bytes()))),
    "models": (MODELS, in_file("m.toml", read_overrides)),
    "drive.toml": ((AGENT / "drive.toml").read_bytes(), lambda data, work: parsed_agent("codex", data, "x")),
    "settings.toml": ((AGENT / "settings.toml").read_bytes(),
                      lambda data, work: parsed("codex", data.decode("utf-8", "replace"), "x")),
    "calibration": (b'{"version": 1, "divisor": 4.0, "groups": {}}', in_file("c.json", read_calibration)),
    "run.json": (old_run(), of_run("run.json")),
    "label": (LABEL, label),
}  # fmt: skip


def mutated(kind: str, chance: random.Random) -> bytes:
    """The seed of a kind with a few changes: of its values, its lines or its bytes."""
    data = TARGETS[kind][0]
    if chance.random() < 0.3:
        return next(iter(mutant(Seed("x", {"x": data}), chance).files.values()))
    for _ in range(chance.randrange(1, 4)):
        lines = data.split(b"\n")
        at = chance.randrange(len(lines))
        line, place = lines[at], chance.randrange(len(lines[at]) + 1)
        head, equals, _ = line.partition(b"=")
        lines[at] = chance.choice([
            head + equals + b" " + chance.choice([*STRANGE, *RAW]), line[:place] + chance.choice(STRANGE) + line[place:],
            line[:place] + line[place + chance.randrange(1, 9) :], b"", line + b"\n" + line, chance.choice(lines),
        ])  # fmt: skip
        data = b"\n".join(lines)
    return data
