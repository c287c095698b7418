"""Mutated recordings of all formats, read and replayed: how many were tried, and what broke.

    python -m evidence.fuzz [FOLDER] [--minutes N] [--seed N] [--keep DIR]
    python -m evidence.fuzz --files [--minutes N] [--seed N]

FOLDER: recordings to begin from; without one, the suite's own odd files. Findings are printed, each kind once, and with `--keep` left
as files. `--files`: settings, scenarios, vendors, models, agents, runs and labels in place of recordings. The suite runs a little of the same; what is found is made small and goes to tests/found.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from mutants import LONGEST_LINE, attacked, mutant, seeds, write  # noqa: E402
from odd_files import TARGETS, mutated  # noqa: E402

from ctxsim.errors import CtxsimError, told  # noqa: E402

DEEP_EVERY = 4
"""Replaying takes longer than reading: one of so many mutants is replayed too."""


def of_files(minutes: float, seed: int) -> int:
    """Mutate what isn't a recording for so many minutes; return 1 if anything broke."""
    chance = random.Random(seed)
    kinds: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    slowest, until = 0.0, time.monotonic() + minutes * 60
    with tempfile.TemporaryDirectory() as work:
        while time.monotonic() < until:
            for kind, (_, target) in TARGETS.items():
                data, began = mutated(kind, chance), time.process_time()
                try:
                    target(data, Path(work))
                except CtxsimError as error:
                    kinds["long" if "\n" in str(error) or len(str(error)) > LONGEST_LINE else "refused"] += 1
                # Whatever it is, it is what is looked for.
                except Exception as error:  # noqa: BLE001
                    kinds["exception"] += 1
                    key = f"{kind}: {told(error)}"[:300]
                    broken[key] += 1
                    if broken[key] == 1:
                        print(f"--- {key}\n{data[:2000]!r}", flush=True)
                else:
                    kinds["read"] += 1
                slowest = max(slowest, time.process_time() - began)
    counted = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
    print(
        f"{kinds.total():,} mutants of {len(TARGETS)} kinds of files (seed {seed}): {counted}; slowest {slowest:.1f} s"
    )
    return int(bool(kinds["exception"] or kinds["long"]))


def main() -> int:
    """Mutate for so many minutes; return 1 if anything broke."""
    parser = ArgumentParser(prog="python -m evidence.fuzz")
    parser.add_argument("folder", nargs="?", type=Path, default=TESTS / "found")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--files", action="store_true")
    given = parser.parse_args()
    if given.files:
        return of_files(given.minutes, given.seed)
    chance = random.Random(given.seed)
    found = [*seeds(given.folder), *(seeds(TESTS / "found", 99) if given.folder != TESTS / "found" else ())]
    work = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    kinds: Counter[str] = Counter()
    seen: set[str] = set()
    until = time.monotonic() + given.minutes * 60
    slowest = 0.0
    while time.monotonic() < until:
        for seed in found:
            path = write(mutant(seed, chance), work / "m")
            began = time.monotonic()
            outcome = attacked(path, chance.randrange(DEEP_EVERY) == 0)
            slowest = max(slowest, time.monotonic() - began)
            kinds[outcome.kind] += 1
            if outcome.kind in ("read", "refused"):
                continue
            key = outcome.what.strip().splitlines()[-1][-120:]
            key = key[key.rfind("(") :] if outcome.what.count("\n") == 0 else "\n".join(outcome.what.splitlines()[-4:])
            if key not in seen:
                seen.add(key)
                print(f"--- {outcome.kind} from {seed.name}\n{outcome.what}", flush=True)
                if given.keep:
                    kept = given.keep / f"{len(seen):03}-{path.name}"
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    if path.is_dir():
                        shutil.copytree(path, kept, dirs_exist_ok=True)
                    else:
                        shutil.copy(path, kept)
        if time.monotonic() > until:
            break
    shutil.rmtree(work)
    total = sum(kinds.values())
    print(
        f"{total:,} mutants of {len(found)} seeds (seed {given.seed}): "
        + ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        + f"; slowest {slowest:.1f} s"
    )
    return int(any(kinds[kind] for kind in ("exception", "hang", "long")))


if __name__ == "__main__":
    sys.exit(main())
