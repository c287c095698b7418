"""The answer in lines: what to set in an agent's own file, or which policy to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ctxsim.answers.advice import verdict as plain
from ctxsim.answers.advice.advice import FAR, MAY_LOSE, Advice
from ctxsim.answers.advice.baseline import AsSetAdvice
from ctxsim.answers.advice.figures import Figures
from ctxsim.answers.advice.honoured import contradictions
from ctxsim.answers.advice.rule import HARDLY
from ctxsim.answers.advice.verdict import fetched_again, how_sure, ranged, usd
from ctxsim.labels import named, split
from ctxsim.policies.agents.given import Given, agent_of, parsed
from ctxsim.policies.agents.lines import where
from ctxsim.policies.agents.versions import is_version, numbers_of
from ctxsim.readers.agent_folders import NAMES
from ctxsim.results.info import Recorder


def verdict(advice: Advice | None, shown: Mapping[str, str] | None = None) -> list[str]:
    """Return the answer as a few lines, and what it leaves out. `shown` has labels in a shorter form."""
    if not isinstance(advice, AsSetAdvice):
        return plain.verdict(advice, shown)
    lines = [
        _first(advice), _beside(advice), fetched_again(advice, lambda one: _brief(advice, one)),
        *contradictions(advice.recorders), _builders(advice, shown or {}), _ground(advice),
    ]  # fmt: skip
    if advice.off_recorded is not None and abs(advice.off_recorded) > FAR:
        lines.append(f"Weak: keep-all is {100 * advice.off_recorded:+.0f} % off what was recorded, as are all figures.")
    return [line for line in (*lines, *advice.caveats) if line]


def as_values(advice: Advice | None, shown: Mapping[str, str] | None = None) -> dict[str, Any] | None:
    """Return the advice for programs: its fields, and its lines as `says`."""
    if not isinstance(advice, AsSetAdvice):
        return plain.as_values(advice, shown)
    values = msgspec.to_builtins(advice)
    settings = [{"agent": one.agent, "key": one.key, "value": one.value} for one in given_in(advice.take.policy)]
    return {"says": verdict(advice, shown), **values, "settings": settings}


def given_in(label: str) -> tuple[Given, ...]:
    """Return the settings of a label `as-set`."""
    text = named(label)[1]
    return parsed(split(f"link:{text}")[1].get("given", "")) if text else ()


def changed(advice: AsSetAdvice) -> tuple[Given, ...]:
    """Return the settings to change: those of the label to take that the row as set hasn't."""
    base = set(given_in(advice.nothing.policy)) if advice.nothing else set()
    return tuple(one for one in given_in(advice.take.policy) if one not in base)


def name_of(format: str) -> str:
    """Return the agent that writes a format, as people call it; the format where nobody's name is known."""
    return NAMES.get(format, format)


def title_of(agent: str) -> str:
    """Return an agent's name as people write it."""
    return next((name for format, name in NAMES.items() if agent_of(format) == agent), agent)


def who(recorders: Sequence[Recorder]) -> str:
    """Return the agents with their versions: `Claude Code 2.1.5 to 2.1.42, Codex 0.58.0`."""
    versions: dict[str, set[str]] = {}
    for one in recorders:
        versions.setdefault(one.agent, set()).update([one.version] if is_version(one.version) else [])
    return ", ".join(f"{title_of(agent)} {_span(its)}".strip() for agent, its in versions.items())


def _span(versions: set[str]) -> str:
    order = sorted(versions, key=numbers_of)
    return order[0] if len(order) == 1 else f"{order[0]} to {order[-1]}" if order else ""


def told(given: Sequence[Given], files: bool = True) -> str:
    """Return settings in a line: `autoCompactWindow = 200000 in ~/.claude/settings.json`."""
    parts = []
    for one in given:
        value = str(one.value).lower() if isinstance(one.value, bool) else one.value
        parts.append(f"{one.key} = {value}" + (f" in {where(one.agent, one.key)}" if files else ""))
    return " and ".join(parts)


def _first(advice: AsSetAdvice) -> str:
    take, nothing, own = advice.take, advice.nothing, _own(advice)
    as_set = f"as {own} is set"
    given = changed(advice)
    if advice.open:
        return f"Open between {' and '.join(_brief(advice, one) for one in (take, *advice.open))}."
    if not given:
        tried = f"Change nothing: none of the {len(advice.tried)} settings tried saves"
        least = f"{_percent(HARDLY)} % without losing more than {_percent(MAY_LOSE[advice.goal])} %."
        none = "Change nothing: no other setting was tried."
        return f"{f'{tried} {least}' if advice.tried else none} {_size(advice, take)} {as_set}, {_kept(take)}."
    share = take.share(advice.amount)
    change = f" ({100 * (share.value - 1):+.0f} %" if share else ""
    if share and share.low is not None and share.high is not None:
        change += f", {_percent(1 - share.high)}..{_percent(1 - share.low)}"
    instead = f" instead of {_size(advice, nothing)} {as_set}" if nothing else ""
    size = ranged(advice, take, _size(advice, take))
    return f"Set {told(given)}: {size}{instead}{change and change + ')'}, {_kept(take)}."


def _brief(advice: AsSetAdvice, figures: Figures) -> str:
    """`autoCompactWindow = 200000 (-12 %, keeps 94 %)`, or `changing nothing`."""
    given = [one for one in given_in(figures.policy) if one in changed(msgspec.structs.replace(advice, take=figures))]
    share = figures.share(advice.amount)
    if not given or share is None:
        return "changing nothing"
    kept = f", keeps {_percent(figures.kept.value)} %" if figures.kept else ""
    return f"{told(given, False)} ({100 * (share.value - 1):+.0f} %{kept})"


def _own(advice: AsSetAdvice) -> str:
    agents = {one.agent for one in advice.recorders}
    return f"your {who(advice.recorders)}" if len(agents) == 1 else f"each agent ({who(advice.recorders)})"


def _beside(advice: AsSetAdvice) -> str:
    parts = []
    for word, figures in (("Losing less", advice.losing_less), ("Cheaper", advice.cheaper)):
        if figures is not None and (share := figures.share(advice.amount)):
            kept = f", keeps {_percent(figures.kept.value)} %" if figures.kept else ""
            parts.append(f"{word}: {told(given_in(figures.policy), False)} ({100 * (share.value - 1):+.0f} %{kept}).")
    return " ".join(parts)


def _builders(advice: AsSetAdvice, shown: Mapping[str, str]) -> str:
    better = advice.builders
    if better is None:
        return ""
    name = shown.get(better.policy, better.policy)
    return f"If you build the agent: {name}, {_size(advice, better)}, {_kept(better)}."


def _ground(advice: AsSetAdvice) -> str:
    take = advice.take
    parts = [f"From {take.transcripts:,} transcript{'s' if take.transcripts > 1 else ''}."]
    if unknown := take.transcripts - len(advice.recorders):
        parts.append(f"{unknown:,} were recorded by an unknown agent and are left as they are.")
    if advice.ahead is not None:
        parts += how_sure(advice, advice.ahead)
    elif advice.tried:
        parts.append("From one session; it may not hold for others.")
    return " ".join(parts)


def _size(advice: Advice, figures: Figures) -> str:
    if advice.amount == "usd" and figures.usd is not None:
        return f"{usd(figures.usd)} USD"
    return f"{figures.peak_mean if advice.amount == 'peak' else figures.tokens:,} tokens"


def _kept(figures: Figures) -> str:
    kept = f"keeps {_percent(figures.kept.value)} % of what later calls used" if figures.kept else "nothing was lost"
    refused = f"{figures.refused:,} of {figures.calls:,} calls refused" if figures.refused else "no call refused"
    return f"{kept}, {refused}"


def _percent(value: float) -> str:
    return f"{round(100 * value) + 0}"
