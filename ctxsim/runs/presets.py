"""Presets: families of policies that run together, always beside keep-all and the bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from ctxsim import labels
from ctxsim.errors import unknown
from ctxsim.policies import open_policy, registered_policies
from ctxsim.policies.policy import Family
from ctxsim.runs.conduct import DEFAULT_POLICIES

PRESETS = tuple(family for family in get_args(Family) if family)
"""The names that a bench takes for many labels at once."""


def preset_policies(names: str) -> tuple[str, ...]:
    """Return the labels of presets, `agents,frameworks`: the bounds, then each family by name.

    A policy that needs parameters runs as in a bench of recordings. Raises UnknownName for a preset that isn't one.
    """
    chosen = [labels_of for name in names.split(",") for labels_of in _family(name.strip())]
    bounds = [label for label in DEFAULT_POLICIES if open_policy(label).bound]
    return tuple(dict.fromkeys([*bounds, *chosen]))


def _family(name: str) -> Iterable[str]:
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    for policy, cls in sorted(registered_policies().items()):
        if cls.family == name and not cls.bound:
            yield from _as_usual(policy) if labels.required(cls) else [policy]


def _as_usual(policy: str) -> list[str]:
    """How a bench runs a policy that must be told something; the bare name says what it needs when it is opened."""
    return [label for label in DEFAULT_POLICIES if labels.split(label)[0] == policy] or [policy]
