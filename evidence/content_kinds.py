"""How often the kind of content is right, on files of the Python installation, labelled by their names.

    python -m evidence.content_kinds

prints a confusion table in Markdown: rows are labels, columns are the kinds that `ctxsim.recorded.content` finds.
"""

from __future__ import annotations

import sys
import sysconfig
from collections import Counter as Frequencies
from pathlib import Path

from ctxsim.recorded.content import content_kind

LABELS = {
    ".py": "code", ".js": "code", ".c": "code", ".h": "code", ".pyi": "code", ".css": "code", ".rs": "code",
    ".json": "json", ".html": "html", ".md": "markdown", ".csv": "csv", ".log": "log", ".diff": "diff",
    ".patch": "diff",
}  # fmt: skip
PER_LABEL = 300
SMALLEST = 400


def labelled(folder: Path) -> dict[str, list[str]]:
    """Return up to PER_LABEL texts per label, in path order, spread over the folder."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        name = path.name.lower()
        label = LABELS.get(path.suffix.lower())
        if name.endswith((".min.js", ".min.css")):
            label = "minified"
        if path.stem.upper() in ("LICENSE", "COPYING", "AUTHORS", "NOTICE"):
            label = "prose"
        if label and path.is_file() and path.stat().st_size >= SMALLEST:
            found.setdefault(label, []).append(path)
    texts = {}
    for label, paths in found.items():
        chosen = paths[:: max(1, len(paths) // PER_LABEL)][:PER_LABEL]
        texts[label] = [path.read_text(encoding="utf-8", errors="replace") for path in chosen]
    return texts


def main() -> None:
    """Print the table, with the share of each label that is right."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(sysconfig.get_paths()["purelib"]).parent
    rows = {label: Frequencies(map(content_kind, texts)) for label, texts in labelled(folder).items()}
    columns = sorted({kind for row in rows.values() for kind in row})
    print("| label | n | right | " + " | ".join(columns) + " |")
    print("|---|--:|--:|" + "--:|" * len(columns))
    for label, row in sorted(rows.items()):
        share = f"{row[label] / row.total():.0%}"
        print(f"| {label} | {row.total()} | {share} | " + " | ".join(str(row[c] or "") for c in columns) + " |")


if __name__ == "__main__":
    main()
