"""Does any process outlive a killed drive? Kills drives with and without namespaces, by group or only the parent.

python -m evidence.orphans [KILLS]
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from live.test_confined import orphans

WAYS = [*product(("namespaces", "nothing"), (True, False))]


def main() -> None:
    """Print, for each way of killing, how many kills left how many processes 3 s later."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    found: Counter[tuple[str, bool, int]] = Counter()
    for number in range(kills):
        held, whole_group = WAYS[number % len(WAYS)]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            found[held, whole_group, orphans(Path(place), held, whole_group)] += 1
    for (held, whole_group, left), count in sorted(found.items()):
        print(f"held by {held}, {'the group' if whole_group else 'the parent'} killed: {count} kills left {left} each")


if __name__ == "__main__":
    main()
