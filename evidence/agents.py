"""The page of named policies: how far each was compared with what it is named after.

    python -m evidence.agents > docs/agents.md
    python -m evidence.agents --measure [FOLDER]

Without options the page, from docs/equality.toml and the policies' own sources. `--measure` prints what that file should
say: decisions of the reduced runs in tests/answers/validation, and with a folder of recorded sessions their compactions.
"""

from __future__ import annotations

import gzip
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ctxsim.errors import InputError
from ctxsim.policies import Policy, open_policy, registered_policies
from ctxsim.readers import read_source, sources
from ctxsim.transcript import Transcript
from evidence.decisions import decisions
from evidence.driven import seen
from evidence.observed import decided, read_runs

ROOT = Path(__file__).parents[1]
EQUALITY = (ROOT / "docs" / "equality.toml", ROOT / "docs" / "equality-frameworks.toml")
RUNS = ROOT / "tests" / "answers" / "validation" / "observed.json"
OLD_RESERVE = (2, 1, 19)
"""The last version of Claude Code seen to reserve 32,000 tokens; 2.1.25 is the first seen to reserve 20,000."""


def equality() -> dict[str, dict[str, Any]]:
    """Return what was compared, agents' policies and frameworks', by policy."""
    agents, frameworks = (tomllib.loads(file.read_text(encoding="utf-8")) for file in EQUALITY)
    return {name: frameworks.get(name, {}) | agents.get(name, {}) for name in agents | frameworks}


# what is measured


def observed(runs: Path = RUNS) -> dict[str, dict[str, list[int]]]:
    """Return decisions and held results, equal and tried, by policy, of reduced runs of real agents."""
    found: dict[str, Counter[str]] = {}
    for run in read_runs(runs):
        counts = found.setdefault(run.label.partition(":")[0], Counter())
        for decision in decided(run):
            counts["tried"] += 1
            counts["equal"] += decision.equal
            # What stood in the request after the last one was never sent.
            if decision.recorded and decision.made and decision.moment != "end":
                counts["both"] += 1
                counts["held"] += decision.held == decision.would_hold
    return {
        policy: {"decisions": [counts["equal"], counts["tried"]], "held": [counts["held"], counts["both"]]}
        for policy, counts in found.items()
    }


class Recorded(NamedTuple):
    """One automatic compaction of a recorded session: the call before which it came, and where the policy fires."""

    policy: str
    name: str
    call: int
    fired: list[int]
    """The last calls up to this one, from 3 before, at which it does."""

    @property
    def near(self) -> bool:
        """Whether it fires at the same call or one before."""
        return self.call in self.fired or self.call - 1 in self.fired


def recorded(folder: Path) -> Iterator[Recorded]:
    """Yield the automatic compactions of the sessions under a folder, of the agents that have a policy here."""
    for source in sources(str(folder)):
        try:
            found = [transcript for transcript in read_source(source) if transcript.compactions]
        except InputError:
            continue
        for transcript in found:
            if spoken_for := _label(transcript):
                yield from _compactions(transcript, *spoken_for)


def _label(transcript: Transcript) -> tuple[str, int] | None:
    """The policy and the window of a session's agent."""
    window = next((call.window for call in transcript.calls if call.window), None)
    match transcript.format:
        case "claude-code":
            version = re.search(r'"version":"(\d+)\.(\d+)\.(\d+)"', _text(Path(transcript.name)))
            old = version is not None and tuple(map(int, version.groups())) <= OLD_RESERVE
            return "claude-code:version=2.1.19" if old else "claude-code", window or 200_000
        case "codex-rollout":
            # Its log states what is usable: 95 % of the window.
            return ("codex", round(window / 0.95)) if window else None
        case "pi":
            return "pi", window or 200_000
    return None


def _text(file: Path) -> str:
    data = file.read_bytes()
    return (gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf-8", "replace")


def _compactions(transcript: Transcript, label: str, window: int) -> Iterator[Recorded]:
    decided = list(decisions(transcript, open_policy(label), window, at_end=label == "pi"))
    fired = {decision.call for decision in decided if decision.made}
    for compaction in transcript.compactions:
        if compaction.started_by != "manual":
            near = [call for call in range(compaction.call - 3, compaction.call + 1) if call in fired]
            yield Recorded(label.partition(":")[0], transcript.name, compaction.call, near)


# the page


def page() -> str:
    """Return docs/agents.md."""
    known, said = registered_policies(), equality()
    agents = [_row(name, known[name], said.get(name, {}), AGENTS) for name in _of("agents", known)]
    frameworks = [_row(name, known[name], said.get(name, {}), FRAMEWORKS) for name in _of("frameworks", known)]
    others = [f"- `{agent}` beside `{rows['policy']}`: {said}" for agent, rows, said in _without_policy(known)]
    parts = [HEAD, _table(agents), *others, *(f"- `{name}`: {text}" for name, text in _differs("agents", known, said))]
    if frameworks:
        parts += ["", FRAMEWORKS_HEAD, _table(frameworks)]
        parts += [f"- `{name}`: {text}" for name, text in _differs("frameworks", known, said)]
    return "\n".join([*parts, "", NOT_DRIVEN, FOOT]) + "\n"


AGENTS = ("decisions", "held", "recorded", "messages")
FRAMEWORKS = ("messages",)


def driven() -> dict[str, str]:
    """Return by policy what `evidence.driven` saw: the agent's version, the day, decisions and held results."""
    found: dict[str, list[dict[str, str]]] = {}
    for one in seen():
        found.setdefault(one["agent"], []).append(one)
    return {agent: _driven(rows) for agent, rows in found.items()}


def _driven(rows: list[dict[str, str]]) -> str:
    equal, calls, held, both = (sum(int(one[key]) for one in rows) for key in ("equal", "calls", "held", "both"))
    kept = f", held {held} of {both}" if both else ""
    return f"{equal} of {calls}{kept} ({rows[0]['version']}, {rows[0]['day']})"


def _of(family: str, known: dict[str, type[Policy]]) -> list[str]:
    return sorted(name for name, cls in known.items() if cls.family == family)


def _row(name: str, cls: type[Policy], said: dict[str, Any], columns: tuple[str, ...]) -> list[str]:
    pairs = [f"{key} {said[key][0]} of {said[key][1]}" for key in columns if key in said]
    live = [f"driven {driven()[name]}"] if cls.family == "agents" and name in driven() else []
    return [f"`{name}`", cls.source, f"{cls.version}, {cls.read_on}", ", ".join([*live, *pairs]) or "-"]


def _without_policy(known: dict[str, type[Policy]]) -> Iterator[tuple[str, dict[str, str], str]]:
    """Agents that were driven beside another's policy."""
    by_agent = {one["agent"]: one for one in seen()}
    for agent, said in driven().items():
        if agent not in known:
            yield agent, by_agent[agent], f"driven {said}"


def _table(rows: list[list[str]]) -> str:
    lines = [["policy", "source", "version, read on", "equal"], ["---"] * 4, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _differs(family: str, known: dict[str, type[Policy]], said: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for name in _of(family, known):
        if text := said.get(name, {}).get("differs"):
            yield name, _wrapped(name, text)


def _wrapped(name: str, text: str) -> str:
    lines, width = [f"- `{name}`:"], 118
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > width:
            lines.append(" ")
        lines[-1] += f" {word}"
    return "\n".join(lines).removeprefix(f"- `{name}`: ")


NOT_DRIVEN = """\
## Agents that don't run here

They were tried on 2026-11-24 and 25, on Linux x64 with Node 20, Python 3.11 and 3.12:

| agent, version | why it isn't driven |
| --- | --- |
| pi 0.99.1 to 1.5.2 | its packages need `pi-codemode` or `chord` in versions that the registry doesn't have; 0.87.1 is the newest that installs. The package of 1.5.2 decides by the same code: its compaction differs in the size of summaries alone |
| Kilo Code 7.8.1 | its platform package is missing; 7.7.9 installs |
| Crush 0.96.1 | the npm package downloads its program from elsewhere when it is installed |
| Letta Code 0.32.18 | installs; its own server holds the conversation; no endpoint was tried |
| Goose | no package of its program was found in npm or Debian |
| Kimi CLI 1.52.0, Python 3.12 | it prints that it is no longer maintained, and sends nothing; 1.47.0 ends with a TypeError |
| Mistral Vibe 3.0.3 | it pins a version of `certifi` that the registry doesn't have; 3.0.2 installs |
| Deep Agents Code 0.2.2 | for Python 3.14 alone |
| Oh My Pi 18.3.4 | for Bun alone |
| Hermes 0.19.0 | installs; it was not driven, and no policy has its name |
| Aider 0.86.2 | it calls no tools: a conversation of tool calls can't be played to it |
"""

HEAD = """\
# Policies that people run

These policies imitate agents, servers of vendors, and frameworks: their defaults, their names of parameters, and their
defects. `ctxsim bench --policy agents` runs them beside the bounds. `ctxsim list policies NAME` explains one. The
parameter `summary_tokens`, the length of a summary, is ctxsim's own.

## Agents and vendors

The column `equal` says how often the policy did the same as the original:

- `driven`: requests of the real agent, in this version and on this day, in the conversations of `evidence/driven.toml`.
  A request counts if both compact there, or neither. `python -m evidence.driven --newest` repeats this with the newest
  version.
- `decisions`: the same as `driven`, for earlier runs of the agent.
- `held`: compactions by both, after which the next request held the same tool results.
- `recorded`: automatic compactions in recorded sessions that the policy makes at the same call or one call before.
- `messages`: calls at which the policy sends exactly the messages that the original code returns.
"""

FRAMEWORKS_HEAD = """\
## Frameworks
"""

FOOT = """\
The policies leave out what an agent does beside its conversation: titles, loop checks, background summaries of calls.

`python -m evidence.agents > docs/agents.md` writes this page from the policies, `docs/equality.toml` and
`docs/equality-frameworks.toml`. With `--measure` it prints the decisions made in real runs, and the
compactions found in a folder of recorded sessions. `python -m evidence.observed FOLDER` adds runs from recordings of an
endpoint."""


def main() -> None:
    """Print the page, or what was measured."""
    if "--measure" not in sys.argv:
        print(page(), end="")
        return
    for policy, pairs in observed().items():
        print(policy, pairs)
    for folder in sys.argv[2:]:
        for one in recorded(Path(folder)):
            print(one.policy, one.name, "call", one.call, "fires at", one.fired, "" if one.near else "MISSED")


if __name__ == "__main__":
    main()
