"""Policies: one file each, found by looking into this folder and those of agents and frameworks; others by path or
entry point.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Self

import msgspec

from ctxsim.counting.estimators import DEFAULT, Estimator, open_estimator
from ctxsim.errors import ContractError, InputError, LabelError, told
from ctxsim.plugins import FOLDERS, Registry, folders, labels
from ctxsim.policies.policy import Overflow, Policy, Stop, Surroundings, with_estimator

__all__ = [
    "Overflow", "Policy", "Spec", "Stop", "Surroundings", "agent_of", "old_names", "open_policies", "open_policy",
    "register", "registered_policies", "registry",
]  # fmt: skip

Limit = Annotated[float, msgspec.Meta(ge=0, le=1e300)]
"""Tokens of a request. Infinity and what is no number are outside."""


class Spec(msgspec.Struct, frozen=True):
    """A policy's label, opened: a chain of policy classes with parameters, and an estimator."""

    label: str
    links: tuple[tuple[type[Policy], str, dict[str, str]], ...]
    estimator: Estimator
    short: str = ""
    """The label without parameters at their default; opens the same."""

    @property
    def typed(self) -> str:
        """The label with given parameters only, so that `as_shipped` can fill in the others by an agent's version."""
        label = "+".join(labels.written(name, given) for _, name, given in self.links)
        return with_estimator(label, self.estimator, always=any(cls.decides_by for cls, _, _ in self.links))

    @property
    def fixed(self) -> list[set[str]]:
        """By link, the parameters that `as_shipped` would fill in by an agent's version, but that are given."""
        return [set(given) if cls.agent and cls.ships else set() for cls, _, given in self.links]

    @property
    def server_side(self) -> bool:
        """Whether the provider itself makes all edits."""
        return all(cls.server_side for cls, _, _ in self.links)

    @property
    def outside(self) -> set[type]:
        """The classes of its policies and of its estimator that aren't ctxsim's own."""
        found = {type(self.estimator), *(cls for cls, _, _ in self.links)}
        return {cls for cls in found if cls.__module__.partition(".")[0] != "ctxsim"}

    @property
    def own(self) -> bool:
        """Whether all code is ctxsim's: no class from elsewhere, and no function over messages."""
        return not self.outside and not any(name.startswith("messages:") for _, name, _ in self.links)

    @property
    def bound(self) -> bool:
        """Whether it marks a floor or a ceiling."""
        return all(cls.bound for cls, _, _ in self.links)

    def as_shipped(self, format: str, version: str, model: str) -> Self:
        """Return the spec with the parameters that the recording agent's version ships, for each policy of that agent.

        Parameters in the label have precedence. A version without dotted numbers, or without rules, is the newest.
        """
        if version:
            from ctxsim.policies.agents.versions import dotted

            version = version if dotted(version) else ""
        if any(name == "as-set" for _, name, _ in self.links):
            return self._as_set(format, version, model)
        links = tuple(
            (cls, name, _as_shipped(cls, given, version, model) if version and format.startswith(cls.agent) else given)
            for cls, name, given in self.links
        )
        return self if links == self.links else msgspec.structs.replace(self, links=links)

    def _as_set(self, format: str, version: str, model: str) -> Self:
        """Return the spec with the recording agent's policy in place of `as-set`. The estimator is that agent's, unless
        another than the default was named.
        """
        from ctxsim.policies.agents.given import parameters_of, parsed

        agent = agent_of(format)
        name, own, _ = registry.open(agent or "keep-all")
        links = []
        for cls, link, given in self.links:
            if link == "as-set":
                told = parameters_of(agent, parsed(given.get("given", "")), version, model)
                cls, link, given = own, name, _as_shipped(own, told, version, model)
            links.append((cls, link, given))
        by = open_estimator(own.decides_by) if own.decides_by else self.estimator
        estimator = by if self.estimator == open_estimator(DEFAULT) else self.estimator
        return msgspec.structs.replace(self, links=tuple(links), estimator=estimator)

    def limits(self) -> dict[str, float]:
        """Return the limits, in tokens, that the parameters set for requests, by name.

        Raises ContractError for a policy that returns something else, or fails.
        """
        found: dict[str, float] = {}
        for link in self.create():
            try:
                limits = link.limits()
                msgspec.convert(limits, dict[str, Limit])
            # A user's policy may raise anything.
            except (Exception, SystemExit) as error:
                must = "must return tokens by name, as {'budget': 40000}"
                raise ContractError(f"{link.name}: limits {must}: {told(error)}") from error
            found |= limits
        return found

    def create(self) -> list[Policy]:
        """Return fresh policy objects, in chain order."""
        return [labels.build("policy", cls, name, parameters) for cls, name, parameters in self.links]


registry: Registry[Policy] = Registry("policy", __name__, Policy, f"{__name__}.foreign")


def registered_policies() -> dict[str, type[Policy]]:
    """Return all built-in and installed policy classes by name."""
    return registry.classes


def register(cls: type[Policy]) -> type[Policy]:
    """Add a class by its name in this process, and return it. For a notebook's class, which has no file.

    A class that is defined again replaces the earlier one. Raises LabelError if another policy has the name.
    """
    open_policies.cache_clear()
    return registry.register(cls)


def _of_today(name: str, cls: type[Policy], given: Mapping[str, str]) -> dict[str, str]:
    """The raw parameters of a label by today's names, in place of old names and of the agent's own keys. Raises
    LabelError if a parameter is given by two names.
    """
    known = dict(cls.renamed)
    if cls.agent:
        from ctxsim.policies.agents.settings_file import aliases_of

        known = aliases_of(cls.agent, cls.name) | known
    for other, ours in known.items():
        if other != ours and other in given and ours in given:
            told = "the old name of" if other in cls.renamed else "the agent's own name for"
            raise LabelError(f"{name}: {other} is {told} {ours}; give one of them")
    return {known.get(key, key): value for key, value in given.items()}


def _as_shipped(cls: type[Policy], given: dict[str, str], version: str, model: str) -> dict[str, str]:
    """The raw parameters that a version of the policy's agent ships for a model. Given parameters have precedence.

    Raises LabelError for an invalid version.
    """
    if not (cls.agent and cls.ships):
        return given
    from ctxsim.policies.agents.settings_file import values_for

    try:
        shipped = values_for(cls.agent, version, model, cls.name)
    except InputError as error:
        raise LabelError(f"{cls.name}: version={version}: {error.what}") from None
    return {key: str(value) for key, value in shipped.items()} | given


def old_names(label: str) -> list[str]:
    """Return a line for each parameter that a label, or a grid of labels, calls by its old name.

    Raises UnknownName or LabelError, as `open_policy` does.
    """
    _try_first(label)
    opened = [registry.open(link) for link in labels.chain(label)]
    return [
        f"{name}: {key} is called {cls.renamed[key]} now; the old name still works"
        for name, cls, given in opened
        for key in given
        if key in cls.renamed
    ]


def _open_link(label: str, estimator: Estimator | None) -> tuple[type[Policy], str, dict[str, str], Estimator | None]:
    name, cls, given = registry.open(label)
    parameters = _of_today(name, cls, given)
    if cls.agent and cls.ships and parameters.keys() & {"version", "model"}:
        version, model = parameters.pop("version", ""), parameters.pop("model", "")
        parameters = _as_shipped(cls, parameters, version, model)
    own = parameters.pop("estimator", "") or (cls.decides_by if estimator is None else "")
    return cls, name, parameters, open_estimator(own) if own else estimator


def open_policy(label: str, estimator: Estimator | None = None) -> Spec:
    """Return the policy or `a+b` chain that a label names.

    An `estimator=` in the label overrides the argument `estimator`. Raises UnknownName or LabelError for a label that
    can't be opened.
    """
    _try_first(label)
    return opened_here(label, estimator)


def _try_first(label: str) -> None:
    """Open a label that names a file in another process first. `trial` is imported only then: it starts processes."""
    path, dot_py, _ = label.partition(".py:")
    if dot_py:
        parts = path.removeprefix("messages:").split("+")
        if any(Path(f"{'+'.join(parts[n:])}.py").is_file() for n in range(len(parts) - 1)):
            raise LabelError(f"{path}.py: a + stands between policies; a path must have none")
        from ctxsim.policies.trial import tried

        tried(label)


def opened_here(label: str, estimator: Estimator | None = None) -> Spec:
    """Return the same as `open_policy`, without opening users' files in another process first.

    Raises ContractError for limits that aren't numbers of tokens.
    """
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
    spec = Spec(full, tuple((c, n, p) for c, n, p, _ in opened), by, short)
    spec.limits()  # fails now, rather than after hours of replays
    return spec


@lru_cache(maxsize=8)
def open_policies(policies: tuple[str, ...], by: str | None = None) -> tuple[Spec, ...]:
    """Return the specs of labels, equal ones once. `by` is the default estimator's label. Cached.

    Raises LabelError if two have the same full label, but differ in what a session's agent version fills in.
    """
    estimator = open_estimator(by) if by else None
    found: dict[str, tuple[str, Spec]] = {}
    for label in policies:
        spec = open_policy(label, estimator)
        other, known = found.setdefault(spec.label, (label, spec))
        if known.fixed != spec.fixed:
            raise LabelError(f"{other} and {label} would have the same name in tables; run one of them at a time")
    return tuple(spec for _, spec in found.values())


def agent_of(format: str) -> str:
    """Return the agent that writes logs of a format, if it has a policy here; '' if not."""
    # Kimi CLI has a policy too, but the format is Kimi Code's.
    writer = "kimi-code" if format == "kimi" else format
    for name, (_, place) in folders(FOLDERS[0]).items():
        if (place / "policy.py").exists() and f"{writer}-".startswith(f"{name}-"):
            return name
    return ""


def continues(label: str) -> bool:
    """Return whether the first policy of a label sends its requests for summaries with the conversation's head; False
    for the label ''.
    """
    if not label:
        return False
    first = open_policy(label).create()[0]
    first.attach(Surroundings(window=0))
    return first.summary_head is None
