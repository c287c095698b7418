"""Predictions of advice, stored without any text of recordings, and the sessions that came after them."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

import msgspec

from ctxsim.answers.advice.pooled import figures_of
from ctxsim.answers.forecast.backtest import HORIZONS
from ctxsim.answers.forecast.forecast import Amount, forecast, saving
from ctxsim.answers.forecast.sessions import Next, Sessions, sessions_of
from ctxsim.errors import many
from ctxsim.readers.paths import FOUND
from ctxsim.results import Run

Range = tuple[float, float]


class Prediction(msgspec.Struct, frozen=True):
    """90 % ranges of the dollars of an agent's next sessions, by number of sessions: `as_set`, and `advised`, with the
    settings advised. `days` has both for the next 30 days, None if sessions have no times; `saves` is the share that
    the settings save in these days, from paired draws. `made` is its time, in seconds, UTC. `seen` is the number of
    sessions used: those since `since`, in seconds too, if something changed then. `over` marks the paths of these
    sessions. `by_priors`: the range of `days` comes from other projects.
    """

    agent: str
    settings: dict[str, bool | int | float | str]
    as_set: dict[int, Range]
    advised: dict[int, Range]
    days: tuple[Range, Range] | None = None
    made: float = 0.0
    seen: int = 0
    since: float | None = None
    saves: Amount | None = None
    over: str = ""
    by_priors: bool = False


class Came(msgspec.Struct, frozen=True):
    """The dollars of the first `sessions` sessions after a prediction, and which of its ranges held them."""

    prediction: Prediction
    sessions: int
    usd: float
    as_set: bool
    advised: bool


def predict(run: Run, take: str, agent: str, settings: dict[str, bool | int | float | str]) -> Prediction | None:
    """Return the cost of the next sessions as set, and under the policy to take; None with too few prices, and for a
    sample, which says nothing of sessions to come.
    """
    if run.info.sample:
        return None
    assert run.nothing is not None  # the search runs it
    now, then = (sessions_of(run, label) for label in (run.nothing, take))
    if "usd" not in now.amounts or not figures_of(run).by_dollars:
        return None
    # Both forecasts use the same sessions: those since the last change as set.
    others = {**now.amounts, "usd": then.amounts["usd"]}
    then = now if take == run.nothing else msgspec.structs.replace(then, amounts=others)
    timed = None not in now.started
    ahead = Next(30, days=True) if timed else Next(HORIZONS[0])
    known = forecast(now, "", ahead)
    days = (known.amounts["usd"].ranges["90"], _range(then, ahead)) if timed else None
    saves = saving(now, then, ahead) if timed else None
    as_set, advised = ({many: _range(one, Next(many)) for many in HORIZONS} for one in (now, then))
    return Prediction(agent, settings, as_set, advised, days, seen=known.seen, since=known.since, saves=saves,
                      by_priors=known.basis == "priors")  # fmt: skip


def _range(sessions: Sessions, ahead: Next) -> Range:
    return forecast(sessions, "", ahead).amounts["usd"].ranges["90"]


def scored(predictions: Sequence[Prediction], sessions: dict[str, Sessions]) -> list[Came]:
    """Return each prediction with the first sessions of its agent that began after it: as many as one of HORIZONS.

    A prediction with fewer sessions after it than the smallest of HORIZONS is left out.
    """
    found = []
    for one in predictions:
        known = sessions.get(one.agent)
        if known is None or "usd" not in known.amounts:
            continue
        later = [usd for began, usd in zip(known.started, known.amounts["usd"], strict=True) if (began or 0) > one.made]
        many = max((many for many in HORIZONS if many <= len(later)), default=0)
        if not many:
            continue
        usd = float(sum(later[:many]))
        held = [low <= usd <= high for low, high in (one.as_set[many], one.advised[many])]
        found.append(Came(one, many, usd, *held))
    return found


def place() -> Path:
    """Return the path of the file of predictions: below XDG_STATE_HOME, else ~/.local/state."""
    root = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(root, "ctxsim", "advised.jsonl")


def mark(paths: Sequence[str]) -> str:
    """Return eight characters that identify some paths. No paths, and FOUND, stand for the user's home."""
    places = {str(Path.home() if path == FOUND else Path(path).resolve()) for path in paths or [FOUND]}
    return f"{crc32(os.fsencode(chr(0).join(sorted(places)))):08x}"


def not_scored(paths: Sequence[str]) -> Iterator[str]:
    """Yield a line on how many predictions are from other paths than these."""
    others = [one.over for one in kept() if one.over != mark(paths)]
    if others:
        yield f"Not scored: {many(len(others), 'prediction(s)')} from other paths."


def keep(one: Prediction, made: float, paths: Sequence[str]) -> None:
    """Add a prediction to the file, with the time when it was made and a mark of what it was made from."""
    file = place()
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as stream:
        stream.write(msgspec.json.encode(msgspec.structs.replace(one, made=made, over=mark(paths))) + b"\n")


def kept() -> list[Prediction]:
    """Return the predictions in the file, the oldest first; of those that differ only in their time, as `advise` makes
    of the same sessions, the first. Invalid lines are left out.
    """
    file = place()
    found: dict[bytes, Prediction] = {}
    for line in file.read_bytes().splitlines() if file.is_file() else ():
        try:
            one = msgspec.json.decode(line, type=Prediction)
        except ValueError:
            continue
        found.setdefault(msgspec.json.encode(msgspec.structs.replace(one, made=0.0)), one)
    return [*found.values()]
