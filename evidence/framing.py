"""How exact framing is: the growth of recorded requests against our count, for models with a known tokenizer.

    python -m evidence.framing FOLDER...

Growth from one recorded request to the next is compared, so that a head which isn't in the log doesn't count. A line for
each model: steps compared, how many are exact, within 2 tokens and within 1 %, and the median difference.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from statistics import median

from ctxsim.answers.validation.validation import compare
from ctxsim.counting.tokenizers import tokenizer_of
from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources
from ctxsim.transcript import Transcript


def steps(transcript: Transcript) -> Iterator[tuple[int, int]]:
    """Yield the growth of each request since the one before, in recorded and in counted tokens."""
    for before, after in pairwise(compare(transcript)):
        if after.call == before.call + 1 and after.recorded > before.recorded:
            yield after.recorded - before.recorded, after.counted - before.counted


def transcripts(folders: Iterable[str]) -> Iterator[Transcript]:
    """Yield the transcripts of models whose own tokenizer is known."""
    for source in sources(*folders):
        try:
            yield from (one for one in read_source(source) if one.model and tokenizer_of(one.model)[1])
        except InputError:
            continue


def lines(folders: Iterable[str]) -> Iterator[str]:
    """Yield the table, a line for each model."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for one in transcripts(folders):
        found[one.model] += steps(one)
    yield "| model | steps | exact | within 2 tokens | within 1 % | median difference, tokens |"
    yield "|---|--:|--:|--:|--:|--:|"
    for model, grown in sorted(found.items()):
        if grown:
            off = [counted - recorded for recorded, counted in grown]
            near = sum(abs(one) <= 0.01 * recorded for one, (recorded, _) in zip(off, grown, strict=True))
            yield (f"| {model} | {len(off)} | {off.count(0)} | {sum(abs(one) <= 2 for one in off)} | {near} "
                   f"| {median(off):+g} |")  # fmt: skip


if __name__ == "__main__":
    for line in lines(sys.argv[1:]):
        print(line)
