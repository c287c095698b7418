"""Predictions of sessions from their texts, without their own usage: tokens, dollars, and whether they are compacted.
They are compared with the same sessions modelled with their usage.

Heads and factors are those of earlier sessions, of the same project and model if there are enough. The interval is
split conformal: of the earlier sessions' errors, in logarithms, as many lie outside as the level says (V. Vovk, A.
Gammerman, G. Shafer, Algorithmic Learning in a Random World, 2005).
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import ceil, exp, floor, log
from statistics import median

import msgspec

from ctxsim.answers.forecast.ranges import LEAST, LEVEL
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import agent_of, open_policy
from ctxsim.readers.glance import Accepted, of_project
from ctxsim.recorded.as_sent import as_sent
from ctxsim.recorded.size_fit import recorded_calls
from ctxsim.simulator.measure.measured import AsSent, Size
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Transcript

RECENT = 7
"""Most recent earlier sessions whose heads and factors are used."""

FEW = 3
"""Least earlier sessions of the same project and model; with fewer, those of other projects are used too."""

STEP, MOST = 0.05, 0.99
"""Step by which a miss moves the level of ranges, and the highest level."""


class Told(msgspec.Struct, frozen=True):
    """One session as predicted, and with its own usage (`_came`). Dollars are None without prices, `compacts` is None
    if the agent's rule isn't known.
    """

    session: str
    tokens: float
    tokens_came: float
    usd: float | None
    usd_came: float | None
    compacts: bool | None
    compacted: bool


def told(transcripts: Sequence[Transcript]) -> Iterator[tuple[Told, Told]]:
    """Yield two predictions of each session with usage and times, oldest first, from those before it; the first has
    none. For the second, the usage of the session's first call is known too, and with it the head.
    """
    timed = [(one.calls[0].time_s, one) for one in transcripts if one.calls and one.calls[0].time_s is not None]
    before: list[tuple[Transcript, Size]] = []
    largest: Accepted = {}
    for _, transcript in sorted(timed, key=lambda pair: pair[0]):
        came = list(as_sent(transcript))
        if not any(one.size.calls for one in came):
            continue
        if before:
            tokens_came, usd_came = _sums(came)
            compacted = bool(transcript.compactions)
            with_usage = Told(transcript.name, tokens_came, tokens_came, usd_came, usd_came, None, compacted)
            predicted = partial(_predicted, with_usage, transcript, _like(before, transcript), largest, came[0].counter)
            yield predicted(0), predicted(1)
        key, sizes = of_project(transcript.project, transcript.model), [n for _, n, _ in recorded_calls(transcript)]
        most, many = largest.get(key, (0, 0))
        largest[key] = max(most, *sizes), many + 1
        before.append((transcript, came[0].size))


def _predicted(
    came: Told, transcript: Transcript, like: Size, largest: Accepted, counter: Counter | None, known: int
) -> Told:
    """A session as its texts and the usage of its first `known` calls predict it, beside what came."""
    later = tuple(msgspec.structs.replace(call, usage=None, held=None) for call in transcript.calls[known:])
    bare = msgspec.structs.replace(transcript, calls=(*transcript.calls[:known], *later))
    tokens, usd = _sums(as_sent(bare, accepted=largest, like=like, known=counter))
    compacts = None
    if agent_of(transcript.format):
        # Whether the agent, as its version ships it, would have compacted the session.
        compacts = any(
            sent.tally.summaries
            for one in as_sent(bare, whole=True, accepted=largest, like=like, known=counter)
            for sent in replay(one.transcript, open_policy("as-set"), one.provider, one.counter)
        )
    return msgspec.structs.replace(came, tokens=tokens, usd=usd, compacts=compacts)


def _like(before: Sequence[tuple[Transcript, Size]], transcript: Transcript) -> Size:
    """The median head and factor of the nearest earlier sessions."""
    near = [pair for pair in before if (pair[0].parent is None) == (transcript.parent is None)] or before
    same = [pair for pair in near if pair[0].model == transcript.model] or near
    closest = [pair for pair in same if pair[0].project == transcript.project]
    recent = [size for _, size in (closest if len(closest) >= FEW else same)[-RECENT:]]
    return Size("prior", round(median(one.head for one in recent)), median(one.factor for one in recent))


def _sums(found: Iterable[AsSent]) -> tuple[float, float | None]:
    """Input tokens and dollars under keep-all."""
    tokens, usd, priced = 0, 0.0, True
    for one in found:
        for sent in replay(one.transcript, open_policy("keep-all"), one.provider, one.counter):
            tokens += sent.tokens_sent
            priced = priced and sent.cost_usd is not None
            usd += sent.cost_usd or 0.0
    return float(tokens), usd if priced else None


def error_range(errors: Sequence[float], level: float = LEVEL) -> tuple[float, float] | None:
    """Return the range of the factor between actual and predicted, given the factors of earlier sessions; None with
    fewer than LEAST of them.
    """
    if len(errors) < LEAST:
        return None
    ordered = sorted(map(log, errors))
    many, tail = len(ordered), (1 - level) / 2
    low = max(0, floor((many + 1) * tail + 1e-9) - 1)
    high = min(many - 1, ceil((many + 1) * (1 - tail) - 1e-9) - 1)
    return exp(ordered[low]), exp(ordered[high])


class Held(msgspec.Struct, frozen=True):
    """How often the ranges of one amount held, and their median width: upper end / lower end."""

    amount: str
    forecasts: int
    held: float
    width: float


def held(found: Sequence[Told], level: float = LEVEL) -> list[Held]:
    """Return how often ranges held for tokens and for dollars, with each session's range from those before it.

    The level of ranges moves with the misses so far: up after a miss, down a little after a hit (I. Gibbs, E. Candes,
    Adaptive Conformal Inference Under Distribution Shift, 2021).
    """
    rows = []
    for amount in ("tokens", "usd"):
        pairs = [(getattr(one, amount), getattr(one, f"{amount}_came")) for one in found]
        ratios = [came / said for said, came in pairs if said and came]
        asked, inside, widths = level, 0, []
        for number, ratio in enumerate(ratios):
            if known := error_range(ratios[:number], min(MOST, asked)):
                hit = known[0] <= ratio <= known[1]
                inside += hit
                widths.append(known[1] / known[0])
                asked += STEP * (level - hit)
        if widths:
            rows.append(Held(amount, len(widths), inside / len(widths), median(widths)))
    return rows


class Compactions(msgspec.Struct, frozen=True):
    """Numbers of transcripts, sub-agents' too: all, with a recorded compaction, with a predicted one, and with both."""

    sessions: int
    came: int
    told: int
    both: int


def compactions(found: Sequence[Told]) -> Compactions | None:
    """Return how predicted compactions compare with recorded ones; None if no agent's rule is known."""
    rows = [one for one in found if one.compacts is not None]
    if not rows:
        return None
    came, said = {n for n, one in enumerate(rows) if one.compacted}, {n for n, one in enumerate(rows) if one.compacts}
    return Compactions(len(rows), len(came), len(said), len(came & said))
