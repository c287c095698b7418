"""The table that `bench` prints: one line per policy, bounds marked."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any

from ctxsim.report.intervals import bootstrap_mean, refused
from ctxsim.report.losses import basis, kept, needle_rows, percent, survival_rows
from ctxsim.report.rounds import in_rounds, kind_rows, round_rows
from ctxsim.report.tradeoff import STABLE, Scope, advise, amount, dominated, points, priced
from ctxsim.results import Run
from ctxsim.results.run import shown_columns

FAILURES = {
    "overflow": "window",
    "rate_limited": "rate limit",
    "invalid_pairs": "invalid pairs",
    "stopped": "gave up",
}


def compact(tokens: float) -> str:
    """A token count in few characters: 950, 45.2K, 1.31M; - where it isn't known."""
    if tokens != tokens:
        return "-"
    for limit, divisor, suffix in ((1e4, 1, ""), (1e6, 1e3, "K"), (1e9, 1e6, "M")):
        if abs(tokens) < limit:
            return (
                f"{tokens / divisor:,.0f}"
                if divisor == 1
                else f"{tokens / divisor:,.{1 if divisor == 1e3 else 2}f}{suffix}"
            )
    return f"{tokens / 1e9:,.2f}G"


SORTS = {
    "run": None,
    "kept": lambda part: -part.survival.mean(),
    "tokens": lambda part: (part.tokens_sum / part.tokens_full_sum.clip(lower=1)).mean(),
    "cost": lambda part: part.cost_vs_keep_all.mean(),
    "refused": lambda part: refused(part).sum(),
}
"""What a table can be sorted by, best first; `run` is the order in which policies were given."""


def sorted_labels(run: Run, sort: str = "run") -> list[str]:
    """Return the run's policies, bounds first, the others best first by a key of SORTS; what isn't known comes last."""
    key = SORTS[sort]
    if key is None:
        return run.labels
    worth = {label: float(key(run.of(label))) for label in run.labels}
    return sorted(run.labels, key=lambda one: (one not in run.info.bounds, worth[one] != worth[one], worth[one]))


def policy_rows(run: Run, sort: str = "run") -> list[dict[str, str]]:
    """Return the table as text cells, in the order of the run's policies or sorted.

    With several transcripts peak and sum are means, and figures against keep-all carry a bootstrap interval over
    transcripts.
    """
    headings = {name: text for name, text in shown_columns().items() if run.totals[name].notna().any()}
    rows = []
    for label in sorted_labels(run, sort):
        part = run.of(label)
        totals = {text: compact(run.totals[name].get(label) / len(part)) for name, text in headings.items()}
        rows.append(_row(run.shown(label), part, totals))
    return rows


def _row(label: str, part: Any, totals: dict[str, str]) -> dict[str, str]:
    many = len(part) > 1
    # A transcript of no tokens at all saves nothing.
    share = (part.tokens_sum / part.tokens_full_sum).fillna(1.0)
    interval = bootstrap_mean(share.to_numpy(), part.root.to_numpy())
    return {
        "policy": label,
        "peak": compact(part.tokens_peak.mean()),
        "sum": compact(part.tokens_sum.mean()),
        **totals,
        "vs k-a": percent(interval) if interval else f"{share.iloc[0]:.0%}",
        **_dollars(part),
        "kept": kept(part),
        "comp.": compact(part.compactions.mean()) if not many else f"{part.compactions.mean():.1f}",
        "fails": _failures(part),
        "summ.": compact(part.tokens_summary.mean()) if part.summary_calls.sum() else "-",
    }


def _dollars(part: Any) -> dict[str, str]:
    """Cost per transcript and against keep-all; nothing where no price is known."""
    if part.cost_usd.isna().all():
        return {}
    known = part[part.cost_usd.notna()]
    ratio = known.cost_vs_keep_all.dropna()
    interval = bootstrap_mean(ratio.to_numpy(), known.root[ratio.index].to_numpy())
    against = percent(interval) if interval else (f"{ratio.iloc[0]:.0%}" if len(ratio) else "unknown")
    hits = part.cache_hit_ratio.mean()
    return {
        "USD": f"{known.cost_usd.mean():.3f}" if known.cost_usd.mean() < 10 else f"{known.cost_usd.mean():,.1f}",
        "$ vs k-a": against,
        "hit": "-" if hits != hits else f"{hits:.0%}",
    }


def _failures(part: Any) -> str:
    failed = part[part.first_failure.notna()]
    if not len(failed):
        return "-"
    if len(part) == 1:
        row = part.iloc[0]
        return f"call {int(row.calls_until_first_failure) + 1}: {FAILURES[row.first_failure]}"
    reasons = ", ".join(FAILURES[reason] for reason in failed.first_failure.value_counts().index)
    return f"{len(failed)} of {len(part)}: {reasons}"


def wrap_label(label: str, width: int) -> str:
    """Break a long label over lines, only after a comma, colon, plus or space."""
    lines = [""]
    for piece in re.findall(r"[^,:+ ]+[,:+ ]?", label):
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append("  ")
        lines[-1] += piece
    return "\n".join(lines)


def machine_rows(run: Run, sort: str = "run") -> list[dict[str, Any]]:
    """Return one row of numbers per policy: means over transcripts, for programs. None is not known."""
    rows = []
    for label in sorted_labels(run, sort):
        part = run.of(label)
        numbers = part.select_dtypes("number").drop(columns=["provider"]).mean()
        values = {name: None if value != value else round(float(value), 8) for name, value in numbers.items()}
        rows.append({"policy": label, "bound": label in run.info.bounds, "transcripts": len(part), **values})
    return rows


def formatted(run: Run, form: str, sort: str = "run") -> str:
    """Return the table as `csv`, `json` or `markdown`."""
    if form == "markdown":
        return markdown(run, sort)
    rows = machine_rows(run, sort)
    if form == "json":
        return json.dumps(rows, indent=2) + "\n"
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def markdown(run: Run, sort: str = "run") -> str:
    """Return the table as Markdown, with whole labels."""
    rows = policy_rows(run, sort)
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [
        "| " + " | ".join(names) + " |",
        "|" + "|".join("---" if n in ("policy", "fails") else "--:" for n in names) + "|",
    ]
    for row in rows:
        label = row["policy"].removesuffix(" (bound)")
        bound = "(bound)" if label != row["policy"] else ""
        cells = [f"{in_backticks(label)} {bound}".strip(), *(row.get(name, "unknown") for name in names[1:])]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def in_backticks(text: str) -> str:
    """Return a text as Markdown code, whatever backticks and line ends it has: the fence is longer than any of them."""
    text = " ".join(text.split("\n"))
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def cost_rows(run: Run) -> list[dict[str, str]]:
    """Return where the dollars go, as text cells per policy; empty where nothing is cached or no price is known.

    Means over transcripts. `rewritten`: tokens that had been cached and were written again; `payback`: later calls
    until a compaction has paid for itself; `refetch`: share of removed results that may be fetched again before the
    policy loses money; `quota`: the largest of the smallest tokens per minute without any wait.
    """
    if not run.knows("cache_hit_ratio"):
        return []
    rows = []
    for label in run.labels:
        part = run.of(label)
        part = part[part.cost_usd.notna()]
        if not len(part):
            continue
        usd = {name: part[f"cost_{name}_usd"].mean() for name in ("read", "write", "uncached", "output", "summary")}
        usd["summ."] = usd.pop("summary")
        rows.append(
            {
                "policy": run.shown(label),
                **{name: f"{value:.3f}" for name, value in usd.items()},
                "rewritten": compact(part.tokens_rewritten.mean()),
                "payback": _mean(part.payback_calls, "{:.1f}"),
                "refetch": _mean(part.break_even_refetch, "{:.0%}"),
                "quota": compact(part.smallest_quota.max()),
            }
        )
    if all(row["summ."] == "0.000" for row in rows):
        rows = [{name: cell for name, cell in row.items() if name != "summ."} for row in rows]
    return rows


def _mean(values: Any, form: str) -> str:
    return form.format(values.mean()) if values.notna().any() else "-"


TABLE_WIDTH = 100


def print_run(run: Run, write: Callable[[Any], None], sort: str = "run") -> None:
    """Give `write` a title and the table as rich renderables that fit into 100 columns."""
    from rich.text import Text

    rows = policy_rows(run, sort)
    transcripts = run.transcripts
    means = f" (means over {transcripts} transcripts)" if transcripts > 1 else ""
    names = list(dict.fromkeys(name for row in rows for name in row))
    rows = [{name: row.get(name, "unknown") for name in names} for row in rows]
    if "USD" in names:
        # These are in summary.csv; intervals and dollars take the room.
        names = [name for name in names if name != "summ." and (name != "peak" or transcripts == 1)]
    names = [name for name in names if name != "hit" or any(row[name] != "-" for row in rows)]
    rows = [{name: row[name] for name in names} for row in rows]
    write(Text(f"\n{run.info.title}{means}", style="bold"))
    room = "USD" not in names
    cells = [{**row, "fails": row["fails"] if room else row["fails"].replace(": ", ":\n")} for row in rows]
    write(rich_table(cells, bad=[row["fails"] != "-" for row in rows]))
    dollars = "; USD modelled" if "USD" in names else ""
    dollars += "; hit: input read from the cache" if "hit" in names else ""
    legend = "tokens counted; k-a: keep-all; comp.: compactions"
    legend += "; summ.: tokens of summary calls" if "summ." in names else ""
    meaning = "kept: what later calls used of old results and still had (necessary, not sufficient)"
    write(Text(f" {legend}\n {meaning}{dollars}", style="dim"))
    print_survival(run, write)
    print_needles(run, write)
    if costs := cost_rows(run):
        write(Text("\nWhere the dollars go (modelled)", style="bold"))
        write(rich_table(costs, bad=[False] * len(costs)))
        write(
            Text(
                " USD by class; rewritten: cached tokens written again; payback: calls until a compaction has paid;\n"
                " refetch: results that may be fetched again before money is lost; quota: tokens/min for no wait",
                style="dim",
            )
        )


def print_survival(run: Run, write: Callable[[Any], None]) -> None:
    """Give `write` the table of what was kept, if anything old was needed at all."""
    from rich.text import Text

    rows = survival_rows(run)
    if not rows:
        return
    write(Text("\nWhat later calls needed, and still had", style="bold"))
    write(rich_table(rows, bad=[False] * len(rows)))
    lines = [basis(run)]
    if "rank" in rows[0]:
        lines.append("overlapping ranks can't be told apart on these transcripts (paired bootstrap, 95 % over all)")
    lines.append("kept: identifiers at least a call old; loose: quotations; fresh: of the newest results")
    if run.knows("survival_low"):
        lines.append("a..b: if summaries kept nothing .. if they kept what was needed; touched: transcripts edited")
    lines += [
        "refetch: results that were edited and needed later, of all edited ones; sent: share of keep-all's",
        "tokens; results, any: the least at the same survival by removing whole results, by any means",
    ]
    write(Text("".join(f" {line}\n" for line in lines).rstrip("\n"), style="dim"))


def sweep_rows(run: Run) -> list[dict[str, str]]:
    """Return each setting of a sweep as text cells, those worth having first, by amount."""
    dollars = priced(run)
    found = points(run, Scope(run, dollars).of)
    worse = dominated(found, dollars)
    order = sorted(found, key=lambda point: (not point.bound, point.policy in worse, amount(point, dollars)))
    return [
        {
            "policy": run.shown(point.policy),
            "kept": "none" if point.survival is None else f"{point.survival:.1%}",
            "tokens": f"{point.tokens:.0%}",
            **({"USD": f"{point.dollars:.0%}"} if dollars else {}),
            "refused": f"{point.rejected:.1%}" if point.rejected else "-",
            "worth it": "" if point.bound else ("no" if point.policy in worse else "yes"),
        }
        for point in order
    ]


def print_sweep(run: Run, write: Callable[[Any], None]) -> None:
    """Give `write` a sweep's table and the recommended setting with its reason, and how far that can be trusted."""
    from rich.text import Text

    rows = sweep_rows(run)
    write(Text(f"\n{run.info.title}: {len(rows)} settings, bounds included", style="bold"))
    write(rich_table(rows, bad=[row["worth it"] == "no" for row in rows], bad_style="dim"))
    write(
        Text(" tokens, USD: of keep-all's; worth it: no other is as good in everything and better in one", style="dim")
    )
    write(Text(f" {basis(run)}", style="dim"))
    if (advice := advise(run)) is None:
        return
    write(Text(f"\nTake {advice.policy}", style="bold"))
    write(Text(f"  {advice.reason}"))
    if advice.agreement is None:
        write(Text("  One session: nothing says that this holds for another.", style="yellow"))
    elif advice.others:
        others = ", ".join(f"{label} (without {count})" for label, count in list(advice.others.items())[:3])
        weak = advice.agreement < STABLE
        write(Text(f"  {'WARNING: ' if weak else ''}leaving out one session at a time, {advice.agreement:.0%} of them "
                   f"leave this advice; otherwise {others}", style="yellow" if weak else ""))  # fmt: skip
    else:
        write(Text("  The same whichever session is left out."))


def print_needles(run: Run, write: Callable[[Any], None]) -> None:
    """Give `write` the table of planted facts, if there are any."""
    from rich.text import Text

    looked_for = in_rounds(run)
    if looked_for is not None:
        write(Text("\nPlanted facts that were still in view, round after round", style="bold"))
        for rows in (round_rows(run, looked_for), kind_rows(run, looked_for)):
            write(rich_table(rows, bad=[False] * len(rows)))
        write(Text(" told: when all was told, then by part of the telling; rd: after so many rounds; below: by kind, "
                   "after the last", style="dim"))  # fmt: skip
    elif rows := needle_rows(run):
        write(Text("\nPlanted facts and rules that were still in view when used", style="bold"))
        write(rich_table(rows, bad=[False] * len(rows)))
        write(Text(" head, middle, tail: where in its result; age: calls between first request and use", style="dim"))


def rich_table(rows: list[dict[str, str]], bad: list[bool], bad_style: str = "red") -> Any:
    """Return a table within 100 columns: long labels wrap, bounds are dim, failures red."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    names = list(rows[0]) if rows else []
    for name in names:
        table.add_column(Text(name), justify="left" if name in ("policy", "fails") else "right", no_wrap=True)
    widest = {name: max(len(line) for row in [*rows, {name: name}] for line in row[name].split("\n")) for name in names}
    others = sum(width + 2 for name, width in widest.items() if name != "policy")
    for row, failed in zip(rows, bad, strict=True):
        style = "dim" if "(bound)" in row["policy"] else (bad_style if failed else "")
        shown = {**row, "policy": wrap_label(row["policy"], max(18, TABLE_WIDTH - others - 2))}
        table.add_row(*(Text(cell) for cell in shown.values()), style=style)
    return table
