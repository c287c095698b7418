"""How often other times of edits are cheaper than the dollar oracle's, in random conversations small enough to try all.

    python -m evidence.dollar_oracle

For each model: the share of 60 conversations in which the cheapest of all schedules beats the oracle, and by how much
at most. A schedule says for each result that may leave from which call on it is a stub, or never.
"""

from __future__ import annotations

import random
from itertools import product

from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.bounds.lossless import leaving, plan
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.simulator.references.finding import prepare
from ctxsim.transcript import Transcript

MODELS = ("gpt-4o", "gpt-5.6-sol", "gemini-2.5-pro", "claude-opus-4-5", "deepseek-chat")
STUB = "[cleared]"
CASES, RESULTS, SEED = 60, 4, 7


def conversation(rng: random.Random) -> Transcript:
    """Five calls with four results around the minimums and steps of caches, some of which are used again."""
    made = Assembly("small")
    made.system.append("be good " * rng.choice([0, 10, 500]))
    made.user("Do the task.")
    for number in range(RESULTS):
        asked = f'{{"id": "zebra_{rng.randint(0, RESULTS)}"}}' if rng.random() < 0.5 else "{}"
        made.response([Part("tool_call", asked, "read", f"c{number}")])
        made.result(f"zebra_{number} " + f"w{number} " * rng.choice([5, 60, 130, 400, 800]), f"c{number}")
        if rng.randint(0, 3) == 0:
            made.user("and more " * rng.choice([2, 200]))
    made.response([Part("assistant", "Done.")])
    return made.transcript()


def gain(transcript: Transcript, model: str) -> float | None:
    """Return by which share of its cost the oracle is beaten; None if no result may leave."""
    provider = resolve({"model": model, "pace_s": 5.0})
    counter, references = provider.counter(), prepare(transcript)
    ledger, end = Ledger(transcript, provider, counter), len(transcript.calls) + 1
    dead = leaving(transcript, counter, references.last_needed(), counter.text(STUB))

    def usd(times: dict[int, int]) -> float:
        return sum(ledger.usd_if_cleared({place: call for place, call in times.items() if call < end}, STUB))

    if not dead:
        return None
    places = [item.position for item in dead]
    schedules = product(*(range(item.dies, end + 1) for item in dead))
    least = min(usd(dict(zip(places, times, strict=True))) for times in schedules)
    return 1 - least / usd(plan(ledger, references, "dollars", STUB))


def main() -> None:
    """Print a line for each model."""
    for model in MODELS:
        rng, gains = random.Random(SEED), list[float]()
        while len(gains) < CASES:
            if (one := gain(conversation(rng), model)) is not None:
                gains.append(one)
        beaten = [one for one in gains if one > 1e-9]
        print(f"{model}: beaten in {len(beaten) / CASES:.0%}, by up to {max(beaten, default=0):.1%}", flush=True)


if __name__ == "__main__":
    main()
