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
from evidence.observed import decided, read_runs

ROOT = Path(__file__).parents[1]
EQUALITY = (ROOT / "docs" / "equality.toml", ROOT / "docs" / "equality-frameworks.toml")
RUNS = ROOT / "tests" / "answers" / "validation" / "observed.json"
OLD_RESERVE = (2, 1, 19)
"""The last version of Claude Code seen to reserve 32,000 tokens; 2.1.25 is the first seen to reserve 20,000."""


def equality() -> dict[str, dict[str, Any]]:
    """Return what was compared, agents' policies and frameworks', by policy."""
    tables = [tomllib.loads(file.read_text(encoding="utf-8")) for file in EQUALITY]
    return {name: said for table in tables for name, said in table.items()}


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
    parts = [HEAD, _table(agents), *(f"- `{name}`: {text}" for name, text in _differs("agents", known, said))]
    if frameworks:
        parts += ["", FRAMEWORKS_HEAD, _table(frameworks)]
        parts += [f"- `{name}`: {text}" for name, text in _differs("frameworks", known, said)]
    return "\n".join([*parts, "", FOOT]) + "\n"


AGENTS = ("decisions", "held", "recorded", "messages")
FRAMEWORKS = ("messages",)


def _of(family: str, known: dict[str, type[Policy]]) -> list[str]:
    return sorted(name for name, cls in known.items() if cls.family == family)


def _row(name: str, cls: type[Policy], said: dict[str, Any], columns: tuple[str, ...]) -> list[str]:
    pairs = [f"{key} {said[key][0]} of {said[key][1]}" for key in columns if key in said]
    return [f"`{name}`", cls.source, f"{cls.version}, {cls.read_on}", ", ".join(pairs) or "-"]


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


HEAD = """\
# Policies that people run

Policies with the names of agents, of vendors' servers and of frameworks, with the defaults that are shipped, upstream's
names for parameters, and upstream's defects. `ctxsim bench --policy agents` runs them beside the bounds.
`ctxsim list policies NAME` explains one. `summary_tokens` is ours: how long a summary is.

## Agents and vendors

`equal` says what was compared with the original:

- `decisions`: a real agent ran against an endpoint that plays a model. At so many of its requests the policy, told the
  same usage, compacts where the agent did, and not where it didn't.
- `held`: after a compaction that both made, the same tool results stood in the next request.
- `recorded`: automatic compactions in recorded sessions that the policy makes at the same call or one call before.
- `messages`: calls at which every message is the one that the upstream code returned.
"""

FRAMEWORKS_HEAD = """\
## Frameworks
"""

FOOT = """\
What an agent does beside its conversation is left out: titles, loop checks, background summaries of single calls.

`python -m evidence.agents > docs/agents.md` writes this page from the policies, `docs/equality.toml` and
`docs/equality-frameworks.toml`. With `--measure` it prints decisions over real runs, and the compactions of a folder of
recorded sessions. `python -m evidence.observed FOLDER` adds runs from recordings of an endpoint."""


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
