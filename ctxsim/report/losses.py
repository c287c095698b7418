"""Tables of what was lost: by age, depth, kind, tool and form."""

from typing import Any

import numpy as np

from ctxsim.report.sheet import Cell, Column, Sheet, sheet
from ctxsim.results import Run

AGES = ((1, "1-2"), (3, "3-9"), (10, "10-29"), (30, "30+"))
TOOLS_SHOWN = 4

POOLED = "(pooled over all calls)"

FORMS = "dropped: the request holds nothing of the result, at most a placeholder; truncated: it holds one of its ends"


def basis(run: Run) -> str:
    """Return in words on how many calls the survival figures are based, and how many identifiers match by chance."""
    one = run.of(run.labels[0])
    having = one[one.survival.notna()]
    chance = one.chance_rate.dropna()
    by_chance = f"; {chance.mean():.0%} of these identifiers are in another session too" if len(chance) else ""
    return (
        f"{having.calls_with_aged_needs.sum()} of {one.calls.sum()} calls, in {len(having)} of {len(one)} transcripts, "
        f"used something from an older result{by_chance}"
    )


def of_summaries(run: Run) -> list[str]:
    """Return a line that says whose summaries the tables are of; none if no policy of the run summarized."""
    labels = [run.shown(label) for label in run.labels if run.of(label).summary_calls.sum()]
    if not labels:
        return []
    modes = "/".join(dict.fromkeys(one.get("summaries", "extractive") for one in run.info.providers))
    return [f"{', '.join(labels)}: figures are of ctxsim's own {modes} summaries; a model's may keep more or less."]


def pooled(run: Run, table: str, *by: str, fresh: bool = False) -> Any:
    """Count the strict needs, or losses, of a run by some columns, batch by batch. `group` is the age group.

    Only aged ones, of at least one call, are counted unless `fresh`.
    """
    import pandas

    starts, names = [start for start, _ in AGES], np.array(["0", *(name for _, name in AGES)])
    columns = dict.fromkeys(["detector", "age", *(name for name in by if name != "group")])
    found = []
    for batch in run.batches(table, list(columns)):
        strict = batch[(batch.detector == "strict") & (batch.age >= (0 if fresh else 1))]
        group = names[np.searchsorted(starts, strict.age, side="right")]
        found.append(strict.assign(group=group).groupby(list(by)).size())
    sizes = pandas.concat(found) if found else pandas.Series(dtype=int)
    return sizes.groupby(level=list(range(len(by)))).sum() if len(sizes) else sizes


def breakdown(run: Run, by: str) -> Sheet:
    """Return the share of aged strict needs that each policy kept, pooled, by `age`, `depth`, `kind` or `tool`.

    For `form`, return how many needs each policy lost by each form of loss.
    """
    name = "group" if by == "age" else by
    lost = pooled(run, "losses", "policy", name)
    if by == "form":
        forms = ("truncated", "dropped", "summarised")
        rows = [[run.shown(label), *(int(lost.get((label, form), 0)) for form in forms)] for label in run.labels]
        return sheet(by, f"Lost identifiers by form of loss {POOLED}", ("policy", *forms), rows, notes=(FORMS,))
    totals = pooled(run, "needs", name)
    order = {"age": [group for _, group in AGES], "depth": ["head", "middle", "tail"]}.get(by)
    listed = [c for c in order if c in totals] if order else list(totals.nlargest(TOOLS_SHOWN).index)
    groups = {one: [one] for one in listed}
    if rest := [one for one in totals.index if one not in groups]:
        groups["others"] = rest
    needs = {group: int(totals[members].sum()) for group, members in groups.items()}
    rows = []
    for label in run.labels:
        missing = {group: sum(int(lost.get((label, one), 0)) for one in members) for group, members in groups.items()}
        kept = (1 - missing[group] / needs[group] for group in groups)
        rows.append([run.shown(label), *(Cell(round(one, 4), f"{one:.0%}") for one in kept)])
    columns = [Column("policy", "policy", left=True), *(Column(one, f"{one} (n={n})") for one, n in needs.items())]
    return sheet(by, f"Kept identifiers by {by} {POOLED}", columns, rows)


def survival_by_age(run: Run) -> tuple[list[str], dict[str, list[float]]]:
    """Return age groups with their numbers of needs, fresh ones included, and what each policy kept of each, in %."""
    totals = pooled(run, "needs", "group", fresh=True)
    lost = pooled(run, "losses", "policy", "group", fresh=True)
    groups = [name for name in ("0", *(name for _, name in AGES)) if name in totals]
    kept = {label: [100.0 * (1 - lost.get((label, name), 0) / totals[name]) for name in groups] for label in run.labels}
    return [f"{name} (n={totals[name]})" for name in groups], kept
