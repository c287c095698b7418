"""All rules of the vendors as rows: what each says, for which models, from where and when."""

from collections.abc import Iterator
from datetime import date as Date
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from ctxsim.simulator.provider.vendor import Framing, Vendor, fits, load_vendor, vendor_names, vendor_of

SECTIONS = ("framing", "cache", "rate", "reasoning", "thinking", "served", "overflow")


def vendor_gaps(name: str) -> list[str]:
    """Return a line for each section of a vendor's rules that has no source, and for each that has no date or one to
    come; also if there are no rules, or no models that they hold for.
    """
    vendor, today = load_vendor(name), Date.today()
    if msgspec.structs.replace(vendor, models=()) == Vendor(vendor.name):
        return ['no rule: give one, such as cache.kind = "prefix"']
    gaps = []
    if not vendor.models:
        gaps.append('no models: only --provider can name these rules; models = ["NAME-*"] says whose they are')
    for section in SECTIONS:
        rule = getattr(vendor, section)
        if rule != type(rule)():
            gaps += [f"{section} names no {what}" for what in ("source", "date") if not getattr(rule, what)]
        if rule.date and rule.date > today:
            gaps.append(f"{section} has a date to come, {rule.date}: give the day on which its source was read")
    return gaps


class RuleRow(msgspec.Struct, frozen=True):
    """One rule of one vendor; `model` is the pattern of the models that it holds for, `*` for all."""

    vendor: str
    section: str
    rule: str
    model: str
    value: str
    source: str
    date: Date | None


def rules_of(pattern: str) -> list[RuleRow]:
    """Return the rules of the vendors whose names fit a pattern; if none do, the rules for a model of that name."""
    names = [name for name in vendor_names() if name != "none" and fnmatchcase(name, pattern)]
    if names:
        return [row for name in names for row in _rows(load_vendor(name))]
    return [row for row in _rows(load_vendor(vendor_of(pattern))) if fits(pattern, row.model)]


def _rows(vendor: Vendor) -> Iterator[RuleRow]:
    for section in SECTIONS:
        rule: Any = getattr(vendor, section)
        plain = type(rule)()
        for field in rule.__struct_fields__:
            value = getattr(rule, field)
            if field in ("source", "date", "schemas_source") or value == getattr(plain, field):
                continue
            own = rule.schemas_source if isinstance(rule, Framing) and field == "schemas" else ""
            found = list(_by_model(value)) if isinstance(value, dict) else [("*", _shown(value), own)]
            for model, text, source in found:
                yield RuleRow(vendor.name, section, field, model, text, source or rule.source, rule.date)


def _by_model(table: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Pattern, value and source of each entry of a table by model."""
    source = table.get("source", "")
    for pattern, value in table.items():
        if pattern == "source":
            continue
        if isinstance(value, dict):
            text = ", ".join(f"{key} = {_shown(one)}" for key, one in value.items() if key != "source")
            yield pattern, text, str(value.get("source", ""))
        else:
            yield pattern, _shown(value), str(source)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
