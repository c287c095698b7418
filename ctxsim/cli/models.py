"""`ctxsim models`: what is known of which model."""

from __future__ import annotations

from datetime import datetime
from fnmatch import fnmatchcase
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from ctxsim.cli import options
from ctxsim.cli import rows as rows_of
from ctxsim.cli.rows import show
from ctxsim.counting.tokenizers.models import tokenizer_of
from ctxsim.errors import CtxsimError
from ctxsim.report.sheet import Cell, Column, sheet
from ctxsim.simulator.provider.models import all_models, read_overrides
from ctxsim.simulator.provider.rule_table import rules_of
from ctxsim.simulator.provider.vendor import load_vendor


@click.command("models")
@click.argument("pattern", default="*")
@click.option("--on", type=click.DateTime(["%Y-%m-%d"]), help="Prices of that day; default: the latest in the list.")
@options.models_file
@click.option("--rules", is_flag=True, help="The rules of the vendors that fit, or of one model, with their sources.")
@rows_of.form
def command(pattern: str, on: datetime | None, models_file: Path | None, rules: bool, form: str) -> None:
    """List models whose name fits PATTERN (* and ? are wild).

    Window in tokens, prices in USD per million tokens, whose cache rules hold, and which tokenizer counts.
    """
    if rules:
        _print_rules(pattern)
        return
    wanted = pattern if any(c in pattern for c in "*?[") else f"*{pattern}*"
    rows: list[tuple[Any, ...]] = []
    for entry in read_overrides(models_file) if models_file else ():
        if fnmatchcase(entry.id, wanted):
            rows.append((models_file, entry.id, entry.vendor or "-", entry.window, entry.prices))
    for provider, model in all_models(on.date() if on else None):
        if fnmatchcase(model.id, wanted):
            rows.append((provider, model.id, model.vendor, model.window, model.prices))
    if not rows:
        raise CtxsimError(
            f"no model fits '{pattern}'; the price list is that of genai-prices {version('genai-prices')}"
        )
    cells = []
    for provider, name, vendor, window, prices in rows:
        rates = [_rate(getattr(prices, key, None)) for key in ("input", "cache_write", "cache_read", "output")]
        vocabulary, own = tokenizer_of(name)
        shown = Cell(window, f"{window:,}" if window else "?")
        cells.append((f"{provider}/{name}", shown, *rates, vendor, f"{vocabulary}{'' if own else ' (stand-in)'}"))
    columns = [
        Column("model", "model", left=True), Column("window", "window"), Column("input", "input"),
        Column("write", "write", rank=2), Column("read", "read", rank=1), Column("output", "output"),
        Column("rules", "rules", left=True, rank=3), Column("tokenizer", "tokenizer", left=True, rank=4),
    ]  # fmt: skip
    note = f"prices: genai-prices {version('genai-prices')}; + means more above a number of input tokens"
    show("models", [sheet("models", "", columns, cells, notes=(note,))], form)


def _print_rules(pattern: str) -> None:
    """Print one line for each rule, and below each group of them where they are from and as of when."""
    found = rules_of(pattern)
    if not found:
        raise CtxsimError(f"no vendor fits '{pattern}', and no vendor claims a model of that name")
    for vendor, of_vendor in groupby(found, key=lambda row: row.vendor):
        models = ", ".join(load_vendor(vendor).models) or "chosen by name only"
        click.echo(f"{vendor}  ({models})")
        for (source, day), rows in groupby(of_vendor, key=lambda row: (row.source, row.date)):
            for row in rows:
                model = "" if row.model == "*" else f"  [{row.model}]"
                click.echo(f"  {f'{row.section}.{row.rule}':<28} {row.value}{model}")
            dated = f", as of {day}" if day else ""
            click.echo(fill(f"{source}{dated}", 118, initial_indent="      ", subsequent_indent="      "))


def _rate(rate: Any) -> Cell:
    if rate is None:
        return Cell(None, "-")
    return Cell(rate[0][1], f"{rate[0][1]:g}+") if isinstance(rate, tuple) else Cell(rate, f"{rate:g}")
