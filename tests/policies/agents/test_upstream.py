"""Policies beside what their own code returned, message by message, and what real agents left of a tool result."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from by_hand import SUMMARY
from corpus import FOLDER

from ctxsim.policies import Surroundings, open_policy
from ctxsim.simulator.replay.moments import Moments
from ctxsim.transcript import Head, Item
from evidence.agents import equality

OBSERVED = FOLDER.parent / "observed"
real = pytest.mark.skipif(not OBSERVED.is_dir(), reason="no recordings of driven agents here")

VARIANTS = {
    "swe-agent": (("sweagent.last-n", "swe-agent"), ("sweagent.last-n-polling", "swe-agent:polling=5")),
    "openhands": (("openhands.default", "openhands"), ("openhands.events", "openhands:max_size=20,keep_first=2")),
}
"""What upstream's own code was run with."""

Row = tuple[Any, ...]


def read(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode("utf-8")


def items_of(messages: Iterable[dict[str, Any]]) -> Iterator[list[Item]]:
    """The items of each message; results in a row are one message."""
    calls: dict[str, int] = {}
    place = number = 0
    before = ""
    for message in messages:
        role = message["role"]
        number += not (role == before == "tool")
        before = role
        found: list[Item] = []

        def add(kind: str, text: str, tool: str = "", answers: int | None = None, call: str = "") -> None:
            found.append(Item(kind, place + len(found), number, text, tool, answers, call))  # type: ignore[arg-type]  # noqa: B023

        if role == "tool":
            add("tool_result", message["content"], "", calls[message["tool_call_id"]], message["tool_call_id"])
        elif role == "user" or message.get("content"):
            add(role, message["content"])
        for call in message.get("tool_calls") or ():
            calls[call["id"]] = place + len(found)
            add("tool_call", call["function"]["arguments"], call["function"]["name"], None, call["id"])
        place += len(found)
        yield found


def short(text: str) -> tuple[int, str]:
    return len(text), sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def rows(head: str, view: Iterable[Item]) -> Iterator[Row]:
    """What is sent, as the recordings have it."""
    if head:
        yield ("system", *short(head))
    for item in view:
        match item.kind:
            case "tool_result":
                yield ("tool", *short(item.text), item.call_id)
            case "assistant" | "tool_call":
                yield ("assistant", item.message, item)
            case "user":
                yield ("user", *short(item.text))
            case _:
                yield ("user",)


def joined(found: Iterable[Row]) -> list[Row]:
    """A response's items as one message."""
    made: list[Row] = []
    for (role, *key), group in groupby(found, key=lambda row: row[:2] if row[0] == "assistant" else row):
        if role == "assistant" and isinstance(key[0], int):
            response = [row[2] for row in group]
            text = next((item.text for item in response if item.kind == "assistant"), "")
            called = [item.call_id for item in response if item.kind == "tool_call"]
            made.append(("assistant", *short(text), *([called] if called else [])))
        else:
            made += [(role, *key) for _ in group]
    return made


def merged(found: Iterable[Row]) -> list[Row]:
    """Without the texts in the user's name, and those in a row as one: OpenHands joins them, its summary too."""
    shown = [("user",) if row[0] == "user" else row for row in found]
    return [row for n, row in enumerate(shown) if not n or row != ("user",) or shown[n - 1] != row]


def compared(trace: str, label: str) -> tuple[int, int]:
    """Calls at which all messages are equal, and all calls."""
    equal = tried = 0
    recorded = [json.loads(line) for line in read(OBSERVED / "frameworks" / f"{trace}.jsonl.gz").splitlines()]
    for name, calls in groupby(recorded, key=lambda one: one["conversation"]):
        conversation = json.loads(read(OBSERVED / "frameworks" / "conversations" / f"{name}.json.gz"))
        messages = list(items_of(conversation["messages"]))
        spec, joins = open_policy(label), 0
        head = Head(conversation["system"], tuple(map(json.dumps, conversation["tools"])))
        moments = Moments(
            spec,
            Surroundings(1_000_000, head, spec.estimator, summarize=lambda items, tokens: SUMMARY),
        )
        for call in calls:
            there = conversation["calls"][call["call"] - 1]["n"]
            for item in (item for message in messages[joins:there] for item in message):
                moments.join([item])
            joins = there
            sent = joined(rows(conversation["system"], moments.before_call()[0]))
            upstream = [tuple(row) for row in call["out"]]
            equal += merged(sent) == merged(upstream) if label.startswith("openhands") else sent == upstream
            tried += 1
    return equal, tried


@pytest.mark.corpus
@real
@pytest.mark.parametrize("policy", VARIANTS)
def test_every_message_is_upstreams(policy: str) -> None:
    found = [compared(*variant) for variant in VARIANTS[policy]]
    assert [sum(pair) for pair in zip(*found, strict=True)] == equality()[policy]["messages"]


@pytest.mark.corpus
@real
def test_another_tail_is_not_upstreams() -> None:
    equal, tried = compared("sweagent.last-n", "swe-agent:n=4")
    assert equal < tried / 2
    equal, tried = compared("openhands.events", "openhands:max_size=21,keep_first=2")
    assert equal < tried


CUTS = (
    # agent, policy, its name for a shell, characters that it puts around every result
    ("codex", "codex", "exec_command", 200),
    ("opencode", "opencode", "bash", 250),
    ("pi", "pi", "bash", 150),
    ("gemini", "gemini-cli", "run_shell_command", 250),
)


@pytest.mark.corpus
@real
@pytest.mark.parametrize(("agent", "policy", "tool", "around"), CUTS, ids=[cut[0] for cut in CUTS])
def test_as_much_of_a_result_is_left_as_the_agent_left(agent: str, policy: str, tool: str, around: int) -> None:
    """Sizes, and how many of its lines are whole, of results of 2,000 to 60,000 tokens."""
    last = json.loads(read(OBSERVED / agent / "trunc~1.jsonl.gz").splitlines()[-1])
    sent = [item for item in last["items"] if item["role"] == "tool"]
    (link,) = open_policy(policy).create()
    for number in range(1, 6):
        whole = read(OBSERVED / "scripts" / "trunc" / f"result_{number:02}.txt.gz")
        cut = link.on_tool_result(Item("tool_result", 1, 1, whole, tool, 0)).text
        first, last_line, count = sent[number - 1]["holds"][f"r{number:02}"]
        assert abs(len(cut) - sent[number - 1]["chars"]) <= around
        left = set(cut.splitlines())
        lines = [line for line in whole.splitlines() if line in left]
        assert abs(len(lines) - count) <= 2
        assert abs(int(lines[0][:5]) - first) <= 1 and abs(int(lines[-1][:5]) - last_line) <= 1


# label, the agent's folder, the end of its runs' names
SUMMARISED = (
    ("cline", "cline", "*"), ("codex", "codex", "[12]"), ("codex:remote=True", "codex", "openai"),
    ("copilot-cli", "copilot", "*"), ("gemini-cli", "gemini", "*"), ("opencode", "opencode", "*"),
    ("openhands", "openhands", "*"), ("pi", "pi", "*"), ("qwen-code", "qwen-code", "*"),
)  # fmt: skip


@pytest.mark.corpus
@real
@pytest.mark.parametrize(("policy", "agent", "run"), SUMMARISED, ids=[one[0] for one in SUMMARISED])
def test_requests_for_summaries_have_the_head_that_the_agents_have(policy: str, agent: str, run: str) -> None:
    """Tools and first message are those of the conversation's last request, or not."""
    heads = []
    for file in sorted((OBSERVED / agent).glob(f"*~{run}.jsonl.gz")):
        for before, asked in pairwise(json.loads(line) for line in read(file).splitlines()):
            if (before["kind"], asked["kind"]) == ("main", "compact"):
                heads.append([(one["tools"], one["items"][0]["chars"]) for one in (before, asked)])
    assert heads
    (link,) = open_policy(policy).create()
    link.attach(Surroundings(1_000_000))
    assert {before == asked for before, asked in heads} == {link.summary_head is None}
