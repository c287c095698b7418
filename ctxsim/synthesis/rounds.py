"""Facts of several kinds, planted early, in the middle and late, then round after round of other work.

No fact is repeated before the end. Facts are looked for once when all are planted, and once after each round, so that
it is known exactly how long they survive one compaction after another.
"""

import json
import random
from collections import defaultdict
from itertools import product
from typing import Annotated

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.synthesis.scenario import Session
from ctxsim.synthesis.words import digits, hexadecimal, prose, sentence
from ctxsim.transcript import Head, Needle, Transcript

FACTS = {
    "value": "{}",
    "name": "settle_{}",
    "decision": "we chose the queue {} over the table",
    "constraint": "charge every booking to cost centre {}",
    "correction": "the limit is {} from now on",
    "negation": "never touch the archive node {}",
}
"""A value and a name stand in tool results, a decision in the agent's own text, the rest in the user's texts."""

KINDS = tuple(FACTS)

CANARIES = {
    "safety rule": "never restart {} without a person's consent",
    "hard constraint": "no request to {} takes more than 40 seconds",
    "fact": "the ledger is kept on {}",
    "goal": "the aim is to retire {} by spring",
    "preference": "reports follow the pattern of {}",
}
"""Further kinds of facts, which stand alternately in the user's texts and in tool results."""

FACTS |= CANARIES

Kind = Annotated[str, msgspec.Meta(pattern=rf"^({'|'.join(FACTS)})\Z")]

PARTS = ("early", "middle", "late")
"""Thirds of the calls that plant facts."""

Count = Annotated[int, msgspec.Meta(ge=1, le=10_000)]


class Parameters(msgspec.Struct, forbid_unknown_fields=True):
    """`each` facts of each kind in each part, then `rounds` rounds of `calls_per_round` calls with their results.

    For each kind of canary, `superseded` late facts replace early ones, but at most `each` of them.
    """

    each: Count = 4
    kinds: Annotated[tuple[Kind, ...], msgspec.Meta(min_length=1)] = KINDS
    superseded: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0
    rounds: Count = 10
    calls_per_round: Count = 24
    result_chars: Annotated[int, msgspec.Meta(ge=100, le=10_000_000)] = 1_500
    head_words: Count = 400


def generate(rng: random.Random, counter: Counter, wanted: Parameters) -> Transcript:
    """Return the transcript with its needles."""
    told = wanted.each * len(wanted.kinds) * len(PARTS)
    looked = tuple(told + 1 + wanted.calls_per_round * number for number in range(wanted.rounds + 1))
    made = _Telling(rng, wanted.result_chars, looked, wanted.superseded)
    made.user("Keep to what you are told here. I ask for it again at the end.")
    for part in PARTS:
        kinds = [kind for kind, _ in product(wanted.kinds, range(wanted.each))]
        rng.shuffle(kinds)
        for kind in kinds:
            made.tell(kind, part)
    for number in range(wanted.rounds):
        made.user(f"Now round {number + 1}. {sentence(rng)}")
        for _ in range(wanted.calls_per_round):
            made.step()
    # The last call repeats all facts, as if none had been forgotten.
    made.respond("What I was told: " + "; ".join(needle.text for needle in made.needles) + ".")
    head = Head("You keep to what you were told. " + " ".join(prose(rng, wanted.head_words)))
    return made.transcript(head)


class _Telling(Session):
    def __init__(self, rng: random.Random, result_chars: int, looked: tuple[int, ...], superseded: int) -> None:
        super().__init__()
        self._rng, self._chars, self._looked = rng, result_chars, looked
        self._superseded = superseded
        self._to_replace: defaultdict[str, list[tuple[Needle, str]]] = defaultdict(list)

    def tell(self, kind: str, part: str) -> None:
        """Add a call that plants a fact: in a user text before it, in its response, or in its result.

        A correction states two limits, of which the second holds. A canary stands alternately in a user text and in a
        result; one that replaces an earlier one stands in the other.
        """
        code = f"{self._rng.choice(('tk', 'ord', 'ref'))}{digits(self._rng, 2)}{hexadecimal(self._rng, 6)}"
        text, replaces = FACTS[kind].format(code), ""
        if kind == "value":
            place = self.step(f"The token is {text}.")
        elif kind == "name":
            place = self.step(f"def {text}(order):")
        elif kind == "decision":
            place = self.step(said=f"So {text}.") - 2
        else:
            by_user = kind not in CANARIES or sum(one.kind == kind for one in self.needles) % 2 == 0
            line = f"Mind: {text}."
            if part == "late" and self._to_replace[kind]:
                old, old_code = self._to_replace[kind].pop(0)
                self.needles.remove(old)
                by_user, replaces = self.items[old.place].kind != "user", old.text
                line = f"No longer {old_code}: {text}."
            before = f"The limit is {digits(self._rng, 6)}. " if kind == "correction" else ""
            if by_user:
                place = self.user(f"{before}{sentence(self._rng)} {line} {sentence(self._rng)}")
                self.step()
            else:
                place = self.step(line)
        self.needles.append(Needle(kind, text, place, part, self._looked, replaces))
        if kind in CANARIES and part == "early" and len(self._to_replace[kind]) < self._superseded:
            self._to_replace[kind].append((self.needles[-1], code))

    def step(self, line: str = "", said: str = "") -> int:
        """Add a call and its result, which contains `line` at a random place, and return the result's place."""
        text = f"{sentence(self._rng)} {said}".strip()
        self.respond(text, "look", json.dumps({"page": self._rng.randrange(9)}), call_id=f"call_{len(self.calls) + 1}")
        lines: list[str] = []
        length = 0
        while length < self._chars:
            lines.append(f"{sentence(self._rng)} It is filed under {hexadecimal(self._rng, 8)}.")
            length += len(lines[-1]) + 1
        if line:
            lines.insert(self._rng.randrange(len(lines) + 1), line)
        return self.result("\n".join(lines))
