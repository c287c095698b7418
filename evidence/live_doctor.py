"""The doctor over agents: `python -m evidence.live_doctor [AGENT...]` drives them and fills `live_doctor.csv`.

Each agent of `driven.toml` is driven through the scenario of each defect that can be played to it, in the pinned
version. The table in docs/doctor.md is rewritten from all rows. Two agents are driven at a time.
"""

from __future__ import annotations

import csv
import sys
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from threading import Lock
from typing import Any

from ctxsim.api.defects import diagnose_driven
from ctxsim.errors import CtxsimError
from ctxsim.runs.doctor import Diagnosis, defect_names
from ctxsim.runs.driven import UNPLAYED
from evidence.driven import DRIVEN
from evidence.pages import put

SEEN = Path(__file__).with_suffix(".csv")
PAGE = Path(__file__).parents[1] / "docs" / "doctor.md"
FIELDS = ("agent", "version", "day", "defect", "has", "seen", "at_most")
BEGIN, END = "<!-- driven -->", "<!-- end of driven -->"
TOO_LONG = ("chat-without-tools", "stubs-pile-up")
"""Defects that take too long: fifty prompts are fifty starts of an agent, and 401 calls exceed its time limit."""
_ONE = Lock()


def rows() -> list[dict[str, Any]]:
    """Return the rows written so far."""
    if not SEEN.exists():
        return []
    with SEEN.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write(agent: str, version: str, one: Diagnosis) -> None:
    made = {
        "agent": agent, "version": version, "day": date.today().isoformat(), "defect": one.defect.name,
        "has": "yes" if one.has_it else "no", "seen": f"{one.value:g}", "at_most": f"{one.defect.expectation.at_most:g}",
    }  # fmt: skip
    with _ONE:
        print(*made.values(), flush=True)
        every = [row for row in rows() if (row["agent"], row["defect"]) != (agent, one.defect.name)] + [made]
        with SEEN.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(every, key=lambda row: (row["agent"], row["defect"])))


def examined(case: dict[str, Any]) -> None:
    """Drive one agent through every scenario, and write each diagnosis to the file as it comes."""
    window = case.get("believes") if case["name"] == "cline" else None
    names = [name for name in defect_names() if name not in (*UNPLAYED, *TOO_LONG)]
    try:
        done = diagnose_driven(
            [case["name"]], names, install=True, window=window, faults=case.get("faults", ()),
            told=lambda one: _write(case["name"], one.policy.partition("@")[2], one),
        )  # fmt: skip
    except CtxsimError as error:
        print(f"{case['name']}: {error}", file=sys.stderr)
        return
    for line in done.untold:
        print(line, file=sys.stderr)


def table(found: Iterable[dict[str, Any]]) -> str:
    """Return the page's table: each agent with the defects that it has, and how many were judged."""
    by_agent: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in found:
        by_agent.setdefault((row["agent"], row["version"]), []).append(row)
    lines = ["| agent | day | defects | judged |", "|---|---|---|--:|"]
    for (agent, version), several in sorted(by_agent.items()):
        has = ", ".join(row["defect"] for row in several if row["has"] == "yes")
        lines.append(f"| {agent} {version} | {max(row['day'] for row in several)} | {has or 'none'} | {len(several)} |")
    return "\n".join(lines)


def main(agents: list[str]) -> None:
    """Drive the agents, and write the page."""
    cases = tomllib.loads(DRIVEN.read_text(encoding="utf-8"))["agent"]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(examined, [case for case in cases if not agents or case["name"] in agents]))
    put(table(rows()), PAGE, BEGIN, END)


if __name__ == "__main__":
    main(sys.argv[1:])
