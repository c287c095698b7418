"""The HTML page of a run: one self-contained file, with the data as JSON that can't end its script element."""

import base64
import hashlib
import html
import lzma
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.answers.advice.advice import Advice
from ctxsim.answers.advice.baseline import AsSetAdvice
from ctxsim.answers.advice.figures import Figures, Share
from ctxsim.answers.advice.verdict import kept_percent, usd, verdict
from ctxsim.errors import many
from ctxsim.report.cells import policy_sheet
from ctxsim.report.charts import bill
from ctxsim.report.compactions import COLUMNS as COMPACTIONS
from ctxsim.report.compactions import agent_lines, compaction_cells
from ctxsim.report.losses import basis, survival_by_age
from ctxsim.report.page_parts import chosen_transcripts, packed
from ctxsim.report.picture import Picture, picture, title_of
from ctxsim.report.plots import counted_by
from ctxsim.report.sheet import Cell, legend, text_of, value_of
from ctxsim.report.style import COLORS, DARK_COLORS, compact
from ctxsim.report.tradeoff import dominated, frontiers, joined, points
from ctxsim.results import Run
from ctxsim.results.compactions import read_compactions
from ctxsim.results.files import write_file

LIBRARY = "plotly-lines-bars.min.js.xz"
"""plotly.js 3.7 (MIT licence) with lines and bars alone, made by `evidence/plotly/build.js`; packed by xz."""

COLUMNS = (
    "policy", "usd", "usd_share", "kept", "tokens_share", "refused", "peak", "tokens", "least_tokens", "hit",
    "compactions", "estimate", "usd_ratio",
)  # fmt: skip
"""The columns of the page's table of policies."""

SCRIPTS = ("data", "charts", "tables", "timeline", "sides", "page")
"""The page's scripts, one file per topic. Later ones use earlier ones."""


def page(run: Run, goal: str = "dollars", word: str = "", said: Sequence[str] = ()) -> str:
    """Return the HTML page of a run. `word` selects transcripts by name; `said` replaces the verdict.

    Raises InputError if no transcript's name contains `word`.
    """
    folder = files("ctxsim.report").joinpath("html")
    style, frame = (folder.joinpath(name).read_text("utf-8") for name in ("page.css", "page.html"))
    library = lzma.decompress(folder.joinpath(LIBRARY).read_bytes()).decode("utf-8")
    script = "\n".join(folder.joinpath(f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    # Escaped, because the JSON is inside a script element, which no text may end, and in which none may start another.
    chosen = chosen_transcripts(run, word)
    text = msgspec.json.encode(page_data(run, goal, chosen, said), enc_hook=lambda number: number.item()).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    parts = [f'<script type="text/plain" id="part-{n}">{part}</script>' for n, part in enumerate(packed(run, chosen))]
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (library, script)]
    filled = {
        "HASHES": " ".join(f"'sha256-{digest}'" for digest in digests), "TITLE": html.escape(title_of(run)),
        "CSS": style, "PLOTLY": library, "JS": script, "DATA": text, "PARTS": "\n".join(parts),
    }  # fmt: skip
    # One pass, so that nothing is replaced in a name or in data that looks like a placeholder.
    return re.sub("@@([A-Z]+)@@", lambda mark: filled[mark[1]], frame)


def write_page(run: Run, path: Path, goal: str = "dollars", word: str = "", said: Sequence[str] = ()) -> Path:
    """Write the page under a temporary name, rename it, and return its path. Raises what `page` raises."""
    return write_file(path, page(run, goal, word, said))


def page_data(run: Run, goal: str = "dollars", chosen: Sequence[str] = (), said: Sequence[str] = ()) -> dict[str, Any]:
    """Return the page's data on all transcripts together, and the list of those that it holds call by call."""
    one = picture(run, goal)
    labels = run.labels
    number = {label: n for n, label in enumerate(labels)}
    count = run.transcripts
    # Advice for each of several agents isn't the policy that would be best for all of them together.
    several = bool(said) and len({each.agent for each in run.info.recorders or ()}) > 1
    columns, rows, meaning = _overview(one)
    groups, kept = survival_by_age(run)
    first = next((n for n, label in enumerate(labels) if label not in run.info.bounds), 0)
    providers = "; ".join(sorted({_provider(values) for values in run.info.providers})[:5])
    return {
        "title": one.title,
        "about": f"{many(count, 'transcript(s)')}, {run.calls:,} calls, {many(len(labels), 'policy(s)')}. "
        f"ctxsim {run.info.ctxsim}; tokens {counted_by(run.info)}.",
        "verdict": list(said) or verdict(one.advice, run.info.shown),
        "card": [] if several else _card(one.advice),
        "beside": "as set" if isinstance(one.advice, AsSetAdvice) else "keep-all",
        "chosen": number.get(one.chosen) if one.chosen and not several else None,
        "basis": f"{basis(run)}. Figures are of all transcripts together"
        f"{f'; ranges: {one.pooled.ranges}' if one.pooled.ranges else ''}. "
        "Click a heading to sort, a policy to look at it.",
        "made": f"References found by {', '.join(run.info.detectors)}. {providers}",
        "policies": [
            {"label": label, "shown": run.shown(label), "name": one.name(label), "bound": one.bound(label),
             "color": [COLORS[at], DARK_COLORS[at]] if (at := one.colors.get(label)) is not None else None}
            for label in labels
        ],
        "start": first if one.chosen is None or one.chosen == one.pooled.nothing else number[one.chosen],
        "columns": columns,
        "meaning": f"{meaning}.",
        "rows": rows,
        "dollars": [{"policy": n, **bill(run, label)} for label, n in number.items()
                    if run.of(label).cost_usd.notna().any()],
        "tradeoff": {name: _tradeoff(one, number, name == "dollars") for name in ("tokens", "dollars")},
        "age": {"groups": groups, "rows": [{"policy": n, "kept": kept[label]} for label, n in number.items()]},
        "compactions": _compactions(run),
        "transcripts": [{"name": name, "calls": int(row.calls), "tokens": int(row.tokens_full_sum)}
                        for name, row in run.of(labels[0]).set_index("transcript").loc[list(chosen)].iterrows()],
        "more": count - len(chosen),
    }  # fmt: skip


def _card(advice: Advice | None) -> list[list[str]]:
    """Rows of a figure's name, its value under the chosen policy, and its value without a change."""
    if advice is None or advice.nothing is None or advice.take.policy == advice.nothing.policy:
        return []
    take, nothing = advice.take, advice.nothing
    rows: dict[str, Callable[[Figures], str | None]] = {
        "bill, USD": lambda one: None if one.usd is None else usd(one.usd),
        "tokens sent": lambda one: compact(one.tokens),
        "largest request": lambda one: compact(one.peak),
        "kept": lambda one: f"{kept_percent(one.kept.value)}%" if one.kept else None,
        "calls refused": lambda one: f"{one.refused:,}",
    }
    found = [(what, of(take), of(nothing)) for what, of in rows.items()]
    return [[what, now, then] for what, now, then in found if now is not None and then is not None]


def _provider(values: dict[str, Any]) -> str:
    prices = (values.get("prices") or {}).get("source", "prices unknown")
    window, cache = values.get("window", 0), values.get("cache", "none")
    return f"{values.get('model') or 'no model'}, window {window:,}, cache {cache}, {prices}"


def _overview(one: Picture) -> tuple[list[dict[str, str]], list[dict[str, Any]], str]:
    """The table's columns, its rows with each cell as (sort key, text), and its legend."""
    table = policy_sheet(one.run, one.pooled, one.run.labels, COLUMNS)
    rows = [{"policy": n, "cells": [(_key(cell), text_of(cell)) for cell in row], "bad": table.marks[n] == "bad"}
            for n, row in enumerate(table.rows)]  # fmt: skip
    return [{"title": column.heading, "about": column.about} for column in table.columns], rows, legend(table.columns)


def _key(cell: Cell) -> Any:
    value = value_of(cell)
    return next(iter(value.values())) if isinstance(value, dict) else value


def _tradeoff(one: Picture, number: dict[str, int], dollars: bool) -> dict[str, Any] | None:
    if dollars and not one.pooled.by_dollars:
        return None
    found = [point for point in points(one.pooled, dollars) if point.kept is not None]
    beaten = dominated(found)
    return {
        "title": f"{'dollars (modelled)' if dollars else 'input tokens (counted)'}, % of keep-all's",
        "points": [
            {"policy": number[point.policy], "x": 100 * point.amount.value, "y": 100 * point.kept.value,
             "reach": _reach(point.amount), "kept": _reach(point.kept), "beaten": point.policy in beaten,
             "refused": point.rejected}
            for point in found if point.kept is not None
        ],
        "joined": [[number[point.policy] for point in line] for line in joined(found)],
        "lines": msgspec.to_builtins(frontiers(one.run, dollars)),
    }  # fmt: skip


def _reach(share: Share) -> list[float] | None:
    """How far the interval reaches above and below the value, in percentage points."""
    if share.low is None or share.high is None:
        return None
    return [100 * (share.high - share.value), 100 * (share.value - share.low)]


def _compactions(run: Run) -> dict[str, Any] | None:
    """The recorded compactions in the table in the run's folder; None if there is no such table."""
    rows = read_compactions(run.folder)
    if not rows:
        return None
    return {
        "columns": [column.heading for column in COMPACTIONS],
        "rows": [compaction_cells(row) for row in rows],
        "legend": legend(COMPACTIONS),
        "means": [line.strip() for line in agent_lines(rows)],
    }
