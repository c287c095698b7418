"""The advice in lines of text, as commands print it: what to set in an agent's own file, or which policy to take."""

from collections.abc import Mapping
from math import floor
from typing import Any

import msgspec

from ctxsim.answers.advice.advice import FAR, MAY_LOSE, Advice
from ctxsim.answers.advice.baseline import AsSetAdvice
from ctxsim.answers.advice.figures import Figures, Share
from ctxsim.answers.advice.honoured import contradictions
from ctxsim.answers.advice.pooled import AMOUNT
from ctxsim.answers.advice.refetch import SEEN, TURNS_SEEN
from ctxsim.answers.advice.rule import HARDLY
from ctxsim.answers.advice.setting_names import added, given_in, told, who
from ctxsim.answers.forecast.ranges import LEAST
from ctxsim.errors import many
from ctxsim.policies.agents.given import Given

ALIKE_NAMED = 3

USED = "what later calls used"

BARS = tuple(sorted({1 - most for most in MAY_LOSE.values()}))
"""The shares that goals require to be kept, where everything can be kept."""


def verdict(advice: Advice | None, shown: Mapping[str, str] | None = None) -> list[str]:
    """Return the advice as three to five lines, and its caveats. `shown` has shorter forms of labels."""
    if advice is None:
        return ["Nothing to advise: only bounds ran."]
    names = shown or {}
    if isinstance(advice, AsSetAdvice):
        first, then = _set(advice, names), [*contradictions(advice.recorders), _builders(advice, names)]
    else:
        first, then = _take(advice, names), [_ends(advice)]
    beside, again, ground = _beside(advice, names), _fetched_again(advice, names), _ground(advice, names)
    return [line for line in (first, beside, again, *then, ground, weak(advice.off_recorded), *advice.caveats) if line]


def as_values(advice: Advice | None, shown: Mapping[str, str] | None = None) -> dict[str, Any] | None:
    """Return the advice for programs: its fields, and its lines as `says`."""
    if advice is None:
        return None
    values = {"says": verdict(advice, shown), **msgspec.to_builtins(advice)}
    if isinstance(advice, AsSetAdvice):
        values["settings"] = [one._asdict() for one in given_in(advice.take.policy)]
    return values


def changed(advice: Advice, figures: Figures | None = None) -> tuple[Given, ...]:
    """Return the settings to change for a policy, by default the one to take: those that the row as set lacks."""
    return added((figures or advice.take).policy, advice.nothing.policy if advice.nothing else "")


def _open(advice: Advice, names: Mapping[str, str]) -> str:
    others = ", ".join(_brief(advice, one, names) for one in advice.open)
    return f"Open between {_brief(advice, advice.take, names)} and {others}."


def _set(advice: AsSetAdvice, names: Mapping[str, str]) -> str:
    if advice.open:
        return _open(advice, names)
    take, given = advice.take, changed(advice)
    as_set = f"with {'the default' if _by_default(advice) else 'your'} settings of {who(advice.recorders)}"
    if not given:
        why = "no other setting was tried"
        if advice.tried:
            why = f"none of {many(len(advice.tried), 'setting(s)')} tried {_saves_enough(advice)} "
            why += f"without losing more than {percent(MAY_LOSE[advice.goal])} % (ctxsim advise tries more)"
        return f"Change nothing: {why}. {size(take, advice.amount)} {as_set}, {_kept(take)}."
    instead = f" instead of {plain_size(advice.nothing, advice.amount)} {as_set}" if advice.nothing else ""
    return f"Set {told(given)}: {_ranged(advice)}{instead}{saves(take.share(advice.amount))}, {_kept(take)}."


def _saves_enough(advice: Advice) -> str:
    surely = "surely " if advice.ahead or advice.sampled else ""
    return f"{surely}saves {percent(HARDLY)} %"


def _by_default(advice: AsSetAdvice) -> bool:
    return advice.nothing is not None and not given_in(advice.nothing.policy)


def _builders(advice: AsSetAdvice, names: Mapping[str, str]) -> str:
    better = advice.builders
    if better is None:
        return ""
    name = names.get(better.policy, better.policy)
    return f"If you build the agent: {name}, {size(better, advice.amount)}, {_kept(better)}."


def _take(advice: Advice, names: Mapping[str, str]) -> str:
    take = advice.take
    nothing = _is_nothing(advice, take)
    name = "doing nothing" if nothing else names.get(take.policy, take.policy)
    amounts = size(take, advice.amount) if nothing else _amounts(advice)
    figures = f"{name}: {amounts}, {_kept(take)}."
    # Refusals are the first rule: the advised policy has the fewest.
    if take.failing * 2 > take.transcripts:
        return f"No policy tried gets through without refusals. The closest is {figures}"
    if advice.open:
        return _open(advice, names)
    if nothing:
        kept = "" if take.kept is None else f" that keeps {percent(1 - MAY_LOSE[advice.goal])} % of {USED}"
        what = {"usd": "of the bill", "tokens": "of the tokens", "peak": "of the largest requests"}[advice.amount]
        return f"Change nothing: no policy{kept} {_saves_enough(advice)} {what} without more refusals."
    least = 1 - MAY_LOSE[advice.goal]
    if take.kept is None or take.kept.value < least - 1e-9:
        refused = advice.nothing is not None and advice.nothing.refused > take.refused
        best = "the best of those with the fewest refusals" if refused else "the best"
        enough = f"{best} keeps less than {percent(least)} % of {USED}"
        return f"No policy to take: {f'what {best} loses is unknown' if take.kept is None else enough}. It is {figures}"
    return f"Take {figures}"


def _is_nothing(advice: Advice, figures: Figures) -> bool:
    return advice.nothing is not None and figures.policy == advice.nothing.policy


def _brief(advice: Advice, figures: Figures, names: Mapping[str, str]) -> str:
    """`mask:keep=10 (-12 %, keeps 94 %)`, or `changing nothing`."""
    if _is_nothing(advice, figures):
        return "changing nothing"
    own = isinstance(advice, AsSetAdvice)
    name = told(changed(advice, figures), False) if own else names.get(figures.policy, figures.policy)
    share = figures.share(advice.amount)
    kept = f", keeps {kept_percent(figures.kept.value)} %" if figures.kept else ""
    return f"{name} ({_change(share.value if share else 1.0)}{kept})"


def _beside(advice: Advice, names: Mapping[str, str]) -> str:
    less, cheaper = advice.losing_less, advice.cheaper
    said = [f"Losing less: {_brief(advice, less, names)}."] if less else []
    said += [f"Cheaper: {_brief(advice, cheaper, names)}{_unsure(advice, cheaper)}."] if cheaper else []
    return " ".join(said)


def _unsure(advice: Advice, cheaper: Figures) -> str:
    """What keeps a cheaper policy from being the answer if that is to change nothing; '' without a range."""
    share, kept = cheaper.share(advice.amount), cheaper.kept
    if not _is_nothing(advice, advice.take) or share is None or share.low is None or share.high is None:
        return ""
    if share.high >= 1:
        return f", with a range of {percent(share.low - 1)} to {percent(share.high - 1)} %"
    return f", but may keep only {kept_percent(kept.low)} %" if kept and kept.low is not None else ""


def _fetched_again(advice: Advice, names: Mapping[str, str]) -> str:
    """A line on how the answer holds if lost results are fetched again; '' if nothing is lost or known."""
    found, added = advice.again, _added(advice)
    if found is None or (added <= 0 and found.instead is None):
        return ""
    rate = advice.take.at_rate
    again = f"Fetching all lost results again adds {_amount(advice, added)}."
    parts = [f"{percent(rate)} % of lost results are fetched again." if rate else again]
    if found.turns is not None:
        less = "even then"
        if found.even_at is not None:
            ends = ("only if more", "all") if found.above else ("as long as less", "nothing")
            less = f"{ends[0]} than {percent(found.even_at)} % is fetched again; with {ends[1]} fetched again, it saves"
        seen = f"published measurements: {TURNS_SEEN[0]:.2f} to {TURNS_SEEN[1]:.2f}"
        parts.append(f"The policy saves {less} unless the agent takes {found.turns:.2f} times as many turns ({seen}).")
    if found.instead is not None and found.instead_at is not None:
        low, high = SEEN
        parts.append(
            f"If at least {percent(found.instead_at)} % is fetched again, take {_brief(advice, found.instead, names)}; "
            f"after compactions, recorded agents did so with {percent(low)} to {percent(high)} %."
        )
    return " ".join(parts)


def _added(advice: Advice) -> float:
    """The amount that fetching all lost results again adds to the answer; 0 if that isn't known."""
    return {"usd": advice.take.usd_again, "tokens": advice.take.tokens_again}.get(advice.amount) or 0.0


def _amount(advice: Advice, value: float) -> str:
    return f"{usd(value)} USD" if advice.amount == "usd" else f"{value:,.0f} tokens"


def _ends(advice: Advice) -> str:
    take, nothing = advice.take, advice.nothing
    parts = [f"Doing nothing: {size(nothing, advice.amount)}, {_refusals(nothing)}."] if nothing else []
    # A sample's least is an estimate too, and no bound.
    bound = advice.amount == "usd" and not advice.sampled
    if bound and take.usd_least is not None and take.usd and take.usd_least < take.usd:
        parts.append(f"No policy can cost less than {usd(take.usd_least)} USD and keep as much.")
    return " ".join(parts)


def _ground(advice: Advice, names: Mapping[str, str]) -> str:
    take = advice.take
    parts = [f"From {many(take.transcripts, 'transcript(s)')}{priced(take, advice.goal, advice.amount)}."]
    if isinstance(advice, AsSetAdvice):
        if _by_default(advice):
            parts.append("Replayed with default settings; --settings reads yours.")
        if unknown := take.transcripts - len(advice.recorders):
            parts.append(f"{unknown:,} were recorded by an unknown agent and are replayed without edits.")
        return " ".join([*parts, _how_sure(advice)] if advice.tried else parts)
    generated = "The conversation is generated: it compares policies and forecasts nothing."
    parts.append(generated if advice.generated else _how_sure(advice))
    if advice.alike:
        named = ", ".join(names.get(label, label) for label in advice.alike[:ALIKE_NAMED])
        more = f" and {len(advice.alike) - ALIKE_NAMED} more" if len(advice.alike) > ALIKE_NAMED else ""
        parts.append(f"These may be as good: {named}{more} (intervals overlap).")
    return " ".join(parts)


def priced(take: Figures, goal: str, amount: str) -> str:
    """Return how many transcripts have known prices, to go on after their number; '' if all have, or none matters."""
    if AMOUNT[goal] != "usd" or take.priced == take.transcripts:
        return ""
    return f", {take.priced:,} with known prices" + (", so tokens are compared" if amount != "usd" else "")


def _how_sure(advice: Advice) -> str:
    """The share of resamples in which the answer stays, and what ranges mean."""
    if advice.sampled:
        share = advice.take.share(advice.amount)
        known = share is None or share.low is not None
        chance = "One transcript drawn by chance tells no sampling error, so no saving is sure: draw more."
        error = "Ranges show the sampling error for this folder." if known else chance
        return f"With all transcripts the answer may differ. {error}"
    ahead = advice.ahead
    if ahead is None:
        return "From one session; the answer may not hold for others."
    shares = ", ".join(f"{percent(advice.wins.get(one.policy, 0.0))} %" for one in (advice.take, *advice.open))
    often = f"This stays the answer in {shares} of resamples of these sessions."
    if advice.open and advice.more is not None:
        more = f"about {advice.more:,}" if advice.more <= 10 * ahead else f"more than {10 * ahead:,}"
        often = f"They are the answer in {shares} of resamples of these sessions, in this order; "
        often += f"{more} more sessions may tell them apart."
    return f"{often} {ranges_of(ahead)}"


def ranges_of(ahead: int) -> str:
    """Return a sentence on what ranges mean, given the number of next sessions."""
    if ahead < LEAST:
        return f"{ahead} sessions are too few for intervals: the ranges' width comes from other projects."
    return f"With 90 % probability, a range contains the next {ahead:,} sessions' figure."


def weak(off_recorded: float | None) -> str:
    """Return a warning if keep-all is far off what was recorded, else ''."""
    if off_recorded is None or abs(off_recorded) <= FAR:
        return ""
    return f"Weak: keep-all is {100 * off_recorded:+.0f} % off what was recorded, so all figures may be off."


def usd(value: float) -> str:
    """Return dollars as text with as many digits as are useful: 0.0041, 0.478, 4.06, 54.89, 412."""
    digits = 4 if value < 0.01 else 3 if value < 1 else 2 if value < 100 else 0
    return f"{value:,.{digits}f}" if value else "0"


def size(figures: Figures, amount: str) -> str:
    """Return a policy's amount as text: dollars if they are compared and known, else tokens. A peak is explained."""
    mean = " of a transcript on average" if figures.transcripts > 1 else ""
    return plain_size(figures, amount) + (f" in the largest request{mean}" if amount == "peak" else "")


def plain_size(figures: Figures, amount: str) -> str:
    """Return the same without the explanation, to stand beside a text that has it."""
    if amount == "usd" and figures.usd is not None:
        return f"{usd(figures.usd)} USD"
    return f"{figures.peak_mean if amount == 'peak' else figures.tokens:,} tokens"


def _amounts(advice: Advice) -> str:
    """`412 to 431 USD instead of 655 (-37 %, -42 to -31)`."""
    instead = "" if advice.nothing is None else f" instead of {size(advice.nothing, advice.amount).partition(' ')[0]}"
    return f"{_ranged(advice)}{instead}{saves(advice.take.share(advice.amount))}"


def saves(share: Share | None) -> str:
    """Return ` (-37 %, -42 to -31)`: the share saved, with its interval; '' if it isn't known."""
    if share is None:
        return ""
    ends = ""
    if share.low is not None and share.high is not None:
        ends = f", {percent(share.low - 1)} to {percent(share.high - 1)}"
    return f" ({_change(share.value)}{ends})"


def _ranged(advice: Advice) -> str:
    """The answer's amount as a range, from no to all lost results fetched again; one number if both read the same."""
    take, added = advice.take, _added(advice)
    plain = size(take, advice.amount)
    if not added or take.at_rate:
        return plain
    amount = take.size(advice.amount) or 0.0
    low, high = (_amount(advice, value).partition(" ") for value in sorted((amount, amount + added)))
    return plain if low == high else f"{low[0]} to {high[0]} {high[2]}"


def _change(share: float) -> str:
    return f"{100 * (share - 1):+.0f} %"


def percent(value: float) -> str:
    """Return a share as a whole number of per cent."""
    return f"{round(100 * value) + 0}"


def kept_percent(value: float) -> str:
    """Return a kept share as a whole number of per cent, or with one more digit if rounding would lift it to one of
    BARS that it doesn't reach.
    """
    lifted = any(bar - 0.01 < value < bar - 1e-9 and round(100 * value) >= round(100 * bar) for bar in BARS)
    return f"{floor(1000 * value) / 10:.1f}" if lifted else percent(value)


def _kept(figures: Figures) -> str:
    """What a policy keeps, and how many of its calls are refused."""
    if figures.kept is None:
        return f"no later call used an old result, so what it loses is unknown, {_refusals(figures)}"
    bracket = ""
    if figures.kept_low is not None and figures.kept_high is not None:
        bracket = f" ({kept_percent(figures.kept_low)}..{kept_percent(figures.kept_high)}, worst to best summaries)"
    return f"keeps {kept_percent(figures.kept.value)} %{bracket} of {USED}, {_refusals(figures)}"


def _refusals(figures: Figures) -> str:
    if not figures.refused:
        return "no call refused"
    return f"{figures.refused:,} of {figures.calls:,} calls refused (counted as if answered)"
