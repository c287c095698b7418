"""`advise`: the settings that users of agents should change, found by replaying their own sessions."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import msgspec

from ctxsim.answers.advice import advice as rule
from ctxsim.answers.advice.advice import Advice, Goal
from ctxsim.answers.advice.baseline import AsSetRun
from ctxsim.answers.advice.predicted import Came, kept, mark, scored
from ctxsim.answers.advice.search_result import AgentAdvice, Framed, finalists, of_agent
from ctxsim.answers.forecast.sessions import sessions_of
from ctxsim.api import AnyPath, Paths, checks_arguments, paths_of
from ctxsim.api.inputs import given_of
from ctxsim.api.runs import ReplayFields, Run, bench
from ctxsim.errors import CtxsimError, unknown
from ctxsim.policies import agent_of, open_policy
from ctxsim.policies.agents.config import changed_at, of_places
from ctxsim.policies.agents.given import Given
from ctxsim.policies.agents.lines import constructors
from ctxsim.policies.agents.search import alone, around, begin, label_of, policy_label
from ctxsim.policies.agents.settings import CODE
from ctxsim.policies.agents.settings_file import settings_names, settings_of
from ctxsim.readers import sources
from ctxsim.readers.agent_folders import NAMES, session_files
from ctxsim.readers.glance import formats_of
from ctxsim.readers.paths import FOUND
from ctxsim.readers.source import Source
from ctxsim.results.frames import Frame, frame_of
from ctxsim.results.run_info import NOTHING
from ctxsim.runs.conduct import Watch

FEW = 6
"""Fewer sources than this are all replayed for every setting. Of more, a part is enough to find the few best."""

LOOKED_AT, LEAST_STEP = 16, 3
"""About how many sources the first pass replays, and its smallest step through the sources sorted by size."""


class Advised(msgspec.Struct, frozen=True):
    """The recommended settings of each agent.

    - `replays`: the number of settings and pairs of settings that were replayed, including today's settings.
    - `run`: the run of all sessions under the best settings.
    - `unadvised`: the number of recordings of each other agent, of which no setting can be replayed.
    """

    agents: tuple[AgentAdvice, ...]
    replays: int
    run: Run
    unadvised: dict[str, int] = {}

    def frame(self) -> Frame:
        """Return a row for each setting that was tried: agent, settings, share of today's amount, share kept."""
        return frame_of(
            {
                "agent": one.agent, "settings": "; ".join(f"{key} = {value}" for _, key, value in tried.settings),
                "advised": tried.settings == one.settings, one.amount: tried.amount, "kept": tried.kept,
            }
            for one in self.agents for tried in one.tried
        )  # fmt: skip

    def __iter__(self) -> Iterator[AgentAdvice]:
        return iter(self.agents)


@checks_arguments
def advise(
    what: Paths = (),
    *,
    goal: Goal = "dollars",
    settings: AnyPath | None = None,
    project: AnyPath | None = None,
    **options: Unpack[ReplayFields],
) -> Advised:
    """Return the settings to recommend to users of the agents that recorded these sessions.

    - `what`: paths. Default: the agents' own folders, with the settings in the agents' own files.
    - `settings`, `project`: today's settings, as in `bench`, which explains the other arguments too.

    Each setting is first replayed alone, at the values that ctxsim has for it and at those halfway between (`ctxsim
    list settings`). If the folder is large, this uses a part of the sessions. The best settings are then replayed over
    all sessions, alone and in pairs. The rule of advice decides. Raises CtxsimError if no session is of a known agent,
    and UnknownName for an unknown goal.
    """
    paths = paths_of(what)
    defaults = bool(paths) and not settings and not project
    own_files = bool(project) or not (paths or settings)
    given = given_of(settings, project) if paths or settings or project else of_places()
    paths = paths or [FOUND]
    found = list(sources(*paths))
    each = by_agent(found, paths)
    look = some_of_each(found, each) or paths
    _of_passes(options, len(found) + (len(look) if look is not paths else len(found)))

    def replayed(over: Sequence[str], tried: Sequence[Sequence[Given]], **how: Any) -> Run:
        now = open_policy(label_of(given)).label
        labels = dict.fromkeys([NOTHING, now, *(label_of(given, one) for one in tried)])
        run = bench(over, list(labels), brackets=False, **how, **options)
        if now not in run.labels:
            raise CtxsimError(f"not all sessions can be replayed as set; to see why: ctxsim bench --policy '{now}'")
        return run

    singly = [one for agent in each for one in alone(agent)]
    looked = replayed(look, [(one,) for one in singly], text="none", refetch=0)
    last = [one for agent in each for one in finalists(looked, agent, goal)]
    whole = replayed(paths, last)
    there = {one.agent for one in whole.info.recorders or ()}
    folder = Path(project) if project else None
    set_at = {agent: changed_at(agent, folder) for agent in each if own_files}
    advised = tuple(
        of_agent(whole, agent, goal, [looked], set_at.get(agent, 0.0), project, defaults)
        for agent in each if agent in there
    )  # fmt: skip
    tried = {*((one,) for one in singly), *last}
    return Advised(advised, len(tried) + 1, whole, others(found, each))


def by_agent(found: Sequence[Source], paths: Sequence[str]) -> dict[str, list[Source]]:
    """Return the sources that each agent recorded. Raises CtxsimError if no source is of a known agent."""
    each: dict[str, list[Source]] = {}
    for one in found:
        for agent in filter(None, map(agent_of, formats_of([one]))):
            each.setdefault(agent, []).append(one)
    if not each and (names := others(found, each)):
        raise CtxsimError(
            f"ctxsim can't replay any setting of {' and '.join(names)}; for what policies do: ctxsim bench"
        )
    if not each:
        refused = next((one.refused for one in found if one.refused is not None), None)
        why = f" ({refused})" if refused else ""
        raise CtxsimError(f"{', '.join(paths)}: no session of an agent that we know{why}; for others: ctxsim bench")
    return each


def others(found: Sequence[Source], each: Mapping[str, list[Source]]) -> dict[str, int]:
    """Return the number of sources of each agent, by name, that is not in `each`: no setting of it can be replayed."""
    theirs = {id(one) for own in each.values() for one in own}
    counts = Counter(form for one in found if id(one) not in theirs for form in formats_of([one]))
    return {NAMES[form]: count for form, count in counts.items() if form in NAMES}


def some_of(found: Sequence[Source]) -> list[str]:
    """Return the paths of some files, spread evenly over all sizes, with the largest; [] for fewer than FEW sources."""
    if len(found) < FEW:
        return []
    paths = [one.path for one in found if one.path]
    sizes = [(sum(file.stat().st_size for file in session_files(path)), str(path)) for path in paths]
    return [path for _, path in sorted(sizes, reverse=True)[:: max(LEAST_STEP, len(sizes) // LOOKED_AT)]]


def some_of_each(found: Sequence[Source], each: Mapping[str, list[Source]]) -> list[str]:
    """Return the paths that `some_of` chooses for each agent, or all paths of an agent that has few, so that no agent's
    answer depends on other agents' recordings. Return [] if that is every source, or if a source is a part or a copy of
    a file.
    """
    for one in found:
        whole = one.path and one.path.exists() and one.held == (one.path, "")
        if not (one.refused or (whole and not (one.column or one.reader))):
            return []
    looked = [path for own in each.values() for path in some_of(own) or [str(one.path) for one in own]]
    return looked if len(looked) < sum(map(len, each.values())) else []


def score(what: Paths = ()) -> list[Came]:
    """Compare each prediction that `ctxsim advise` made from these paths with the sessions that came after it.

    - `what`: paths. Default: the agents' own folders.

    Raises CtxsimError if nothing was predicted, and as `bench` does.
    """
    paths = paths_of(what)
    predictions = [one for one in kept() if one.over == mark(paths)]
    if not predictions:
        raise CtxsimError("nothing was predicted from these sessions yet; run ctxsim advise first")
    run = bench(paths or [FOUND], [NOTHING], text="none", brackets=False)
    agents = {one.agent for one in run.info.recorders or ()}
    return scored(predictions, {agent: sessions_of(AsSetRun(run, NOTHING, agent), NOTHING) for agent in agents})


@checks_arguments
def construct(framework: str, what: Paths = (), *, goal: Goal = "dollars", **options: Unpack[ReplayFields]) -> Framed:
    """Return which class of a framework to use for sessions like these, and with which arguments.

    - `framework`: a name from `ctxsim list settings` whose settings stand in code.

    Sessions are first replayed with each argument's usual values, then with values near the best one. Raises
    UnknownName for an unknown framework or goal, and the errors of `bench`.
    """
    known = [name for name in settings_names() if any(one.file == CODE for one in settings_of(name).settings)]
    if framework not in known:
        raise unknown("framework", framework, known)
    paths = paths_of(what) or [FOUND]
    _of_passes(options, 2 * len(list(sources(*paths))))

    def taken(labels: Sequence[str]) -> Advice:
        run = bench(paths, list(dict.fromkeys([NOTHING, *labels])), text="none", brackets=False, **options)
        found = rule.advise(run, goal)
        assert found is not None  # more than bounds ran
        return found

    first = {open_policy(policy_label(one)).label: one for one in begin(framework)}
    best = taken(list(first))
    chosen = first.get(best.take.policy)
    tried, second = len(first), dict[str, Sequence[Given]]()
    if chosen is not None:
        near = around(chosen, [one.value for one in first.values() if one.key == chosen.key])
        also = [[one] for one in near] + [
            [base, other]
            for base in (chosen, *near)
            for other in first.values()
            if other.key != chosen.key and other.key.rpartition(".")[0] == chosen.key.rpartition(".")[0]
        ]
        second = {open_policy(label).label: given for given in ([chosen], *also) if (label := policy_label(*given))}
        best = taken(list(second))
        tried += len(also)
    take = best.take
    code = tuple(constructors(second[take.policy])) if take.policy in second else ()
    share = take.share(best.amount) if code else None
    return Framed(
        framework, goal, best.amount, take.policy, code, best.nothing or take, take, share, tried, best.sampled
    )


def _of_passes(options: ReplayFields, total: int) -> None:
    """Make `watch` report `total` as the number of sources, because each source is replayed more than once."""
    watch = options.get("watch", Watch())
    options["watch"] = watch._replace(finished=lambda info, _: watch.finished(info, total))
