"""`ctxsim models`: what is known of which model."""

from __future__ import annotations

from datetime import datetime
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from ctxsim.errors import CtxsimError
from ctxsim.provider.models import all_models, read_overrides
from ctxsim.tokenizers.models import tokenizer_of


@click.command("models")
@click.argument("pattern", default="*")
@click.option("--on", type=click.DateTime(["%Y-%m-%d"]), help="Prices of that day; default: the latest in the list.")
@click.option("--models", "file", type=click.Path(path_type=Path), metavar="FILE", help="Your models and prices.")
def command(pattern: str, on: datetime | None, file: Path | None) -> None:
    """List models whose name fits PATTERN (* and ? are wild).

    Window in tokens, prices in USD per million tokens, whose cache rules hold, and which tokenizer counts.
    """
    wanted = pattern if any(c in pattern for c in "*?[") else f"*{pattern}*"
    rows: list[tuple[Any, ...]] = []
    for entry in read_overrides(file) if file else ():
        if fnmatchcase(entry.id, wanted):
            rows.append((file, entry.id, entry.vendor or "-", entry.window, entry.prices))
    for provider, model in all_models(on.date() if on else None):
        if fnmatchcase(model.id, wanted):
            rows.append((provider, model.id, model.vendor, model.window, model.prices))
    if not rows:
        raise CtxsimError(
            f"no model fits '{pattern}'; the price list is that of genai-prices {version('genai-prices')}"
        )
    click.echo(
        f"{'model':<44} {'window':>9} {'input':>7} {'write':>7} {'read':>7} {'output':>7}  {'rules':<18} tokenizer"
    )
    for provider, name, vendor, window, prices in rows:
        cells = [_price(getattr(prices, key, None)) for key in ("input", "cache_write", "cache_read", "output")]
        vocabulary, own = tokenizer_of(name)
        shown = f"{window:>9,}" if window else f"{'?':>9}"
        click.echo(
            f"{f'{provider}/{name}':<44} {shown} " + " ".join(f"{cell:>7}" for cell in cells)
            + f"  {vendor:<18} {vocabulary}{'' if own else ' (stand-in)'}"
        )  # fmt: skip
    click.echo(f"prices: genai-prices {version('genai-prices')}; + means more above a number of input tokens")


def _price(rate: Any) -> str:
    if rate is None:
        return "-"
    return f"{rate[0][1]:g}+" if isinstance(rate, tuple) else f"{rate:g}"
