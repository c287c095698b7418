"""Labels of a run: which policy a text names, and the grid of one policy's parameters."""

from collections.abc import Sequence
from contextlib import suppress
from math import prod

import msgspec

from ctxsim.errors import LabelError, UnknownName
from ctxsim.plugins.labels import chain, named, pasted, split
from ctxsim.policies import open_policy
from ctxsim.results import Run


class Grid(msgspec.Struct, frozen=True):
    """A policy's parameters. `varied` are the parameters that differ, `values` each one's values in order, `labels` the
    labels by their values.
    """

    name: str
    varied: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    labels: dict[tuple[str, ...], str]

    @property
    def full(self) -> bool:
        """Whether there is a label for every combination of values."""
        return len(self.labels) == prod(map(len, self.values))


def family(label: str) -> str:
    """Return the policy names of a label, without parameters."""
    return " + ".join(named(part)[0] for part in chain(label))


def parameters(label: str) -> dict[str, str]:
    """Return the parameters of a label as text; those of a chain follow the name of their link."""
    links = [named(link) for link in chain(label)]
    names = [name for name, _ in links]
    found: dict[str, str] = {}
    for n, (name, text) in enumerate(links, 1):
        before = "" if len(links) == 1 else f"{name} " if names.count(name) == 1 else f"{name} {n} "
        if text:
            found |= {before + key: value for key, value in split(f"link:{text}")[1].items()}
    return found


def grids(labels: Sequence[str]) -> list[Grid]:
    """Return a grid of every policy with several labels, in the order of the labels."""
    families: dict[str, list[str]] = {}
    for label in labels:
        families.setdefault(family(label), []).append(label)
    return [_grid(name, members) for name, members in families.items() if len(members) > 1]


def _grid(name: str, members: Sequence[str]) -> Grid:
    given = {label: parameters(label) for label in members}
    names = dict.fromkeys(key for one in given.values() for key in one)
    varied = tuple(key for key in names if len({one.get(key) for one in given.values()}) > 1)
    values = tuple(in_order([one.get(key, "") for one in given.values()]) for key in varied)
    return Grid(
        name, varied, values, {tuple(one.get(key, "") for key in varied): label for label, one in given.items()}
    )


def in_order(values: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct values: sorted if all are numbers, else in order of appearance."""
    different = list(dict.fromkeys(values))
    try:
        return tuple(sorted(different, key=float))
    except ValueError:
        return tuple(different)


def label_in(run: Run, given: str) -> str:
    """Return the label that a run has for a policy: given whole, as tables show it, or as any that opens the same.

    Raises UnknownName for a policy that the run hasn't, and CtxsimError for one that failed on some transcripts.
    """
    label = pasted(given)
    label = next((whole for whole, short in run.info.shown.items() if short == label), label)
    if label not in (*run.labels, *run.partial):
        # A label that can't be opened, such as that of a real agent, may still be one of the run's.
        with suppress(LabelError, UnknownName):
            label = open_policy(label).label
    return run.label(label)
