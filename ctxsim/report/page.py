"""The HTML page of a run: one self-contained file, whose data is JSON that nothing in it can break out of."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pandas

from ctxsim.errors import CtxsimError
from ctxsim.report.intervals import bootstrap_mean, refused, survival_interval, survival_of
from ctxsim.report.losses import basis, percent, survival_by_age
from ctxsim.report.losses import kept as kept_of
from ctxsim.report.plots import limits_of
from ctxsim.report.style import color_of, second_time
from ctxsim.report.tables import compact
from ctxsim.report.tradeoff import Scope, amount, dominated, frontiers, points, priced
from ctxsim.results import Run
from ctxsim.results.files import replacing

MOST_TRANSCRIPTS = 8
"""Those with the most tokens can be looked at call by call."""

MOST_EDITS = 4_000
"""Of one transcript under one policy."""

TEXT_BUDGET = 2_500_000
"""Characters of transcript text in a page; beyond, texts are cut shorter, all alike."""


def page(run: Run) -> str:
    """Return the HTML page of a run. Raises CtxsimError if plotly isn't installed."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise CtxsimError("the report needs plotly: pip install 'ctxsim[report]'") from None
    folder = files("ctxsim.report").joinpath("html")
    script, style, frame = (folder.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("js", "css", "html"))
    library = get_plotlyjs()
    # As JSON inside a script element: no character of a text can end it or start another.
    text = msgspec.json.encode(page_data(run), enc_hook=lambda number: number.item()).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in (library, script)
    )
    filled = {"HASHES": hashes, "TITLE": html.escape(run.info.title), "CSS": style, "PLOTLY": library, "JS": script}
    # All in one go: what looks like a mark in a name or in the data is only that.
    filled["DATA"] = text
    return re.sub("@@([A-Z]+)@@", lambda mark: filled[mark[1]], frame)


def write_page(run: Run, path: Path) -> Path:
    """Write the page under a temporary name, rename it, and return its path."""
    text = page(run)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def page_data(run: Run) -> dict[str, Any]:
    """Return all that the page shows."""
    labels = run.labels
    number = {label: n for n, label in enumerate(labels)}
    count = run.transcripts
    columns, rows = _overview(run, labels)
    first = next((n for n, label in enumerate(labels) if label not in run.info.bounds), 0)
    strings = _Strings()
    transcripts = _transcripts(run, number, strings)
    calls = int(run.of(labels[0]).calls.sum())
    providers = "; ".join(sorted({_provider(values) for values in run.info.providers})[:5])
    return {
        "title": run.info.title,
        "about": f"{count} transcript{'s' if count > 1 else ''}, {calls:,} calls, {len(labels)} policies. "
        f"ctxsim {run.info.ctxsim}; tokens by {', '.join(run.info.tokenizers)}.",
        "basis": f"{basis(run)}. Means over transcripts, with 95 % intervals by bootstrap over sessions. "
        "Click a heading to sort.",
        "made": f"References by {', '.join(run.info.detectors)}. {providers}",
        "policies": [
            {
                "shown": run.shown(label),
                "bound": label in run.info.bounds,
                "color": color_of(label, run.info.policies, run.info.bounds),
                "again": second_time(label, run.info.policies, run.info.bounds),
            }
            for label in labels
        ],
        "start": first,
        "columns": columns,
        "rows": rows,
        "dollars": _dollars(run, number),
        "tradeoff": {name: _tradeoff(run, number, name == "dollars") for name in ("tokens", "dollars")},
        "age": _age(run, number),
        "transcripts": transcripts,
        "strings": list(strings.numbers),
    }


def _provider(values: dict[str, Any]) -> str:
    prices = (values.get("prices") or {}).get("source", "prices unknown")
    return f"{values.get('model') or 'no model'}, window {values['window']:,}, cache {values['cache']}, {prices}"


def _overview(run: Run, labels: list[str]) -> tuple[list[dict[str, str]], list[dict[str, Any]]]:
    """The table: each cell as (sort key, text)."""
    columns = [
        ("policy", "", "the label; italics mark bounds"),
        ("kept", "counted, %", "identifiers that later calls needed and still had"),
        ("tokens", "counted", "input tokens per transcript"),
        ("vs keep-all", "counted, %", "input tokens against keep-all's"),
        ("least", "counted, %", "the least tokens at the same survival, by removing whole results"),
        ("USD", "modelled", "per transcript with known prices"),
        ("USD vs keep-all", "modelled, %", "against keep-all's"),
        ("cache hit", "modelled, %", "input read from the cache"),
        ("refused", "modelled, calls", "calls over window or rate limit, with invalid pairs, or given up"),
        ("compactions", "count", "per transcript"),
        ("estimate", "estimated, %", "mean error of what the policy decides by"),
    ]
    rows = []
    for n, label in enumerate(labels):
        part = run.of(label)
        found = survival_of(part)
        interval = survival_interval(part)
        shares = (part.tokens_sum / part.tokens_full_sum.where(part.tokens_full_sum > 0)).dropna()
        spread = bootstrap_mean(shares.to_numpy(), part.root[shares.index].to_numpy())
        kept = None if not len(found) else float(found.mean())
        kept_text = "none" if kept is None else (percent(interval) if interval else f"{kept:.0%}")
        if ".." in (bracket := kept_of(part)):
            kept_text = bracket
        bad = int(refused(part).sum())
        cells = [
            (label, run.shown(label)),
            (kept, kept_text),
            (float(part.tokens_sum.mean()), compact(part.tokens_sum.mean())),
            _percent_cell(shares.mean(), percent(spread) if spread else None),
            _percent_cell((part.tokens_frontier_results / part.tokens_full_sum.clip(lower=1)).mean()),
            _cell(part.cost_usd.mean(), "{:.3f}"),
            _percent_cell(part.cost_vs_keep_all.mean()),
            _percent_cell(part.cache_hit_ratio.mean()),
            (bad, f"{bad}" if bad else "-"),
            _cell(part.compactions.mean(), "{:.1f}"),
            _cell(100 * part.estimate_bias.mean(), "{:+.1f}"),
        ]
        rows.append({"policy": n, "cells": cells, "bad": 8 if bad else None})
    described = [{"title": title, "kind": kind, "about": about} for title, kind, about in columns]
    return described, rows


def _cell(value: float, form: str) -> tuple[float | None, str]:
    return (None, "-") if value != value else (float(value), form.format(value))


def _percent_cell(value: float, text: str | None = None) -> tuple[float | None, str]:
    return (None, "-") if value != value else (float(value), text or f"{value:.0%}")


def _dollars(run: Run, number: dict[str, int]) -> list[dict[str, Any]]:
    found = []
    for label, n in number.items():
        part = run.of(label)
        part = part[part.cost_usd.notna()]
        if len(part):
            classes = ("read", "write", "uncached", "output", "summary")
            found.append({"policy": n, **{name: float(part[f"cost_{name}_usd"].mean()) for name in classes}})
    return found


def _tradeoff(run: Run, number: dict[str, int], dollars: bool) -> dict[str, Any] | None:
    if dollars and not priced(run):
        return None
    found = [point for point in points(run, Scope(run, dollars).of) if point.survival is not None]
    beaten = dominated(found, dollars)
    return {
        "title": f"{'dollars (modelled)' if dollars else 'input tokens (counted)'}, % of keep-all's",
        "points": [
            {
                "policy": number[point.policy],
                "x": 100 * amount(point, dollars),
                "y": 100 * (point.survival or 0.0),
                "beaten": point.policy in beaten,
                "refused": point.rejected,
            }
            for point in found
        ],
        "lines": [{"x": one.x, "y": one.y, "dash": one.dash, "name": one.name} for one in frontiers(run, dollars)],
    }


def _age(run: Run, number: dict[str, int]) -> dict[str, Any]:
    groups, kept = survival_by_age(run)
    return {"groups": groups, "rows": [{"policy": n, "kept": kept[label]} for label, n in number.items()]}


class _Strings:
    """Each different string once; calling it gives a string's number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def _transcripts(run: Run, number: dict[str, int], strings: _Strings) -> list[dict[str, Any]]:
    """The transcripts with the most tokens: their calls, items and edits per policy."""
    sizes = run.of(run.labels[0]).set_index("transcript").tokens_full_sum
    chosen = list(sizes.sort_values(ascending=False, kind="stable").index[:MOST_TRANSCRIPTS])
    items, events, calls, lost = (run.table(name, transcript=chosen) for name in ("items", "events", "calls", "losses"))
    events = events[events.policy.isin(number)]
    events = events.assign(rank=events.groupby(["transcript", "policy"]).cumcount())
    dropped = events[events["rank"] >= MOST_EDITS].groupby(["transcript", "policy"]).size()
    events = events[events["rank"] < MOST_EDITS]
    room = max(200, _longest([*set(items.text), *set(events.text)]))
    return [
        {
            "name": name,
            "limits": limits_of(run, name),
            "calls": {number[label]: _calls(part) for label, part in _by_policy(calls, name) if label in number},
            "items": [
                {
                    "item": int(row.item), "kind": row.kind, "tool": row.tool, "tokens": int(row.tokens),
                    "first": int(row.first_call), "used": [int(n) for n in row.used_by.split()],
                    "text": row.text[:room],
                }
                for row in items[items.transcript == name].itertuples()
            ],
            "edits": {
                number[label]: [
                    [
                        int(row.call), strings(row.moment), int(row.item), strings(row.action), int(row.tokens_before),
                        int(row.tokens_after), strings(row.reason), strings(row.sources), strings(row.text[:room]),
                    ]
                    for row in part.itertuples()
                ]
                for label, part in _by_policy(events, name)
            },
            "more": {number[label]: int(n) for (one, label), n in dropped.items() if one == name},
            "lost": {
                number[label]: [[int(row.call), int(row.item)] for row in part.itertuples()]
                for label, part in _by_policy(lost, name)
                if label in number
            },
        }
        for name in chosen
    ]  # fmt: skip


def _by_policy(table: pandas.DataFrame, transcript: str) -> Any:
    return table[table.transcript == transcript].groupby("policy", sort=False)


def _calls(part: pandas.DataFrame) -> dict[str, list[Any]]:
    part = part.sort_values("call")
    names = {
        "sent": "tokens_sent", "estimated": "tokens_estimated", "read": "tokens_cache_read",
        "write": "tokens_cache_write", "uncached": "tokens_uncached",
    }  # fmt: skip
    columns: dict[str, list[Any]] = {key: [int(value) for value in part[name]] for key, name in names.items()}
    return columns | {"status": list(part.status), "compacted": [int(value > 0) for value in part.compactions]}


def _longest(texts: list[str]) -> int:
    """How long a text may be so that all fit into the page's budget."""
    low, high = 0, max(map(len, texts), default=0)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if sum(min(len(text), middle) for text in texts) <= TEXT_BUDGET else (low, middle - 1)
        )
    return low
