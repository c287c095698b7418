"""Three figures of docs/bill.md, from the sessions of one project: `python -m evidence.sessions FOLDER`.

The first: how often the status line's range of calls was right, over consecutive spans of 30,000 or 100,000 tokens.
The second: how often ranges of savings, from the sessions up to each day, held what the same changes save of the
sessions of the next days. The third: how often the rule `head > 5%` of `ctxsim compare` on recordings breaks between random halves of 40
sessions, with a head that is a tenth larger in the second half, and without a change.
"""

from __future__ import annotations

import gzip
import random
import re
import tempfile
from argparse import ArgumentParser
from pathlib import Path

import msgspec

import ctxsim
from ctxsim.answers.bill.dollars import PriceList
from ctxsim.answers.bill.offers import offers
from ctxsim.answers.bill.smaller import _Paid, smaller
from ctxsim.answers.bill.status import LEAST_SEEN, MOST_SESSIONS, SHARES, _calls, _read
from ctxsim.answers.bill.sums import Bill, billed, sessions_of
from ctxsim.answers.bill.unpaired import FIGURES, Case, cases, difference
from ctxsim.answers.forecast.ranges import DAY
from ctxsim.answers.forecast.sessions import Next
from ctxsim.api.rules import parse_rules

SPANS = (30_000, 100_000)
DAYS = (7, 14)
PAIRS, SIZE, LARGER = 200, 40, 1.1
FIRST = re.compile(rb'"timestamp": ?"([^"]+)"')


def opened(log: Path) -> bytes:
    """Return a log's text, uncompressed."""
    data = log.read_bytes()
    return gzip.decompress(data) if log.suffix == ".gz" else data


def growths(text: bytes) -> list[int]:
    """Return by how many tokens each of a session's requests grew, as the status line reads it."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as plain:
        plain.write(text)
        plain.flush()
        return list(_read(Path(plain.name), {}, None)["growths"])


def held(sessions: list[list[int]], span: int) -> tuple[int, int]:
    """Return how many spans of `span` tokens ended within the range of earlier sessions, and how many there were."""
    inside = total = 0
    for place, own in enumerate(sessions):
        start = 0
        while (took := next(_calls(own[start:], span), None)) is not None:
            before = [*sessions[max(0, place - MOST_SESSIONS + 1) : place], own[:start]]
            seen = sorted(calls for series in before for calls in _calls(series, span))
            if len(seen) >= LEAST_SEEN:
                low, _, high = (seen[round(share * (len(seen) - 1))] for share in SHARES)
                inside, total = inside + (low <= took <= high), total + 1
            start += max(1, took)
    return inside, total


def savings(lines: Bill, prices: PriceList, days: int) -> tuple[int, int]:
    """Return how many ranges of savings in the next days held, and how many there were."""
    known = sessions_of(lines)
    began = {name: int(time // DAY) for name, time in zip(known.names, known.started, strict=True) if time is not None}
    inside = total = 0
    for day in sorted({one for one in began.values() if one + days <= max(began.values())}):
        before, after = (
            billed([one for one in lines.sessions if first <= began.get(one.root, -1) < last], prices, None)
            for first, last in ((0, day + 1), (day + 1, day + 1 + days))
        )
        made = {one.name: one for group in offers(before, prices, {}, None) for one in group}
        paid = _Paid(after, prices)
        for one in smaller(before, prices, ahead=Next(days, days=True)).savings:
            low, high = one.ahead or (0.0, 0.0)
            inside, total = inside + (low <= paid.saving([made[one.name]]).usd <= high), total + 1
    return inside, total


def breaks(found: list[Case]) -> tuple[int, int]:
    """Return how often the rule breaks with the larger head, and without a change."""
    [rule] = parse_rules(["head > 5%"], "figure", FIGURES, "head > 5%")
    with_change = without = 0
    for seed in range(PAIRS):
        drawn = random.Random(seed).sample(found, 2 * SIZE)
        before, after = drawn[:SIZE], drawn[SIZE:]
        larger = [
            msgspec.structs.replace(case, figures=case.figures | {"head": case.figures["head"] * LARGER})
            for case in after
            if "head" in case.figures
        ]
        changed, same = difference("head", before, larger), difference("head", before, after)
        with_change += bool(changed and changed.changed and rule.broken_by("head", changed.effect))
        without += bool(same and same.changed and rule.broken_by("head", same.effect))
    return with_change, without


def main() -> None:
    """Print both figures."""
    parser = ArgumentParser(prog="python -m evidence.sessions")
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    texts = [opened(log) for log in given.folder.rglob("*.jsonl*")]
    # Sessions are in the order of their beginnings.
    texts.sort(key=lambda text: found[1] if (found := FIRST.search(text)) else b"")
    sessions = [growths(text) for text in texts]
    for span in SPANS:
        inside, total = held(sessions, span)
        print(f"status line: {inside} of {total} spans of {span:,} tokens ended within the range")
    bill = ctxsim.bill(given.folder, days=None, index=False)
    for days in DAYS:
        inside, total = savings(bill.lines, bill.prices, days)
        print(f"savings of the next {days} days: {inside} of {total} ranges held")
    found = cases(bill.lines)
    with_change, without = breaks(found)
    print(
        f"head > 5 %, {PAIRS} pairs of {SIZE} of {len(found)} sessions: it breaks in {with_change} with a head that is"
    )
    print(f"{LARGER - 1:.0%} larger, and in {without} without a change")


if __name__ == "__main__":
    main()
