"""Policies: one file each, found by looking into this folder and those of agents and frameworks; others by path or
entry point.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Self

import msgspec

from ctxsim.counting.estimators import DEFAULT, Estimator, open_estimator
from ctxsim.errors import InputError, LabelError
from ctxsim.plugins import FOLDERS, Form, Registry, folders, labels
from ctxsim.policies.policy import Oracle, Overflow, Policy, Stop, Surroundings, with_estimator

__all__ = [
    "Oracle", "Overflow", "Policy", "Spec", "Stop", "Surroundings", "agent_of", "broken_policies", "old_names",
    "open_policies", "open_policy", "register", "registered_policies",
]  # fmt: skip


class Spec(msgspec.Struct, frozen=True):
    """A chain of policies and its estimator, ready to be made afresh for each transcript."""

    label: str
    links: tuple[tuple[type[Policy], str, dict[str, str]], ...]
    estimator: Estimator
    short: str = ""
    """The label without what is at its default; opens the same."""

    @property
    def typed(self) -> str:
        """The label of what was given and no more: only behind that stand the numbers of an agent's version."""
        label = "+".join(labels.written(name, given) for _, name, given in self.links)
        return with_estimator(label, self.estimator, always=any(cls.decides_by for cls, _, _ in self.links))

    @property
    def server_side(self) -> bool:
        """Whether the provider itself makes all of its edits."""
        return all(cls.server_side for cls, _, _ in self.links)

    @property
    def outside(self) -> set[type]:
        """The classes of its policies and of its estimator that aren't ctxsim's own."""
        found = {type(self.estimator), *(cls for cls, _, _ in self.links)}
        return {cls for cls in found if cls.__module__.partition(".")[0] != "ctxsim"}

    @property
    def own(self) -> bool:
        """Whether all of it is ctxsim's: no class from elsewhere, and no function over messages."""
        return not self.outside and not any(name.startswith("messages:") for _, name, _ in self.links)

    @property
    def bound(self) -> bool:
        """Whether it marks a floor or a ceiling."""
        return all(cls.bound for cls, _, _ in self.links)

    def as_shipped(self, format: str, version: str, model: str) -> Self:
        """Return the same with the numbers of the agent's version that recorded a session, where a policy is that
        agent's; what the label says goes before them. Versions that no `settings.toml` tells apart, and those that are
        no dotted numbers, have the newest.
        """
        if version:
            from ctxsim.policies.agents.versions import dotted

            version = version if dotted(version) else ""
        if any(name == "as-set" for _, name, _ in self.links):
            return self._as_set(format, version, model)
        links = tuple(
            (cls, name, _as_shipped(cls, {**given, "version": version, "model": model}))
            if version and format.startswith(cls.agent) and not given.keys() & {"version", "model"} and _ships(cls)
            else (cls, name, given)
            for cls, name, given in self.links
        )
        return self if links == self.links else msgspec.structs.replace(self, links=links)

    def _as_set(self, format: str, version: str, model: str) -> Self:
        """Return the same with the policy of the agent that recorded a session in the place of `as-set`, deciding by
        the estimator that this agent decides by; an estimator that somebody named goes before it.
        """
        agent = agent_of(format)
        name, own, _ = _registry.open(agent or "keep-all")
        by = open_estimator(own.decides_by) if own.decides_by else self.estimator
        links = tuple(
            (own, name, _own_numbers(own, agent, given, version, model)) if link == "as-set" else (cls, link, given)
            for cls, link, given in self.links
        )
        estimator = by if self.estimator == open_estimator(DEFAULT) else self.estimator
        return msgspec.structs.replace(self, links=links, estimator=estimator)

    def limits(self) -> dict[str, float]:
        """Return the tokens, by name, that its parameters mean requests to stay under."""
        return {name: tokens for link in self.create() for name, tokens in link.limits().items()}

    def create(self) -> list[Policy]:
        """Return fresh policy objects, in chain order."""
        return [labels.build("policy", cls, name, parameters) for cls, name, parameters in self.links]


def _forms() -> list[str]:
    from ctxsim.policies.foreign import forms

    return forms()


def _form(prefix: str) -> Form[Policy]:
    from ctxsim.policies.foreign import form

    return form(prefix)


_registry: Registry[Policy] = Registry("policy", __name__, Policy, _forms, _form)


def registered_policies() -> dict[str, type[Policy]]:
    """Return all built-in and installed policy classes by name."""
    return _registry.classes


def register(cls: type[Policy]) -> type[Policy]:
    """Make a class known by its name in this process, and return it: a notebook's, which has no file.

    Defined again, it takes the place of the earlier one. Raises LabelError for the name of another policy.
    """
    open_policies.cache_clear()
    return _registry.register(cls)


def broken_policies() -> dict[str, str]:
    """Return the installed policies that can't be used, each with its error in one line."""
    return _registry.broken


def _of_today(name: str, cls: type[Policy], given: Mapping[str, str]) -> dict[str, str]:
    """The raw parameters of a label by the names that they have today, and not by old ones or by those of an agent's
    own settings. Raises LabelError for one that has both.
    """
    known = {**_aliases_of(cls), **cls.renamed}
    for other, ours in known.items():
        if other != ours and other in given and ours in given:
            told = "the old name of" if other in cls.renamed else "the agent's own name for"
            raise LabelError(f"{name}: {other} is {told} {ours}; give one of them")
    return {known.get(key, key): value for key, value in given.items()}


def _aliases_of(cls: type[Policy]) -> dict[str, str]:
    if not cls.agent:
        return {}
    from ctxsim.policies.agents.settings_file import aliases_of

    return aliases_of(cls.agent, cls.name)


def _as_shipped(cls: type[Policy], given: dict[str, str]) -> dict[str, str]:
    """With the numbers of the `version` and the `model` that a label names in their place; its own parameters stay.

    Raises LabelError for a version that is none.
    """
    if not {"version", "model"} & given.keys() or not _ships(cls):
        return given
    from ctxsim.policies.agents.settings_file import values_for

    version, model = given.pop("version", ""), given.pop("model", "")
    try:
        shipped = values_for(cls.agent, version, model, cls.name)
    except InputError as error:
        raise LabelError(f"{cls.name}: version={version}: {error.what}") from None
    return {**{key: str(value) for key, value in shipped.items()}, **given}


def _ships(cls: type[Policy]) -> bool:
    """Whether an agent's `settings.toml` has numbers of a policy; not of one that somebody made of it."""
    if not cls.agent:
        return False
    from ctxsim.policies.agents.settings_file import values_for

    return bool(values_for(cls.agent, policy=cls.name))


def _own_numbers(cls: type[Policy], agent: str, given: Mapping[str, str], version: str, model: str) -> dict[str, str]:
    """The parameters of an agent's policy that its version ships for a model, and the settings of a label `as-set`."""
    from ctxsim.policies.agents.given import parameters_of, parsed

    told = parameters_of(agent, parsed(given.get("given", "")), version, model) if agent else {}
    return _as_shipped(cls, {**told, "version": version, "model": model}) if _ships(cls) else told


def old_names(label: str) -> list[str]:
    """Return a line for each parameter that a label, or a grid of labels, calls by the name that it used to have.

    Raises UnknownName or LabelError, as `open_policy` does.
    """
    _try_first(label)
    opened = [_registry.open(link) for link in labels.chain(label)]
    return [
        f"{name}: {key} is called {cls.renamed[key]} now; the old name still works"
        for name, cls, given in opened
        for key in given
        if key in cls.renamed
    ]


def _open_link(label: str, estimator: Estimator | None) -> tuple[type[Policy], str, dict[str, str], Estimator | None]:
    name, cls, given = _registry.open(label)
    parameters = _as_shipped(cls, _of_today(name, cls, given))
    own = parameters.pop("estimator", None)
    if not own and estimator is None and cls.decides_by:
        own = cls.decides_by
    return cls, name, parameters, open_estimator(own) if own else estimator


def open_policy(label: str, estimator: Estimator | None = None) -> Spec:
    """Return the policy or `a+b` chain that a label names.

    An `estimator=` in the label overrides the argument `estimator`. Raises UnknownName or LabelError, which say what is
    wrong in the label.
    """
    _try_first(label)
    return opened_here(label, estimator)


def _try_first(label: str) -> None:
    """Open a label that names a file in another process first: what starts processes is loaded for that alone."""
    path, dot_py, _ = label.partition(".py:")
    if dot_py:
        parts = path.removeprefix("messages:").split("+")
        if any(Path(f"{'+'.join(parts[n:])}.py").is_file() for n in range(len(parts) - 1)):
            raise LabelError(f"{path}.py: a + stands between policies; a path must have none")
        from ctxsim.policies.trial import tried

        tried(label)


def opened_here(label: str, estimator: Estimator | None = None) -> Spec:
    """Return the same without a look at what the code of others does to a process that opens it."""
    opened = [_open_link(link, estimator) for link in labels.chain(label)]
    chosen = {own for _, _, _, own in opened if own}
    if len(chosen) > 1:
        raise LabelError(f"'{label}': a chain decides by one estimator, this one names {len(chosen)}")
    by = chosen.pop() if chosen else open_estimator(DEFAULT)
    full, short = (
        "+".join(links)
        for links in zip(*(labels.lasting("policy", cls, name, given) for cls, name, given, _ in opened), strict=True)
    )
    implied = {open_estimator(cls.decides_by) for cls, _, _, _ in opened if cls.decides_by}
    full = with_estimator(full, by, always=bool(implied))
    if implied != {by}:
        short = with_estimator(short, by, always=bool(implied))
    return Spec(full, tuple((c, n, p) for c, n, p, _ in opened), by, short)


@lru_cache(maxsize=8)
def open_policies(policies: tuple[str, ...], by: str | None = None) -> tuple[Spec, ...]:
    """Return what labels name, equal ones once; `by` is the estimator's label where they name none. Opened once."""
    estimator = open_estimator(by) if by else None
    opened = [open_policy(label, estimator) for label in policies]
    return tuple({spec.label: spec for spec in opened}.values())


def agent_of(format: str) -> str:
    """Return the agent that writes logs of a format: one whose policy we have; '' for any other."""
    for name, (_, place) in folders(FOLDERS[0]).items():
        if (place / "policy.py").exists() and (
            format == name or format.startswith(f"{name}-") or (format and name.startswith(f"{format}-"))
        ):
            return name
    return ""
