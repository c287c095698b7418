"""How many found references are real, and how many are missed, by a hand-labelled sample of the recordings.

    python -m evidence.reference_labels FOLDER              precision and recall by the labels of cases that it has
    python -m evidence.reference_labels FOLDER --show       a sample to label, with its text

`reference_labels.csv` names each case by transcript, call and a hash of the atom, and holds no text of a transcript.
"""

from __future__ import annotations

import csv
import hashlib
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources
from ctxsim.simulator.references.canonical import content, fold
from ctxsim.simulator.references.finding import prepare
from ctxsim.simulator.references.needs import Need
from ctxsim.transcript import Transcript

LABELS = Path(__file__).with_name("reference_labels.csv")
PER_KIND = {"value": 36, "name": 36, "loose": 24, "none": 48}
PER_TRANSCRIPT = 2
"""The most cases of one kind from one transcript, so that one long recording doesn't dominate the sample."""


Key = tuple[str, str, str, str]
"""The key of a case in the labels: transcript, call, kind, and a hash of the atom."""


class Case(NamedTuple):
    """One thing to judge: an aged reference, or (`none`, no atom) a call in which no detector found any."""

    transcript: str
    call: int
    kind: str
    atom: str = ""

    @property
    def key(self) -> Key:
        """The case's key in the labels."""
        return self.transcript, str(self.call), self.kind, hashlib.sha256(self.atom.encode()).hexdigest()[:12]


def kind_of(need: Need) -> str:
    """Return the kind of a need: value, name or loose."""
    return "loose" if need.detector == "loose" else ("value" if need.value else "name")


def recordings(folder: Path) -> Iterator[tuple[str, Transcript]]:
    """Yield every readable transcript of a folder with a name that is unique in it."""
    for source in sources(str(folder)):
        try:
            for number, transcript in enumerate(read_source(source)):
                yield f"{source.name.removeprefix(str(folder)).lstrip('/')}#{number}", transcript
        except InputError:
            continue


def cases_of(name: str, transcript: Transcript, chance: random.Random) -> Iterator[Case]:
    """Yield the cases of a transcript, its calls in random order: at most one reference of each kind per call."""
    references = prepare(transcript)
    numbers = list(range(1, len(transcript.calls) + 1))
    chance.shuffle(numbers)
    for number in numbers:
        call = transcript.calls[number - 1]
        aged = [need for need in references.needs(number) if need.age >= 1]
        for kind in ("value", "name", "loose"):
            if found := [need for need in aged if kind_of(need) == kind]:
                yield Case(name, number, kind, chance.choice(found).atom)
        speaks = any(len(item.text) > 20 for item in transcript.items[call.start : call.end])
        if not aged and number >= 4 and speaks:
            yield Case(name, number, "none")


def sample(folder: Path) -> list[tuple[Case, Transcript]]:
    """Return a sample of cases, spread over the recordings. The same recordings give the same sample."""
    chance = random.Random(20)
    found: dict[str, list[tuple[Case, Transcript]]] = {kind: [] for kind in PER_KIND}
    for name, transcript in recordings(folder):
        taken = dict.fromkeys(PER_KIND, 0)
        for case in cases_of(name, transcript, chance):
            if taken[case.kind] < PER_TRANSCRIPT:
                taken[case.kind] += 1
                found[case.kind].append((case, transcript))
    return [
        pair
        for kind, wanted in PER_KIND.items()
        for pair in sorted(chance.sample(found[kind], min(wanted, len(found[kind]))), key=lambda pair: pair[0].key)
    ]


def around(text: str, atom: str, reach: int) -> str:
    """Return the text around the atom, or the beginning if the atom isn't found."""
    at = max(0, fold(text).find(atom.split(" ")[0]))
    return text[max(0, at - reach) : at + reach]


def show(number: int, case: Case, transcript: Transcript) -> str:
    """Return a case as a text for the person who labels it."""
    call = transcript.calls[case.call - 1]
    output = "\n".join(f"<{i.kind} {i.tool}> {content(i)}" for i in transcript.items[call.start : call.end])
    lines = [f"##### case {number}: {case.kind}, {case.transcript}, call {case.call}"]
    if case.atom:
        need = next(n for n in prepare(transcript).needs(case.call) if n.atom == case.atom)
        source = transcript.items[need.sources[-1]]
        lines += [f"atom: {case.atom!r}, {need.age} calls old, source {source.tool}"]
        lines += [f"-- the call's output:\n{around(output, case.atom, 400)}"]
        lines += [f"-- the source:\n{around(content(source), case.atom, 400)}"]
        return "\n".join(lines)
    lines += [f"-- the call's output:\n{output[:2500]}"]
    for item in transcript.items[: call.start][-60:]:
        old = item.place < transcript.calls[case.call - 2].start
        if item.kind == "tool_result":
            lines += [f"-- {'OLD' if old else 'newest'} result {item.place} of {item.tool}:\n{content(item)[:1200]}"]
        elif item.kind in ("user", "assistant", "tool_call"):
            lines += [f"-- ({item.kind} {item.place}) {content(item)[:500]}"]
    return "\n".join(lines)


def labels() -> dict[Key, str]:
    """Return the labels by case."""
    with LABELS.open(encoding="utf-8", newline="") as file:
        return {(r["transcript"], r["call"], r["kind"], r["atom"]): r["label"] for r in csv.DictReader(file)}


def standing(folder: Path, known: Mapping[Key, str]) -> dict[Key, str]:
    """Return the labels of the cases that still exist in these recordings, by today's detectors."""
    wanted: dict[str, list[Key]] = {}
    for key in known:
        wanted.setdefault(key[0], []).append(key)
    found = {}
    for name, transcript in recordings(folder):
        if name in wanted:
            references = prepare(transcript)
            for key in wanted[name]:
                number = int(key[1])
                aged = [need for need in references.needs(number) if need.age >= 1]
                offered = {Case(name, number, kind_of(need), need.atom).key for need in aged}
                if key in offered or (key[2] == "none" and not aged):
                    found[key] = known[key]
    return found


def precision(found: dict[Key, str], kinds: Sequence[str]) -> tuple[int, int]:
    """Return how many cases of these kinds are labelled yes, and how many have a label."""
    judged = [label for key, label in found.items() if key[2] in kinds]
    return judged.count("yes"), len(judged)


def shares(folder: Path) -> tuple[int, int]:
    """Return how many calls, from the fourth on, have an aged reference and how many have none."""
    found = [
        any(need.age >= 1 for need in needs)
        for _, transcript in recordings(folder)
        for needs in prepare(transcript).needs_by_call[3:]
    ]
    return found.count(True), found.count(False)


def agreement() -> float:
    """Return the share of cases that both raters labelled alike."""
    with LABELS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return sum(row["rater_a"] == row["rater_b"] for row in rows) / len(rows)


def main() -> None:
    """Print precision per kind, and the share of calls without a found reference that did use an old result."""
    folder = Path(sys.argv[1])
    if "--show" in sys.argv:
        print("\n\n".join(show(n, case, transcript) for n, (case, transcript) in enumerate(sample(folder))))
        return
    known = labels()
    found = standing(folder, known)
    print(f"{len(found)} of {len(known)} labelled cases are still ones\n")
    print("| | right | of |\n|---|--:|--:|")
    for title, kinds in {
        "values": ["value"],
        "names": ["name"],
        "strict": ["value", "name"],
        "loose": ["loose"],
    }.items():
        print("| {} | {} | {} |".format(title, *precision(found, kinds)))
    used, calls = precision(found, ["none"])
    print(f"| calls without a found reference that used an old result | {used} | {calls} |")
    right, judged = precision(found, ["value", "name", "loose"])
    if not (right and calls):
        sys.exit("\ntoo few labelled cases in this folder for a recall")
    with_reference, without = shares(folder)
    hit, missed = with_reference * right / judged, without * used / calls
    print(f"\nrecall at call level: {hit / (hit + missed):.0%}")
    print(f"of {with_reference + without} calls {with_reference} have a found reference")
    print(f"the two raters agree on {agreement():.0%} of the cases")


if __name__ == "__main__":
    main()
