"""The sessions of a run in order of time, what each came to under a policy, and how many come next."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from ctxsim.answers.forecast.ranges import DAY, DRAWS, Array, next_sessions, recency
from ctxsim.errors import CtxsimError, many
from ctxsim.results import Run
from ctxsim.results.frames import refused

if TYPE_CHECKING:
    import pandas

AMOUNTS = ("usd", "tokens", "calls", "compactions", "refused")
"""What is forecast of sessions; without prices there are no dollars."""


class Sessions(msgspec.Struct, frozen=True):
    """Root sessions, the oldest first; in the order of the run where one has no time.

    `started` is in seconds, UTC. `amounts` has AMOUNTS by name, an entry per session; sub-agents count to their root.
    `priced` are the sessions whose dollars are all known.
    """

    names: tuple[str, ...]
    started: tuple[float | None, ...]
    projects: tuple[str, ...]
    models: tuple[str, ...]
    versions: tuple[str, ...]
    amounts: dict[str, Array]
    priced: int

    def __len__(self) -> int:
        return len(self.names)

    def part(self, start: int, end: int | None = None) -> Sessions:
        """Return the sessions from number `start`, from 0, to before `end`."""
        cut = slice(start, end)
        amounts = {name: values[cut] for name, values in self.amounts.items()}
        of_each = ("names", "started", "projects", "models", "versions")
        parts: dict[str, Any] = {name: getattr(self, name)[cut] for name in of_each}
        return msgspec.structs.replace(self, amounts=amounts, **parts)


def enough(priced: int, sessions: int) -> bool:
    """Return whether dollars are told of sessions of which so many have prices: of at least half."""
    return priced > 0 and 2 * priced >= sessions


def sessions_of(run: Run, label: str) -> Sessions:
    """Return a run's sessions under one of its policies.

    Compactions are those that were recorded and the policy's own. Where fewer than half of the sessions have prices
    there are no dollars.
    """
    rows = run.of(label)
    made = rows.compactions + rows.compactions_recorded.fillna(0)
    rows = rows.assign(refused=refused(rows), made=made, tokens=rows.tokens_sum, unpriced=rows.cost_usd.isna())
    by = rows.groupby("root", sort=False)
    found: pandas.DataFrame = by.agg(
        started=("started", "min"), project=("project", "first"), model=("model", "first"),
        version=("version", "first"), usd=("cost_usd", "sum"), tokens=("tokens", "sum"), calls=("calls", "sum"),
        compactions=("made", "sum"), refused=("refused", "sum"), unpriced=("unpriced", "any"),
    )  # fmt: skip
    if found.started.notna().all():
        found = found.sort_values("started", kind="stable")
    priced = int((~found.unpriced).sum())
    names = AMOUNTS if enough(priced, len(found)) else AMOUNTS[1:]
    started = tuple(None if np.isnan(one) else float(one) for one in found.started.to_numpy(dtype=float))
    projects, models, versions = (tuple(found[name].fillna("")) for name in ("project", "model", "version"))
    amounts = {name: found[name].to_numpy(dtype=float) for name in names}
    return Sessions(tuple(found.index), started, projects, models, versions, amounts, priced)


THURSDAY, SATURDAY = 3, 5
"""Days of the week, from Monday, 0; Saturday is the first of the weekend."""


class Next(msgspec.Struct, frozen=True):
    """The next so many sessions, or with `days` those of so many days."""

    many: int
    days: bool = False

    def __str__(self) -> str:
        return many(self.many, "day(s)" if self.days else "session(s)")


def parse_next(text: str) -> Next:
    """Return the horizon of `20` or `7d`. Raises CtxsimError if it is none."""
    found = re.fullmatch(r"([1-9]\d{0,5})(d?)", text)
    if found is None:
        raise CtxsimError(f"'{text}' is no horizon: a number of sessions, as 20, or of days, as 7d, up to 999,999")
    return Next(int(found[1]), bool(found[2]))


def come(sessions: Sessions, ahead: Next, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return how many sessions come, by draw: days like those since the first, weekends apart.

    Raises CtxsimError for days where a session has no time.
    """
    if not ahead.days:
        return np.full(DRAWS, ahead.many)
    known = [one for one in sessions.started if one is not None]
    if len(known) < len(sessions):
        raise CtxsimError("days can't be forecast: some sessions have no time; give a number of sessions, as --next 20")
    first, last = int(min(known) // DAY), int(max(known) // DAY)
    counts = np.bincount([int(one // DAY) - first for one in known], minlength=last - first + 1)
    # Day 0, 1 January 1970, was a Thursday.
    weekends = (np.arange(first, last + 1 + ahead.many) + THURSDAY) % 7 >= SATURDAY
    total = np.zeros(DRAWS)
    for weekend in (False, True):
        past = np.flatnonzero(weekends[: len(counts)] == weekend)
        of = int((weekends[len(counts) :] == weekend).sum())
        if of and len(past):
            drawn = next_sessions(np.arange(len(past)), recency(past.astype(float).tolist()), of, rng)
            total += drawn @ counts[past]
    return np.rint(total).astype(np.int64)
