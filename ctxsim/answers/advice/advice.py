"""Which policy to take: the answer that commands begin with. docs/advice.md has the rules.

Refused calls rule out; then what loses too much; of the front of amount against kept, the cheapest, and of those hardly
dearer the one that loses least. keep-all is a candidate: where nothing saves, the answer is not to compact.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, get_args

import msgspec
import numpy as np

from ctxsim.answers.advice.pooled import Figures, Pooled, figures_of
from ctxsim.answers.advice.thinking import of_thinking
from ctxsim.errors import unknown
from ctxsim.results import Run

Goal = Literal["dollars", "kept", "tokens", "window"]

GOALS: tuple[str, ...] = get_args(Goal)

AMOUNT = {"dollars": "usd", "kept": "usd", "tokens": "tokens", "window": "peak"}
"""What each goal wants little of. `kept` wants few dollars too, once little is lost."""

MAY_LOSE = {"dollars": 0.10, "kept": 0.01, "tokens": 0.10, "window": 0.10}
"""How much less than the candidate that keeps most one may keep, by goal: share of what later calls used."""

HARDLY = 0.02
"""Share of keep-all's amount that is hardly anything: not worth a loss, and no reason to compact."""

FAR = 0.05
"""Share by which keep-all may be off what was recorded before advice is called weak."""

STABLE = 0.8
"""An answer that fewer sessions than this share agree with, when each is left out, comes with a warning."""

MOST_LEFT_OUT = 200
"""Sessions that are left out one at a time; of more than these a sample."""

ALIKE_NAMED = 3


class Advice(msgspec.Struct, frozen=True):
    """Which policy to take, beside what, and how far to trust it.

    `goal` is what was asked for, `amount` what was compared: usd, tokens or peak. `nothing` is keep-all's figures.
    `alike` can't be told apart from `take`, in amount and in what is kept, on these sessions. `agreement`: share of
    sessions without which the answer is the same, None for one session; `others`: what it would be instead, and without
    how many. `off_recorded`: how far keep-all is from what was recorded, None where nothing was. `caveats`: what the
    run's figures leave out.
    """

    goal: str
    amount: str
    take: Figures
    losing_less: Figures | None
    cheaper: Figures | None
    nothing: Figures | None
    alike: tuple[str, ...]
    saving_sure: bool | None
    agreement: float | None
    others: dict[str, int]
    off_recorded: float | None
    caveats: tuple[str, ...]


@lru_cache(maxsize=1)
def advise(run: Run, goal: str = "dollars") -> Advice | None:
    """Return which policy to take for a goal; None if only bounds ran. Raises UnknownName for no goal."""
    if goal not in GOALS:
        raise unknown("goal", goal, GOALS)
    found = figures_of(run)
    labels = candidates(found)
    if not [label for label in labels if label != found.nothing]:
        return None
    amount = AMOUNT[goal] if AMOUNT[goal] != "usd" or found.by_dollars else "tokens"
    take = choose(found, labels, amount, MAY_LOSE[goal])
    passing = _passing(found, labels, None)
    front = _front(found, passing, amount)
    agreement, others = _without_each(found, labels, amount, MAY_LOSE[goal], take)
    sure = found.interval(take, amount) if take != found.nothing else None
    return Advice(
        goal=goal,
        amount=amount,
        take=found.all[take],
        losing_less=_losing_less(found, front, amount, take),
        cheaper=_cheaper(found, front, amount, take),
        nothing=found.all[found.nothing] if found.nothing else None,
        alike=_alike(found, [label for label in passing if label not in (take, found.nothing)], amount, take),
        saving_sure=None if sure is None else sure[1] < 1,
        agreement=agreement,
        others=others,
        off_recorded=off_recorded(run),
        caveats=(*run.caveats, *of_thinking(run, take)),
    )


def candidates(found: Pooled) -> list[str]:
    """Return the policies that can be taken: all but bounds and agents that ended early, and keep-all."""
    out = {*found.run.info.bounds, *found.run.ended_early}
    return [label for label in found.labels if label == found.nothing or label not in out]


def choose(found: Pooled, labels: Sequence[str], amount: str, may_lose: float, without: int | None = None) -> str:
    """Return the policy to take, of all sessions or of all but one."""
    passing = _passing(found, labels, without)
    kept = {label: _share(found, label, "kept", without) for label in passing}
    near = [label for label in passing if kept[label] >= max(kept.values()) - may_lose - 1e-9]
    front = _front(found, near, amount, without)
    cost = {label: _share(found, label, amount, without) for label in front}
    least = min(cost.values())
    # keep-all first: what saves hardly anything isn't worth doing.
    if found.nothing in near and least > 1 - HARDLY:
        return found.nothing
    hardly_dearer = [label for label in front if cost[label] <= least + HARDLY]
    return max(hardly_dearer, key=lambda label: (kept[label], -cost[label]))


def _passing(found: Pooled, labels: Sequence[str], without: int | None) -> list[str]:
    """Those with the fewest refused calls."""
    refusals = {label: found.refusals(label, without) for label in labels}
    return [label for label in labels if refusals[label] == min(refusals.values())]


def _share(found: Pooled, label: str, of: str, without: int | None = None) -> float:
    """What a policy keeps, or its amount beside keep-all's; all, where nothing old was needed or nothing is known."""
    value = found.value(label, of, without)
    return 1.0 if value is None else value


def _front(found: Pooled, labels: Sequence[str], amount: str, without: int | None = None) -> list[str]:
    """Those that no other one beats: no worse in amount and in what is kept, and better in one; of equals the first."""
    points = {
        label: (_share(found, label, amount, without), -_share(found, label, "kept", without)) for label in labels
    }
    order = sorted(labels, key=lambda label: points[label])
    front: list[str] = []
    for label in order:
        if not front or points[label][1] < points[front[-1]][1]:
            front.append(label)
    return front


def _losing_less(found: Pooled, front: Sequence[str], amount: str, take: str) -> Figures | None:
    """The next one on the front that keeps noticeably more, other than doing nothing."""
    more = [
        label
        for label in front
        if label != found.nothing and _share(found, label, "kept") >= _share(found, take, "kept") + 0.01
    ]
    return found.all[min(more, key=lambda label: _share(found, label, amount))] if more else None


def _cheaper(found: Pooled, front: Sequence[str], amount: str, take: str) -> Figures | None:
    """The next one on the front that is noticeably cheaper."""
    limit = _share(found, take, amount) - HARDLY
    less = [label for label in front if label != found.nothing and _share(found, label, amount) < limit]
    return found.all[max(less, key=lambda label: _share(found, label, "kept"))] if less else None


def _alike(found: Pooled, labels: Sequence[str], amount: str, take: str) -> tuple[str, ...]:
    """Those whose paired differences to the chosen one have 0 in their intervals, in amount and in what is kept."""
    if found.sessions < 2 or take == found.nothing:
        return ()

    def level(label: str, share: str) -> bool:
        interval = found.interval(label, share, take)
        return interval is None or interval[0] <= 0 <= interval[1]

    return tuple(label for label in labels if level(label, amount) and level(label, "kept"))


def _without_each(
    found: Pooled, labels: Sequence[str], amount: str, may_lose: float, take: str
) -> tuple[float | None, dict[str, int]]:
    """On how many sessions the answer depends, when each is left out."""
    if found.sessions < 2:
        return None, {}
    sessions = np.arange(found.sessions)
    if len(sessions) > MOST_LEFT_OUT:
        sessions = np.sort(np.random.default_rng(0).choice(sessions, MOST_LEFT_OUT, replace=False))
    others: dict[str, int] = {}
    for session in sessions:
        instead = choose(found, labels, amount, may_lose, int(session))
        if instead != take:
            others[instead] = others.get(instead, 0) + 1
    return 1 - sum(others.values()) / len(sessions), others


def off_recorded(run: Run) -> float | None:
    """Return by which share keep-all's tokens or dollars are off what was recorded, the larger of the two; signed.

    None where nothing was recorded.
    """
    rows = run.of(run.labels[0])
    off = []
    if int(rows.calls_recorded.sum()):
        off.append(float(rows.tokens_full_recorded.sum() / rows.tokens_recorded_sum.sum() - 1))
        paid = rows[rows.cost_recorded_usd.notna() & rows.cost_full_recorded_usd.notna()]
        if len(paid) and paid.cost_recorded_usd.sum():
            off.append(float(paid.cost_full_recorded_usd.sum() / paid.cost_recorded_usd.sum() - 1))
    return max(off, key=abs, default=None)


def verdict(advice: Advice | None, shown: Mapping[str, str] | None = None) -> list[str]:
    """Return the answer as three to five lines, and what it leaves out. `shown` has labels in a shorter form."""
    if advice is None:
        return ["Nothing to advise: no policy ran beside the bounds."]
    names = shown or {}
    lines = [_first(advice, names), _beside(advice, names), _ends(advice), _ground(advice, names)]
    if advice.off_recorded is not None and abs(advice.off_recorded) > FAR:
        lines.append(f"Weak: keep-all is {100 * advice.off_recorded:+.0f} % off what was recorded, so figures are too.")
    return [line for line in (*lines, *advice.caveats) if line]


def _first(advice: Advice, names: Mapping[str, str]) -> str:
    take = advice.take
    nothing = advice.nothing is not None and take.policy == advice.nothing.policy
    name = "doing nothing" if nothing else names.get(take.policy, take.policy)
    amounts = _size(advice, take) if nothing else _amounts(advice, take)
    figures = f"{name}: {amounts}, {_keeps(take)}, {_refusals(take)}."
    # Refusals are the first rule: whoever is advised has the fewest.
    if take.failing * 2 > take.transcripts:
        return f"Nothing tried gets through. Closest comes {figures}"
    if nothing:
        least = _percent(1 - MAY_LOSE[advice.goal])
        kept = "" if take.kept is None else f" and keeps {least} % of what later calls used"
        what = {"usd": "of the bill", "tokens": "of the tokens", "peak": "of the largest requests"}[advice.amount]
        return f"Don't compact: nothing that is refused as little{kept} saves more than {_percent(HARDLY)} % {what}."
    return f"Take {figures}"


def _beside(advice: Advice, names: Mapping[str, str]) -> str:
    parts = []
    for word, figures in (("Losing less", advice.losing_less), ("Cheaper", advice.cheaper)):
        if figures is not None:
            share = figures.share(advice.amount)
            kept = figures.kept and f", keeps {_percent(figures.kept.value)} %"
            parts.append(
                f"{word}: {names.get(figures.policy, figures.policy)} "
                f"({_change(share.value if share else 1.0)}{kept or ''})."
            )
    return " ".join(parts)


def _ends(advice: Advice) -> str:
    parts = []
    if (nothing := advice.nothing) is not None:
        parts.append(f"Doing nothing: {_size(advice, nothing)}, {_refusals(nothing)}.")
    take = advice.take
    if advice.amount == "usd" and take.usd_least is not None and take.usd:
        parts.append(f"Nobody could do better than {usd(take.usd_least)} USD and keep as much.")
    return " ".join(parts)


def _ground(advice: Advice, names: Mapping[str, str]) -> str:
    take = advice.take
    some = f", {take.priced:,} with known prices" if advice.amount == "usd" and take.priced < take.transcripts else ""
    many = f"{take.transcripts:,} transcript{'s' if take.transcripts > 1 else ''}"
    known = f"prices are known for {take.priced:,} of them" if take.priced else "no price is known"
    unpriced = f"; {known}, so tokens count" if AMOUNT[advice.goal] == "usd" != advice.amount else ""
    parts = [f"Of {many}{some}{unpriced}."]
    if advice.agreement is None:
        parts.append("One session: nothing says that this holds for another.")
    elif advice.agreement < STABLE:
        other = max(advice.others, key=lambda label: advice.others[label])
        parts.append(
            f"Unsure: without one of the sessions the answer is the same in {_percent(advice.agreement)} % of cases, "
            f"else mostly {names.get(other, other)}."
        )
    if advice.saving_sure is False:
        parts.append("The saving may be chance: its interval has 0 in it.")
    if advice.alike:
        named = ", ".join(names.get(label, label) for label in advice.alike[:ALIKE_NAMED])
        more = f" and {len(advice.alike) - ALIKE_NAMED} more" if len(advice.alike) > ALIKE_NAMED else ""
        parts.append(f"Not to be told apart from it: {named}{more} (intervals overlap).")
    return " ".join(parts)


def usd(value: float) -> str:
    """Return dollars in as few digits as say something: 0.0041, 0.478, 54.89, 412."""
    digits = 4 if value < 0.01 else 3 if value < 10 else 2 if value < 100 else 0
    return f"{value:,.{digits}f}"


def _size(advice: Advice, figures: Figures) -> str:
    if advice.amount == "usd" and figures.usd is not None:
        return f"{usd(figures.usd)} USD"
    if advice.amount == "peak":
        mean = " of a transcript on average" if figures.transcripts > 1 else ""
        return f"{figures.peak_mean:,} tokens in the largest request{mean}"
    return f"{figures.tokens:,} tokens"


def _amounts(advice: Advice, take: Figures) -> str:
    """`412 USD instead of 655 (-37 %, 31..42)`."""
    share = take.share(advice.amount)
    change = ""
    if share is not None:
        change = f" ({_change(share.value)}"
        if share.low is not None and share.high is not None:
            change += f", {_percent(1 - share.high)}..{_percent(1 - share.low)}"
        change += ")"
    instead = "" if advice.nothing is None else f" instead of {_size(advice, advice.nothing).partition(' ')[0]}"
    return f"{_size(advice, take)}{instead}{change}"


def _percent(value: float) -> str:
    return f"{round(100 * value) + 0}"


def _change(share: float) -> str:
    return f"{100 * (share - 1):+.0f} %"


def _keeps(figures: Figures) -> str:
    if figures.kept is None:
        return "nothing old was needed, so nothing says what it loses"
    bracket = ""
    if figures.kept_low is not None and figures.kept_high is not None:
        bracket = f" ({_percent(figures.kept_low)}..{_percent(figures.kept_high)}, by what summaries keep)"
    return f"keeps {_percent(figures.kept.value)} %{bracket} of what later calls used"


def _refusals(figures: Figures) -> str:
    if not figures.refused:
        return "no call refused"
    return f"{figures.refused:,} of {figures.calls:,} calls refused"


def as_values(advice: Advice | None, shown: Mapping[str, str] | None = None) -> dict[str, Any] | None:
    """Return the advice for programs: its fields, and its lines as `says`."""
    if advice is None:
        return None
    return {"says": verdict(advice, shown), **msgspec.to_builtins(advice)}
