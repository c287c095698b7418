"""Measure the priors on folders of recordings with usage, and write their tables.

    python -m evidence.priors FOLDER... --date YYYY-MM-DD [--write]

Three tables, from the same calls that `ctxsim validate` compares. `factor`: recorded tokens per counted token and
model, the least-squares slope within each session and its median over sessions. `head`: the rest of a first call's
recorded tokens after that, per format and model. `loss`: the share of predicted cache reads that was not read, per
vendor and pause since the last call. Without --write they are printed; with it they replace the package's data files.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

import click
import msgspec
import numpy as np

import ctxsim.simulator.provider
from ctxsim.answers.validation.validation import Compared, compare
from ctxsim.counting.tokenizers import bare, tokenizer_of
from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources
from ctxsim.recorded.as_sent import as_sent
from ctxsim.simulator.provider.prices import Loss
from ctxsim.simulator.provider.priors import Factor, HeadPrior
from ctxsim.simulator.provider.vendor import vendor_of

GAPS_S = (10.0, 60.0, 300.0, 3600.0, float("inf"))
"""The upper ends, in seconds, of the classes of pauses."""

ENOUGH_CALLS, ENOUGH_GROWTH = 3, 2_000
"""The fewest calls, and the least growth of counted tokens, of a session from which a slope is fitted."""

EXPECTED_READ = 1_024
"""Smaller predicted reads are left out: they depend on minimum lengths more than on misses."""

DRAWS, SEED = 200_000, 7

DATED = re.compile(r"(-\d{8}|-\d{4}-\d{2}-\d{2})(-v\d+(:\d+)?)?$|-fast$")


class Measured(msgspec.Struct, frozen=True):
    """One compared call and the seconds since the call before it; None if a time is missing."""

    call: Compared
    gap_s: float | None


def measured(*folders: str) -> Iterator[list[Measured]]:
    """Yield the comparable calls of each session in these folders. Unreadable files are reported and left out."""
    for source in sources(*folders):
        try:
            for transcript in read_source(source):
                # Calls are numbered within their segment.
                segments = [one.transcript for one in as_sent(transcript, by_cost=True)]
                times = {segment.name: [call.time_s for call in segment.calls] for segment in segments}
                found = []
                for one in compare(transcript, misses="none", by_cost=True):
                    now = times[one.transcript][one.call - 1]
                    before = times[one.transcript][one.call - 2] if one.call > 1 else None
                    found.append(Measured(one, None if now is None or before is None else max(0.0, now - before)))
                if found:
                    yield found
        except InputError as error:
            click.echo(str(error), err=True)


def family(model: str) -> str:
    """Return the pattern of a recorded model name, without prefix and date."""
    return f"{DATED.sub('', bare(model)).replace('.', '-')}*"


def public(pattern: str) -> bool:
    """Return whether we count with the model's own tokenizer, so that counted tokens equal recorded ones."""
    # The names by which tokenizers are found have a dot in their version.
    return tokenizer_of(re.sub(r"(?<=\d)-(?=\d)", ".", pattern))[1]


def factors(sessions: Iterable[list[Measured]]) -> list[Factor]:
    """Return the factor of each model with two long enough sessions, or with one if its tokenizer isn't public."""
    slopes: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for whole in sessions:
        model = family(whole[0].call.model)
        session = [one for one in whole if family(one.call.model) == model]
        counted = np.array([one.call.counted for one in session], dtype=float)
        recorded = np.array([one.call.recorded for one in session], dtype=float)
        if len(session) < ENOUGH_CALLS or np.ptp(counted) < ENOUGH_GROWTH:
            continue
        x, y = counted - counted.mean(), recorded - recorded.mean()
        slopes[model].append((float(x @ y / (x @ x)), len(session)))
    return [
        Factor(model, *_rounded([slope for slope, _ in found], 3), sum(calls for _, calls in found), len(found))
        for model, found in sorted(slopes.items())
        if len(found) > 1 or not public(model)
    ]


def heads(sessions: Iterable[list[Measured]], known: list[Factor]) -> list[HeadPrior]:
    """Return the hidden head of each format and model, from first calls of sessions that don't record it whole."""
    factor = {one.model: one.tokens for one in known}
    left: dict[tuple[str, str], list[float]] = defaultdict(list)
    for session in sessions:
        first = session[0].call
        model = family(first.model)
        if first.call == 1 and not first.whole and (model in factor or public(model)):
            left[first.format, model].append(first.recorded - factor.get(model, 1.0) * first.counted)
    return [
        HeadPrior(format, model, *map(round, _rounded(found, 0)), sessions=len(found))
        for (format, model), found in sorted(left.items())
        if median(found) > 0
    ]


def losses(sessions: Iterable[list[Measured]]) -> list[Loss]:
    """Return the share of predicted cache reads that was not read, per vendor and pause.

    Calls of one session are not independent. So the interval (Jeffreys) is that of a share seen in as many trials as
    there are sessions, which is wide if few were recorded.
    """
    shares: dict[tuple[str, float], list[tuple[str, int, int]]] = defaultdict(list)
    for session in sessions:
        for one in session:
            call = one.call
            if call.read_recorded is None or one.gap_s is None or call.read_predicted < EXPECTED_READ or call.call == 1:
                continue
            gap = next(until for until in GAPS_S if one.gap_s <= until)
            shares[vendor_of(call.model), gap].append((call.transcript, call.read_predicted, call.read_recorded))
    draws = np.random.default_rng(SEED)
    found = []
    for (vendor, gap), calls in sorted(shares.items()):
        if vendor == "none":
            continue
        predicted, recorded = (sum(call[n] for call in calls) for n in (1, 2))
        mean, trials = max(0.0, 1 - recorded / predicted), len({call[0] for call in calls})
        drawn = draws.beta(mean * trials + 0.5, (1 - mean) * trials + 0.5, DRAWS)
        low, high = (float(end) for end in np.quantile(drawn, (0.025, 0.975)))
        found.append(
            Loss(vendor, gap, round(mean, 4), round(min(low, mean), 4), round(max(high, mean), 4), len(calls), trials)
        )
    return found


def _rounded(values: list[float], digits: int) -> tuple[float, float, float]:
    low, high = np.quantile(values, (0.25, 0.75))
    return round(median(values), digits), round(float(low), digits), round(float(high), digits)


def toml(title: str, source: str, day: str, tables: dict[str, list[msgspec.Struct]]) -> str:
    """Return the tables as the TOML text of a data file."""
    lines = [f"# {title}", "# Written by: python -m evidence.priors FOLDER --write", ""]
    lines += [f'source = "{source}"', f"date = {day}"]
    for name, rows in tables.items():
        fields = (msgspec.structs.asdict(row).items() for row in rows)
        each = (", ".join(f"{key} = {_toml(value)}" for key, value in one) for one in fields)
        lines += ["", f"{name} = [", *(f"    {{ {one} }}," for one in each), "]"]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


@click.command()
@click.argument("folders", nargs=-1, required=True)
@click.option("--date", "day", required=True, metavar="YYYY-MM-DD", help="The day of the measurement.")
@click.option("--write", is_flag=True, help="Replace the data files of the package.")
def main(folders: tuple[str, ...], day: str, write: bool) -> None:
    """Measure factors, hidden heads and cache losses on the recordings in FOLDERS."""
    sessions = list(measured(*folders))
    known = factors(sessions)
    calls = sum(map(len, sessions))
    source = f"measured on recordings: {calls:,} calls of {len(sessions)} sessions with usage"
    texts = {
        "priors.toml": toml(
            "What a recording without usage doesn't tell.", source, day,
            {"factor": [*known], "head": [*heads(sessions, known)]},
        ),
        "misses.toml": toml(
            "Share of predicted cache reads that was not read.", f"fitted on recordings: {source.partition(': ')[2]}",
            day, {"loss": [*losses(sessions)]},
        ),
    }  # fmt: skip
    for name, text in texts.items():
        if write:
            Path(ctxsim.simulator.provider.__file__).with_name(name).write_text(text, encoding="utf-8")
        else:
            click.echo(text)


if __name__ == "__main__":
    main()
