"""The sessions of a run in order of time, their amounts under a policy, and how many to forecast."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np

from ctxsim.answers.forecast.ranges import Array
from ctxsim.errors import CtxsimError, many
from ctxsim.results import Run
from ctxsim.results.frames import Frame, refused

AMOUNTS = ("usd", "tokens", "calls", "compactions", "refused")
"""The amounts of a session that are forecast; without prices there are no dollars."""


class Sessions(msgspec.Struct, frozen=True):
    """Root sessions, the oldest first; in the order of the run if fewer than half have a time.

    `started` is in seconds, UTC. `amounts` has AMOUNTS by name, an entry per session; sub-agents count to their root.
    `priced` is the number of sessions whose dollars are all known, `untimed` that of sessions left out because they
    have no time, while at least half have one.
    """

    names: tuple[str, ...]
    started: tuple[float | None, ...]
    projects: tuple[str, ...]
    models: tuple[str, ...]
    amounts: dict[str, Array]
    priced: int
    untimed: int = 0

    def __len__(self) -> int:
        return len(self.names)

    def part(self, start: int, end: int | None = None) -> Sessions:
        """Return the sessions from number `start`, from 0, to before `end`."""
        cut = slice(start, end)
        amounts = {name: values[cut] for name, values in self.amounts.items()}
        each: dict[str, Any] = {name: getattr(self, name)[cut] for name in ("names", "started", "projects", "models")}
        return msgspec.structs.replace(self, amounts=amounts, **each)


def enough(priced: int, sessions: int) -> bool:
    """Return whether enough sessions have prices, or times, for them to be used: at least half."""
    return priced > 0 and 2 * priced >= sessions


def sessions_of(run: Run, label: str) -> Sessions:
    """Return a run's sessions under one of its policies.

    Compactions are the recorded ones, plus the calls at which the policy dropped items: edits alone, such as clearings
    of old results, are none. Dollars are left out if fewer than half of the sessions have prices.
    """
    rows = run.of(label)
    calls = run.table("calls", "transcript", "items_dropped", policy=[label])
    dropped = calls[calls.items_dropped > 0].transcript.value_counts()
    made = rows.transcript.map(dropped).fillna(0) + rows.compactions_recorded.fillna(0)
    rows = rows.assign(refused=refused(rows), made=made, tokens=rows.tokens_sum, unpriced=rows.cost_usd.isna())
    by = rows.groupby("root", sort=False)
    found: Frame = by.agg(
        started=("started", "min"), project=("project", "first"), model=("model", "first"), usd=("cost_usd", "sum"),
        tokens=("tokens", "sum"), calls=("calls", "sum"), compactions=("made", "sum"), refused=("refused", "sum"),
        unpriced=("unpriced", "any"),
    )  # fmt: skip
    timed, known = found.started.notna(), len(found)
    if enough(int(timed.sum()), known):
        found = found[timed].sort_values("started", kind="stable")
    priced = int((~found.unpriced).sum())
    names = AMOUNTS if enough(priced, len(found)) else AMOUNTS[1:]
    started = tuple(None if np.isnan(one) else float(one) for one in found.started.to_numpy(dtype=float))
    projects, models = (tuple(found[name].fillna("")) for name in ("project", "model"))
    amounts = {name: found[name].to_numpy(dtype=float) for name in names}
    return Sessions(tuple(found.index), started, projects, models, amounts, priced, untimed=known - len(found))


class Next(msgspec.Struct, frozen=True):
    """A horizon: the next `many` sessions, or with `days` the sessions of the next `many` days."""

    many: int
    days: bool = False

    def __str__(self) -> str:
        return many(self.many, "day(s)" if self.days else "session(s)")


def parse_next(text: str) -> Next:
    """Return the horizon that a text such as `20` or `7d` names. Raises CtxsimError for any other text."""
    found = re.fullmatch(r"([1-9]\d{0,5})(d?)", text)
    if found is None:
        raise CtxsimError(f"'{text}' is no horizon: a number of sessions, as 20, or of days, as 7d, up to 999,999")
    return Next(int(found[1]), bool(found[2]))
