"""Billed sessions in order of time, for forecasts of the next ones."""

import numpy as np

from ctxsim.answers.bill.sums import Bill, project_of
from ctxsim.answers.forecast.sessions import Sessions, enough


def sessions_of(bill: Bill) -> Sessions:
    """Return the root sessions that a bill knows, the oldest first: dollars, input tokens and responses of each.

    Those before its days count too. Where fewer than half of the sessions have prices there are no dollars.
    """
    usd: dict[str, float] = {}
    tokens: dict[str, float] = {}
    calls: dict[str, float] = {}
    began: dict[str, float | None] = {}
    first: dict[str, tuple[str, str, str]] = {}
    unpriced: set[str] = set()
    for line in (*bill.earlier, *bill.lines):
        root, one = line.session.root, line.response
        usd[root] = usd.get(root, 0.0) + line.paid.usd
        tokens[root] = tokens.get(root, 0.0) + one.read + one.write + one.plain
        calls[root] = calls.get(root, 0.0) + 1
        if line.paid.how not in ("recorded", "listed"):
            unpriced.add(root)
        before = began.get(root)
        began[root] = one.time_s if before is None else min(before, one.time_s if one.time_s is not None else before)
        first.setdefault(root, (project_of(line), one.model, line.session.version))
    order = sorted(began, key=lambda root: began[root] or 0.0)
    projects, models, versions = (tuple(first[root][n] for root in order) for n in range(3))
    priced = len(order) - len(unpriced)
    amounts = {"usd": usd} if enough(priced, len(order)) else {}
    amounts |= {"tokens": tokens, "calls": calls}
    return Sessions(
        tuple(order), tuple(began[root] for root in order), projects, models, versions,
        {name: np.array([values[root] for root in order]) for name, values in amounts.items()}, priced,
    )  # fmt: skip
