"""`advise`: what the users of agents should set, searched over their own sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Unpack

import msgspec

from ctxsim.answers.advice import advice as rule
from ctxsim.answers.advice.advice import GOALS, Advice
from ctxsim.answers.advice.baseline import AsSetRun
from ctxsim.answers.advice.found import AgentAdvice, Framed, best_so_far, next_to_try, of_agent
from ctxsim.answers.advice.pooled import NOTHING, is_nothing
from ctxsim.answers.advice.predicted import Came, kept, scored
from ctxsim.answers.forecast.sessions import sessions_of
from ctxsim.api.inputs import given_of, paths_of
from ctxsim.api.runs import Run, Watch, bench
from ctxsim.errors import CtxsimError, unknown
from ctxsim.policies import open_policy
from ctxsim.policies.agents.config import of_places
from ctxsim.policies.agents.given import Given, agent_of
from ctxsim.policies.agents.lines import constructors
from ctxsim.policies.agents.search import around, begin, label_of, policy_label
from ctxsim.policies.agents.settings import settings_names
from ctxsim.readers import sources
from ctxsim.readers.paths import FOUND
from ctxsim.readers.recorders import formats_of
from ctxsim.runs.presets import DEFAULT_POLICIES
from ctxsim.simulator.measure.measured import HeadMode
from ctxsim.simulator.provider.rules import ProviderFields

if TYPE_CHECKING:
    import pandas

KEEP_ALL = "keep-all"

PASSES = 3
"""How often sessions are replayed at most."""

POLICIES = "policies"
"""Stands for a framework: the general policies."""


class Advised(msgspec.Struct, frozen=True):
    """What to set, by agent. `replays` are the settings that were replayed, as set among them; `unreadable` counts
    sources that could not be.
    """

    agents: tuple[AgentAdvice, ...]
    replays: int
    unreadable: int = 0

    def frame(self) -> pandas.DataFrame:
        """Return a row for each setting that was tried: agent, settings, share of the amount as set, share kept."""
        import pandas

        return pandas.DataFrame(
            {
                "agent": one.agent, "settings": "; ".join(f"{key} = {value}" for _, key, value in tried.settings),
                "advised": tried.settings == one.settings, one.amount: tried.amount, "kept": tried.kept,
            }
            for one in self.agents for tried in one.tried
        )  # fmt: skip

    def __iter__(self) -> Iterator[AgentAdvice]:
        return iter(self.agents)


def advise(
    what: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    *,
    goal: str = "dollars",
    settings: str | PathLike[str] | None = None,
    project: str | PathLike[str] | None = None,
    jobs: int = 1,
    models: str | PathLike[str] | None = None,
    head: HeadMode = "fitted",
    sample: int | None = None,
    seed: int = 0,
    watch: Watch = Watch(),  # noqa: B008 - frozen
    **provider: Unpack[ProviderFields],
) -> Advised:
    """Return what the users of the agents that recorded some sessions should set.

    `what`: paths; without any the agents' own folders, and what their own files set. First the values that each
    agent's `settings.toml` begins with are replayed, each setting alone. Then comes what lies around the best, and the
    other settings beside it, and once more around what is best then. The rule of advice decides. `settings` and
    `project` say what is set now, as in `bench`, whose other arguments these are. Raises CtxsimError where no session
    is of an agent that we know, and UnknownName for no goal.
    """
    if goal not in GOALS:
        raise unknown("goal", goal, GOALS)
    paths = paths_of(what)
    given = given_of(settings, project) if paths or settings or project else of_places()
    paths = paths or [FOUND]
    agents = list(dict.fromkeys(filter(None, map(agent_of, formats_of(sources(*paths))))))
    if not agents:
        raise CtxsimError(f"{', '.join(paths)}: no session of an agent that we know; for others: ctxsim bench")

    def replayed(tried: Sequence[Sequence[Given]]) -> Run:
        labels = dict.fromkeys([KEEP_ALL, label_of(given), *(label_of(given, one) for one in tried)])
        return bench(
            paths, list(labels), jobs=jobs, models=models, head=head, sample=sample, seed=seed,
            watch=_of_passes(watch), text="none", brackets=False, **provider,
        )  # fmt: skip

    first = [one for agent in agents for one in begin(agent)]
    runs = [replayed([(one,) for one in first])]
    found = [agent for agent in agents if any(one.agent == agent for one in runs[0].info.recorders or ())]
    tried = {frozenset((one,)) for one in first}
    for _ in range(PASSES - 1):
        best = [best_so_far(runs[-1], agent, goal) for agent in found]
        nearer = [one for ones in best for one in next_to_try(ones, first, tried)]
        if not nearer:
            break
        tried.update(map(frozenset, nearer))
        runs.append(replayed([*filter(None, best), *nearer]))
    advised = tuple(of_agent(runs[-1], agent, goal, runs[:-1]) for agent in found)
    return Advised(advised, len(tried) + 1, sum(bool(one.error) for one in runs[0].info.inputs))


def score(what: str | PathLike[str] | Sequence[str | PathLike[str]] = ()) -> list[Came]:
    """Return what came after each prediction that `ctxsim advise` kept, by the sessions under `what`; without any, by
    the agents' own folders. Raises CtxsimError where nothing was predicted, and as `bench` does.
    """
    predictions = kept()
    if not predictions:
        raise CtxsimError("nothing was predicted on this machine yet: ctxsim advise predicts")
    paths = paths_of(what)
    run = bench(paths or [FOUND], [KEEP_ALL], text="none", brackets=False)
    agents = {one.agent for one in run.info.recorders or ()}
    return scored(predictions, {agent: sessions_of(AsSetRun(run, KEEP_ALL, agent), NOTHING) for agent in agents})


def construct(
    framework: str,
    what: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    *,
    goal: str = "dollars",
    jobs: int = 1,
    models: str | PathLike[str] | None = None,
    head: HeadMode = "fitted",
    sample: int | None = None,
    seed: int = 0,
    watch: Watch = Watch(),  # noqa: B008 - frozen
    **provider: Unpack[ProviderFields],
) -> Framed:
    """Return what those who build with a framework should construct for such sessions as these.

    `framework` is a name of `ctxsim list settings`, or `policies` for the general ones. Each argument's first values
    are replayed, then those around the best. Raises UnknownName for a framework or a goal, and what `bench` raises.
    """
    if goal not in GOALS:
        raise unknown("goal", goal, GOALS)
    if framework not in (*settings_names(), POLICIES):
        raise unknown("framework", framework, [*settings_names(), POLICIES])
    paths = paths_of(what)

    def taken(labels: Sequence[str]) -> Advice:
        run = bench(
            paths or [FOUND], list(dict.fromkeys([KEEP_ALL, *labels])), jobs=jobs, models=models, head=head,
            sample=sample, seed=seed, watch=_of_passes(watch), text="none", brackets=False, **provider,
        )  # fmt: skip
        found = rule.advise(run, goal)
        assert found is not None  # more than bounds ran
        return found

    if framework == POLICIES:
        general = [label for label in DEFAULT_POLICIES if not open_policy(label).bound]
        best = taken(general)
        return _framed(framework, best, (best.take.policy,) if not is_nothing(best.take.policy) else (), len(general))
    first = {policy_label(one): one for one in begin(framework)}
    best = taken(list(first))
    chosen = first.get(best.take.policy) or next(
        (one for label, one in first.items() if open_policy(label).label == best.take.policy), None
    )
    if chosen is None:
        return _framed(framework, best, (), len(first))
    near = around(chosen, [one.value for one in first.values() if one.key == chosen.key])
    also = [[one] for one in near] + [
        [base, other]
        for base in (chosen, *near)
        for other in first.values()
        if other.key != chosen.key and other.key.rpartition(".")[0] == chosen.key.rpartition(".")[0]
    ]
    second = {open_policy(label).label: given for given in ([chosen], *also) if (label := policy_label(*given))}
    best = taken(list(second))
    code = constructors(second[best.take.policy]) if best.take.policy in second else []
    return _framed(framework, best, tuple(code), len(first) + len(also))


def _framed(framework: str, best: Advice, code: tuple[str, ...], tried: int) -> Framed:
    share = best.take.share(best.amount) if code else None
    nothing = best.nothing or best.take
    return Framed(framework, best.amount, best.take.policy, code, nothing, best.take, share, tried)


def _of_passes(watch: Watch) -> Watch:
    """Each source is replayed that often, at most."""
    return watch._replace(finished=lambda info, total: watch.finished(info, PASSES * total))
