"""Agents driven, each beside the policy of its name: `python -m evidence.driven` runs them and fills `driven.csv`.

For each agent and conversation of `driven.toml` the installed agent lives through it, offline. At each of its requests
the policy, told the same usage on the conversation as the agent had it by then, compacts or it doesn't. Names on the
command line run those agents alone; the rows of others stay. `--newest` installs the newest version that the registry
has and that installs. What differs from the rows that stood there is printed. `python -m evidence.agents` prints them.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.api.live import AgentRun, drive
from ctxsim.errors import CtxsimError
from ctxsim.live.agent import load_agent
from ctxsim.live.install import located, published
from ctxsim.live.observed import Observation
from ctxsim.live.script import Script
from ctxsim.policies import open_policy
from ctxsim.transcript import Compaction, Transcript
from evidence.decisions import Decision, decisions

DRIVEN = Path(__file__).with_suffix(".toml")
SEEN = Path(__file__).with_suffix(".csv")
FIELDS = ("agent", "version", "day", "conversation", "window", "policy", "requests", "calls", "equal", "agent_at",
          "policy_at", "held", "both")  # fmt: skip
TRIED = 8
"""The most versions that are tried, the newest first, until one installs."""


def lived(seen: Observation) -> Transcript:
    """Return an agent's conversation with its compactions: calls before which earlier items left its request."""
    calls, compactions = seen.transcript.calls, []
    for number in range(2, len(seen.attempts) + 1):
        tries, before = seen.attempts[number - 1], seen.attempts[number - 2][-1]
        held = {one.place for one in before if one.place is not None}
        known = {one.text for one in before if one.place is None}
        for attempt, shown in enumerate(tries):
            stays = {one.place for one in shown if one.place is not None}
            if not held - stays:
                continue
            new = tuple(one.text for one in shown if one.place is None and one.text not in known)
            start = calls[number - 1].start
            cause = "overflow" if attempt else "auto"
            compactions.append(Compaction(number, start, cause, new, tuple(sorted(stays))))
            break
    last = len(calls) + 1
    if any(entry.kind == "summary" for entry in seen.helpers.get(last, ())):
        compactions.append(Compaction(last, len(seen.transcript.items), "auto"))
    return msgspec.structs.replace(seen.transcript, compactions=tuple(compactions))


def plain(seen: Observation, script: Script) -> Observation:
    """Return an observation with results as before the agent wrapped them, for policies that wrap them too."""
    said = script.transcript.items
    items = tuple(
        item.with_text(said[item.place].text) if item.kind == "tool_result" else item for item in seen.transcript.items
    )
    return msgspec.structs.replace(seen, transcript=msgspec.structs.replace(seen.transcript, items=items))


def compared(seen: Observation, policy: str, window: int, at_end: bool) -> list[Decision]:
    """Return what the policy decides at each call of an agent, given the usage that was reported to the agent."""
    refused = {number for number, tries in enumerate(seen.attempts, 1) if len(tries) > 1}
    return list(decisions(lived(seen), open_policy(policy), window, refused, at_end))


def row(run: AgentRun, case: dict[str, Any], conversation: str) -> dict[str, Any]:
    """Return the row of one run."""
    seen, window = run.observation, run.driven.provider.window
    if case.get("wraps"):
        seen = plain(seen, run.driven.script)
    found = compared(seen, case["policy"], case.get("believes", window), case.get("at_end", False))
    both = [one for one in found if one.recorded and one.made and one.moment != "end"]
    return {
        "agent": run.driven.agent.name, "version": run.driven.agent.version, "day": date.today().isoformat(),
        "conversation": conversation, "window": window, "policy": case["policy"], "requests": len(run.driven.entries),
        "calls": len(found), "equal": sum(one.equal for one in found),
        "agent_at": " ".join(str(one.call) for one in found if one.recorded),
        "policy_at": " ".join(str(one.call) for one in found if one.made),
        "held": sum(one.held == one.would_hold for one in both), "both": len(both),
    }  # fmt: skip


def newest(name: str) -> str:
    """Return the newest version of an agent that installs; the pinned one if the registry fails or none installs."""
    agent = load_agent(name)
    try:
        versions = published(agent, agent.version, "9999")
    except CtxsimError:
        return agent.version
    for version in reversed(versions[-TRIED:]):
        try:
            return located(msgspec.structs.replace(agent, version=version), install=True)[0].version
        except CtxsimError as error:
            print(f"{name} {version}: {error}", file=sys.stderr)
    return agent.version


def ran(case: dict[str, Any], version: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each conversation of an agent."""
    for conversation in case["conversations"]:
        with tempfile.TemporaryDirectory() as folder:
            said = {"window": case["window"]} if "window" in case else {}
            done = drive(case["agent"], conversation, policies=("keep-all",), faults=case.get("faults", ()),
                         install=True, version=version, out=folder, **said)  # fmt: skip
            yield row(done.agents[0], case, conversation)


def seen() -> list[dict[str, str]]:
    """Return the rows written so far."""
    if not SEEN.exists():
        return []
    with SEEN.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write(rows: list[dict[str, Any]]) -> None:
    with SEEN.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda one: (one["agent"], one["conversation"])))


def main() -> None:
    """Drive the agents, and print each row with what changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agents", nargs="*")
    parser.add_argument("--newest", action="store_true")
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = list(seen())
    for case in tomllib.loads(DRIVEN.read_text(encoding="utf-8"))["agent"]:
        name = case["agent"] = case.pop("name")
        if asked.agents and name not in asked.agents:
            continue
        before = {one["conversation"]: one for one in rows if one["agent"] == name}
        try:
            made = list(ran(case, newest(name) if asked.newest else ""))
        except CtxsimError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        for one in made:
            old = before.get(one["conversation"], {})
            changed = [f"{key} {old[key]}" for key in FIELDS if old and key != "day" and str(old[key]) != str(one[key])]
            print(*(one[key] for key in ("agent", "version", "conversation")), f"{one['equal']} of {one['calls']} equal,",
                  f"compacts at {one['agent_at']}; policy at {one['policy_at']}; held {one['held']} of {one['both']}",
                  f"(before: {', '.join(changed)})" if changed else "", flush=True)  # fmt: skip
        rows = [one for one in rows if one["agent"] != name] + made
        _write(rows)


if __name__ == "__main__":
    main()
