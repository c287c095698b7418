"""What was lost, as tables: survival with intervals and ranks, by age, depth, tool and form, and of planted facts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas

from ctxsim.report.intervals import Interval, rank_ranges, survival_interval
from ctxsim.results import Run

AGES = ((1, "1-2"), (3, "3-9"), (10, "10-29"), (30, "30+"))
TOOLS_SHOWN = 4


def percent(interval: Interval) -> str:
    """A mean with its interval: `86% (81-90)`."""
    mean, low, high = (round(100 * value) for value in interval)
    return f"{mean}%" if low == high else f"{mean}% ({low}-{high})"


def share(values: Any) -> str:
    """The mean of what is known, as per cent."""
    return f"{values.mean():.0%}" if values.notna().any() else "-"


def kept(part: Any) -> str:
    """Aged strict survival of one policy; where summaries made a difference, between keeping nothing and the best."""
    if not part.survival.notna().any():
        return "none"
    low, high = (part[name].fillna(part.survival) for name in ("survival_low", "survival_high"))
    if part.survival_low.notna().any() and round(100 * low.mean()) < round(100 * high.mean()):
        return f"{100 * low.mean():.0f}..{100 * high.mean():.0f}%"
    return share(part.survival)


def survival_rows(run: Run) -> list[dict[str, str]]:
    """Return what each policy kept and how far it is from the frontier, as text cells; empty without any aged need.

    `rank`: best and worst possible; policies whose ranges overlap can't be told apart. `refetch`: edited results that
    held something lost, of all edited ones. `sent`, `results`, `any`: tokens sent, and the least at the same survival
    by removing whole results and by any means, as shares of keep-all's.
    """
    if not run.knows("survival"):
        return []
    columns = ["transcript", "root", "survival"]
    ranks = rank_ranges({label: run.of(label)[columns] for label in run.labels if label not in run.info.bounds})
    rows = []
    for label in run.labels:
        part = run.of(label)
        interval = survival_interval(part)
        row = {
            "policy": run.shown(label),
            "kept": kept(part) if interval is None or ".." in kept(part) else percent(interval),
        }
        if ranks:
            low, high = ranks.get(label, (0, 0))
            row["rank"] = "-" if not low else (str(low) if low == high else f"{low}-{high}")
        # A transcript of no tokens at all saves nothing.
        whole = part.tokens_full_sum.where(part.tokens_full_sum > 0)
        row |= {
            "loose": share(part.survival_loose),
            "fresh": share(part.survival_fresh),
            "touched": str(int((part.results_edited + part.items_dropped > 0).sum())),
            "refetch": f"{part.results_missed.sum()}/{part.results_edited.sum()}",
            "sent": share(part.tokens_sum / whole),
            "results": share(part.tokens_frontier_results / whole),
            "any": share(part.tokens_frontier / whole),
        }
        rows.append(row)
    return rows


def basis(run: Run) -> str:
    """On how much the survival figures stand, and how much of it chance would give."""
    one = run.of(run.labels[0])
    having = one[one.survival.notna()]
    chance = one.chance_rate.dropna()
    by_chance = f"; by chance: {chance.mean():.0%}" if len(chance) else ""
    return (
        f"{having.calls_with_aged_needs.sum()} of {one.calls.sum()} calls, in {len(having)} of {len(one)} transcripts, "
        f"needed something old{by_chance}"
    )


def pooled(run: Run, table: str, *by: str, fresh: bool = False) -> Any:
    """Count the strict needs, or losses, of a run by some columns, piece by piece; `group` is the group of ages.

    Aged ones only, unless `fresh`.
    """
    starts, names = [start for start, _ in AGES], np.array(["0", *(name for _, name in AGES)])
    columns = dict.fromkeys(["detector", "age", *(name for name in by if name != "group")])
    found = []
    for batch in run.batches(table, list(columns)):
        strict = batch[(batch.detector == "strict") & (batch.age >= (0 if fresh else 1))]
        group = names[np.searchsorted(starts, strict.age, side="right")]
        found.append(strict.assign(group=group).groupby(list(by)).size())
    sizes = pandas.concat(found) if found else pandas.Series(dtype=int)
    return sizes.groupby(level=list(range(len(by)))).sum() if len(sizes) else sizes


def breakdown(run: Run, by: str) -> list[dict[str, str]]:
    """Return the share of aged strict needs that each policy kept, pooled, by `age`, `depth`, `kind` or `tool`.

    By `form` it is how each policy's lost ones went.
    """
    name = "group" if by == "age" else by
    lost = pooled(run, "losses", "policy", name)
    if by == "form":
        columns = ["truncated", "dropped", "summarised"]
        totals = None
    else:
        totals = pooled(run, "needs", name)
        order = {"age": [group for _, group in AGES], "depth": ["head", "middle", "tail"]}.get(by)
        columns = [c for c in order if c in totals] if order else list(totals.nlargest(TOOLS_SHOWN).index)
    rows = []
    for label in run.everywhere:
        row = {"policy": run.shown(label)}
        for column in columns:
            missing = int(lost.get((label, column), 0))
            if totals is None:
                row[column] = str(missing)
            else:
                row[f"{column} (n={totals[column]})"] = f"{1 - missing / totals[column]:.0%}"
        rows.append(row)
    return rows


def survival_by_age(run: Run) -> tuple[list[str], dict[str, list[float]]]:
    """Return age groups with their number of needs, and what each policy kept of each, in per cent; fresh ones too."""
    totals = pooled(run, "needs", "group", fresh=True)
    lost = pooled(run, "losses", "policy", "group", fresh=True)
    groups = [name for name in ("0", *(name for _, name in AGES)) if name in totals]
    kept = {
        label: [100.0 * (1 - lost.get((label, name), 0) / totals[name]) for name in groups] for label in run.everywhere
    }
    return [f"{name} (n={totals[name]})" for name in groups], kept


def needle_rows(run: Run) -> list[dict[str, str]]:
    """Return which share of planted facts each policy kept: rules, then facts by depth and by age; empty if none."""
    needles = run.table("needles")
    if not len(needles):
        return []
    facts = needles[needles.kind != "rule"]
    ages = sorted(facts.age.unique())
    rows = []
    for label in run.everywhere:
        mine, rules = facts[facts.policy == label], needles[(needles.policy == label) & (needles.kind == "rule")]
        row = {"policy": run.shown(label)}
        row["rules"] = f"{rules.kept.mean():.0%}" if len(rules) else "-"
        row["facts"] = f"{mine.kept.mean():.0%}"
        row |= {depth: f"{mine[mine.depth == depth].kept.mean():.0%}" for depth in ("head", "middle", "tail")}
        row |= {f"age {age}": f"{mine[mine.age == age].kept.mean():.0%}" for age in ages}
        rows.append(row)
    return rows
