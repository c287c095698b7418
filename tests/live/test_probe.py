"""`check setting` on an agent whose rule is known, in processes of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import pytest
from probed_agent import PROGRAM, agent

pytest.importorskip("starlette")

from ctxsim.errors import CtxsimError
from ctxsim.live.agent import Probing, agent_names, load_agent
from ctxsim.live.probe.check import check_setting
from ctxsim.live.probe.drive import probe, with_settings
from ctxsim.live.probe.expected import Situation
from ctxsim.live.probe.plan import Probed, Sent

LIMIT = "model_auto_compact_token_limit"
PATH = os.environ.get("PATH", os.defpath)


def test_a_setting_that_is_honoured() -> None:
    done = check_setting(agent(), PATH, {LIMIT: 60_000})
    # Usage carried a constant: a dozen small requests, and two after the compaction.
    assert (done.verdict, done.firing, done.inside, done.calls <= 10) == ("honoured", "proactive", True, True)
    assert done.lower is not None and done.upper is not None and done.lower < 60_000 <= done.upper <= done.lower + 1_200


def test_a_threshold_below_the_head_ends_too() -> None:
    # Agents then compact again and again: two calls after the first one it is over.
    done = check_setting(agent(head=3_000), PATH, {LIMIT: 2_000})
    assert done.firing == "proactive" and done.calls <= 14


def test_an_agent_that_is_given_prompts_one_by_one(tmp_path: Path) -> None:
    # Its program is a file that its other command doesn't name.
    (tmp_path / "agent.py").write_text(PROGRAM)
    probing = Probing(window=272_000, acp=(sys.executable, str(tmp_path / "agent.py"), "--acp"))
    done = check_setting(agent(probing), PATH, {LIMIT: 60_000})
    assert (done.verdict, done.inside) == ("honoured", True)


def test_an_agent_that_does_not_start_says_why_and_reads_nothing_of_the_users(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("mine")
    tries = f"try: print('reads', open('{tmp_path}/secret').read())\nexcept OSError: print('no such model')"
    broken = msgspec.structs.replace(agent(), command=(sys.executable, "-c", tries))
    with pytest.raises(CtxsimError, match=r"codex sent no request; it said: (no such model|reads mine)$") as told:
        check_setting(broken, PATH, {LIMIT: 60_000})
    if "reads" in str(told.value):
        pytest.skip("this system has neither namespaces nor Landlock")


def test_an_unknown_setting_is_told_with_those_that_are_known() -> None:
    with pytest.raises(CtxsimError, match="codex has no setting 'limit'; known are model_context_window"):
        check_setting(agent(), PATH, {"limit": 1})


def test_a_large_result_comes_whole_where_nothing_cuts_it() -> None:
    # It would stay, but is ended once it has all that it is asked to read.
    stays = msgspec.structs.replace(
        agent(), command=(sys.executable, "-c", f"{PROGRAM}\nimport time; time.sleep(60)", "{prompt}")
    )
    done = probe(Situation(stays, "mock", 272_000), PATH, {}, (), single=50_000)
    assert done.seconds < 30
    assert max(one.largest for one in done.sent) == pytest.approx(50_000, rel=0.05)
    assert all(one.reported == one.tokens for one in done.sent), "nothing is to be reached by usage"


@pytest.mark.parametrize("name", [name for name in agent_names() if load_agent(name).probe.formula])
def test_what_is_known_of_probing_an_agent_fits_its_settings(name: str) -> None:
    known = load_agent(name)
    assert known.probe.window or known.probe.windows
    if known.probe.window_key:
        with_settings(known, {known.probe.window_key: 100_000}, known.probe.model)


def test_traps_that_were_stepped_into_once() -> None:
    # Under an older Node the package of Claude Code is silently another version: the native one isn't.
    assert load_agent("claude-code").package.endswith("-{machine}")
    # Its request of a summary carries all tools: the text tells it.
    asked = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."
    helper = load_agent("claude-code").helper_of(asked, "", {})
    assert helper is not None and helper.kind == "summary"
    # With --resume Gemini counts results twice: it stays one process.
    assert load_agent("gemini-cli").probe.acp


def sent(*tokens: int, kind: str = "main", pending: int = 1_000) -> list[Sent]:
    return [Sent(kind, one, one, one, False, 20, pending) for one in tokens]


def probed(*every: list[Sent]) -> Probed:
    return Probed(tuple(one for several in every for one in several), 1.0, True)


def test_brackets_by_what_an_agent_decides_by() -> None:
    done = probed(sent(8_000, 9_000, 10_000), sent(11_500, kind="summary"), sent(5_000))
    assert done.bracket("sent") == (10_000, 11_020)
    assert done.bracket("usage") == (9_020, 10_020)
    beside = probed(sent(8_000, 9_000), sent(11_100, kind="summary"), sent(10_000, 5_000))
    assert beside.bracket("beside") == (9_020, 10_000)
    runs = probed(sent(8_000), sent(9_000, pending=0), sent(9_100), sent(10_000, pending=0), sent(9, kind="summary"))
    assert runs.bracket("usage", turns=True) == (9_020, 10_020)
