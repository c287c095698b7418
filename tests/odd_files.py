"""What is read of files that anybody may have written, by kind: recordings of each format, and everything else.

A kind has seeds, and what reads one that was made wrong. It may raise nothing but our own errors.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from invented import write_logs
from mutants import Seed, recording, seeds, write
from project import ROOT

from ctxsim.answers.advice.predicted import kept
from ctxsim.answers.bill.status import line
from ctxsim.api.project import found
from ctxsim.api.runs import bench
from ctxsim.counting.estimators.calibrated import read_calibration
from ctxsim.errors import CtxsimError
from ctxsim.live.agent import parsed_agent
from ctxsim.live.configs.edit import Format, edited
from ctxsim.policies import open_policy
from ctxsim.policies.agents.config import of_file
from ctxsim.policies.agents.settings_file import parsed
from ctxsim.readers import read_source, sources
from ctxsim.results import TABLES, read_run
from ctxsim.runs.grid import expand
from ctxsim.safety.trust import trusted
from ctxsim.simulator.provider.models import read_overrides
from ctxsim.simulator.provider.vendor import parsed_vendor
from ctxsim.synthesis import load_scenario, synthesize

AGENTS = ROOT / "ctxsim" / "policies" / "agents"
FOUND = ROOT / "tests" / "found"
SETTINGS = (
    b'policies = ["keep-all", "mask:keep=2"]\ngoal = "tokens"\nwindow = 128000\njobs = 2\npaths = ["a"]\nhead = 5\n'
    b'models = "m.toml"\nestimator = "chars:ratio=4"\ngrids = ["mask:keep=1..9@3"]\ncache = "openai"\n'
)
MODELS = b'[[model]]\nid = "x"\nwindow = 1000\n\n[model.prices]\ninput = 1.0\noutput = 2.0\n'
LABELS = (
    b"token-budget:budget=20000..80000@4,retain=1|2+mask:keep=3+token-approx-budget:budget=9000,estimator=chars:ratio=4",
    b"qwen-code:auto_compact_threshold=0.7+round-summary:every=3", b"claude-code:auto_compact_window=90000",
    b"three-triggers:only=all,at=0.7,messages=20", b"clear-tool-uses:trigger=30000,keep=3",
)  # fmt: skip
STATUS = (
    b'{"session_id": "a", "transcript_path": "claude-1.jsonl", "cwd": ".", "model": {"id": "claude-sonnet-4", '
    b'"display_name": "S"}, "cost": {"total_cost_usd": 0.1}, "context_window": {"context_window_size": 200000}}'
)
PREDICTION = (
    b'{"agent":"codex","settings":{"model_auto_compact_token_limit":90000},"as_set":{"5":[1.0,2.0]},'
    b'"advised":{"5":[0.5,1.0]},"days":[[1.0,2.0],[3.0,4.0]],"made":1.0}'
)
CALIBRATION = (
    b'{"version": 2, "tokenizer": "o200k_base", "divisor": 4.0, "risk": null, "by": "tool", "groups": {}, "errors": {},'
    b'"overall": {"chars_per_token": 4.0, "low": 3.0, "high": 5.0, "texts": 1, "transcripts": 1, "chars": 4,'
    b'"tokens": 1},'
    b'"class_weights": {"words": 1.0, "word_letters": 1.0, "long_letters": 1.0, "digits": 1.0, "punctuation": 1.0,'
    b'"spaces": 1.0, "lines": 1.0, "han_kana": 1.0, "other": 1.0},'
    b'"provenance": {"x": 1}, "heads": null, "holds_for": "x"}'
)
AGENT_FILES = (".codex/config.toml", ".claude/settings.json", ".gemini/settings.json", ".config/goose/config.yaml")
"""As they lie in a home folder."""
IN_THEM = (
    b'model_auto_compact_token_limit = 90000\nmodel = "gpt-5"\n[profiles.a]\nmodel_context_window = 4\n',
    b'{"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, "autoCompactEnabled": true} // said\n',
    b'{"model": {"compressionThreshold": 0.5}}',
    b"GOOSE_AUTO_COMPACT_THRESHOLD: 0.5 # half\nextensions:\n  a:\n    enabled: true\n",
)
WRITTEN: dict[str, tuple[tuple[str, ...], ...]] = {
    ".codex/config.toml": (("model_auto_compact_token_limit",), ("profiles", "b", "model_context_window")),
    ".claude/settings.json": (("autoCompactEnabled",), ("modelSettings", "a", "autoCompactWindow")),
    ".gemini/settings.json": (("model", "compressionThreshold"), ("a", "b")),
    ".config/goose/config.yaml": (("GOOSE_AUTO_COMPACT_THRESHOLD",), ("extensions", "a", "b")),
}
"""What is written into them: a key that is there, and another."""
FORMATS: dict[str, Format] = {".toml": "toml", ".json": "json", ".yaml": "yaml"}


class Kind(NamedTuple):
    """Seeds, and what reads one of them that was written to a path. `part` of 1,000 inputs are of this kind."""

    seeds: tuple[Seed, ...]
    read: Callable[[Path], Iterable[str]]
    part: float


def formats(folders: Sequence[Path], part: float = 550) -> dict[str, Kind]:
    """Recordings below folders by the format that reads them; those that none reads are a kind too."""
    by_format: dict[str, list[Seed]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as work:
        for seed in (seed for folder in folders for seed in seeds(folder, 99 if folder == FOUND else 6)):
            by_format[f"recording: {_format(write(seed, Path(work, 'm')))}"].append(seed)
    each = part / len(by_format)
    return {name: Kind(tuple(ones), _recording, each) for name, ones in sorted(by_format.items())}


def _format(path: Path) -> str:
    with contextlib.suppress(CtxsimError):
        return next((one.format or "ctxsim" for source in sources(str(path)) for one in read_source(source)), "none")
    return "none"


def _recording(path: Path) -> Iterator[str]:
    """One of sixteen is replayed too: that takes longer than reading."""
    size = path.stat().st_size
    return recording(path, deep=size % 16 == 0)


def others(work: Path) -> dict[str, Kind]:
    """Everything but recordings. What they need lies in a folder: a run, and a home of its own."""
    run = bench(
        [FOUND / "chat.jsonl"], policies=["keep-all", "mask:keep=1"], refetch=0.5, draws=1, out=work / "run"
    ).folder
    whole = (run / "run.json").read_bytes()
    unsealed = whole[: whole.index(b',\n  "files"')] + b"\n}\n"
    tables = tuple(_one(f"{name}.parquet", (run / f"{name}.parquet").read_bytes()) for name in TABLES)
    (run / "run.json").write_bytes(unsealed)
    agent_files = tuple(Seed("home", {name: data}) for name, data in zip(AGENT_FILES, IN_THEM, strict=True))
    scenarios = tuple(_one("x.toml", file.read_bytes()) for file in sorted((ROOT / "scenarios").glob("t*.toml")))
    vendors = (ROOT / "ctxsim/simulator/provider/vendors").glob("*.toml")
    return {
        "ctxsim.toml": Kind((_one("ctxsim.toml", SETTINGS),), lambda path: _done(found, path.parent), 40),
        "pyproject.toml": Kind(
            (_one("pyproject.toml", b"[tool.ctxsim]\n" + SETTINGS),), lambda path: _done(found, path.parent), 40),
        "scenario": Kind(scenarios, lambda path: _done(lambda: synthesize(load_scenario(str(path)))), 30),
        "vendor": Kind(tuple(_one("y.toml", file.read_bytes()) for file in sorted(vendors)),
                       lambda path: _done(parsed_vendor, str(path), path.read_bytes()), 40),
        "models": Kind((_one("m.toml", MODELS),), lambda path: _done(read_overrides, path), 20),
        "agent to drive": Kind(
            _of_agents("drive.toml"), lambda path: _done(parsed_agent, path.name, path.read_bytes(), "x"), 30),
        "settings of an agent": Kind(
            _of_agents("settings.toml"), lambda path: _done(parsed, path.name, _text(path), "x"), 40),
        "calibration": Kind((_one("c.json", CALIBRATION),), lambda path: _done(read_calibration, path), 20),
        "label": Kind(tuple(_one("label", one) for one in LABELS), _label, 80),
        "run.json": Kind((_one("run.json", whole), _one("run.json", unsealed)), _run(run), 15),
        "table of a run": Kind(tables, _run(run), 25),
        "file of an agent, read": Kind(agent_files, _agent_file, 20),
        "file of an agent, changed": Kind(agent_files, _changed_file, 15),
        "status line": Kind((_one("in", STATUS),), _status_line(work), 20),
        "predictions": Kind((_one("ctxsim/advised.jsonl", PREDICTION),), _predictions, 5),
        "trusted": Kind((_one("ctxsim/trusted", b"0" * 64 + b" /a/b\n"),), _trusted, 10),
    }  # fmt: skip


def _one(name: str, data: bytes) -> Seed:
    return Seed(name, {name: data})


def _of_agents(name: str) -> tuple[Seed, ...]:
    """Each under the agent's name."""
    found = sorted(AGENTS.glob(f"*/{name}"))
    return tuple(_one(file.parent.name.replace("_", "-"), file.read_bytes()) for file in found)


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def _done(read: Callable[..., object], *given: object) -> Iterable[str]:
    read(*given)
    return ()


def _label(path: Path) -> Iterable[str]:
    for one in expand(_text(path))[:3]:
        open_policy(one)
    return ()


def _run(run: Path) -> Callable[[Path], Iterable[str]]:
    """A run of which one file is another."""

    def read(path: Path) -> Iterator[str]:
        kept = (run / path.name).read_bytes()
        try:
            (run / path.name).write_bytes(path.read_bytes())
            made = read_run(run)
            yield from [*made.problems(), *made.caveats]
            _ = made.summary
            for table in TABLES if path.suffix != ".json" else ():
                made.table(table)
        finally:
            (run / path.name).write_bytes(kept)

    return read


def _agent_file(path: Path) -> Iterator[str]:
    for file in _files(path):
        of_file(file)
        yield ""


def _files(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file()]


def _changed_file(path: Path) -> Iterator[str]:
    """The file with another value, under a key that is there and one that isn't."""
    for file, keys in WRITTEN.items():
        if (path / file).is_file():
            for key in keys:
                edited(_text(path / file), FORMATS[Path(file).suffix], key, 0.4)
                yield ""


def _status_line(work: Path) -> Callable[[Path], Iterable[str]]:
    write_logs(work / "logs")

    def read(path: Path) -> Iterable[str]:
        try:
            said = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            return ()
        # As the command does: what can't be read leaves the line empty.
        with contextlib.chdir(work / "logs"), contextlib.suppress(OSError, ValueError):
            line(said, work / "home", work / "cache")
        return ()

    return read


def _predictions(path: Path) -> Iterable[str]:
    with mock.patch.dict(os.environ, XDG_STATE_HOME=str(path.parents[1])):
        kept()
    return ()


def _trusted(path: Path) -> Iterable[str]:
    with mock.patch.dict(os.environ, XDG_CONFIG_HOME=str(path.parents[1])):
        trusted(b"")
    return ()
