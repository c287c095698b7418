"""Tables for programs and for people."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from bench_runs import SOURCES

from ctxsim.report.tables import SORTS, formatted, sorted_labels
from ctxsim.results import read_run


def test_formats_say_the_same(undisturbed: Path) -> None:
    run = read_run(undisturbed)
    rows = json.loads(formatted(run, "json"))
    assert [row["policy"] for row in rows] == list(run.info.policies)
    table = list(csv.DictReader(io.StringIO(formatted(run, "csv"))))
    assert [float(row["tokens_sum"]) for row in table] == [row["tokens_sum"] for row in rows]
    assert rows[0]["transcripts"] == SOURCES and rows[0]["cost_usd"] is None
    assert formatted(run, "markdown").count("\n") == len(rows) + 2


def test_sorting_puts_bounds_first_and_the_best_next(undisturbed: Path) -> None:
    run = read_run(undisturbed)
    for sort in SORTS:
        labels = sorted_labels(run, sort)
        assert sorted(labels) == sorted(run.info.policies)
        if sort != "run":
            assert set(labels[:2]) == set(run.info.bounds)
    tokens = (
        run.summary.assign(share=run.summary.tokens_sum / run.summary.tokens_full_sum).groupby("policy").share.mean()
    )
    order = [tokens[label] for label in sorted_labels(run, "tokens")[2:]]
    assert order == sorted(order)
