"""How far the policies were compared with the agents and frameworks that they are named after.

    python -m evidence.agents [POLICY...]
    python -m evidence.agents --write
    python -m evidence.agents --measure [FOLDER]

The first prints what docs/equality.toml, docs/equality-frameworks.toml, evidence/driven.csv and the policies themselves
say. `--write` puts the table of driven agents into docs/agents.md. `--measure` prints what docs/equality.toml should
say: decisions of the reduced runs in tests/answers/validation, and with a folder of recorded sessions their compactions.
"""

from __future__ import annotations

import gzip
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

from ctxsim.errors import InputError
from ctxsim.policies import open_policy, registered_policies
from ctxsim.readers import read_source, sources
from ctxsim.transcript import Transcript
from evidence.decisions import decisions
from evidence.driven import DRIVEN, seen
from evidence.observed import decided, read_runs
from evidence.pages import put

ROOT = Path(__file__).parents[1]
EQUALITY = (ROOT / "docs" / "equality.toml", ROOT / "docs" / "equality-frameworks.toml")
RUNS = ROOT / "tests" / "answers" / "validation" / "observed.json"
OLD_RESERVE = (2, 1, 19)
"""The last version of Claude Code seen to reserve 32,000 tokens; 2.1.25 is the first seen to reserve 20,000."""


def equality() -> dict[str, dict[str, Any]]:
    """Return by policy what was compared, for policies of agents and of frameworks."""
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
            # At the end there is no next request whose results could be compared.
            if decision.recorded and decision.made and decision.moment != "end":
                counts["both"] += 1
                counts["held"] += decision.held == decision.would_hold
    return {
        policy: {"decisions": [counts["equal"], counts["tried"]], "held": [counts["held"], counts["both"]]}
        for policy, counts in found.items()
    }


class Recorded(NamedTuple):
    """One automatic compaction of a recorded session: the call after it, and the calls at which the policy fires."""

    policy: str
    name: str
    call: int
    fired: list[int]
    """Of this call and the 3 before it, those at which the policy fires."""

    @property
    def near(self) -> bool:
        """Whether the policy fires at the same call or one before."""
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
    """Return the policy and the window of a session's agent; None if there is no policy, or no window is known."""
    window = next((call.window for call in transcript.calls if call.window), None)
    match transcript.format:
        case "claude-code":
            version = re.search(r'"version":"(\d+)\.(\d+)\.(\d+)"', _text(Path(transcript.name)))
            old = version is not None and tuple(map(int, version.groups())) <= OLD_RESERVE
            # Recordings don't show which results the agent had cleared by then.
            return f"claude-code:{'version=2.1.19,' * old}micro=off", window or 200_000
        case "codex-rollout":
            return ("codex", window) if window else None
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


# what is printed

AGENTS = ("decisions", "held", "recorded", "messages")
FRAMEWORKS = ("messages",)
PAGE = ROOT / "docs" / "agents.md"
BEGIN, END = "<!-- driven -->", "<!-- end of driven -->"


def driven() -> dict[str, tuple[dict[str, str], Counter[str]]]:
    """Return by agent what `evidence.driven` saw: a row with version, day and policy, and sums over its runs."""
    found: dict[str, tuple[dict[str, str], Counter[str]]] = {}
    for one in seen():
        _, sums = found.setdefault(one["agent"], (one, Counter()))
        sums.update({key: int(one[key]) for key in ("equal", "calls", "held", "both")})
    return found


def table() -> str:
    """Return the table of docs/agents.md: agents that were driven, beside their policies."""
    lines = ["| agent | policy | day | decided the same | kept the same results |", "|---|---|---|--:|--:|"]
    for agent, (one, sums) in sorted(driven().items()):
        kept = f"{sums['held']} of {sums['both']}" if sums["both"] else "-"
        lines.append(f"| {agent} {one['version']} | `{one['policy'].partition(':')[0]}` | {one['day']} "
                     f"| {sums['equal']} of {sums['calls']} | {kept} |")  # fmt: skip
    return "\n".join(lines)


def listing(wanted: Sequence[str]) -> Iterator[str]:
    """Yield all that is known of each policy named like an agent, a vendor's server or a framework, or of those wanted."""
    known, said = registered_policies(), equality()
    for family, columns in (("agents", AGENTS), ("frameworks", FRAMEWORKS)):
        for name in sorted(name for name, cls in known.items() if cls.family == family):
            if wanted and name not in wanted:
                continue
            cls, one = known[name], said.get(name, {})
            yield f"{name}: {cls.source}, {cls.version}, read on {cls.read_on}"
            if family == "agents" and name in driven():
                first, sums = driven()[name]
                yield (f"    driven: {sums['equal']} of {sums['calls']}, held: {sums['held']} of {sums['both']} "
                       f"({first['version']}, {first['day']})")  # fmt: skip
            yield from (f"    {key}: {one[key][0]} of {one[key][1]}" for key in columns if key in one)
            if text := one.get("differs"):
                yield fill(text, 120, initial_indent="    ", subsequent_indent="    ")
    for one in [] if wanted else tomllib.loads(DRIVEN.read_text(encoding="utf-8"))["undriven"]:
        yield f"{one['agent']} isn't driven: {one['why']}"


def main() -> None:
    """Print the comparisons or the measurements, or write the table."""
    options = {word for word in sys.argv[1:] if word.startswith("--")}
    names = [word for word in sys.argv[1:] if word not in options]
    if "--write" in options:
        put(table(), PAGE, BEGIN, END)
    elif "--measure" in options:
        for policy, pairs in observed().items():
            print(policy, pairs)
        for folder in names:
            for one in recorded(Path(folder)):
                print(one.policy, one.name, "call", one.call, "fires at", one.fired, "" if one.near else "MISSED")
    else:
        print(*listing(names), sep="\n")


if __name__ == "__main__":
    main()
