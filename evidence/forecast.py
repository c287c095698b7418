"""How often forecasts of the next sessions hold, over projects: `python -m evidence.forecast FOLDER...`

Each folder holds the recordings of one project, with times. Forecasts are made at each session from those before it.
"""

from __future__ import annotations

import math
import sys

import msgspec
import numpy as np
import pandas

from ctxsim.answers.forecast.backtest import Tried
from ctxsim.answers.forecast.forecast import come
from ctxsim.answers.forecast.ranges import DAY, LEAST, interval
from ctxsim.answers.forecast.sessions import Next, Sessions
from ctxsim.api.forecasts import forecast


def main(folders: list[str]) -> None:
    """Print four tables: by horizon and level, apart for forecasts more than half as far ahead as was seen; by project at
    90 %; of ranges of days; and the spread of sessions that priors use."""
    rows, spreads, days = [], [], []
    for folder in folders:
        found = forecast(folder, "5")
        project = folder.rstrip("/").rpartition("/")[2]
        days += [{"project": project, **one} for ahead in (3, 7, 14) for one in sessions_in(found.recorded, ahead)]
        rows += [{"project": project, **msgspec.structs.asdict(one)} for one in found.tried]
        amounts = found.recorded.amounts
        values = pandas.Series(amounts.get("usd", amounts["tokens"])).clip(lower=1e-9)
        spreads.append((project, len(values), round(float(values.map(math.log).std()), 2)))
    table = pandas.DataFrame(rows, columns=["project", *Tried.__struct_fields__])
    table["width"] = table.high / table.low
    kinds = ["held", "plain_held", "score", "plain"]
    by = table.groupby(["far", "level", "ahead"])
    print(by[kinds].mean().join(by.width.median()).join(by.size().rename("forecasts")).round(3).to_string())
    sure = table[table.level == 90].astype({"held": float})
    print(sure.pivot_table(index="project", columns="ahead", values="held").round(2).to_string())
    of_days = pandas.DataFrame(days, columns=["project", "few", "days", "held"]).groupby(["few", "days", "project"])
    print(of_days.held.agg(["mean", "size"]).round(2).to_string())
    print(pandas.DataFrame(spreads, columns=["project", "sessions", "deviation of logarithms"]).to_string(index=False))


def sessions_in(seen: Sessions, days: int) -> list[dict[str, int | bool]]:
    """Return, for each day on which a session began, whether the 90 % range of how many begin in the next days held;
    and whether so few sessions were seen that other projects say how far these differ.
    """
    began = [int(one // DAY) for one in seen.started if one is not None]
    found = []
    for day in sorted({*began}):
        if len(began) < len(seen) or day + days > began[-1]:
            continue
        known = seen.part(0, sum(one <= day for one in began))
        low, high = interval(come(known, Next(days, days=True), np.random.default_rng(0))) or (0, 0)
        few = len(known) < LEAST
        found.append({"few": few, "days": days, "held": low <= sum(day < one <= day + days for one in began) <= high})
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
