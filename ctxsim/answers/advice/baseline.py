"""Advice beside the recorded agent as it is set: only what its user can set is a candidate.

The rule is that of `advice`, on a run in which the row as set takes the place of keep-all.
"""

from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Any

import msgspec

from ctxsim.answers.advice import advice as rule
from ctxsim.answers.advice.advice import Advice
from ctxsim.answers.advice.figures import Figures
from ctxsim.answers.advice.rule import HARDLY
from ctxsim.answers.advice.setting_names import added, given_in
from ctxsim.policies.agents.given import parameters_of
from ctxsim.results import Run
from ctxsim.results.run_info import Recorder, baseline_in, is_as_set


class AsSetAdvice(Advice, frozen=True):
    """What a user should set. `nothing` is the row as set, and policies are its labels with settings.

    `recorders` are the agents that recorded the transcripts, `tried` the labels beside the row as set. `builders` is a
    clearly cheaper policy that no user can set, only the agent's developers.
    """

    recorders: tuple[Recorder, ...] = ()
    tried: tuple[str, ...] = ()
    builders: Figures | None = None


class AsSetRun(Run):
    """A run in which the agent as it is set takes the place of keep-all, beside what else its user can set.

    With `agent` only that agent's transcripts are in it.
    """

    def __init__(self, whole: Run, baseline: str, agent: str = "") -> None:
        super().__init__(whole.folder, msgspec.structs.replace(whole.info, bounds=()))
        self.nothing = self.baseline = baseline
        self._agent = agent
        self._whole = whole
        self.recorders = tuple(one for one in whole.info.recorders or () if agent in ("", one.agent))
        self._names = {one.transcript for one in self.recorders} if agent else None

    @cached_property
    def labels(self) -> list[str]:
        # Labels of the same effective settings count once.
        named: dict[object, str] = {}
        for label in self._beside(self._whole.labels):
            named.setdefault(self._meant(label), label)
        return [self.baseline, *named.values()]

    def _meant(self, label: str) -> object:
        """What a label's settings change for the agents that recorded; the label itself if they change nothing."""
        given, base = given_in(label), given_in(self.baseline)
        who = sorted({(one.agent, one.version, one.model) for one in self.recorders})
        meant, unchanged = (
            [parameters_of(agent, of, version, model) for agent, version, model in who] for of in (given, base)
        )
        return label if meant == unchanged else str(meant)

    @cached_property
    def partial(self) -> dict[str, int]:
        rows = {label: len(self._of(label)) for label in self._beside(self._whole.partial)}
        return {label: count for label, count in rows.items() if count < self.transcripts}

    def _beside(self, labels: Iterable[str]) -> list[str]:
        """The other labels as set; settings of other agents than this run's are left out, as they change nothing."""
        return [
            label for label in labels if is_as_set(label) and label != self.baseline
            and self._agent in ("", *(one.agent for one in added(label, self.baseline)))
        ]  # fmt: skip

    @cached_property
    def transcripts(self) -> int:
        return len(self._base)

    @cached_property
    def _base(self) -> Any:
        return self._of(self.baseline)

    def _of(self, label: str) -> Any:
        rows = self._whole.of(label)
        kept = rows if self._names is None else rows[rows.transcript.isin(self._names)]
        return kept.reset_index(drop=True)

    def of(self, label: str) -> Any:
        """Return the rows of a policy, compared with those as set instead of keep-all's."""
        rows = self._base if label == self.baseline else self._of(label)
        return rows.assign(
            tokens_full_sum=self._base.tokens_sum, cost_vs_keep_all=rows.cost_usd / self._base.cost_usd.replace(0, None)
        )


@lru_cache(maxsize=2)
def as_set_run(run: Run, agent: str = "") -> AsSetRun | None:
    """Return a run beside its row as set; None if that row didn't run, or if no agent, or not this one, recorded it."""
    baseline = baseline_in(run.labels)
    own = AsSetRun(run, baseline, agent) if baseline else None
    return own if own and own.recorders else None


@lru_cache(maxsize=8)
def advise(run: Run, goal: str = "dollars", agent: str = "") -> Advice | None:
    """Return what to set for a goal if the agent's row as set ran, else which policy to take.

    With `agent` only that agent's transcripts count. None if only bounds ran. Raises UnknownName for an unknown goal.
    """
    own = as_set_run(run, agent)
    if own is None:
        return rule.advise(run, goal)
    # The policy for builders is chosen over all sessions only.
    whole = None if agent else rule.advise(run, goal)
    found = rule.advise(own, goal)
    assert found is not None  # the row as set is a candidate
    tried = tuple(own.labels[1:])
    return AsSetAdvice(
        **msgspec.structs.asdict(found if tried else msgspec.structs.replace(found, again=None)),
        recorders=own.recorders, tried=tried,
        builders=whole.take if whole and _better(whole.take, found.take, found.amount) else None,
    )  # fmt: skip


def _better(figures: Figures, take: Figures, amount: str) -> bool:
    """Whether a policy that users can't set is clearly cheaper."""
    theirs, ours = figures.size(amount), take.size(amount) or 0.0
    return not is_as_set(figures.policy) and theirs is not None and theirs < (1 - HARDLY) * ours
