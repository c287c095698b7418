"""How often forecasts of the next sessions hold, over projects: `python -m evidence.forecast FOLDER...`

Each folder holds the recordings of one project, with times. Forecasts are made at each session from those before it.
"""

from __future__ import annotations

import math
import sys

import msgspec
import pandas

from ctxsim.api.forecasts import forecast


def main(folders: list[str]) -> None:
    """Print the tables: by horizon and level, those more than half as far ahead as was seen apart, by project at 90 %, and the spread of sessions that priors go by."""
    rows, spreads = [], []
    for folder in folders:
        found = forecast(folder, "5")
        project = folder.rstrip("/").rpartition("/")[2]
        rows += [{"project": project, **msgspec.structs.asdict(one)} for one in found.tried]
        amounts = found.recorded.amounts
        values = pandas.Series(amounts.get("usd", amounts["tokens"])).clip(lower=1e-9)
        spreads.append((project, len(values), round(float(values.map(math.log).std()), 2)))
    table = pandas.DataFrame(rows)
    table["width"] = table.high / table.low
    kinds = ["held", "plain_held", "score", "plain"]
    by = table.groupby(["far", "level", "ahead"])
    print(by[kinds].mean().join(by.width.median()).join(by.size().rename("forecasts")).round(3).to_string())
    sure = table[table.level == 90].astype({"held": float})
    print(sure.pivot_table(index="project", columns="ahead", values="held").round(2).to_string())
    print(pandas.DataFrame(spreads, columns=["project", "sessions", "deviation of logarithms"]).to_string(index=False))


if __name__ == "__main__":
    main(sys.argv[1:])
