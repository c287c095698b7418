"""How far estimators are off on projects that took no part in any calibration.

    python -m evidence.estimates FOLDER... [--write]

Projects are split into halves by the digest of their name, so that no project has sessions in both. Calibrations are
fitted to one half, against counts, and all estimators are judged on the other; then the other way round. So each
transcript is judged once. With --write the table goes into evidence/estimates.md.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePath

import click

from ctxsim.answers.validation.accuracy import Observed, observe
from ctxsim.api.trust import calibrate
from ctxsim.counting.estimators import estimator_label, judged_estimators, open_estimator
from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources
from ctxsim.readers.paths import project_name
from ctxsim.transcript import Transcript

PAGE = Path(__file__).with_suffix(".md")
USES = ("ratio", "tool", "classes")


def halves(folders: Iterable[str]) -> tuple[list[Transcript], list[Transcript]]:
    """Return the transcripts of these folders that have calls, split into halves by project."""
    found: tuple[list[Transcript], list[Transcript]] = ([], [])
    for source in sources(*folders):
        try:
            for one in read_source(source):
                project = project_name(one.project) or str(PurePath(one.name).parent)
                if one.calls:
                    found[hashlib.sha256(project.encode()).digest()[0] % 2].append(one)
        except InputError:
            continue
    return found


def judged(training: list[Transcript], held: list[Transcript], folder: Path) -> tuple[list[str], Observed]:
    """Return the estimators' labels, and what they did on the held-out transcripts."""
    file = calibrate(training, by="tool").save(folder / "half.json")
    own = [f"calibrated:file={file},use={use}" for use in USES]
    estimators = [open_estimator(label) for label in (*judged_estimators(), *own)]
    names = [*map(estimator_label, estimators[: -len(own)]), *(f"calibrated:use={use}" for use in USES)]
    return names, observe(held, None, estimators)


def table(folders: Iterable[str]) -> str:
    """Return the table as Markdown."""
    first, second = halves(folders)
    requests: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for training, held in ((first, second), (second, first)):
            names, seen = judged(training, held, Path(folder))
            for number, name in enumerate(names):
                requests[name] += [
                    (point.estimates[number] - point.tokens) / point.tokens for point in seen.requests if point.tokens
                ]
    lines = ["| estimator | bias | median | p95 |", "|---|--:|--:|--:|"]
    for name, errors in sorted(requests.items(), key=lambda one: sorted(map(abs, one[1]))[len(one[1]) // 2]):
        sizes = sorted(map(abs, errors))
        middle, most = sizes[len(sizes) // 2], sizes[int(0.95 * (len(sizes) - 1))]
        lines.append(f"| `{name}` | {sum(errors) / len(errors):+.1%} | {middle:.1%} | {most:.1%} |")
    calls = len(next(iter(requests.values())))
    return f"{len(first) + len(second)} transcripts, {calls:,} requests.\n\n" + "\n".join(lines)


@click.command()
@click.argument("folders", nargs=-1, required=True)
@click.option("--write", is_flag=True, help="Replace evidence/estimates.md.")
def main(folders: tuple[str, ...], write: bool) -> None:
    """Judge estimators on projects that took no part in their calibration."""
    made = table(folders)
    if not write:
        click.echo(made)
        return
    PAGE.write_text(made + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
