"""Coverage-guided fuzzing of what reads what strangers wrote: `python tests/fuzz.py TARGET... [--seconds N]`.

TARGET: readers, labels, scenarios or overrides; several are done one after another. Needs the `fuzz` extra. A finding
is any exception that isn't one of ours, or a transcript that breaks its own rules; its bytes are printed and left as
crash-* in the current folder. A case that was found is made small and kept in tests/found, which the suite reads each
time.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import pkgutil
import random
import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["ctxsim"]):
    import ctxsim.readers

    # Otherwise each is imported when first needed, too late to be watched.
    for module in pkgutil.walk_packages(ctxsim.readers.__path__, "ctxsim.readers."):
        importlib.import_module(module.name)
    from ctxsim.errors import CtxsimError, InputError
    from ctxsim.policies import open_policy
    from ctxsim.readers import read_source, sources
    from ctxsim.runs.grid import expand
    from ctxsim.simulator.provider.models import read_overrides
    from ctxsim.synthesis import load_scenario
    from ctxsim.transcript import problems

SUFFIXES = (".jsonl", ".json", ".jsonl", ".traj", ".yaml", ".log")
STRANGE: list[Any] = [
    None,
    True,
    0,
    -1,
    2**70,
    1e308,
    "",
    "\x00",
    "\ud800",
    "1",
    [],
    {},
    [[]],
    [{}],
    {"": None},
    "a" * 99,
]
LONGEST = 20_000
"""Bytes of an input."""

WORK = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))


def readers(data: bytes) -> None:
    """The first byte says how the file's name ends, the rest is the file."""
    path = WORK / f"x{SUFFIXES[data[0] % len(SUFFIXES)] if data else '.json'}"
    path.write_bytes(data[1:])
    try:
        for source in sources(str(path)):
            for transcript in read_source(source):
                assert not problems(transcript), problems(transcript)
    except InputError as error:
        assert "\n" not in str(error), repr(str(error))


def labels(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for opening in (open_policy, expand):
        try:
            opening(text)
        except CtxsimError as error:
            assert str(error)


def toml(read: Callable[[Path], object]) -> Callable[[bytes], None]:
    """A target that reads one TOML file."""

    def target(data: bytes) -> None:
        path = WORK / "x.toml"
        path.write_bytes(data)
        try:
            read(path)
        except CtxsimError as error:
            assert str(error)

    return target


TARGETS: dict[str, Callable[[bytes], None]] = {
    "readers": readers,
    "labels": labels,
    "scenarios": toml(lambda path: load_scenario(str(path))),
    "overrides": toml(read_overrides),
}


def mutator(data: bytes, size: int, seed: int) -> bytes:
    """Half of the time change one value of one JSON document, where bytes alone would mostly break the syntax."""
    chance = random.Random(seed)
    if chance.random() < 0.5 or len(data) < 3:
        return bytes(atheris.Mutate(data, size))
    lines = data[1:].split(b"\n")
    at = chance.randrange(len(lines))
    try:
        changed = json.dumps(_changed(json.loads(lines[at]), chance)).encode()
    except (ValueError, RecursionError):
        return bytes(atheris.Mutate(data, size))
    if chance.random() < 0.1:
        lines.insert(at, lines[at])
    lines[at] = changed
    return (data[:1] + b"\n".join(lines))[:size]


def _changed(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        if chance.random() < 0.08:
            return {name: one for name, one in value.items() if name != key}
        return {**value, key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        if chance.random() < 0.1:
            return value[:at] + value[at + 1 :]
        return [*value[:at], _changed(value[at], chance), *value[at + 1 :]]
    return chance.choice(STRANGE)


def seed_of(file: Path) -> bytes:
    """A recording as `readers` wants it: how its name ends, then its documents, made short."""
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    suffix = Path(file.name.removesuffix(".gz")).suffix
    start = bytes([SUFFIXES.index(suffix) if suffix in SUFFIXES else 1])
    try:
        return start + json.dumps(shortened(json.loads(data))).encode()
    except (ValueError, RecursionError):
        pass
    lines = data.split(b"\n")[:14]
    try:
        return start + b"\n".join(json.dumps(shortened(json.loads(line))).encode() for line in lines if line.strip())
    except (ValueError, RecursionError):
        return start + data[:LONGEST]


def shortened(value: Any) -> Any:
    """A document small enough to be a seed: few elements, short texts."""
    if isinstance(value, dict):
        return {key: shortened(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shortened(one) for one in value[:8]]
    return value[:60] if isinstance(value, str) else value


def inherited_mb() -> int:
    """What the kernel already counts as this process's peak: a process begins with the peak of the one it came from."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Fuzz the targets, each in a process of its own: the fuzzer doesn't come back. Watching what is imported takes
    longer than a short run, and is done once.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("targets", choices=TARGETS, nargs="+", metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seeds", help="a folder of files to start from")
    asked = parser.parse_args()
    for target in asked.targets:
        child = os.fork()
        if child == 0:
            fuzz(target, asked.seconds, asked.seeds)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            sys.exit(f"{target}: exit status {status}")


def fuzz(target: str, seconds: int, folder: str | None) -> None:
    """Fuzz one target, and end the process."""
    seeds = WORK / f"seeds-{target}"
    seeds.mkdir()
    for number, file in enumerate(sorted(Path(folder).rglob("*")) if folder else ()):
        if file.is_file():
            (seeds / str(number)).write_bytes(seed_of(file) if target == "readers" else file.read_bytes())
    options = [
        sys.argv[0],
        str(seeds),
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST}",
        "-timeout=20",
        f"-rss_limit_mb={inherited_mb() + 2000}",
    ]
    if target == "readers":
        atheris.Setup(options, TARGETS[target], custom_mutator=mutator)
    else:
        atheris.Setup(options, TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
