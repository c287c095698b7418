"""The endpoint of a probe by itself, without an agent: how requests grow, what is reported, and when it is over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from probed_agent import agent
from samples import conversation

from ctxsim.live import responses
from ctxsim.live.agent import Agent, Helper, Probing
from ctxsim.live.confined import FILES
from ctxsim.live.exchange import Refusal, ToolCall
from ctxsim.live.faults import Faults
from ctxsim.live.probe.growing import SUMMARY, Growing, text_of
from ctxsim.live.probe.plan import AFTER, BEFORE, FINE, LEAP, PAST, ProbePlan, Sent
from ctxsim.live.session import Served
from ctxsim.readers.source import compact_json
from ctxsim.simulator.provider import Provider

COUNT = Provider().counter().text
BASH = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {}}}}
SUMS = "You are performing a CONTEXT CHECKPOINT COMPACTION."


def growing(folder: Path, one: Agent | None = None, **more: Any) -> Growing:
    one = one or agent()
    plan = ProbePlan(conversation("text"), Provider(), one, Faults(), str(folder), "/bin", 10, **more)
    Path(plan.project).mkdir(exist_ok=True)
    return Growing(plan)


def probing(**more: Any) -> Agent:
    return agent(Probing(window=272_000, **more))


def asked(probe: Growing, *texts: str, tools: tuple[Any, ...] = (BASH,)) -> Served:
    messages = [{"role": "user", "content": text} for text in texts]
    return probe.answer("chat", {"messages": messages, "tools": list(tools)}, "m", False, {})


def numbers(probe: Growing) -> list[tuple[str, int, bool]]:
    """Of each request what it was, the tokens that usage got more, and whether it was refused."""
    return [(one.kind, one.reported - one.tokens, one.refused) for one in probe.sent]


def test_the_published_steps() -> None:
    assert (FINE, BEFORE, PAST, LEAP, AFTER) == (1_000, 4_000, 3_000, 2_000, 2)
    plan = ProbePlan(conversation("x"), Provider(), agent(), Faults(), "/w", "/bin", 10)
    assert (plan.waypoints, plan.refuses, plan.single, plan.late, plan.fine, plan.past) == (
        (), 0, 0, False, 1_000, 3_000,
    )  # fmt: skip


def test_results_have_four_characters_a_token_in_any_count() -> None:
    assert text_of(0, 1) == "Result 1.\n" == text_of(23, 1)
    words = "the and you was for are but not had her his one our out day get has him how"
    assert text_of(24, 27) == f"Result 27.\n {words}   \n"
    for number in (1, 7, 123):
        # 996 / 20 are 49 lines of 20 tokens and 80 characters, behind one of four tokens.
        text = text_of(1_000, number)
        assert COUNT(text) == 4 + 49 * 20 and len(text) == len(f"Result {number}.\n") + 49 * 80
    assert len({text_of(100, number) for number in range(20)}) == 20


def test_a_request_that_goes_on_from_a_response_counts_as_one_that_is_sent_whole(tmp_path: Path) -> None:
    probe = growing(tmp_path, waypoints=(50_000,))
    body = {"model": "m", "tools": [{"type": "function", **BASH["function"]}], "input": "Read."}
    first = probe.answer("responses", body, "m", False, {}).reply
    assert first is not None
    result = {"type": "function_call_output", "call_id": first.calls[0].id, "output": "Read."}
    own = [{"role": "user", "content": "Read."}, *responses.whole(first)["output"], result]
    going_on = {**body, "previous_response_id": f"resp_{first.id}", "input": [result]}
    assert probe.count("responses", going_on, "m") == probe.count("responses", {**body, "input": own}, "m")
    assert probe.answer("responses", going_on, "m", False, {}).reply


def test_a_probe_of_one_large_result_is_over_with_the_request_that_has_it(tmp_path: Path) -> None:
    probe = growing(tmp_path, single=4_000)
    first = asked(probe, "Read.")
    assert first.reply is not None and not probe.over
    file = f"{tmp_path}/project/result_0001.txt"
    assert first.reply.calls == (ToolCall("call_0001", "bash", f'{{"command": "cat {file}"}}'),)
    # 4,000 characters are 1,000 tokens.
    assert Path(file).read_text() == text_of(1_000, 1)
    second = asked(probe, "Read.", "More.")
    assert probe.over and second.reply is not None
    assert (second.reply.calls, second.reply.text, probe.step) == ((), "The conversation is over.", 2)
    assert numbers(probe) == [("main", 0, False)] * 2
    by_protocol = [growing(tmp_path, probing(acp=("agent",)), single=single).by_protocol for single in (0, 4_000)]
    assert by_protocol == [True, False]
    done = probe.outcome(2.5, (0,), (FILES,))
    assert (done.sent, done.seconds, done.enclosed) == (tuple(probe.sent), 2.5, False)


def test_the_result_that_is_cut_is_asked_for_by_the_tool_whose_results_are(tmp_path: Path) -> None:
    two = {"bash": {"command": "cat {file}"}, "read": {"path": "{file}"}}
    one = msgspec.structs.replace(probing(cuts_by="read"), tools=two)
    tools = (BASH, {"type": "function", "function": {"name": "read"}})
    cut, grown = growing(tmp_path, one, single=4_000), growing(tmp_path, one, waypoints=(9_000,))
    names = [served.reply and served.reply.calls[0].name for served in (asked(cut, "R", tools=tools),
             asked(grown, "R", tools=tools))]  # fmt: skip
    assert names == ["read", "bash"]


def test_usage_leaps_to_where_the_waypoint_is_near_and_then_grows_by_a_thousand(tmp_path: Path) -> None:
    probe = growing(tmp_path, waypoints=(60_000,))
    first = asked(probe, "Read.")
    assert first.reply is not None and first.reply.used is not None
    own = COUNT("Read.") + COUNT(compact_json(BASH))
    assert first.tokens == own == probe.count("chat", {"messages": [{"role": "user", "content": "Read."}],
                                                       "tools": [BASH]}, "m") - (60_000 - 5_000 - own)  # fmt: skip
    # 4,000 before the waypoint, of which the result that is read has a thousand: told with this request already.
    output = COUNT(first.reply.calls[0].arguments)
    assert (first.reply.used.input, first.reply.used.output) == (55_000, output)
    assert probe.sent == [Sent("main", own, 55_000, 55_000, False, output, COUNT(text_of(1_000, 1)), 0)]
    # At 56,000 it is near: nothing is added any more.
    for number in (2, 3):
        served = asked(probe, "Read.", "word " * 1_000 * (number - 1))
        assert probe.sent[-1].reported - served.tokens == 55_000 - own
    assert not probe.over and Path(tmp_path, "project", "result_0003.txt").read_text() == text_of(1_000, 3)


def test_of_several_waypoints_the_next_is_gone_to_once_one_is_passed(tmp_path: Path) -> None:
    sizes = [7_000, 13_000, 13_001, 13_002]
    probe = growing(tmp_path, msgspec.structs.replace(agent(), tools={}, ends={}), waypoints=(10_000, 60_000))
    shell = {"type": "function", "function": {"name": "sh", "parameters": {"properties": {"command": {}}}}}
    base = asked(growing(tmp_path), "x", tools=(shell,)).tokens - COUNT("x")
    for size in sizes:
        asked(probe, " a" * (size - base), tools=(shell,))
    # Past 13,000 the first one is left: from 13,001 to 55,000.
    assert [one.judged for one in probe.sent] == [7_000, 13_000, 55_000, 13_002 + 55_000 - 13_001]
    assert not probe.over
    for size, over in ((21_001, False), (21_002, True)):
        asked(probe, " a" * (size - base), tools=(shell,))
        assert (probe.sent[-1].judged, probe.over) == (size + 55_000 - 13_001, over), "63,000 is passed"


def test_usage_grows_by_coarse_steps_where_that_is_asked_for(tmp_path: Path) -> None:
    probe = growing(tmp_path, waypoints=(0,), fine=6_000, past=20_000)
    found = [(asked(probe, "Read.", *["More."] * n), probe.sent[-1])[1] for n in range(3)]
    # Each result has a thousand of the 6,000.
    assert [one.reported - one.tokens for one in found] == [5_000, 10_000, 15_000]


def test_where_usage_is_late_the_first_request_is_told_as_it_is(tmp_path: Path) -> None:
    probe = growing(tmp_path, waypoints=(60_000,), late=True)
    for text in ("Read.", "Go on."):
        asked(probe, text)
    assert [one.reported == one.tokens for one in probe.sent] == [True, False] and probe.sent[1].reported == 55_000


@pytest.mark.parametrize(("waypoint", "size"), [(60_000, 2_000), (4_700, 1_000), (5_800, 1_800), (4_000, 1_000)])
def test_an_agent_that_counts_by_itself_gets_larger_results(waypoint: int, size: int, tmp_path: Path) -> None:
    probe = growing(tmp_path, probing(counts="own"), waypoints=(waypoint,))
    tokens = asked(probe, "Read.").tokens
    assert numbers(probe) == [("main", 0, False)]
    text = Path(tmp_path, "project", "result_0001.txt").read_text()
    # As far as it is to 4,000 before the waypoint, from a thousand to the most that the agent passes on.
    assert text == text_of(size if size in (1_000, 2_000) else waypoint - 4_000 - tokens, 1)


def test_what_an_agent_decides_by_is_its_own_count_where_it_has_one(tmp_path: Path) -> None:
    probe = growing(tmp_path, probing(counts="own"), waypoints=(9_000,))
    served = asked(probe, "x" * 400)
    # The schema and the text, without what the vendor adds for each message and request.
    own = COUNT("x" * 400) + COUNT(compact_json(BASH))
    assert (probe.sent[0].judged, probe.sent[0].tokens) == (own, served.tokens)


def test_a_request_over_the_limit_is_refused_until_it_compacts(tmp_path: Path) -> None:
    size = asked(growing(tmp_path), "Read.").tokens
    fits, refuses = (
        growing(tmp_path, waypoints=(9_000,), refuses=size),
        growing(tmp_path, waypoints=(9_000,), refuses=size - 1),
    )
    assert asked(fits, "Read.").refusal is None
    refused = asked(refuses, "Read.")
    said = (
        f"This model's maximum context length is {size - 1} tokens. However, your messages resulted in {size} tokens."
    )
    assert refused.refusal == Refusal("overflow", said) and (refused.step, refuses.step, refused.reply) == (0, 0, None)
    assert refuses.sent == [Sent("main", size, size, size, True)]
    # Behind a summary it is as large as it is.
    asked(refuses, SUMS)
    assert asked(refuses, "Read.").refusal is None and refuses.step == 1
    # With what usage got more: 55,000 before two thousand words joined.
    grown = growing(tmp_path, waypoints=(60_000,), refuses=56_000)
    assert asked(grown, "Read.").refusal is None and asked(grown, "Read.", "word " * 2_000).refusal is not None


def test_behind_a_compaction_usage_is_true_and_two_calls_later_it_is_over(tmp_path: Path) -> None:
    probe = growing(tmp_path, waypoints=(60_000,))
    asked(probe, "Read.")
    summed = asked(probe, "Read.", SUMS)
    assert summed.reply is not None and (summed.kind, summed.step, summed.reply.text) == ("summary", 0, SUMMARY)
    over = []
    for _ in range(3):
        # Equal requests are no retries now.
        again = asked(probe, "Read.")
        over.append((again.retry, probe.over))
    assert over == [(False, False), (False, False), (False, True)]
    assert [added > 0 for _, added, _ in numbers(probe)] == [True, True, False, False, False]
    assert [one.pending > 0 for one in probe.sent] == [True, False, True, True, False]


@pytest.mark.parametrize(("size", "compacted"), [(200, False), (199, True)])
def test_a_request_that_is_a_third_smaller_is_a_compaction(size: int, compacted: bool, tmp_path: Path) -> None:
    probe = growing(tmp_path, waypoints=(60_000,))
    base = asked(growing(tmp_path), "x").tokens - 1
    for tokens in (300, size):
        asked(probe, " a" * (tokens - base))
    assert [one.tokens for one in probe.sent] == [300, size]
    assert (probe.sent[1].reported == size) == compacted


def test_until_then_an_equal_request_is_a_retry(tmp_path: Path) -> None:
    probe = growing(tmp_path, waypoints=(60_000,))
    first, again = asked(probe, "Read."), asked(probe, "Read.")
    assert again == msgspec.structs.replace(first, retry=True) and len(probe.sent) == 1


def test_an_agent_that_compacts_where_a_run_ends_is_told_that_it_has(tmp_path: Path) -> None:
    probe = growing(tmp_path, probing(turns=True), waypoints=(60_000,))
    asked(probe, "Read.")
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    messages = [{"role": "user", "content": "Read."}, {"role": "assistant", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "seven chars"}]  # fmt: skip
    served = probe.answer("chat", {"messages": messages, "tools": [BASH]}, "m", False, {})
    assert served.reply is not None and (served.reply.text, served.reply.calls) == ("It is read.", ())
    assert (probe.sent[-1].largest, probe.sent[-1].pending, probe.sent[-1].answered) == (11, 0, COUNT("It is read."))


def test_other_requests_and_the_end_of_an_agent_that_needs_a_call(tmp_path: Path) -> None:
    helpers = (Helper("^Title", kind="title", answer="Short: {summary}"),)
    one = msgspec.structs.replace(agent(), helpers=helpers, ends={"finish": {}})
    probe = growing(tmp_path, one, waypoints=(60_000,))
    title, other = asked(probe, "Title?"), asked(probe, "Read.", tools=())
    assert title.reply is not None and other.reply is not None and not probe.over
    assert (title.kind, title.reply.text, other.kind, other.reply.text) == (
        "title",
        f"Short: {SUMMARY}",
        "other",
        SUMMARY,
    )
    # A tool that reads nothing: it is over without any result.
    finish = {"type": "function", "function": {"name": "finish"}}
    ended = asked(probe, "Read.", tools=(finish,))
    assert ended.reply is not None and ended.reply.calls == (ToolCall("call_0001_end", "finish", "{}"),)
    assert [one.kind for one in probe.sent] == ["title", "other", "main"]
