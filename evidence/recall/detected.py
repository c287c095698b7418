"""Are graded questions detected as needs, and are answers right if the request held them?

    python -m evidence.recall.detected FOLDER...

One more call with the question and its expected answer is added to each conversation. It is counted which detector sees
that the answer comes from earlier items, and whether the real request held the answer.
"""

from __future__ import annotations

import sys
from collections import Counter as Frequencies

import msgspec

from ctxsim.simulator.references import identifiers
from ctxsim.simulator.references.canonical import content, fold
from ctxsim.simulator.references.finding import prepare
from ctxsim.transcript import Call, Item, Transcript
from evidence.recall.predicted import RECORDED, read_questions, requests

WHOLE = "full_context"


def said_by(transcript: Transcript, answer: str) -> tuple[bool, list[str]]:
    """Return whether identifiers of an answer came from tool results, and those that only users or responses said."""
    end, message = len(transcript.items), transcript.items[-1].message + 1
    asked = Item("user", end, message, "?"), Item("assistant", end + 1, message + 1, answer)
    calls = (*transcript.calls, Call(end + 1, end + 2))
    references = prepare(msgspec.structs.replace(transcript, items=(*transcript.items, *asked), calls=calls))
    number = len(calls)
    of_results = [need for need in references.needs(number) if need.detector == "strict" and need.age >= 1]
    return bool(of_results or references.carried(number)), [one.atom for one in references.said_by_call[-1]]


def main() -> None:
    """Print which detector finds the questions, and kept against graded for identifiers that were only said."""
    found: dict[tuple[str, str], tuple[bool, list[str]]] = {}
    rows: Frequencies[tuple[str, bool, bool]] = Frequencies()
    for path in sys.argv[1:]:
        for asked in read_questions(path, []):
            views = requests(asked.transcript, RECORDED, {one.call for one in asked.answers})
            held = {
                call: set[str]().union(*(identifiers.tokens(fold(content(item))) for item in view))
                for call, view in views.items()
            }
            for one in asked.answers:
                key = asked.root, one.question
                if key not in found:
                    found[key] = said_by(asked.transcript, one.expected)
                atoms = found[key][1]
                if atoms and asked.condition != WHOLE:
                    rows[asked.condition, held[one.call].issuperset(atoms), one.correct] += 1
    by_results, said = sum(by for by, _ in found.values()), sum(bool(atoms) for _, atoms in found.values())
    print(f"{len(found)} questions: {by_results} from tool results, {said} from what was said alone")
    for (condition, kept, right), n in sorted(rows.items()):
        print(f"{condition}: {'kept' if kept else 'lost'} and answered {'rightly' if right else 'wrongly'}: {n}")


if __name__ == "__main__":
    main()
