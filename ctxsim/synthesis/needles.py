"""Planted facts with a known later use, for each kind of text, depth and age; and rules that the user states once.

Each fact is used by exactly one later call, a rule by several, so what a policy loses is known without any detector.
"""

import json
import random
from itertools import product
from typing import Annotated

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.synthesis.scenario import Session
from ctxsim.synthesis.words import digits, hexadecimal, prose, sentence
from ctxsim.transcript import Head, Needle, Transcript

KINDS = ("key-value", "json", "log", "prose")
DEPTHS = ("head", "middle", "tail")

Age = Annotated[int, msgspec.Meta(ge=1, le=100_000)]


class Parameters(msgspec.Struct, forbid_unknown_fields=True):
    """One fact for each kind, depth and age; a rule is stated every `rule_every` calls and used at each rule age."""

    result_chars: Annotated[int, msgspec.Meta(ge=200, le=10_000_000)] = 3_000
    ages: Annotated[tuple[Age, ...], msgspec.Meta(min_length=1)] = (1, 5, 15, 40)
    rule_every: Age = 30
    rule_ages: tuple[Age, ...] = (2, 10, 30)
    head_words: Age = 400


def generate(rng: random.Random, counter: Counter, wanted: Parameters) -> Transcript:
    """Return the transcript with its needles."""
    cells = list(product(KINDS, DEPTHS, wanted.ages))
    rng.shuffle(cells)
    total = len(cells) + max(wanted.ages) + 1
    made = Session()
    due: dict[int, list[str]] = {}
    for number in range(1, total + 1):
        if (number - 1) % wanted.rule_every == 0:
            code = f"CC-{digits(rng, 6)}"
            rule = f"From now on charge every booking to cost centre {code} and never to any other."
            uses = tuple(number + age for age in wanted.rule_ages if number + age <= total)
            place = made.user(f"{sentence(rng)} {rule} {sentence(rng)}")
            made.needles.append(Needle("rule", rule, place, "middle", uses))
            for use in uses:
                due.setdefault(use, []).append(code)
        arguments = json.dumps({"step": f"page {number % 7}", "with": due.get(number, [])})
        made.respond(sentence(rng), "lookup", arguments, call_id=f"call_{number}")
        kind, depth, age = cells[number - 1] if number <= len(cells) else (rng.choice(KINDS), "", 0)
        value = f"{rng.choice(('tk', 'ord', 'ref'))}-{hexadecimal(rng, 10)}"
        place = made.result(_page(rng, kind, depth, value if depth else "", wanted.result_chars))
        if depth:
            # The next call is the first that sends the result.
            made.needles.append(Needle(kind, value, place, depth, (number + 1 + age,)))
            due.setdefault(number + 1 + age, []).append(value)
    made.respond("Done. ")
    head = Head("You look things up and use exactly what you find. " + " ".join(prose(rng, wanted.head_words)))
    return made.transcript(head)


def _page(rng: random.Random, kind: str, depth: str, value: str, chars: int) -> str:
    """Return a result of one kind of text, with its fact in the first tenth, the middle or the last tenth."""
    lines: list[str] = []
    at = {"head": 0.05, "middle": 0.5, "tail": 0.95}.get(depth, 2.0) * chars
    length, waiting = 0, bool(value)
    while length < chars or waiting:
        planted = waiting and length >= at - 80
        line = _line(rng, kind, value if planted else f"{rng.choice(('tk', 'ord', 'ref'))}-{hexadecimal(rng, 10)}")
        lines.append(line)
        length += len(line) + 1
        waiting = waiting and not planted
    if kind == "json":
        return json.dumps({"ok": True, "rows": [json.loads(line) for line in lines]})
    return "\n".join(lines)


def _line(rng: random.Random, kind: str, value: str) -> str:
    stamp = f"2026-03-{rng.randrange(10, 29)}T{rng.randrange(10, 24)}:{rng.randrange(10, 60)}:{rng.randrange(10, 60)}Z"
    match kind:
        case "key-value":
            return f"{rng.choice(('owner', 'token', 'target', 'source'))}_{digits(rng, 2)} = {value}"
        case "json":
            return json.dumps({"at": stamp, "entry": {"id": value, "note": sentence(rng)}})
        case "log":
            return f"{stamp} INFO worker-{rng.randrange(9)} handled {value} in {rng.randrange(900)} ms"
    return f"{sentence(rng)} It is filed under {value}."
