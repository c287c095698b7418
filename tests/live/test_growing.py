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


def test_a_probe_of_one_large_result_is_over_with_the_request_that_has_it(tmp_path: Path) -> None:
    plan = ProbePlan(
        conversation("text"), Provider(), agent("honours"), Faults(), str(tmp_path), "/bin", 10, single=4_000
    )
    Path(plan.project).mkdir()
    probe = Growing(plan)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read."}]
    tool = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {}}}}
    over = []
    for number in range(2):
        served = probe.answer("chat", {"messages": messages, "tools": [tool]}, "m", False, {})
        over.append(probe.over)
        assert served.reply
        messages.append({"role": "user", "content": f"Result {number}."})
    assert over == [False, True]
