"""The arguments of a replay: its input (recordings, a scenario or a Transcript), policies and estimators.

Modules that read recordings are imported only if there are recordings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from ctxsim.api import AnyPath, checks_arguments
from ctxsim.counting.estimators import Estimator, open_estimator
from ctxsim.counting.estimators import register as register_estimator
from ctxsim.errors import CtxsimError, InputError, UnknownName
from ctxsim.plugins import labels
from ctxsim.policies import Policy, Spec, open_policies, register
from ctxsim.policies import open_policy as open_label
from ctxsim.simulator.measure.measured import AsSent, HeadMode
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.simulator.provider.rules import ProviderFields
from ctxsim.synthesis import Scenario, is_scenario, load_scenario, scenario_names, synthesize
from ctxsim.transcript import Transcript

if TYPE_CHECKING:
    from ctxsim.policies.agents.given import Given
    from ctxsim.simulator.provider.models import Model

AnyEstimator = str | Estimator | type[Estimator]
"""A label, an object, or a class defined anywhere."""

AnyPolicy = str | Spec | Policy | type[Policy]
"""A label, an opened policy, a class defined anywhere, or an object of such a class with its parameters."""

What = AnyPath | Transcript | Scenario
"""A path; a scenario's TOML file, or its name if no file has that name; a Transcript or a Scenario."""


class Inputs(msgspec.Struct, frozen=True):
    """What is replayed: paths, a scenario or a transcript. `overrides` are provider fields that go before others."""

    paths: tuple[str, ...] = ()
    scenario: Scenario | None = None
    transcript: Transcript | None = None
    overrides: dict[str, Any] = {}
    models: tuple[Model, ...] = ()
    head: HeadMode = "fitted"
    across: bool = False

    @property
    def name(self) -> str:
        """The input's name in messages."""
        if self.scenario is not None:
            return self.scenario.name
        return self.transcript.name if self.transcript is not None else ", ".join(self.paths)

    def each(self) -> Iterator[AsSent]:
        """Yield each transcript or segment as it was sent, with its provider."""
        if self.scenario is not None:
            rules = resolve(self.overrides, (self.scenario.name, self.scenario.provider), None, self.models)
            yield AsSent(synthesize(self.scenario), rules)
            return
        from ctxsim import readers
        from ctxsim.readers.glance import accepted
        from ctxsim.recorded.as_sent import as_sent

        sources = [] if self.transcript else list(readers.sources(*self.paths))
        beside = accepted(sources)
        found = [self.transcript] if self.transcript else (one for each in sources for one in readers.read_source(each))
        for transcript in found:
            yield from as_sent(transcript, self.overrides, self.models, self.head, self.across, beside)


def inputs_of(
    what: What | Sequence[AnyPath],
    *,
    models: AnyPath | None = None,
    head: HeadMode = "fitted",
    across: bool = False,
    **provider: Unpack[ProviderFields],
) -> Inputs:
    """Return the input of a replay. `models` is a TOML file of the user's own models and prices.

    Raises UnknownName for an unknown scenario, InputError for an unreadable file, and CtxsimError without a path.
    """
    entries: tuple[Model, ...] = ()
    if models is not None:
        from ctxsim.simulator.provider.models import read_overrides

        entries = read_overrides(Path(models))
    made = partial(Inputs, overrides=dict(provider), models=entries, head=head, across=across)
    if isinstance(what, Transcript):
        return made(transcript=what)
    if isinstance(what, Scenario):
        return made(scenario=what)
    if not isinstance(what, str | PathLike):
        paths = tuple(fspath(one) for one in what)
        if not paths:
            raise CtxsimError("no recording to replay: the list of paths is empty")
        return made(paths=paths)
    if not names_scenario(what) and not _a_word(what):
        return made(paths=(fspath(what),))
    try:
        return made(scenario=load_scenario(fspath(what)))
    except UnknownName as error:
        raise UnknownName(f"no file or folder {fspath(what)}, and {error}") from None


def names_scenario(what: AnyPath) -> bool:
    """Return whether a path or name means a scenario: it is the path of a TOML file, or nothing has that path and a
    scenario has that name or one much like it.
    """
    name = fspath(what)
    if name.endswith(".toml"):
        return True
    if not isinstance(what, str) or Path(name).exists():
        return False
    return is_scenario(name) or (_a_word(name) and bool(get_close_matches(name, scenario_names(), cutoff=0.8)))


def _a_word(what: AnyPath) -> bool:
    """Whether nothing has this path, and it is no pattern or list and holds no dot or slash, as paths do."""
    return isinstance(what, str) and what.replace("-", "").isalnum() and not Path(what).exists()


def the_one(inputs: Inputs, number: int = 1) -> AsSent:
    """Return transcript or segment `number`, counted from 1. Raises CtxsimError if there is none, or no call in it."""
    chosen = next(islice(inputs.each(), number - 1, None), None)
    if chosen is None:
        raise CtxsimError(f"{inputs.name} has fewer than {number} transcripts; ctxsim transcripts check lists them")
    if not chosen.transcript.calls:
        raise CtxsimError(f"{chosen.transcript.name} has no call to replay")
    return chosen


@checks_arguments
def open_policy(policy: AnyPolicy, estimator: AnyEstimator | None = None) -> Spec:
    """Return the policy or `a+b` chain of a label, a class or an object. A class is registered: its label is known.

    An `estimator=` in the label overrides the argument `estimator`. Raises UnknownName or LabelError for a label that
    can't be opened.
    """
    if isinstance(policy, Spec):
        if estimator is None:
            return policy
        policy = policy.label
    elif isinstance(policy, type):
        policy = register(policy).name
    elif isinstance(policy, Policy):
        register(type(policy))
        given = labels.parameters(policy)
        policy = labels.written(policy.name, labels.stated(policy.name, policy, True, given))
    return open_label(policy, estimator_of(estimator))


def given_of(settings: AnyPath | None, project: AnyPath | None) -> list[Given]:
    """Return the settings in a project's and the user's own settings files, and those in one file of an agent.

    Raises InputError if `project` isn't a folder, or for a file that can't be read or has no setting of a known agent.
    """
    # Imported here, as few replays have settings.
    from ctxsim.policies.agents.config import of_file, of_places

    if project is not None and not Path(project).is_dir():
        raise InputError(project, "is no folder of a project")
    found = of_places(Path(project)) if project is not None else []
    return found + (of_file(Path(settings)) if settings is not None else [])


def estimator_of(given: AnyEstimator | None) -> Estimator | None:
    """Return the estimator of a label, an object or a class; None for None.

    A class, or the class of an object, is registered, so that its label is known.
    """
    if given is None or isinstance(given, str):
        return open_estimator(given) if given else None
    cls = given if isinstance(given, type) else type(given)
    if given is not cls:
        labels.parameters(given)  # raises, if its label would make another
    if ".py:" not in cls.name:
        register_estimator(cls)
        # Cached policies may use an earlier class of the same name.
        open_policies.cache_clear()
    return open_estimator(cls.name) if isinstance(given, type) else given
