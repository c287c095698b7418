"""Lists of policies, formats, models and everything else that ctxsim knows by name, as tables and as texts."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from datetime import date
from fnmatch import fnmatchcase
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ctxsim.errors import CtxsimError, InputError, nearest
from ctxsim.plugins import labels
from ctxsim.report.sheet import Cell, Column, Sheet, as_markdown, sheet

if TYPE_CHECKING:
    from ctxsim.api.settings import SettingRow

Said = list[tuple[str, str]]
"""A list as text for people: a heading and a text for each entry. If it is empty, the table is printed instead."""


def listed(kind: str, pattern: str = "*", file: str = "") -> tuple[Sheet, Said]:
    """Return the entries of one of KINDS that contain the pattern or match its wildcards, as a table and as texts.

    `file` is a TOML file of the user's own models. Raises CtxsimError if nothing matches.
    """
    wanted = pattern if any(c in pattern for c in "*?[") else f"*{pattern}*"
    found, said = LISTS[kind](wanted, *((pattern, file) if kind == "models" else ()))
    if not found.rows:
        raise CtxsimError(f"none of the {kind} fits '{pattern}'; without a pattern all are listed")
    return found, said


def page(kind: str) -> str:
    """Return the page of the site that lists everything of a kind, as Markdown; "" if the site has none."""
    if kind not in ("columns", "formats"):
        return ""
    text = Path(__file__).with_name(f"{kind}.md").read_text(encoding="utf-8")
    if kind == "formats":
        for name, title, versions, _, _, address in _formats("*")[0].rows:
            # Our own format is documented on the page about logs.
            documented = f"formats.md{address}" if str(address).startswith("#") else address
            text += " ".join(f"- [{title}]({documented}), `{name}`: {versions}".split()) + "\n"
        return text
    every, _ = _columns("*")
    for table, rows in groupby(every.rows, key=lambda row: row[0]):
        columns = [msgspec.structs.replace(column, left=True) for column in every.columns[1:]]
        text += f"\n## {table}\n\n{as_markdown(sheet(table, '', columns, [row[1:] for row in rows]))}"
    return text


def completions(kind: str) -> list[str]:
    """Return the values of a kind for shell completion. Policies are followed by their first required parameter."""
    if kind == "scenarios":
        from ctxsim.synthesis import scenario_names

        return list(scenario_names())
    if kind == "columns":
        from ctxsim.report.cells import EVERY

        return ["all", *(one.name for one in EVERY)]
    if kind == "models":
        from ctxsim.simulator.provider.models import model_ids

        return sorted(model_ids())
    from ctxsim.policies import registered_policies

    needed = ((name, labels.required(cls)) for name, cls in sorted(registered_policies().items()))
    return [f"{name}:{needs[0]}=" if needs else name for name, needs in needed]


def _paragraphs(text: str) -> str:
    """A docstring with each paragraph joined to one line."""
    return "\n\n".join(" ".join(one.splitlines()) for one in inspect.cleandoc(text).split("\n\n"))


def _classes(name: str, wanted: str, classes: dict[str, type[Any]], broken: dict[str, str]) -> tuple[Sheet, Said]:
    """Policies or estimators: each label's pattern, the source of its rule, and its docstring; its error if broken."""
    rows: list[tuple[Any, ...]] = []
    for label, cls in sorted(classes.items()):
        if fnmatchcase(label, wanted):
            about = [str(getattr(cls, key, "")) for key in ("family", "source", "version", "read_on")]
            mark = "bound" if getattr(cls, "bound", False) else ""
            rows.append((label, labels.signature(label, cls), mark, *about, inspect.getdoc(cls) or ""))
    rows += [(label, label, "can't be used", *[""] * 4, error) for label, error in sorted(broken.items())]
    columns = ("name", "label", "mark", "family", "source", "version", "read", "about")

    said = [(f"{row[1]}{f'   ({row[2]})' if row[2] else ''}", _paragraphs(row[-1])) for row in rows]
    return sheet(name, "", columns, rows), said


def _policies(wanted: str) -> tuple[Sheet, Said]:
    from ctxsim.policies import registered_policies, registry
    from ctxsim.policies.foreign import about

    every, families = registered_policies(), wanted.strip("*").split(",")
    named = {label: cls for label, cls in every.items() if cls.family and cls.family in families}
    found, said = _classes("policies", "*" if named else wanted, named or every, registry.broken)
    forms = [(pattern, _paragraphs(text)) for pattern, text in about().items()] if wanted == "*" else []
    return found, [*forms, *said]


def _estimators(wanted: str) -> tuple[Sheet, Said]:
    from ctxsim.counting.estimators import registry

    return _classes("estimators", wanted, registry.classes, registry.broken)


def _agents(wanted: str) -> tuple[Sheet, Said]:
    from ctxsim.live.agent import agent_names, load_agent

    known = [load_agent(name) for name in agent_names() if fnmatchcase(name, wanted)]
    rows = [(one.name, one.version, one.package, one.installer, str(one.date), one.source) for one in known]

    installed = {one.name: f": {one.package}@{one.version} ({one.installer})" for one in known if one.package}
    said = [(one.name + installed.get(one.name, ""), one.source) for one in known]
    return sheet("agents", "", ("agent", "version", "package", "installer", "date", "source"), rows), said


def _settings(wanted: str) -> tuple[Sheet, Said]:
    from ctxsim.api.settings import SettingRow, settings
    from ctxsim.policies.agents.settings_file import settings_names, settings_of

    # A complete name selects one agent only, because `pi` is part of other agents' names.
    plain = wanted.strip("*")
    rows = settings(plain if plain in settings_names() else wanted).rows

    said: Said = []
    for agent, its in groupby(rows, key=lambda row: row.agent):
        known = settings_of(agent)
        files = ", ".join(file.path for file in known.files)
        name = f"{agent} {known.version}".strip()
        said.append((f"{name}, read on {known.read_on}{f': {files}' if files else ''}", ""))
        said += [(f"{row.key} = {row.default}" if row.default else row.key, _told(row)) for row in its]
    return sheet("settings", "", SettingRow.__struct_fields__, [msgspec.structs.astuple(row) for row in rows]), said


def _told(row: SettingRow) -> str:
    """The text of a key, a line each: values, defaults by version or model, parameter, observed behaviour, note."""
    outside = f"{row.outside} outside" if row.outside else ""
    cap = f"at most {row.cap}" if row.cap else ""
    needs = f"needs {row.needs}" if row.needs else ""
    values = "; ".join(filter(None, (row.where or "can't be set", row.unit, row.bounds, outside, cap, needs)))
    opposite = "the opposite of " if row.opposite else ""
    ours = f"policy: {opposite}{row.policy}:{row.parameter}" if row.parameter else ""
    seen = f"installed: {row.honoured}" if row.honoured else ""
    by = f"by version or model: {row.defaults}" if row.defaults else ""
    return "\n".join(filter(None, (values, by, ours, seen, row.note)))


def _formats(wanted: str) -> tuple[Sheet, Said]:
    from ctxsim.readers.reader import documentation, registered_formats

    rows = [(name, one.TITLE, one.VERSIONS, one.READS, one.NOT_READ, documentation(one))
            for name, one in registered_formats().items() if fnmatchcase(name, wanted)]  # fmt: skip

    said = [(f"{name}: {title}, {versions}", f"reads: {reads}\nnot read: {rest}\n{docs}")
            for name, title, versions, reads, rest, docs in rows]  # fmt: skip
    return sheet("formats", "", ("format", "title", "versions", "reads", "not read", "docs"), rows), said


def _vendors(wanted: str) -> tuple[Sheet, Said]:
    from ctxsim.simulator.provider.rule_table import rules_of
    from ctxsim.simulator.provider.vendor import load_vendor, vendor_names

    # A part of a vendor's name is enough. A model's name must be complete, because it selects the rules.
    named = any(fnmatchcase(name, wanted) for name in vendor_names())
    found = rules_of(wanted if named else wanted.strip("*"))
    if not found:
        raise CtxsimError(f"no vendor fits '{wanted.strip('*')}', and no vendor claims a model of that name")
    models = {row.vendor: ", ".join(load_vendor(row.vendor).models) or "chosen by name only" for row in found}
    rows = [(vendor, "models", names, "*", "", "") for vendor, names in models.items()]
    rows += [(row.vendor, f"{row.section}.{row.rule}", row.value, row.model, str(row.date or ""), row.source)
             for row in found]  # fmt: skip
    rows.sort(key=lambda row: list(models).index(row[0]))

    said = [
        (
            f"{vendor}{f': {source}' if source else ''}{f', as of {day}' if day else ''}",
            "\n".join(f"{rule} = {value}" + ("" if model == "*" else f"  [{model}]")
                      for _, rule, value, model, _, _ in group),
        )
        for (vendor, source, day), group in groupby(rows, key=lambda row: (row[0], row[-1], row[-2]))
    ]  # fmt: skip
    return sheet("vendors", "", ("vendor", "rule", "value", "model", "date", "source"), rows), said


def _models(wanted: str, pattern: str, file: str) -> tuple[Sheet, Said]:
    from ctxsim.counting.tokenizers import tokenizer_of
    from ctxsim.simulator.provider.models import all_models, model_ids, read_overrides

    rows: list[tuple[Any, ...]] = []
    for entry in read_overrides(Path(file)) if file else ():
        if fnmatchcase(entry.id, wanted):
            rows.append((file, entry.id, entry.vendor or "-", entry.window, entry.prices))
    for provider, model in all_models():
        if fnmatchcase(model.id, wanted):
            rows.append((provider, model.id, model.vendor, model.window, model.prices))
    listed = f"genai-prices {version('genai-prices')}"
    if not rows:
        close = nearest(pattern, model_ids()) or f"the price list is that of {listed}"
        raise CtxsimError(f"no model fits '{pattern}'; {close}")
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
    notes = (f"prices: {listed} on {date.today()}; + means more above a number of tokens",)
    return sheet("models", "", columns, cells, notes=notes), []


def _rate(rate: Any) -> Cell:
    if rate is None:
        return Cell(None, "-")
    return Cell(rate[0][1], f"{rate[0][1]:g}+") if isinstance(rate, tuple) else Cell(rate, f"{rate:g}")


def _scenarios(wanted: str) -> tuple[Sheet, Said]:
    from ctxsim.synthesis import load_scenario, scenario_names

    found = [load_scenario(name) for name in scenario_names() if fnmatchcase(name, wanted)]
    rows = [(one.name, one.title, " ".join(one.policies), one.description.strip()) for one in found]

    said = [(f"{name}: {title}", f"{_paragraphs(text)}\npolicies: {policies.replace(' ', ', ')}")
            for name, title, policies, text in rows]  # fmt: skip
    return sheet("scenarios", "", ("name", "title", "policies", "about"), rows), said


def _defects(wanted: str) -> tuple[Sheet, Said]:
    from ctxsim.runs.doctor import defect_names, load_defect

    rows, said = [], []
    for one in [load_defect(name) for name in defect_names() if fnmatchcase(name, wanted)]:
        expected = one.expectation
        seen = [f"{by.who}, {by.date}: {by.source}" for by in expected.seen]
        rows.append((one.name, one.scenario.title, expected.that, expected.at_most, expected.mend, "\n".join(seen)))
        reports = "".join(f"\nreported: {report}" for report in seen)
        said.append((f"{one.name}: {one.scenario.title}",
                     f"expected: {expected.that}\nwhat would mend it: {expected.mend}{reports}"))  # fmt: skip
    return sheet("defects", "", ("defect", "title", "expected", "at most", "mend", "reported"), rows), said


def _columns(wanted: str) -> tuple[Sheet, Said]:
    from ctxsim.report.cells import EVERY, WORTH
    from ctxsim.results.columns import EstimateRow, described
    from ctxsim.results.compactions import COMPACTION_TABLES
    from ctxsim.results.run_info import TABLES

    tables = {name: row for name, (row, _) in TABLES.items()} | {"estimates": EstimateRow} | COMPACTION_TABLES
    every = [(name, *line) for name, row in tables.items() for line in described(row)]
    every += [("table", one.name, "", one.kind, "", f"{one.about} (heading: {one.heading})") for one in (*EVERY, WORTH)]
    rows = [row for row in every if fnmatchcase(row[1], wanted) or fnmatchcase(f"{row[0]}.{row[1]}", wanted)]

    said = [(f"{table}.{column}   ({', '.join(filter(None, about))})", meaning)
            for table, column, *about, meaning in rows]  # fmt: skip
    return sheet("columns", "", ("table", "column", "type", "kind", "unit", "meaning"), rows), said


def _tokenizers(wanted: str) -> tuple[Sheet, Said]:
    from ctxsim.counting.tokenizers import DEFAULT, available

    rows = [(name, name == DEFAULT) for name in available() if fnmatchcase(name, wanted)]
    note = "hf:PATH_OR_ID too: a tokenizer.json, its folder, or a model id that transformers has cached"
    return sheet("tokenizers", "", ("name", "default"), rows, notes=(note,)), []


def _config(wanted: str) -> tuple[Sheet, Said]:
    from ctxsim.api.project import ABOUT, FILE, PROJECT, Settings, found

    said, wrong = Settings(), ""
    try:
        said = found(to_show=True)
        found()
    except InputError as error:
        wrong = str(error).removesuffix("; see: ctxsim list config")
    lines = [(name, _setting(getattr(said, name)), about) for name, about in ABOUT.items() if fnmatchcase(name, wanted)]
    where = f"From {os.path.relpath(said.file)}" if said.file else f"No {FILE} and no [tool.ctxsim] in a {PROJECT} here"
    columns = [Column("setting", "setting", left=True), Column("value", "value", left=True),
               Column("about", "what", left=True)]  # fmt: skip
    return sheet("settings", wrong or where, columns, lines), []


def _setting(value: Any) -> Cell:
    if isinstance(value, tuple):
        return Cell(list(value) or None, "\n".join(value) or "-")
    return Cell(value, "-" if value is None else str(value))


LISTS: dict[str, Callable[..., tuple[Sheet, Said]]] = {
    "policies": _policies, "estimators": _estimators, "agents": _agents, "settings": _settings, "formats": _formats,
    "models": _models, "vendors": _vendors, "scenarios": _scenarios, "defects": _defects, "columns": _columns,
    "tokenizers": _tokenizers, "config": _config,
}  # fmt: skip

KINDS = tuple(LISTS)
