"""Claude Code's window predicted by us and by claudeglass's `compaction-sim`: `python -m evidence.claudeglass FOLDER`.

claudeglass (PyPI, 0.15.0) uses only token counts. It must be on the PATH: `pip install claudeglass` in an environment
of its own. Prints a row per window: the dollars that each predicts, their relative difference, and the share kept.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ctxsim.answers.advice.pooled import figures_of
from ctxsim.api.runs import bench

WINDOWS = (100, 150, 200, 250, 300, 400, 500, 600, 700, 800, 900, 967)
"""Thousands of tokens."""


def laid_out(folder: Path, root: Path) -> None:
    """Write each log where claudeglass looks for it: in a project's folder, named after its session."""
    for number, log in enumerate(sorted(folder.rglob("*.jsonl*"))):
        data = gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
        ids = (json.loads(line).get("sessionId") for line in data.splitlines() if b'"sessionId"' in line)
        project = root / f"p{number}"
        project.mkdir()
        (project / f"{next(ids, log.stem)}.jsonl").write_bytes(data)


def theirs(folder: Path) -> dict[str, float]:
    """Return what each window would have cost according to claudeglass; `observed` is the actual cost."""
    with tempfile.TemporaryDirectory() as temporary:
        root, home = Path(temporary, "projects"), Path(temporary, "home")
        root.mkdir()
        home.mkdir()
        laid_out(folder, root)
        command = ["claudeglass", "compaction-sim", "--projects-root", root, "--all-projects", "--config-dir", home,
                   "--json", "--no-cache"]  # fmt: skip
        done = subprocess.run(
            command, env={**os.environ, "HOME": str(home)}, capture_output=True, text=True, check=True
        )
    tables: list[Any] = [table for one in json.loads(done.stdout)["report"]["sections"] for table in one["tables"]]
    for table in tables:
        keys = [column["key"] for column in table["columns"]]
        if {"window", "cost"} <= set(keys):
            at = keys.index("window"), keys.index("cost")
            return {str(row[at[0]]): float(row[at[1]]) for row in table["rows"] if row[at[1]] is not None}
    return {}


def ours(folder: Path) -> dict[int, tuple[float, float]]:
    """Return dollars and the kept share of what later calls used, by window in thousands of tokens; 0: as shipped."""
    labels = {0: "as-set", **{k: f"as-set:given=claude-code/autoCompactWindow={k}000" for k in WINDOWS}}
    found = figures_of(bench([folder], list(labels.values()), text="none", brackets=False)).all
    by_label = {label.partition(",")[0]: one for label, one in found.items()}
    figures = {
        k: by_label.get(label) or next(f for name, f in found.items() if label in name) for k, label in labels.items()
    }
    return {k: (one.usd or 0.0, one.kept.value if one.kept else 1.0) for k, one in figures.items()}


if __name__ == "__main__":
    place = Path(sys.argv[1])
    own, other = ours(place), theirs(place)
    said = "; ".join(
        f"{name} {usd:.2f}" for name, usd in other.items() if name.replace(",", "")[:-3] not in map(str, WINDOWS)
    )
    print(f"As shipped: {own[0][0]:.2f} USD by ctxsim. claudeglass, other rows: {said or 'none'}")
    print("| window | claudeglass, USD | ctxsim, USD | apart | kept |\n|--:|--:|--:|--:|--:|")
    for window in WINDOWS:
        usd, kept = own[window]
        their = other.get(f"{window},000")
        apart = f"{usd / their - 1:+.0%}" if their else "-"
        print(f"| {window}K | {'-' if their is None else f'{their:.2f}'} | {usd:.2f} | {apart} | {kept:.0%} |")
