"""Settings, agents and versions as text for users."""

from collections.abc import Sequence

from ctxsim.plugins.labels import named, split
from ctxsim.policies import agent_of
from ctxsim.policies.agents.given import Given, parsed
from ctxsim.policies.agents.lines import where
from ctxsim.policies.agents.settings import shown
from ctxsim.policies.agents.versions import dotted, order_of
from ctxsim.readers.agent_folders import NAMES
from ctxsim.results.run_info import Recorder


def given_in(label: str) -> tuple[Given, ...]:
    """Return the settings of a label `as-set`."""
    text = named(label)[1]
    return parsed(split(f"link:{text}")[1].get("given", "")) if text else ()


def added(label: str, baseline: str) -> tuple[Given, ...]:
    """Return the settings of a label `as-set` that another label lacks."""
    base = set(given_in(baseline))
    return tuple(one for one in given_in(label) if one not in base)


def name_of(format: str) -> str:
    """Return the name of the agent that writes a format, as people call it; the format itself if there is none."""
    return NAMES.get(format, format)


def title_of(agent: str) -> str:
    """Return an agent's name as people write it."""
    return next((name for format, name in NAMES.items() if agent_of(format) == agent), agent)


def who(recorders: Sequence[Recorder]) -> str:
    """Return the agents with their versions: `Claude Code 2.1.5 to 2.1.42, Codex 0.58.0`."""
    versions: dict[str, set[str]] = {}
    for one in recorders:
        versions.setdefault(one.agent, set()).update([one.version] if dotted(one.version) else [])
    return ", ".join(f"{title_of(agent)} {_span(its)}".strip() for agent, its in versions.items())


def _span(versions: set[str]) -> str:
    order = sorted(versions, key=order_of)
    return order[0] if len(order) == 1 else f"{order[0]} to {order[-1]}" if order else ""


def told(given: Sequence[Given], files: bool = True) -> str:
    """Return settings in a line: `autoCompactWindow = 200000 in ~/.claude/settings.json`."""
    parts = []
    for one in given:
        parts.append(f"{one.key} = {shown(one.value)}" + (f" in {where(one.agent, one.key)}" if files else ""))
    return " and ".join(parts)
