"""Presets: families of policies that run together, always beside keep-all and the bounds."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import get_args

from ctxsim.errors import unknown
from ctxsim.plugins import labels
from ctxsim.policies import agent_of, open_policy, registered_policies
from ctxsim.policies.agents.given import Given
from ctxsim.policies.agents.search import label_of, usual
from ctxsim.policies.as_set import AsSet
from ctxsim.policies.policy import Family

DEFAULT_POLICIES = (
    "keep-all", "drop-all", "oracle-lossless", "oracle-lossless:aim=dollars", "token-budget", "truncate-after-use",
    "max-result-chars:chars=20000", "max-messages:n=41", "head-tail", "fifo:budget=40000", "summary",
    "head-tail+summary", "mask:keep=10", "retry",
)  # fmt: skip
"""The policies that a bench of recorded transcripts runs by default."""


def of_agents(formats: Iterable[str], given: Sequence[Given] = ()) -> list[str]:
    """Return the labels that a bench adds for recordings of agents: as-set with the settings `given`, and with a few
    values of the setting that matters most for each agent. Empty if no format is one of a known agent.
    """
    agents = list(dict.fromkeys(filter(None, map(agent_of, formats))))
    tried = [one for agent in agents for one in usual(agent)]
    return [label_of(given), *(label_of(given, [one]) for one in tried)] if agents else []


def as_given(label: str, given: Sequence[Given]) -> str:
    """Return the bare label `as-set` with the user's settings; other labels are unchanged."""
    return label_of(given) if label == AsSet.name else label


PRESETS = tuple(family for family in get_args(Family) if family)
"""The names that stand for many labels in a bench."""


def is_preset(label: str) -> bool:
    """Return whether a label is the name of a preset, or several: `agents,frameworks`."""
    return label.split(",")[0] in PRESETS


def expanded(policies: Iterable[str]) -> tuple[str, ...]:
    """Return labels with the names of presets, as in `agents,frameworks`, replaced by their policies."""
    found = (preset_policies(label) if is_preset(label) else (label,) for label in policies)
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def preset_policies(names: str) -> tuple[str, ...]:
    """Return the labels of presets, `agents,frameworks`: the bounds, then each family's policies by name.

    A policy with required parameters gets its labels in DEFAULT_POLICIES. Raises UnknownName for an unknown preset.
    """
    found = [label for label in DEFAULT_POLICIES if open_policy(label).bound]
    for name in map(str.strip, names.split(",")):
        if name not in PRESETS:
            raise unknown("preset", name, PRESETS)
        for policy, cls in sorted(registered_policies().items()):
            if cls.family == name and not cls.bound:
                usual = [label for label in DEFAULT_POLICIES if labels.split(label)[0] == policy]
                # Without labels there, its bare name raises.
                found += usual if usual and labels.required(cls) else [policy]
    return tuple(dict.fromkeys(found))
