"""How much of Codex's thinking leaves at a user's turn: a call, its recorded growth, ours, and ours if all stayed.

python -m evidence.findings.turns RECORDINGS...
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from ctxsim.cli.reading import Reading
from ctxsim.readers.assembly.segments import segments
from ctxsim.recorded.size_fit import requests
from ctxsim.simulator.provider.resolve import resolve


def main(paths: Sequence[str]) -> None:
    """Print a line for each turn at which more than 20 tokens of thinking would leave."""
    turns = 0
    for transcript in Reading(tuple(paths)):
        provider = resolve({}, None, transcript, ())
        for segment in segments(transcript):
            dropped, kept = (requests(segment, replace(provider, reasoning=rule)) for rule in ("current_turn", "all"))
            for (last, this), (before, now) in zip(pairwise(dropped), pairwise(kept), strict=True):
                told, whole = (b.text + b.framing - a.text - a.framing for a, b in ((last, this), (before, now)))
                if whole - told > 20:
                    turns += 1
                    print(transcript.model, this.call, this.recorded - last.recorded, told, whole)
    print(f"{turns} turns")


if __name__ == "__main__":
    main(sys.argv[1:])
