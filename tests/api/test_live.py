"""The mock endpoint, and agents that are driven, as values."""

from __future__ import annotations

import json
import sys
import tempfile
import urllib.request
from pathlib import Path

import pandas
import pytest
from own_agent import AGENT
from samples import conversation

import ctxsim
from ctxsim.errors import CtxsimError

RESULTS = [f"result {n}: order A{n}000 of 20 pieces\n" + "x " * 400 for n in range(6)]


def test_an_endpoint_plays_a_conversation_and_stops() -> None:
    pytest.importorskip("uvicorn")
    heard = []
    with ctxsim.serve(conversation(*RESULTS), told=heard.append, window=100_000) as endpoint:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Go."}]}).encode()
        with urllib.request.urlopen(
            urllib.request.Request(f"{endpoint.url}/v1/chat/completions", body, {"Content-Type": "application/json"})
        ) as answer:
            assert json.load(answer)["choices"]
        assert endpoint.requests == heard and endpoint.provider.window == 100_000
        assert endpoint.frame().status.tolist() == [200] and endpoint.steps == len(RESULTS) + 1
    with pytest.raises(OSError):
        urllib.request.urlopen(endpoint.url, timeout=5)
    with pytest.raises(CtxsimError, match="fewer than 9"):
        ctxsim.serve(conversation("x"), number=9)


@pytest.mark.slow
def test_an_agent_of_ones_own_is_driven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("uvicorn")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "mine.py").write_text(AGENT)
    heard = []
    mine = f"{sys.executable} {tmp_path}/mine.py"
    run = ctxsim.drive(
        [], "documented-53k", command=mine, policies=["keep-all"], out=tmp_path / "run", told=heard.append
    )  # fmt: skip
    (agent,) = run.agents
    assert heard == [agent] and agent.observation.label == run.labels[-1] and run.labels[0] == "keep-all"
    assert isinstance(run.frame(), pandas.DataFrame) and set(run.frame().policy) == set(run.labels)
    with pytest.raises(CtxsimError, match="name an agent"):
        ctxsim.drive([], "documented-53k")
