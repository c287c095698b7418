"""Fuzzing with invalid inputs of every kind that ctxsim reads: how many were tried, and what broke.

    python -m evidence.fuzz [--count N] [--seed N] [--kind GLOB]... [--seeds FOLDER]... [--plain] [--keep DIR]
                            [--watch PACKAGE]...

One line for each kind: how many were tried, how many of them were read, and how many refused in one line. Anything else
is a finding; each is printed once, and with `--keep` its bytes are kept. Seeds of recordings are those in `--seeds`, by
default what the tests of readers write. With the extra `fuzz` inputs are guided by the code that they reach, of all
packages or of `--watch` alone; `--plain` turns that off. Each kind runs in a process of its own, as native code may end
it. A finding is to be made small and put into tests/found.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os
import pkgutil
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

if TYPE_CHECKING:
    from mutants import Outcome, Seed
    from odd_files import Kind

HEAD = struct.Struct(">HB")
"""An input begins with the number of its seed, and the number of the seed's file that the rest replaces."""
LONGEST = 60_000
"""The most bytes of a guided input."""
SILENT_S = 60
"""A process that tries no new input for so many seconds hangs where no alarm reaches it."""
KINDS = ("read", "refused", "exception", "long", "hang")


class Tally:
    """Counts of inputs by outcome, shared by a process and its parent."""

    def __init__(self) -> None:
        self._shared = mmap(-1, 8 * (len(KINDS) + 1))

    def add(self, kind: str, seconds: float = 0.0) -> None:
        place = KINDS.index(kind)
        self._put(place, self[kind] + 1)
        self._put(len(KINDS), max(self._get(len(KINDS)), int(seconds * 1e6)))

    def __getitem__(self, kind: str) -> int:
        return self._get(KINDS.index(kind))

    @property
    def tried(self) -> int:
        return sum(map(self.__getitem__, KINDS))

    @property
    def found(self) -> int:
        return self["exception"] + self["long"] + self["hang"]

    @property
    def slowest_s(self) -> float:
        return self._get(len(KINDS)) / 1e6

    def _get(self, place: int) -> int:
        return int.from_bytes(self._shared[8 * place : 8 * place + 8], "big")

    def _put(self, place: int, value: int) -> None:
        self._shared[8 * place : 8 * place + 8] = value.to_bytes(8, "big")


class Attack:
    """A kind of input, tried repeatedly in this process. Each finding is printed once."""

    def __init__(self, name: str, kind: Kind, work: Path, tally: Tally, keep: Path | None) -> None:
        self.name, self.kind, self.work, self.tally, self.keep = name, kind, work, tally, keep
        self._told: set[str] = set()

    def inputs(self) -> list[bytes]:
        """Return the seeds as inputs, one for each file of each."""
        return [
            HEAD.pack(number, at) + seed.files[name]
            for number, seed in enumerate(self.kind.seeds)
            for at, name in enumerate(sorted(seed.files)[:255])
        ]

    def seed_of(self, data: bytes) -> Seed:
        """Return the files that an input stands for. With the file number 255 one of several files is missing."""
        number, at = HEAD.unpack(data[: HEAD.size].ljust(HEAD.size, b"\0"))
        seed = self.kind.seeds[number % len(self.kind.seeds)]
        names = sorted(seed.files)
        files = {**seed.files, names[at % len(names)]: data[HEAD.size :]}
        if at == 255 and len(names) > 1:
            del files[names[number % len(names)]]
        return seed._replace(files=files)

    def changed(self, data: bytes, chance: random.Random) -> bytes:
        """Return a random mutation of an input."""
        from mutants import changed

        head = data[: HEAD.size - 1] + b"\xff" if chance.random() < 0.02 else data[: HEAD.size]
        return head + changed(data[HEAD.size :], chance)

    def __call__(self, data: bytes) -> None:
        """Try one input, and count its outcome."""
        from mutants import attacked, write

        (self.work / "last").write_bytes(data)
        path = write(self.seed_of(data), self.work / "m")
        began = time.process_time()
        outcome = attacked(lambda: self.kind.read(path))
        self.tally.add(outcome.kind, time.process_time() - began)
        if outcome.kind not in ("read", "refused"):
            self.tell(outcome, data)

    def tell(self, outcome: Outcome, data: bytes) -> None:
        """Print a finding, once for each place in the code."""
        places = re.findall(r'File "[^"]*?(ctxsim/[^"]*)", line (\d+)', outcome.what)
        said = "" if outcome.kind == "long" else re.sub(r".*: can.t be read", "", outcome.what)[-80:]
        key = f"{outcome.kind} {places[-1] if places else said}"
        if key in self._told:
            return
        self._told.add(key)
        print(f"--- {self.name}: {outcome.kind}: {outcome.what[-800:]}", flush=True)
        if self.keep:
            self.keep.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"\W+", "-", self.name) + "-" + hashlib.sha256(data).hexdigest()[:8]
            for file, content in self.seed_of(data).files.items():
                (self.keep / f"{name}-{Path(file).name}").write_bytes(content)


def plain(attack: Attack, count: int, seed: int) -> None:
    """Try `count` mutations of the seeds."""
    chance = random.Random(f"{attack.name} {seed}")
    seeds = attack.inputs()
    for _ in range(count):
        attack(attack.changed(chance.choice(seeds), chance))


def guided(attack: Attack, count: int, seed: int) -> None:
    """Try `count` inputs, chosen by the code that they reach, and end the process."""
    import atheris

    seeds = attack.work / "seeds"
    seeds.mkdir(exist_ok=True)
    for number, data in enumerate(attack.inputs()):
        (seeds / str(number)).write_bytes(data[:LONGEST])

    def mutator(data: bytes, size: int, number: int) -> bytes:
        chance = random.Random(number)
        if chance.random() < 0.3 or len(data) <= HEAD.size:
            return bytes(atheris.Mutate(data, size))
        return attack.changed(data, chance)[:size]

    options = [
        "fuzz", str(seeds), f"-runs={count}", f"-seed={seed + 1}", f"-max_len={LONGEST}", "-timeout=0",
        "-handle_alrm=0", "-verbosity=0", f"-rss_limit_mb={_inherited_mb() + 3000}", f"-artifact_prefix={attack.work}/",
    ]  # fmt: skip
    atheris.Setup(options, attack, custom_mutator=mutator)
    atheris.Fuzz()


def _inherited_mb() -> int:
    """Return this process's peak memory by the kernel, which begins with the peak of its parent."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def tried(attack: Attack, count: int, seed: int, by_coverage: bool) -> None:
    """Try `count` inputs of a kind in child processes; a new one replaces one that died or hangs."""
    while (left := count - attack.tally.tried) > 0:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                with (attack.work / "said").open("wb") as said:
                    os.dup2(said.fileno(), 2)
                (guided if by_coverage else plain)(attack, left, seed + attack.tally.tried)
                os._exit(0)
            os._exit(1)
        before = attack.tally.tried
        if (status := _ended(child, attack.tally)) or attack.tally.tried == before:
            attack.tally.add("hang" if status == -signal.SIGKILL else "exception")
            said = (attack.work / "said").read_text(errors="replace")[-1500:]
            print(f"--- {attack.name}: the process ended with {status}\n{said}", flush=True)
            if attack.keep and (attack.work / "last").exists():
                attack.keep.mkdir(parents=True, exist_ok=True)
                (attack.work / "last").rename(attack.keep / f"{hash(attack.name)}-{before}")


def _ended(child: int, tally: Tally) -> int:
    """Wait for a process, kill it if it tries nothing new, and return its exit status."""
    last, since = tally.tried, time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if tally.tried != last:
            last, since = tally.tried, time.monotonic()
        elif time.monotonic() - since > SILENT_S:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.05)


def kinds_of(work: Path, folders: list[Path], watch: list[str]) -> dict[str, Kind]:
    """Return every kind of input. Packages to watch, among what reads them, are first imported with instrumentation."""
    with _watched(watch) if watch else contextlib.nullcontext():
        odd_files = importlib.import_module("odd_files")
        readers = importlib.import_module("ctxsim.readers")
        for module in pkgutil.walk_packages(readers.__path__, "ctxsim.readers."):
            importlib.import_module(module.name)
    return {**odd_files.formats([ROOT / "tests" / "found", *folders]), **odd_files.others(work)}


def _watched(packages: list[str]) -> Any:
    import atheris

    files = (file.relative_to(ROOT).with_suffix("") for file in (ROOT / "ctxsim").rglob("*.py"))
    # Atheris takes whole libraries, without the modules that are named.
    names = (".".join(file.parts).removesuffix(".__init__") for file in files)
    within = tuple(f"{one}." for one in packages)
    others = [name for name in names if not f"{name}.".startswith(within)]
    return atheris.instrument_imports(include=["ctxsim"], exclude=others)


def written_by_tests(folder: Path) -> Path:
    """Return a folder with what the tests of readers write: small, invented recordings of every format."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-m", "not corpus and not slow",
               f"--basetemp={folder}", "-o", "tmp_path_retention_policy=all", "tests/readers/formats"]  # fmt: skip
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return folder


def attack_all(given: Namespace, work: Path) -> Iterator[tuple[str, Tally]]:
    """Try every kind that matches `--kind`, and yield its name and counts."""
    by_coverage = not given.plain and importlib.util.find_spec("atheris") is not None
    folders = given.seeds or [written_by_tests(work / "written")]
    kinds: Mapping[str, Kind] = kinds_of(work, folders, (given.watch or ["ctxsim"]) if by_coverage else [])
    chosen = {name: kind for name, kind in kinds.items() if any(fnmatchcase(name, one) for one in given.kind or "*")}
    whole = sum(kind.part for kind in chosen.values())
    for name, kind in chosen.items():
        own = work / re.sub(r"\W+", "-", name)
        own.mkdir()
        attack = Attack(name, kind, own, Tally(), given.keep)
        tried(attack, max(1, round(given.count * kind.part / whole)), given.seed, by_coverage)
        yield name, attack.tally


def main() -> int:
    """Print a line for each kind, and return 1 if anything broke."""
    parser = ArgumentParser(prog="python -m evidence.fuzz")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append", help="only kinds of this name: 'recording: *', label, run.json")
    parser.add_argument("--seeds", type=Path, action="append", help="recordings to begin from, in place of the tests'")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--watch", action="append", help="only this package's code guides inputs; less code is faster")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    found = count = 0
    print("| kind | tried | read | refused | findings | slowest, s |\n|---|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as work:
        for name, tally in attack_all(given, Path(work)):
            figures = (tally.tried, tally["read"], tally["refused"], tally.found)
            print(f"| {name} | {' | '.join(f'{one:,}' for one in figures)} | {tally.slowest_s:.1f} |", flush=True)
            found, count = found + tally.found, count + tally.tried
    print(f"| all | {count:,} | | | {found:,} | |")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
