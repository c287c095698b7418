"""What is fitted, the dollar oracle, masks by source, and first calls: the rest of docs/findings.md.

python -m evidence.findings.rest RUN RECORDINGS...
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pandas as pd

from ctxsim.cli.reading import Reading
from ctxsim.recorded.as_sent import as_sent
from evidence.findings.long import long_ones, rows_of

MASKS = ("mask:keep=10,batch=1", "mask:keep=10,batch=20")


def from_the_run(run: Path, rows: pd.DataFrame, long: pd.DataFrame) -> None:
    """Print what is fitted, the dollar oracle beside keep-all, masks by source, and the dearest segment's clearings."""
    models = [provider["model"] for provider in json.loads((run / "run.json").read_text())["providers"]]
    source = rows.transcript.str.split("/").str[1]
    rows = rows.assign(model=[models[number] for number in rows.provider], source=source)
    whole = rows[rows.policy == "keep-all"].set_index("transcript")
    fitted = whole[(whole["size"] == "fitted") & (whole.calls_recorded >= 10)]
    if len(fitted):
        print(fitted.groupby("model")[["tokens_factor", "tokens_hidden"]].describe().round(2).to_string())
    cost = rows.pivot(index="transcript", columns="policy", values="cost_usd").dropna(subset="keep-all")
    if "oracle-lossless:aim=dollars" in cost:
        least, full = cost["oracle-lossless:aim=dollars"], cost["keep-all"]
        found = (least > full).sum(), (least < full).sum(), least.sum() / full.sum(), (least / full).mean()
        print("dollar oracle: segments, dearer, cheaper, pooled, mean:", len(full), *found)
    totals = whole.loc[long.index].groupby("source")[["tokens_sum", "cost_usd"]].sum()
    for policy in MASKS:
        masked = rows[(rows.policy == policy) & rows.transcript.isin(long.index)]
        print(policy, (masked.groupby("source")[["tokens_sum", "cost_usd"]].sum() / totals).round(2), sep="\n")
    calls = pd.read_csv(run / "calls.csv", usecols=["transcript", "policy", "tokens_full", "compactions"])
    dearest = long.cost_usd.fillna(0).idxmax()
    calls = calls[calls.policy.str.startswith("clear-tool-uses") & (calls.transcript == dearest)]
    print("clearings:", (calls.compactions > 0).sum(), (calls.tokens_full > 100_000).sum(), len(calls))


def from_recordings(paths: Sequence[str]) -> list[str]:
    """Print lifetimes, misses and first calls' reads; return the segments that follow an unlogged clearing."""
    found, uncleared = [], []
    for transcript in Reading(tuple(paths)):
        for one in as_sent(transcript):
            calls = one.transcript.calls
            if transcript.format == "claude-code" and one.transcript.carried > 1:
                uncleared.append(one.transcript.name)
            pauses = [
                this.time_s - last.time_s
                for last, this in pairwise(calls)
                if this.held == 0 and this.time_s and last.time_s
            ]
            first = calls[0].usage if calls and calls[0].comparable else None
            told = first is not None and first.cache_read_tokens is not None
            read = first.cache_read_tokens / first.input_tokens if told else None
            cold = sum(call.held == 0 for call in calls)
            found.append((transcript.format, transcript.model, one.provider.long_cache, cold, pauses, read))
    table = pd.DataFrame(found, columns=["format", "model", "long", "cold", "pauses", "read"])
    print(table.groupby(["format", "model"]).agg({"long": ["sum", "size"], "cold": "sum"}).to_string())
    pauses = table.explode("pauses").astype({"pauses": float})
    print(pauses.groupby("format").pauses.agg(["median", "max"]))
    first_reads = table[table.format == "claude-code"].read.astype(float)
    print("first calls:", len(first_reads), first_reads.count(), (first_reads > 0).sum(), first_reads.median())
    return uncleared


def main(run: Path, paths: Sequence[str]) -> None:
    """Print all of it, and the totals of the long segments without those that follow an unlogged clearing."""
    rows = rows_of(run)
    long = long_ones(rows)
    from_the_run(run, rows, long)
    kept = long.index.difference(from_recordings(paths))
    print("told:", len(kept), 1 - long.cost_usd[kept].sum() / long.cost_usd.sum())
    sums = rows[rows.transcript.isin(kept)].groupby("policy")[["tokens_sum", "cost_usd"]].sum()
    print((sums / sums.loc["keep-all"]).round(3).to_string())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
