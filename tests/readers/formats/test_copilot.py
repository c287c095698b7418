"""Copilot CLI sessions: what was sent, chunks, sub-agents, compactions, and totals at shutdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from read_back import Json, all_of, said, write

from ctxsim.answers.bill.extract import facts_of
from ctxsim.transcript import Compaction, Media, Transcript, Usage


def event(kind: str, second: int = 0, agent: str | None = None, **data: Any) -> Json:
    made = {"type": kind, "data": data, "id": "x", "timestamp": f"2026-01-05T09:00:{second:02}.000Z", "parentId": None}
    return made if agent is None else {**made, "agentId": agent}


START = event("session.start", producer="copilot-agent", selectedModel="gpt-x", context={"cwd": "/w"})


def request(call_id: str, name: str = "bash", arguments: Any = None) -> Json:
    return {"toolCallId": call_id, "name": name, "arguments": {} if arguments is None else arguments}


def answer(content: str = "", *requests: Json, second: int = 0, agent: str | None = None, **data: Any) -> Json:
    return event("assistant.message", second, agent, content=content, toolRequests=list(requests), **data)


def done(call_id: str, content: str, **data: Any) -> Json:
    output = {"content": content, "detailedContent": "longer"}
    return event("tool.execution_complete", toolCallId=call_id, success=True, result=output, **data)


def transcripts(folder: Path, *events: Json) -> list[Transcript]:
    return all_of(write(folder / "events.jsonl", *events), "copilot-cli")


def one(folder: Path, *events: Json) -> Transcript:
    [transcript] = transcripts(folder, *events)
    return transcript


def test_a_session_as_it_was_sent(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        START,
        event("hook.start", input="x"),
        {"data": {}, "parentId": None},
        event("system.message", content="Be brief."),
        event("user.message", content="Any mail?", transformedContent="<now/>Any mail?"),
        event("assistant.turn_start", 5, turnId="0"),
        answer("I look.", request("c1", arguments={"q": "ä"}), request("c2", arguments='{"q": 2}'), second=9),
        event("tool.execution_start", toolCallId="c1"),
        done("c2", "two"),
        done("c1", "one"),
        event("system.message", content="Be brief."),
        answer("Three.", second=20, model="gpt-y", reasoningText="1 + 2", reasoningOpaque="gAA"),
    )
    assert read_back.head.system == "Be brief."
    assert read_back.head.recorded
    assert said(read_back) == [
        ("user", "<now/>Any mail?"),
        ("assistant", "I look."),
        ("tool_call", '{"q":"ä"}'),
        ("tool_call", '{"q": 2}'),
        ("tool_result", "two"),
        ("tool_result", "one"),
        ("reasoning", "1 + 2"),
        ("assistant", "Three."),
    ]
    # Start of the request where it is told, else the time of the response.
    nine_s = 1767603600.0
    assert [(c.model, c.time_s, c.usage) for c in read_back.calls] == [
        ("gpt-x", nine_s + 5, None),
        ("gpt-y", nine_s + 20, None),
    ]
    assert read_back.notes == ("left out: 1 x hook.start, 1 x line without a type, 1 x tool.execution_start",)


def test_chunks_of_one_api_call_are_one_response(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        START,
        event("user.message", content="Go."),
        answer("First,", apiCallId="a1", chunkIndex=0),
        answer("", request("c1"), apiCallId="a1", chunkIndex=1),
        done("c1", "ok"),
        answer("Done.", apiCallId="a2"),
        answer("And more.", apiCallId="a3"),
    )
    assert [(c.start, c.end) for c in read_back.calls] == [(1, 3), (4, 5), (5, 6)]


def test_errors_images_and_encrypted_reasoning(tmp_path: Path) -> None:
    blocks = [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]
    read_back = one(
        tmp_path,
        START,
        event("user.message", content="Go.", attachments=[{"type": "blob", "mimeType": "image/png"}, {"type": "file"}]),
        answer("", request("c1"), request("c2"), reasoningOpaque="gAA"),
        event("tool.execution_complete", toolCallId="c1", success=False, error={"message": "no such shell"}),
        event("tool.execution_complete", toolCallId="c2", success=True, result={"content": "shot", "contents": blocks}),
        answer(""),
    )
    assert read_back.items[0].media == (Media("image", 765),)
    assert said(read_back)[1] == ("reasoning", "")
    results = [(item.text, item.media) for item in read_back.items if item.kind == "tool_result"]
    assert results == [("no such shell", ()), ("shot", (Media("image", 765),))]
    # An empty response is a call all the same.
    assert said(read_back)[-1] == ("assistant", "")
    assert len(read_back.calls) == 2
    assert "1 response(s) with reasoning of unknown size, counted as 0 tokens" in read_back.notes
    assert "left out: 1 x attachment" in read_back.notes


def test_notices_to_the_model_are_user_texts(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        START,
        event("user.message", content="Go."),
        answer("", request("c1")),
        event("system.notification", content="<done/>"),
        done("c1", "ok"),
        event("skill.invoked", name="tidy", content="Tidy up."),
        answer("Done."),
        event("session.info", message="for people"),
    )
    assert [text for kind, text in said(read_back) if kind == "user"] == ["Go.", "<done/>", "Tidy up."]
    # Results always come first.
    assert [kind for kind, _ in said(read_back)][2:5] == ["tool_result", "user", "user"]


def shutdown(requests: int, **usage: int) -> Json:
    metrics = {"gpt-x": {"requests": {"count": requests, "cost": 0}, "usage": usage}}
    return event(
        "session.shutdown",
        modelMetrics=metrics,
    )


@pytest.mark.parametrize("field", ["parent", "agent"])
def test_a_sub_agent_is_its_own_transcript(tmp_path: Path, field: str) -> None:
    inner: Json = {"parentToolCallId": "c1"} if field == "parent" else {"agent": "a7"}
    finish = event("tool.execution_complete", toolCallId="s1", result={"content": "x"}, **inner)
    main, child = transcripts(
        tmp_path,
        START,
        event("user.message", content="Go."),
        answer("", request("c1", "task", {"prompt": "Find it."})),
        event("subagent.started", agent=None if field == "parent" else "a7", toolCallId="c1", agentName="scout"),
        answer("", request("s1"), **inner),
        finish,
        answer("Found.", **inner),
        done("c1", "It was found."),
        answer("Done."),
        shutdown(4, inputTokens=900),
    )
    # The total of both is told once, and covers the calls of both.
    assert [(one.usage, one.start, one.end) for one in (*main.beside, *child.beside)] == [
        (Usage(900), 0, len(main.items)), (Usage(0), 0, len(child.items))
    ]  # fmt: skip
    assert said(child) == [("user", "Find it."), ("tool_call", "{}"), ("tool_result", "x"), ("assistant", "Found.")]
    assert child.parent == main.name
    assert child.name == f"{main.name}#c1"
    assert main.project == child.project == "/w"
    assert not child.head.recorded
    assert [kind for kind, _ in said(main)] == ["user", "tool_call", "tool_result", "assistant"]


def test_totals_are_the_usage_of_a_single_request_only(tmp_path: Path) -> None:
    total = {"inputTokens": 12100, "outputTokens": 60, "cacheReadTokens": 0, "reasoningTokens": 40}
    asked = event("user.message", content="Go.")
    alone = one(tmp_path, START, asked, answer("Done."), shutdown(1, **total))
    assert (alone.calls[0].usage, alone.beside) == (Usage(12100, 60, 0, None, 40), ())
    two = one(tmp_path, START, asked, answer("One."), asked, answer("Two."), shutdown(2, **total))
    assert [c.usage for c in two.calls] == [None, None]
    (summed,) = two.beside
    # All four items: two texts and two answers.
    assert (summed.start, summed.end, summed.usage, summed.model) == (0, 4, Usage(12100, 60, 0, None, 40), "gpt-x")
    killed = one(tmp_path, START, asked, answer("Done."), shutdown(1, inputTokens=0, outputTokens=0))
    assert (killed.calls[0].usage, killed.beside) == (None, ())


@pytest.mark.parametrize(("second", "totals"), [
    # Two calls before the first shutdown, one after it: 3 requests are all, 1 is that of the resumed session.
    ({"gpt-x": 3}, [(900, 0, 6)]), ({"gpt-x": 1}, [(500, 0, 4), (900, 4, 6)]),
    # Those of two models are 3 together.
    ({"gpt-x": 2, "gpt-y": 1}, [(900, 0, 6), (900, 0, 6)]), ({"gpt-y": 1}, [(500, 0, 4), (900, 4, 6)]),
])  # fmt: skip
def test_a_resumed_session_counts_anew_or_goes_on(
    second: dict[str, int], totals: list[tuple[int, int, int]], tmp_path: Path
) -> None:
    asked = event("user.message", content="Go.")
    last = shutdown(0)
    metric = {"usage": {"inputTokens": 900}}
    last["data"]["modelMetrics"] = {model: {"requests": {"count": count}, **metric} for model, count in second.items()}
    # The session is resumed once more, and killed.
    found = one(tmp_path, START, asked, answer("One."), asked, answer("Two."), shutdown(2, inputTokens=500),
                event("session.resume"), asked, answer("Three."), last, asked, answer("Four."))  # fmt: skip
    assert [(one.usage and one.usage.input_tokens, one.start, one.end) for one in found.beside] == totals
    facts = facts_of(found)
    assert (len(facts.unrecorded), sum(one.plain for one in facts.beside)) == (1, sum(total[0] for total in totals))


def runs(tmp_path: Path, *each: tuple[int, int, int, int] | None) -> Transcript:
    """A session of several runs, each of one more response than the last, of 100 tokens. None: it was killed; else the
    requests, input, output and cache reads that it stated at its end.
    """
    lines = [START]
    for number, stated in enumerate(each, 1):
        lines += [event("session.resume")] * (number > 1)
        lines += [event("user.message", content="Go."), answer("Done.", outputTokens=100)] * number
        if stated:
            count, tokens, output, read = stated
            lines.append(shutdown(count, inputTokens=tokens, outputTokens=output, cacheReadTokens=read))
    return one(tmp_path, *lines)


def totals(found: Transcript) -> list[tuple[int, int, int]]:
    return [(one.usage.input_tokens, one.start, one.end) for one in found.beside if one.usage]


def test_more_requests_than_responses_do_not_make_a_total_of_all_runs(tmp_path: Path) -> None:
    # The third run's five requests are its three responses, a summary and one that failed: of all five responses since
    # the first run the output would be 500.
    assert totals(runs(tmp_path, None, (2, 500, 200, 0), (5, 900, 450, 0))) == [(500, 2, 6), (900, 6, 12)]
    assert totals(runs(tmp_path, None, (2, 500, 200, 0), (5, 900, 500, 0))) == [(900, 0, 12)]


def test_a_killed_run_has_no_usage(tmp_path: Path) -> None:
    # A total of three requests is of both runs.
    whole = runs(tmp_path, None, (3, 500, 300, 0))
    assert totals(whole) == [(500, 0, 6)] and not facts_of(whole).unrecorded
    killed = runs(tmp_path, None, (2, 500, 200, 0))
    assert totals(killed) == [(500, 2, 6)] and len(facts_of(killed).unrecorded) == 1
    assert len(facts_of(runs(tmp_path, (1, 300, 100, 0), None, (3, 900, 300, 0))).unrecorded) == 2


def test_a_run_without_a_question_states_nothing(tmp_path: Path) -> None:
    asked, resumed = event("user.message", content="Go."), event("session.resume")
    quit_at_once = shutdown(0)
    quit_at_once["data"]["modelMetrics"] = {}
    found = one(
        tmp_path, START, asked, answer("One.", outputTokens="?"), asked, answer("Two."), shutdown(2, inputTokens=500),
        resumed, quit_at_once, resumed, asked, answer("Three."), shutdown(1, inputTokens=900),
    )  # fmt: skip
    assert totals(found) == [(500, 0, 4), (900, 4, 6)]


def test_the_usage_of_one_request_is_within_a_later_total_that_holds_it(tmp_path: Path) -> None:
    apart, all_of_it = (runs(tmp_path, (1, 300, 100, 0), last) for last in ((2, 600, 200, 0), (3, 900, 300, 0)))
    assert (apart.calls[0].usage, totals(apart)) == (Usage(300, 100, 0), [(600, 2, 6)])
    assert (all_of_it.calls[0].usage, totals(all_of_it)) == (None, [(900, 0, 6)])


def test_what_is_told_once_is_no_response_of_a_sub_agent(tmp_path: Path) -> None:
    main, child = map(facts_of, transcripts(
        tmp_path, START, event("user.message", content="Go."), answer("One."),
        answer("Found.", parentToolCallId="c1"), shutdown(2, inputTokens=900, cacheReadTokens=800),
    ))  # fmt: skip
    assert [(made.read, made.plain, made.unsaid) for made in (*main.beside, *child.beside)] == [(800, 100, False)]
    assert (main.unrecorded, child.unrecorded) == ((), ())


def test_usage_of_each_request_where_it_is_recorded(tmp_path: Path) -> None:
    def spent(call_id: str, tokens: int, second: int = 0) -> Json:
        return event("session.usage_record", second, usage={
            "model": "gpt-y", "apiCallId": call_id, "inputTokens": tokens, "outputTokens": 6, "cacheReadTokens": 4,
            "cacheWriteTokens": 3, "reasoningTokens": 2, "maxPromptTokens": 64_000,
        })  # fmt: skip

    asked = event("user.message", content="Go.")
    found = one(
        tmp_path, START, asked, answer("Old."), shutdown(2, inputTokens=20), event("session.resume"), asked,
        spent("a1", 90), answer("", request("c1"), apiCallId="a1"), done("c1", "ok"),
        spent("a2", 95), answer("Do", apiCallId="a2"), answer("ne.", apiCallId="a2"), asked, spent("a3", 70, 7),
        shutdown(3, inputTokens=255),
    )  # fmt: skip
    assert [call.usage for call in found.calls] == [None, Usage(90, 6, 4, 3, 2), Usage(95, 6, 4, 3, 2)]
    assert [call.window for call in found.calls] == [None, 64_000, 64_000]
    # No response came of the third. The last total adds nothing; that of an older version is of the call before it.
    assert [(call.usage, call.model, call.end) for call in found.beside] == [
        (Usage(20), "gpt-x", 2), (Usage(70, 6, 4, 3, 2), "gpt-y", 0)
    ]  # fmt: skip
    assert found.beside[1].time_s == found.calls[1].time_s + 7  # type: ignore[operator]


def test_credits_are_cents_in_requests_and_in_totals(tmp_path: Path) -> None:
    # As of Copilot CLI 1.0.95: 1.5 credits and 0.25; a request to the user's own provider has none.
    def spent(identity: str, **usage: Any) -> Json:
        return event("session.usage_record", usage={"model": "gpt-y", "inputTokens": 90} | usage) | {"id": identity}

    credits = [{"copilotUsage": {"totalNanoAiu": 1_500_000_000}}, {"copilotUsage": {"totalNanoAiu": None}}, {}]
    found = one(
        tmp_path, START, event("user.message", content="Go."), spent("e1", apiCallId="a1", **credits[0]),
        answer("One.", apiCallId="a1"), *(spent(f"e{at}", **each) for at, each in enumerate(credits, 2)),
    )  # fmt: skip
    assert found.calls[0].usage == Usage(90, cost_usd=0.015)
    # Records that name no request are kept apart.
    assert [one.usage and one.usage.cost_usd for one in found.beside] == [0.015, None, None]
    total = shutdown(1, inputTokens=90)
    total["data"]["modelMetrics"]["gpt-x"]["totalNanoAiu"] = 250_000_000
    assert one(tmp_path, START, event("user.message", content="Go."), answer("One."), total).calls[0].usage == Usage(
        90, cost_usd=0.0025
    )


def test_compactions_that_failed_and_truncations(tmp_path: Path) -> None:
    failed = event("session.compaction_complete", success=False)
    used = {"inputTokens": 90, "outputTokens": 9, "cacheReadTokens": 70, "cacheWriteTokens": 7, "model": "gpt-y"}
    short = event("session.compaction_complete", success=False, compactionTokensUsed={"input": 60, "cachedInput": 5})
    found = one(
        tmp_path, START, event("user.message", content="Go."), answer("One."), failed, short,
        event("session.truncation", preTruncationTokensInMessages=90), answer("Two."),
        event("session.compaction_complete", success=True, preCompactionTokens=80, postCompactionTokens=8,
              summaryContent="So far.", trigger="manual", compactionTokensUsed=used), answer("Three."),
    )  # fmt: skip
    # What the log counts of requests for summaries was paid for, also if no summary came.
    assert [(call.start, call.model, call.usage) for call in found.beside] == [
        (0, "gpt-x", Usage(60, None, 5)), (3, "gpt-y", Usage(90, 9, 70, 7))
    ]  # fmt: skip
    assert [call.comparable for call in found.calls] == [True, False, True]
    assert found.compactions == (Compaction(3, 3, "manual", ("So far.",), (), 80, 8),)
    assert [text for _, text in said(found)] == ["Go.", "One.", "Two.", "Three."]
    assert found.notes == (
        "recorded truncation before call 2 (90 tokens)", "recorded compaction before call 3 (manual, 80 tokens)",
        "left out: 2 x failed session.compaction_complete",
    )  # fmt: skip


def test_a_compaction_is_of_the_size_at_which_it_began(tmp_path: Path) -> None:
    # The conversation went on meanwhile.
    ended = {"success": True, "preCompactionTokens": 80, "postCompactionTokens": 8, "summaryContent": "So far."}
    began = event("session.compaction_start", currentTokens=75, tokenLimit=100)
    found = one(tmp_path, START, event("user.message", content="Go."), answer("One."), began, answer("Two."),
                event("session.compaction_complete", **ended), answer("Three."),
                event("session.compaction_complete", **ended), answer("Four."))  # fmt: skip
    assert [one.tokens_before for one in found.compactions] == [75, 80]
    assert {call.window for call in found.calls} == {100}


def test_requests_hold_nothing_from_before_the_conversation_was_cleared(tmp_path: Path) -> None:
    cleared = event("session.context_cleared", messagesCleared=2, initialMessage="Write the plan.")
    found = one(tmp_path, START, event("user.message", content="Plan it."), answer("A plan."), cleared,
                event("user.message", content="Go."), answer("Done."))  # fmt: skip
    # The next request, the second, holds the host's text and "Go.", and neither of the two items before.
    assert found.compactions == (Compaction(2, 2, "", ("Write the plan.",)),)


def test_a_session_states_its_ai_credits(tmp_path: Path) -> None:
    def paid(units: int) -> Json:
        return event("session.usage_checkpoint", totalNanoAiu=units)

    asked = event("user.message", content="Go.")
    found = one(tmp_path, START, asked, answer("One."), paid(1_500_000_000), answer("Two."), paid(2_000_000_000),
                event("session.shutdown", totalNanoAiu=2_000_000_000, modelMetrics={}),
                event("session.resume"), asked, answer("Three."), paid(1_000_000_000))  # fmt: skip
    # 2 credits; the resumed run counts from 0: 1 credit. A credit is a cent.
    assert found.cost_usd == pytest.approx(0.03)
    assert [response.usd for response in facts_of(found).responses] == [found.cost_usd]
    assert found.notes == ()
    assert one(tmp_path, START, asked, answer("One."), paid(0)).cost_usd is None
    # The total of a model states them again.
    total = shutdown(1, inputTokens=90)
    total["data"]["modelMetrics"]["gpt-x"]["totalNanoAiu"] = 2_000_000_000
    again = one(tmp_path, START, asked, answer("One."), answer("Two."), paid(2_000_000_000), total)
    assert again.cost_usd is None
    assert [one.usage and one.usage.cost_usd for one in again.beside] == [0.02]


def test_attachments_and_prompts_that_change(tmp_path: Path) -> None:
    image, other = {"mimeType": "image/png"}, {"mimeType": "text/plain"}
    found = one(
        tmp_path, START, event("system.message", content="Be brief."), event("system.message", content="Be kind."),
        event("system.message", content="Be brief."),
        event("user.message", content="Go.", transformedContent="", attachments=[image, other, other, image]),
        answer(), answer("", request("c1", arguments=5)), done("c1", "1"), answer("Done."),
    )  # fmt: skip
    assert found.head.system == "Be brief."
    assert [(item.kind, item.text, len(item.media)) for item in found.items] == [
        ("user", "Go.", 2), ("assistant", "", 0), ("tool_call", "5", 0), ("tool_result", "1", 0), ("assistant",
        "Done.", 0)
    ]  # fmt: skip
    assert found.notes == ("left out: 2 x attachment, 1 x system.message that changes the system prompt",)
