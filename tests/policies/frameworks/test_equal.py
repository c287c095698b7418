"""Policies of frameworks against what the frameworks' own code sent of real conversations, where those are."""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import corpus
import msgspec
import pytest
from drivers.conversation import invented
from project import ROOT
from upstream import all_rows, by_conversation, difference, plain, read_lines, sent, transcript_of

from ctxsim.counting.estimators import DEFAULT, open_estimator
from ctxsim.policies import registered_policies
from ctxsim.policies.frameworks.chat import messages
from ctxsim.transcript import Call, Transcript, Usage
from ctxsim.view import View

OBSERVED = corpus.FOLDER.parent / "observed" / "frameworks"
here = pytest.mark.skipif(not OBSERVED.is_dir(), reason="no outputs of frameworks here: they lie beside the recordings")
TABLES = tomllib.loads((ROOT / "docs" / "equality-frameworks.toml").read_text())
SENT = ROOT / "tests" / "policies" / "frameworks" / "sent"
RUNS = [run for table in TABLES.values() for run in table["runs"]]


@cache
def conversation(name: str) -> dict[str, Any]:
    """One of the conversations that upstream was run over."""
    with gzip.open(OBSERVED / "conversations" / f"{name}.json.gz", "rt") as file:
        found: dict[str, Any] = json.load(file)
    return found


def reported(transcript: Transcript, ratio: int) -> Callable[[View, Call], Usage]:
    """What the provider of a run reported: characters of what it was sent over a ratio, and of its response."""

    def usage(view: View, call: Call) -> Usage:
        asked = len(transcript.head.system) + sum(len(text) for item in view for text in item.texts)
        response = transcript.items[call.start : call.end]
        return Usage(asked // ratio, sum(len(text) for item in response for text in item.texts) // ratio)

    return usage


def refused(transcript: Transcript, tokens: int, label: str) -> Callable[[View], bool]:
    """Whether the provider of a run refused: over so many tokens by the policy's own estimate, the head with them."""
    estimator = open_estimator(registered_policies()[label.partition(":")[0]].decides_by or DEFAULT)
    head = estimator.messages([], transcript.head.system)

    def limit(view: View) -> bool:
        return head + estimator.messages([message.items for message in messages(view)]) > tokens

    return limit


def counted_sent(run: dict[str, Any]) -> tuple[int, int, list[str]]:
    """The same, of the invented conversation and what upstream sent of it, for what was never recorded elsewhere."""
    transcript = transcript_of(invented())
    records = read_lines(SENT / f"{run['sent']}.jsonl.gz")
    told = zip(sent(run["label"], transcript), records, strict=True)
    differs = [found for call, (ours, theirs) in enumerate(told, 1)
               if (found := difference(ours, list(theirs), partial(all_rows, transcript, call)))]  # fmt: skip
    return len(records) - len(differs), len(records), differs


def counted_equal(run: dict[str, Any]) -> tuple[int, int, list[str]]:
    """Calls that are equal in every message, calls tried, and where the others differ first."""
    if "sent" in run:
        return counted_sent(run)
    equal, tried, differs = 0, 0, []
    for name, records in by_conversation(read_lines(OBSERVED / f"{run['observed']}.jsonl.gz")).items():
        told = conversation(name)
        transcript = transcript_of(told)
        if not run.get("tools", True):
            transcript = msgspec.structs.replace(transcript, head=msgspec.structs.replace(transcript.head, tools=()))
        requests = sent(
            run["label"],
            transcript,
            window=run.get("window", 12_000),
            usage=reported(transcript, run["usage"]) if "usage" in run else None,
            limit=refused(transcript, run["refuses"], run["label"]) if "refuses" in run else None,
            merged=run.get("merged", ""),
            last_try=run.get("last_try", False),
        )
        for record, ours in zip(records, requests, strict=False):
            whole = partial(all_rows, transcript, record["call"], run.get("merged", ""))
            theirs = plain(record["out"], told["system"])
            if not run.get("system", True):
                theirs = [one for one in theirs if one[0] != "system"]
            told_apart = difference(ours, theirs, whole, run.get("exact", True))
            tried += 1
            equal += not told_apart
            if told_apart:
                differs.append(f"{name}, call {record['call']}: {told_apart}")
    return equal, tried, differs


@here
@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS, ids=[run.get("observed") or run["sent"] for run in RUNS])
def test_as_many_calls_are_equal_to_upstream_as_the_table_says(run: dict[str, Any]) -> None:
    equal, tried, differs = counted_equal(run)
    assert [equal, tried] == run["messages"], differs[:5]
    assert bool(run.get("differs")) == (equal < tried), "say why, or that there is nothing to say"


def test_every_policy_of_a_framework_is_in_the_table_with_the_version_that_it_names() -> None:
    known = registered_policies()
    frameworks = {name for name, cls in known.items() if cls.family == "frameworks"}
    assert frameworks <= set(TABLES)
    assert {name: table["version"] for name, table in TABLES.items()} == {name: known[name].version for name in TABLES}


def test_a_policys_figures_are_the_sums_of_its_runs() -> None:
    for name, table in TABLES.items():
        equal, tried = (sum(run["messages"][n] for run in table["runs"]) for n in (0, 1))
        assert table["messages"] == [equal, tried], name
        assert bool(table["differs"]) == (equal < tried), name
