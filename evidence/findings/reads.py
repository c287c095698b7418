"""How often modelled cache reads agree with the recorded ones: under the rules, under other rules, and by a guess.

    python -m evidence.findings.reads RECORDINGS...

It ends with errors of sizes and agreements over all calls.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from msgspec.structs import replace

from ctxsim.answers.validation.validation import compare
from ctxsim.cli.reading import Reading
from ctxsim.policies import open_policy
from ctxsim.recorded.as_sent import as_sent
from ctxsim.simulator.replay import replay

TRIALS: dict[str, dict[str, Any]] = {
    "rules": {},
    "5 minutes": {"long_cache": False},
    "dropped": {"reasoning": "current_turn"},
    "kept": {"reasoning": "all"},
    "misses": {"misses": True},
}
GROUPS = ["format", "model"]
COLUMNS = [*GROUPS, "segment", "p95", "agrees", "why", "share"]


def reads(paths: Sequence[str], misses: bool = False, **rules: Any) -> Iterator[tuple[Any, ...]]:
    """Yield a row of `COLUMNS` for each call but a segment's first; with `misses`, recorded misses are applied."""
    for transcript in Reading(tuple(paths)):
        for one in as_sent(transcript, rules):
            provider = replace(one.provider, window=1 << 60, rate_limit=None)
            calls = tuple(replace(call, held=0 if misses and call.held == 0 else None) for call in one.transcript.calls)
            asked = replace(one.transcript, calls=calls)
            before = None
            for sent in replay(asked, open_policy("keep-all"), provider, provider.counter()):
                usage, size = sent.recorded.usage, sent.tokens_recorded
                if sent.call > 1 and size and usage.cache_read_tokens is not None:
                    told, read = sent.bill.split.read, usage.cache_read_tokens
                    agrees = abs(told - read) <= 0.05 * sent.tokens_sent
                    found = agrees, why(told, read, size, before), read / size
                    yield transcript.format, provider.model, one.transcript.name, one.size.p95_error, *found
                before = size


def why(told: int, read: int, size: int, before: int | None) -> str:
    """Return what kind of disagreement a read that disagrees looks like."""
    if before and told and abs(read - before) <= 0.05 * size:
        return "size"
    if read < 0.02 * size:
        return "nothing read"
    if not told:
        return "expired, all read" if read > 0.9 * size else "expired, head read"
    return "less read" if read < told else "more read"


def main(paths: Sequence[str]) -> None:
    """Print agreement by model and rule, sizes, reasons, and totals."""
    tables = {name: pd.DataFrame(reads(paths, **rules), columns=COLUMNS) for name, rules in TRIALS.items()}
    by_model = {name: table.groupby(GROUPS) for name, table in tables.items()}
    print(
        pd.DataFrame({name: found.agrees.mean() for name, found in by_model.items()}).astype(float).round(3).to_string()
    )
    sizes = [by_model[name].agg({"segment": "nunique", "p95": "max"}) for name in ("rules", "kept")]
    print(pd.concat(sizes, axis=1, keys=("rules", "kept")).to_string())
    off = tables["rules"][~tables["rules"].agrees.astype(bool)]
    print(pd.crosstab([off.format, off.model], off.why).to_string())
    print(off.groupby(["format", "why"]).share.median().round(2))

    calls = [call for transcript in Reading(tuple(paths)) for call in compare(transcript, "none", by_cost=True)]
    errors = pd.Series([abs(call.error) for call in calls], dtype=float)
    print(len(calls), errors.quantile([0.5, 0.95]).round(4).to_list())
    cached = [call for call in calls if call.call > 1 and call.read_recorded is not None]
    for told in ("read_predicted", "read_trivial"):
        agree = [abs(getattr(call, told) - call.read_recorded) <= 0.05 * call.modelled for call in cached]
        print(told, len(agree), round(sum(agree) / max(1, len(agree)), 3))


if __name__ == "__main__":
    main(sys.argv[1:])
