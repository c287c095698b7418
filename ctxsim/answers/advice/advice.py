"""Which policy to take: the answer that commands begin with. docs/advice.md has the rules.

Policies with more refused calls than others are ruled out, then those that lose too much. Of the rest, the one that
loses least among those hardly dearer than the cheapest is taken. If no policy saves, the answer is keep-all.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal, get_args

import msgspec
import numpy as np

from ctxsim.answers.advice.figures import Figures
from ctxsim.answers.advice.pooled import Array, Pooled, figures_of
from ctxsim.answers.advice.refetch import Again, again
from ctxsim.answers.advice.rule import HARDLY, Seen, choice, choices, sound
from ctxsim.counting.tokenizers import DATED, bare
from ctxsim.errors import LabelError, UnknownName, unknown
from ctxsim.plugins import labels
from ctxsim.results import Run
from ctxsim.results.run_info import NOTHING, is_as_set

Goal = Literal["dollars", "kept", "tokens", "window"]

GOALS: tuple[str, ...] = get_args(Goal)

MAY_LOSE = {"dollars": 0.10, "kept": 0.01, "tokens": 0.10, "window": 0.10}
"""By goal, how much less a policy may keep than the candidate that keeps most: share of what later calls used."""

FAR = 0.05
"""Share by which keep-all may be off what was recorded before advice is called weak."""

SETTLED = 0.6
"""An answer in at least this share of the resamples of the sessions is settled."""

NAMED = 0.1
"""An answer in at least this share of the resamples is named if none is settled."""


class Advice(msgspec.Struct, frozen=True):
    """Which policy to take, its alternatives, and how reliable the answer is.

    `goal` is the user's goal, `amount` the amount compared: usd, tokens or peak. `nothing` has keep-all's figures.
    `wins` is the share of resamples of these sessions in which each policy is the answer, largest first; empty without
    resamples. If the share of `take` is below SETTLED, the answer is open: `open` are the other possible answers,
    `more` the further sessions that may separate them. `alike` can't be told apart from `take`, in amount and in what
    is kept. `ahead` is the number of next sessions that intervals are for, None if for none. `off_recorded` is how far
    keep-all is from what was recorded, None if nothing was. `caveats`: what the run's figures leave out.
    """

    goal: str
    amount: str
    take: Figures
    losing_less: Figures | None = None
    cheaper: Figures | None = None
    nothing: Figures | None = None
    alike: tuple[str, ...] = ()
    wins: dict[str, float] = {}
    open: tuple[Figures, ...] = ()
    more: int | None = None
    ahead: int | None = None
    sampled: bool = False
    generated: bool = False
    off_recorded: float | None = None
    caveats: tuple[str, ...] = ()
    again: Again | None = None
    """How the answer holds if lost results are fetched again; None if that isn't known."""


@lru_cache(maxsize=1)
def advise(run: Run, goal: str = "dollars") -> Advice | None:
    """Return which policy to take for a goal; None if only keep-all and bounds ran. Raises UnknownName for the goal."""
    if goal not in GOALS:
        raise unknown("goal", goal, GOALS)
    found = figures_of(run)
    labels = candidates(found)
    if {*labels} <= {NOTHING}:
        return None
    amount = found.amount(goal)
    seen = _seen(found, labels, amount)
    take = labels[choice(seen, MAY_LOSE[goal])]
    wins = _wins(found, labels, seen, amount, MAY_LOSE[goal])
    answers = {*_sound(labels, seen, goal), take, found.nothing}
    take = next((label for label, share in wins.items() if share >= SETTLED and label in answers), take)
    passing = [label for label, share in zip(labels, seen.refused, strict=True) if share == seen.refused.min()]
    losing_less, cheaper = _beside(found, passing, amount, take)
    settled = not wins or wins.get(take, 0.0) >= SETTLED
    others = [label for label, share in wins.items() if share >= NAMED and label in answers and label != take]

    def chosen(rate: float) -> str:
        return labels[choice(_at_rate(found, labels, seen, amount, rate), MAY_LOSE[goal])]

    return Advice(
        goal, amount, found.all[take],
        losing_less=losing_less, cheaper=cheaper,
        nothing=found.all[found.nothing] if found.nothing else None,
        alike=_alike(found, [label for label in passing if label not in (take, found.nothing)], amount, take),
        wins=wins, open=() if settled else tuple(found.all[label] for label in others),
        more=None if settled else _more(found.sessions, wins), ahead=found.sessions if found.has_next else None,
        sampled=found.sample is not None, generated=run.info.scenario is not None,
        off_recorded=off_recorded(run), caveats=(*run.caveats, *_of_thinking(run, take)),
        again=again(found, take, amount, chosen) if amount in ("usd", "tokens") else None,
    )  # fmt: skip


def may_be_taken(found: Pooled, goal: str) -> set[str]:
    """Return the policies of a run that are sound: the rule chooses among them."""
    labels = candidates(found)
    return _sound(labels, _seen(found, labels, found.amount(goal)), goal)


def _sound(labels: Sequence[str], seen: Seen, goal: str) -> set[str]:
    return {label for label, good in zip(labels, sound(seen, MAY_LOSE[goal]), strict=True) if good}


def _seen(found: Pooled, labels: Sequence[str], amount: str) -> Seen:
    """The candidates' figures as input of the rule."""

    def shares(of: str) -> Array:
        return np.array([found.seen(label, of) for label in labels])

    def ahead(of: str) -> Array:
        drawn = found.has_next or found.sample is not None
        return _columns(found.draws, labels, of) if drawn else shares(of)[None]

    nothing = labels.index(found.nothing) if found.nothing in labels else None
    refused = np.array([found.refusals(label) for label in labels])
    return Seen(1 - shares(amount), shares("kept"), refused, 1 - ahead(amount), ahead("kept"), nothing)


def _columns(of: Callable[[str, str], Array], labels: Sequence[str], share: str) -> Array:
    """A share in all draws, a column for each label; NaN (a draw's whole is 0) becomes 1: nothing saved, all kept."""
    return np.nan_to_num(np.column_stack([of(label, share) for label in labels]), nan=1.0)


def _at_rate(found: Pooled, labels: Sequence[str], seen: Seen, amount: str, rate: float) -> Seen:
    """The same at another refetch rate: the saving in a draw keeps its ratio to the saving over all sessions."""
    spent = np.array([found.at(rate, label, amount) for label in labels])
    # The row that stands for doing nothing may lose results too, as an agent does as set.
    base = spent[seen.nothing] if seen.nothing is not None else 0.0
    saved = 1 - spent / base if base else seen.saved
    part = np.divide(saved, seen.saved, out=np.zeros(len(labels)), where=seen.saved > 0)
    later = np.where(seen.saved > 0, seen.saved_next * part, seen.saved_next + saved - seen.saved)
    return seen._replace(saved=saved, saved_next=later)


def _wins(found: Pooled, labels: Sequence[str], seen: Seen, amount: str, may_lose: float) -> dict[str, float]:
    """The share of resamples of the sessions in which each policy is the answer, largest first."""
    if not found.has_next:
        return {}
    ways, kept = (_columns(found.ways, labels, of) for of in (amount, "kept"))
    taken = np.bincount(choices(seen, 1 - ways, kept, may_lose), minlength=len(labels))
    shares = {label: float(count / taken.sum()) for label, count in zip(labels, taken, strict=True) if count}
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def _more(sessions: int, wins: Mapping[str, float]) -> int:
    """How many more sessions may let the first of two answers win in four of five resamples: the distance between them,
    in standard errors, grows with the root of the sessions.
    """
    first, second = [*sorted(wins.values(), reverse=True), 0.0][:2]
    # Below 1: the quantile is infinite if all resamples give one answer.
    ahead = NormalDist().inv_cdf(min(0.999, first / (first + second)))
    needed = sessions * (NormalDist().inv_cdf(0.8) / max(ahead, 0.05)) ** 2
    return max(1, round(needed - sessions))


def candidates(found: Pooled) -> list[str]:
    """Return the policies that can be taken: keep-all, and all others but bounds and agents that ended early."""
    out = {*found.run.info.bounds, *found.run.ended_early}
    return [label for label in found.labels if label == found.nothing or label not in out]


def _beside(found: Pooled, labels: Sequence[str], amount: str, take: str) -> tuple[Figures | None, Figures | None]:
    """The next policies on the front, without keep-all: one that keeps noticeably more, one that is noticeably cheaper.
    On the front are policies that no other one beats, the cheapest first: each keeps more than those before it.
    """
    front: list[str] = []
    for label in sorted(labels, key=lambda label: (found.seen(label, amount), -found.seen(label, "kept"))):
        if not front or found.seen(label, "kept") > found.seen(front[-1], "kept"):
            front.append(label)
    others = [label for label in front if label != found.nothing]
    least, limit = found.seen(take, "kept") + 0.01, found.seen(take, amount) - HARDLY
    more = next((found.all[label] for label in others if found.seen(label, "kept") >= least), None)
    cheaper = next((found.all[label] for label in reversed(others) if found.seen(label, amount) < limit), None)
    return more, cheaper


def _alike(found: Pooled, labels: Sequence[str], amount: str, take: str) -> tuple[str, ...]:
    """Policies whose paired differences to `take`, in amount and in what is kept, have 0 in their intervals."""
    if not found.has_next or take == found.nothing:
        return ()

    def level(label: str, share: str) -> bool:
        interval = found.interval(label, share, take)
        return interval is None or interval[0] <= 0 <= interval[1]

    return tuple(label for label in labels if level(label, amount) and level(label, "kept"))


def recorded(run: Run) -> tuple[Any, Any]:
    """Return keep-all's rows whose tokens, and those whose dollars, can be compared with recorded ones: without those
    whose recorded model, tokenizer or prices aren't the ones that the user asked for.
    """
    rows, asked = run.of(run.labels[0]), (run.info.setting or {}).get("overrides", {})
    if model := asked.get("model"):
        rows = rows[rows.model.fillna(model).map(_undated) == _undated(model)]
    paid = rows[rows.cost_recorded_usd.notna() & rows.cost_full_recorded_usd.notna()]
    return rows[:0] if asked.get("tokenizer") else rows, paid[:0] if asked.get("prices") else paid


def _undated(model: str) -> str:
    return DATED.sub("", bare(model))


def off_recorded(run: Run) -> float | None:
    """Return the error of keep-all's tokens or dollars as a share of the recorded ones, the larger of the two; signed.
    None if nothing was recorded, or only of another model or tokenizer.
    """
    rows, paid = recorded(run)
    if not rows.calls_recorded.any():
        return None
    pairs = [
        (rows.tokens_full_recorded.sum(), rows.tokens_recorded_sum.sum()),
        (paid.cost_full_recorded_usd.sum(), paid.cost_recorded_usd.sum()),
    ]
    return max((float(ours / theirs - 1) for ours, theirs in pairs if theirs), key=abs, default=None)


def _server_side(label: str) -> bool:
    """Whether the provider itself makes all edits of a policy."""
    from ctxsim.policies import open_policy

    # A file that a label names isn't run for this.
    with suppress(LabelError, UnknownName):
        return labels.by_words(label) and open_policy(label).server_side
    return False


def _of_thinking(run: Run, take: str) -> Iterator[str]:
    """Caveats on thinking under a policy; none if history isn't edited, or only as the recorded agent does."""
    rows = run.of(take)
    refused, dropped = (int(rows[name].fillna(0).sum()) for name in ("invalid_thinking", "tokens_thinking_dropped"))
    # Under another rule for thinking the replay has checked it.
    bound = any((one.get("vendor"), one.get("thinking", "none")) == ("anthropic", "none") for one in run.info.providers)
    if refused:
        yield (
            f"Refused for thinking that follows an edit: {refused:,} of {int(rows.calls.sum()):,} calls. "
            "With --provider thinking=drop they are accepted, and that thinking is lost."
        )
    elif dropped:
        yield f"Thinking that follows edits is dropped: {dropped:,} tokens are lost."
    elif bound and rows.compactions.sum() and not (is_as_set(take) or _server_side(take)):
        yield (
            "The policy edits history. Opus 5.5, Sonnet 5.5, Haiku 5.5, Fable 5.1 and Fable 5.2 refuse requests whose "
            "thinking follows an edit: see --provider thinking."
        )
