"""The endpoint of a probe by itself, without an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from probed_agent import agent
from samples import conversation

pytest.importorskip("starlette")

from ctxsim.live.faults import Faults
from ctxsim.live.probe.growing import Growing
from ctxsim.live.probe.plan import ProbePlan
from ctxsim.simulator.provider import Provider


def asked_twice(folder: Path, **more: Any) -> tuple[Growing, list[bool]]:
    """A probe that was asked for a small request and for it with one text more, and whether it was then over."""
    plan = ProbePlan(conversation("text"), Provider(), agent("honours"), Faults(), str(folder), "/bin", 10, **more)
    Path(plan.project).mkdir()
    probe, over = Growing(plan), []
    messages = [{"role": "user", "content": "Read."}]
    tool = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {}}}}
    for _ in range(2):
        assert probe.answer("chat", {"messages": messages, "tools": [tool]}, "m", False, {}).reply
        over.append(probe.over)
        messages = [*messages, {"role": "user", "content": "More."}]
    return probe, over


def test_a_probe_of_one_large_result_is_over_with_the_request_that_has_it(tmp_path: Path) -> None:
    probe, over = asked_twice(tmp_path, single=4_000)
    assert over == [False, True] and all(one.reported == one.tokens for one in probe.sent)


def test_small_requests_are_reported_as_large_as_the_waypoint_is_near(tmp_path: Path) -> None:
    probe, over = asked_twice(tmp_path, waypoints=(60_000,))
    assert over == [False, False]
    assert all(one.tokens < 100 and 50_000 < one.reported < 60_000 for one in probe.sent)
