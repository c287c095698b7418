"""Agents x settings x values x versions, each run offline: `python -m evidence.settings_honoured` fills its page.

Results go to `settings_honoured.csv`, line by line; what stands there isn't run again. `--again AGENT` runs that one
again, `--table` runs nothing. Agents are looked for as `ctxsim drive` does; `--install` installs them.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ctxsim.api.probing import check_setting
from ctxsim.errors import CtxsimError
from evidence.pages import put

TRIED = Path(__file__).with_suffix(".toml")
SEEN = Path(__file__).with_suffix(".csv")
FIELDS = ("agent", "version", "model", "key", "value", "beside", "verdict", "firing", "lower", "upper", "expected",
          "expected_firing", "inside", "unit", "window", "first", "calls", "seconds", "day")  # fmt: skip


class Case(NamedTuple):
    """One setting with one value, beside others, for one model and version; '' is the pinned one."""

    agent: str
    version: str
    model: str
    key: str
    value: Any
    beside: dict[str, Any]

    @property
    def name(self) -> tuple[str, ...]:
        return (self.agent, self.version, self.model, self.key, json.dumps(self.value), json.dumps(self.beside))


def version_of(agent: str) -> str:
    """Return the version of an agent that is tried: the one in the list, else the pinned one."""
    from ctxsim.live.agent import load_agent

    version: str = _tried()["version"].get(agent) or load_agent(agent).version
    return version


@cache
def _tried() -> dict[str, Any]:
    return tomllib.loads(TRIED.read_text(encoding="utf-8"))


def cases() -> Iterator[Case]:
    """Yield all cases, in the order of the list."""
    from ctxsim.live.agent import load_agent

    for one in _tried()["try"]:
        for version in one.get("versions", [version_of(one["agent"])]):
            for model in one.get("models", [load_agent(one["agent"]).probe.model]):
                for value in one["values"]:
                    yield Case(one["agent"], version, model, one["key"], value, one.get("beside", {}))


def seen() -> list[dict[str, str]]:
    """Return the rows written so far."""
    if not SEEN.exists():
        return []
    with SEEN.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def ran(case: Case, install: bool) -> dict[str, Any]:
    """Run one case and return its row."""
    given = {case.key: case.value, **case.beside}
    done = check_setting(case.agent, given, version=case.version, model=case.model, install=install)
    row = {name: getattr(done, name) for name in FIELDS if hasattr(done, name)}
    return {
        **row, "value": json.dumps(case.value), "beside": json.dumps(case.beside), "seconds": round(done.seconds, 1),
        "inside": int(done.inside), "day": date.today().isoformat(),
    }  # fmt: skip


def name_of(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the name of a row's case."""
    return tuple(str(row[name]) for name in ("agent", "version", "model", "key", "value", "beside"))


def run(again: list[str], install: bool, jobs: int) -> None:
    """Run the cases that have no row, and write each row as it comes."""
    rows = [row for row in seen() if row["agent"] not in again]
    known = {name_of(row) for row in rows}
    wanted = list(cases())
    missing = [case for case in wanted if case.name not in known]

    def tried(case: Case) -> tuple[Case, dict[str, Any] | None, str]:
        try:
            return case, ran(case, install), ""
        except CtxsimError as error:
            return case, None, str(error)

    with ThreadPoolExecutor(jobs) as pool:
        for case, row, problem in pool.map(tried, missing):
            print(*case.name, row["verdict"] if row else problem, file=sys.stderr)
            if row:
                rows.append(row)
                _write(rows, wanted)


def _write(rows: list[dict[str, Any]], wanted: list[Case]) -> None:
    order = {case.name: place for place, case in enumerate(wanted)}
    kept = sorted((row for row in rows if name_of(row) in order), key=lambda row: order[name_of(row)])
    with SEEN.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


PAGE = Path(__file__).parent.parent / "docs/settings-honoured.md"
BEGIN, END = "<!-- seen: begin -->", "<!-- seen: end -->"


def table(rows: list[dict[str, str]]) -> str:
    """Return the counts, a row for each agent, and the runs that the formula doesn't predict."""
    inside = sum(row["inside"] == "1" for row in rows)
    agents = {row["agent"] for row in rows}
    days = sorted({row["day"] for row in rows})
    said = [
        f"{len(rows)} runs of {len(agents)} agents ({' to '.join(dict.fromkeys((days[0], days[-1])))}).",
        f"In {inside} of the {len(rows)} runs ({100 * inside / len(rows):.1f} %) the agent did what its policy's formula"
        " expects.", "",
    ]  # fmt: skip
    said += ["| agent | settings | runs | verdicts |", "|---|--:|--:|---|"]
    tried: dict[str, Counter[str]] = defaultdict(Counter)
    keys: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        tried[row["agent"]][row["verdict"]] += 1
        keys[row["agent"]].add(row["key"])
    for agent, verdicts in tried.items():
        counts = ", ".join(f"{verdict} {count}" for verdict, count in verdicts.most_common())
        said.append(f"| {agent} | {len(keys[agent])} | {verdicts.total()} | {counts} |")
    said += ["", "Runs in which the agent did something else:", ""]
    said += ["| agent, version, model | setting and value | seen | expected | verdict |", "|---|---|---|---|---|"]
    return "\n".join([*said, *(_line(row) for row in rows if row["inside"] != "1")])


def _line(row: dict[str, str]) -> str:
    with_it = "".join(f", `{key}` {json.dumps(value)}" for key, value in json.loads(row["beside"]).items())
    model = "" if row["model"] == "mock" else f" {row['model']}"
    cells = (
        f"{row['agent']} {row['version']}{model}",
        f"`{row['key']}` {row['value']}{with_it}",
        _seen(row),
        _expected(row),
    )
    return f"| {' | '.join(cells)} | {row['verdict']} |"


def _seen(row: dict[str, str]) -> str:
    if row["unit"] == "characters":
        return f"{int(row['lower']):,} characters"
    return f"{int(row['lower']):,} to {int(row['upper']):,}" if row["lower"] else row["firing"]


def _expected(row: dict[str, str]) -> str:
    return f"{float(row['expected']):,.0f}" if row["expected"] else row["expected_firing"]


def main() -> None:
    """Run the cases and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="append", default=[], metavar="AGENT")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    if not asked.table:
        run(asked.again, asked.install, asked.jobs)
    put(table(seen()), PAGE, BEGIN, END)


if __name__ == "__main__":
    main()
