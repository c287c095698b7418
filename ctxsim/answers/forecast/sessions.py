"""The sessions of a run in order of time: what each came to, under a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt

from ctxsim.results import Run

if TYPE_CHECKING:
    import pandas

Array = npt.NDArray[np.float64]

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
        return Sessions(
            self.names[cut], self.started[cut], self.projects[cut], self.models[cut], self.versions[cut], amounts,
            self.priced,
        )  # fmt: skip


def enough(priced: int, sessions: int) -> bool:
    """Return whether dollars are told of sessions of which so many have prices: of at least half."""
    return priced > 0 and 2 * priced >= sessions


def sessions_of(run: Run, label: str) -> Sessions:
    """Return a run's sessions under one of its policies.

    Compactions are those that were recorded and the policy's own. Where fewer than half of the sessions have prices
    there are no dollars.
    """
    rows = run.of(label)
    refused = rows.overflows + rows.rate_limited + rows.invalid_pairs + rows.invalid_thinking.fillna(0)
    made = rows.compactions + rows.compactions_recorded.fillna(0)
    rows = rows.assign(refused=refused, made=made, tokens=rows.tokens_sum, unpriced=rows.cost_usd.isna())
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
    return Sessions(
        names=tuple(found.index),
        started=tuple(None if np.isnan(one) else float(one) for one in found.started.to_numpy(dtype=float)),
        projects=tuple(found.project.fillna("")),
        models=tuple(found.model.fillna("")),
        versions=tuple(found.version.fillna("")),
        amounts={name: found[name].to_numpy(dtype=float) for name in names},
        priced=priced,
    )
