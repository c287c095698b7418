"""How many small changes of the code the tests of its own room notice within 30 seconds of CPU time.

    python -m evidence.mutations [--places 300] [--seed 1] [--room simulator/ledger] [--csv FILE] [--again FILE]

Operators, bounds of comparisons, numbers, conditions and returned values are changed, one at a time, at places that are
drawn by seed from all rooms (`places.py` leaves out messages, annotations and looks). A room's tests are those in the
same folder under `tests/` (`rooms.py`). `--csv` gets a row for each change as it is known; `--again` tries only the
rows of such a file that no test found. Changes are made in a temporary copy. A test that also fails without the change
is ignored. mutmut and cosmic-ray aren't used: mutmut 3 changes only what is inside functions, makes all changes rather
than a sample, and needs the whole suite run twice first (minutes of a corpus, a cluster and a memory limit). cosmic-ray
changes the working tree and runs the same command for all changes. Neither can demand that a room's own tests fail.
"""

from __future__ import annotations

import csv
import os
import shutil
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from evidence.mutations.places import Place, changed, places, sample
from evidence.mutations.rooms import own_tests, room
from evidence.mutations.trial import IMPORT, Found, compiled, preload, tried

ROOT = Path(__file__).parents[2]
LIMIT_S = 30.0
COLUMNS = ("room", "place", "change", "found_by", "seconds")


def drawn(count: int, seed: int, only: str | None = None) -> list[tuple[str, str, Place]]:
    """Return a sample of (room, file relative to the package, place) from one room, or from all."""
    found: dict[str, list[tuple[str, Place]]] = defaultdict(list)
    for path in sorted((ROOT / "ctxsim").rglob("*.py")):
        file = path.relative_to(ROOT / "ctxsim").as_posix()
        if only is None or room(file) == only:
            found[room(file)] += [(file, place) for place in places(path.read_text())]
    return sample({name: all_of_it for name, all_of_it in found.items() if all_of_it}, count, seed)


def unfound(table: Path) -> list[tuple[str, str, Place]]:
    """Return the changes of a table that no test found, as far as the code still has their places."""
    with table.open(newline="") as file:
        survived = {(row["place"], row["change"]) for row in csv.DictReader(file) if not row["found_by"]}
    files = dict.fromkeys(place.split(":")[0].removeprefix("ctxsim/") for place, _ in sorted(survived))
    return [
        (room(file), file, place)
        for file in files
        for place in places((ROOT / "ctxsim" / file).read_text())
        if (_spelled(file, place), place.change) in survived
    ]


def shares(rows: Iterable[tuple[str, bool]]) -> str:
    """Return a table of rooms: changes tried, found, and the share. `rows`: room, and whether it was found."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, found in rows:
        for key in (name, "all"):
            counts[key][0] += 1
            counts[key][1] += found
    lines = ["| room | tried | found | share |", "|---|--:|--:|--:|"]
    ordered = [*sorted(key for key in counts if key != "all"), "all"]
    return "\n".join(
        [*lines, *(f"| {k} | {counts[k][0]} | {counts[k][1]} | {counts[k][1] / counts[k][0]:.0%} |" for k in ordered)]
    )


class Copy:
    """A copy of the tree, and which of its tests are known to fail without a change."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        shutil.copytree(
            ROOT, self.root, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
        )
        self.tests = {
            path.relative_to(self.root / "tests").as_posix(): path.read_text()
            for path in sorted((self.root / "tests").rglob("test_*.py"))
        }
        self.red: dict[str, bool] = {}
        compiled(self.root)

    def found(self, file: str, place: Place) -> Found:
        """Try one change. If the test that fails also fails without the change, try again without that test."""
        path = self.root / "ctxsim" / file
        before, times = path.read_text(), path.stat()
        tests = [f"tests/{one}" for one in own_tests(file, self.tests)]
        without = [f"--deselect={one}" for one, red in self.red.items() if red]
        try:
            path.write_text(changed(before, place))
            found = tried(self.root, [*tests, *without], LIMIT_S)
        finally:
            path.write_text(before)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        if found.by in ("", IMPORT) or self.red.get(found.by) is False:
            return found
        self.red[found.by] = bool(tried(self.root, [found.by], 4 * LIMIT_S).by)
        return self.found(file, place) if self.red[found.by] else found


def main() -> int:
    """Try the changes; return 0."""
    parser = ArgumentParser(prog="python -m evidence.mutations")
    parser.add_argument("--places", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--again", type=Path)
    given = parser.parse_args()
    chosen = unfound(given.again) if given.again else drawn(given.places, given.seed, given.room)
    preload()
    rows: list[tuple[str, bool]] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        out = given.csv.open("w", newline="") if given.csv else sys.stdout
        table = csv.writer(out)
        table.writerow(COLUMNS)
        for name, file, place in chosen:
            found = copy.found(file, place)
            rows.append((name, bool(found.by)))
            table.writerow((name, _spelled(file, place), place.change, found.by, f"{found.seconds:.1f}"))
            out.flush()
    print(shares(rows))
    red = sorted(one for one, is_red in copy.red.items() if is_red)
    print(
        f"{len(rows)} changes in {(time.monotonic() - began) / 60:.0f} minutes; red without a change: {', '.join(red) or 'none'}"
    )
    return 0


def _spelled(file: str, place: Place) -> str:
    return f"ctxsim/{file}:{place.line}:{place.column}"


if __name__ == "__main__":
    sys.exit(main())
