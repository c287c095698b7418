"""One client's conversation by itself: which step is next, what is reported, and what is refused in which words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from endpoint import FIRST, SECOND, sample

from ctxsim.errors import InputError
from ctxsim.live import messages as api
from ctxsim.live.agent import Agent, Helper
from ctxsim.live.exchange import Refusal, Tool, ToolCall, Used
from ctxsim.live.faults import parse_faults
from ctxsim.live.matching import Match, Matched
from ctxsim.live.script import Script, Step, Wanted, script_of
from ctxsim.live.session import Served, Session, ask
from ctxsim.readers.source import compact_json
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.provider.rules import RateLimit
from ctxsim.transcript import Item

TASK = {"role": "user", "content": "Do the task."}
TOOLS = [{"type": "function", "function": {"name": "tool", "parameters": {"type": "object", "properties": {}}}}]
COUNT = Provider().counter().text


def session(faults: tuple[str, ...] = (), agent: Agent | None = None, **provider: Any) -> Session:
    given = {"agent": agent} if agent else {}
    return Session(script_of(sample()), Provider(**provider), parse_faults(faults), **given)


def asked(one: Session, messages: list[Any], tools: Any = TOOLS, headers: dict[str, str] | None = None) -> Served:
    return one.answer("chat", {"messages": messages, "tools": tools}, "m", False, headers or {})


def call(number: int) -> dict[str, Any]:
    function = {"name": "tool", "arguments": "{}"}
    made = {"id": f"call_{number:04}_0", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


def result(number: int, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call_{number:04}_0", "content": text}


FIRST_DONE = [TASK, call(1), result(1, FIRST)]
ALL_DONE = [*FIRST_DONE, call(2), result(2, SECOND)]


def test_each_step_of_a_conversation() -> None:
    one = session()
    first = asked(one, [TASK])
    assert first.reply is not None and first.matched is not None and first.refusal is None
    assert (first.kind, first.step, first.retry, first.unused) == ("main", 1, False, "")
    assert first.reply.calls == (ToolCall("call_0001_0", "tool", "{}"),)
    assert (first.reply.id, first.reply.model, first.reply.text, first.reply.broken) == ("00000001", "m", "", False)
    # The task, and a schema as JSON; the answer is a name and {}.
    assert first.tokens == COUNT("Do the task.") + COUNT(compact_json(TOOLS[0]))
    assert first.output == COUNT("tool") + COUNT("{}")
    assert first.reply.used == Used(first.tokens, first.output) and first.cost_usd is None
    assert first.matched == Matched((Match(0, "kept"),), ())
    second = asked(one, FIRST_DONE)
    assert second.reply is not None and second.matched is not None
    assert (second.step, second.reply.id, second.reply.calls[0].id, one.step) == (2, "00000002", "call_0002_0", 2)
    assert [match.place for match in second.matched.matches] == [0, 1, 2]
    assert second.tokens == first.tokens + first.output + COUNT(FIRST)
    third = asked(one, ALL_DONE)
    assert third.reply is not None and (third.reply.text, third.reply.calls, third.output) == (
        "Done.",
        (),
        COUNT("Done."),
    )
    # Past the end it says so, and goes on counting.
    over = asked(one, [*ALL_DONE, {"role": "assistant", "content": "Done."}, TASK])
    assert over.reply is not None and (over.step, over.reply.text, one.step) == (4, "The conversation is over.", 4)


def test_a_request_that_is_asked_again_gets_the_same_answer() -> None:
    one = session()
    first = asked(one, [TASK])
    again = asked(one, [TASK])
    assert again == msgspec.structs.replace(first, retry=True) and again.api == "chat"
    asked(one, FIRST_DONE)
    # The first step's request isn't asked again, it is the third.
    assert (asked(one, [TASK]).step, one.step) == (3, 3)


def test_fifty_times_it_is_said_that_the_conversation_is_over() -> None:
    one = session()
    done = [asked(one, [{"role": "user", "content": f"Go on, {n}."}]) for n in range(54)]
    assert all(served.refusal is None for served in done[:53])
    # Three steps, then 50 times.
    assert done[53].refusal == Refusal("invalid", "The conversation is over. So it was said 50 times.")
    assert (done[53].tokens, done[53].reply, done[52].reply and done[52].reply.text) == (
        0, None, "The conversation is over.",
    )  # fmt: skip


def test_what_is_over_ends_with_the_call_that_an_agent_needs() -> None:
    finish = {"type": "function", "function": {"name": "finish"}}
    one = session(agent=Agent("mine", ends={"finish": {"said": "yes"}}))
    asked(one, [TASK], [*TOOLS, finish])
    asked(one, FIRST_DONE, [*TOOLS, finish])
    third = asked(one, ALL_DONE, [*TOOLS, finish])
    over = asked(one, [TASK, {"role": "user", "content": "And?"}], [*TOOLS, finish])
    assert third.reply is not None and over.reply is not None
    assert third.reply.calls == (ToolCall("call_0003_end", "finish", '{"said": "yes"}'),)
    assert over.reply.calls == (ToolCall("call_0004_over_4", "finish", '{"said": "yes"}'),)


def test_calls_of_which_one_has_no_tool_are_none() -> None:
    called = [Item("tool_call", place, 2, "{}", tool) for place, tool in ((1, "tool"), (2, "other"))]
    results = [Item("tool_result", place, 3, text) for place, text in ((3, FIRST), (4, SECOND))]
    steps = (Step("", tuple(map(Wanted, called, results))), Step("Done.", ()))
    script = script_of(sample())
    one = Session(Script(script.transcript, script.prompts, steps), Provider())
    first = asked(one, [TASK])
    assert first.reply is not None
    assert (first.unused, first.reply.calls, first.reply.text) == ("other", (), "The conversation is over.")
    both = Session(Script(script.transcript, script.prompts, steps), Provider(), folder="")
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {"properties": {"cmd": {}}}}}]
    reply = asked(both, [TASK], tools).reply
    assert reply is not None and reply.calls == (
        ToolCall("call_0001_0", "bash", '{"cmd": "cat result_0003.txt"}'),
        ToolCall("call_0001_1", "bash", '{"cmd": "cat result_0004.txt"}'),
    )


# what is reported


def test_usage_and_dollars_by_the_cache_and_the_faults() -> None:
    prices = Prices(input=1.0, output=10.0)
    plain, half = session(prices=prices), session(("usage=0.5",), prices=prices)
    one, other = asked(plain, [TASK]), asked(half, [TASK])
    assert one.reply is not None and other.reply is not None and one.reply.used is not None
    # A million tokens cost 1 dollar, of output 10; wrong usage is no other bill.
    assert one.cost_usd == pytest.approx((one.tokens + 10 * one.output) / 1e6) == other.cost_usd
    assert other.reply.used == Used(round(one.tokens / 2), round(one.output / 2))
    assert (other.tokens, other.output) == (one.tokens, one.output)
    none = asked(session(("usage=none",)), [TASK]).reply
    assert none is not None and none.used is None


@pytest.mark.parametrize("marks", [{}, {"cache_control": {"type": "ephemeral"}}])
def test_anthropic_caches_only_what_a_request_marks(marks: dict[str, Any]) -> None:
    one = session(vendor="anthropic", cache="anthropic", model="claude-sonnet-4-5")
    # A text that speaks of a mark is none.
    asks = {"role": "user", "content": [{"type": "text", "text": '"cache_control":{} ' * 1000, **marks}]}
    read = []
    for messages in ([asks], [asks, {"role": "assistant", "content": "Yes."}, TASK]):
        reply = one.answer("messages", {"messages": messages, "max_tokens": 9}, "m", False, {}).reply
        assert reply is not None and reply.used is not None
        read.append((reply.used.read > 0, reply.used.write > 0))
    # What is behind the mark of the first message is neither.
    assert read == ([(False, True), (True, False)] if marks else [(False, False)] * 2)


LONG, OTHER = "one two " * 600, "three four " * 700
FIVE, HOUR = {"cache_control": {"type": "ephemeral"}}, {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def text(said: str, marks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": said, **marks}


@pytest.mark.parametrize(
    ("system", "first", "last", "whole", "parts"),
    [
        # Up to the newest mark, wherever it stands; a mark of the whole request is one at its end.
        (FIVE, {}, {}, {}, 1), ({}, FIVE, {}, {}, 2), (HOUR, {}, HOUR, {}, 3), ({}, {}, {}, HOUR, 3),
        (HOUR, {}, {}, {}, 1), ({}, {}, {"cache_control": None}, {}, 0),
    ],
)  # fmt: skip
def test_anthropic_caches_up_to_the_marks_for_as_long_as_they_say(
    system: dict[str, Any], first: dict[str, Any], last: dict[str, Any], whole: dict[str, Any], parts: int
) -> None:
    prices = Prices(input=1.0, output=0.0, cache_read=0.1, cache_write=1.25, cache_write_long=2.0)
    one = session(cache="anthropic", model="claude-sonnet-4-5", prices=prices, pace_s=301.0)
    messages = [{"role": "user", "content": [text(OTHER, first), text(LONG, last)]}]
    body = {"system": [text(LONG, system)], "messages": messages, "max_tokens": 9, **whole}
    made = one.answer("messages", body, "m", False, {})
    assert made.reply is not None and made.reply.used is not None and made.cost_usd is not None
    write, hour = made.reply.used.write, HOUR in (system, whole)
    assert write == sum(map(COUNT, (LONG, OTHER, LONG)[:parts]))
    assert made.cost_usd == pytest.approx((made.tokens - write + write * (2.0 if hour else 1.25)) / 1e6)
    # 301 seconds later.
    messages += [{"role": "assistant", "content": "Yes."}, TASK]
    again = one.answer("messages", body, "m", False, {}).reply
    assert again is not None and again.used is not None and again.used.read == (write if hour else 0)


def test_anthropic_refuses_a_fifth_mark() -> None:
    body = {"system": [text("a", FIVE)], "messages": [{"role": "user", "content": [text("b", FIVE)] * 3}]}
    assert session().answer("messages", body, "m", False, {}).refusal is None
    answer = {"type": "tool_result", "tool_use_id": "x", "content": [text("c", HOUR)]}
    body["messages"] += [{"role": "user", "content": [answer]}]
    with pytest.raises(InputError, match=r"A maximum of 4 blocks with cache_control may be provided\. Found 5\."):
        session().answer("messages", body, "m", False, {})


def test_too_many_marks_are_refused_before_any_is_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "items_of", lambda asked: pytest.fail("each mark reads all messages before it"))
    body = {"messages": [{"role": "user", "content": [text("b", FIVE)] * 5}]}
    with pytest.raises(InputError, match="Found 5"):
        api.marks_of(body, 6)


def test_a_broken_stream_takes_no_step_and_comes_once() -> None:
    one = session(("stream-error@1",))
    body = {"messages": [TASK], "tools": TOOLS}
    assert not asked(session(("stream-error@1",)), [TASK]).reply.broken, "what isn't streamed has no middle"  # type: ignore[union-attr]
    first = one.answer("chat", body, "m", True, {})
    assert first.reply is not None and first.reply.broken and one.step == 0
    again = one.answer("chat", body, "m", True, {})
    assert again.reply is not None and not again.reply.broken and not again.retry and one.step == 1


def test_tokens_of_a_request_that_is_only_counted() -> None:
    one = session()
    counted = one.count("chat", {"messages": [TASK], "tools": TOOLS}, "m")
    assert counted == asked(one, [TASK]).tokens and one.step == 1
    # A request that begins otherwise is counted as it is.
    assert asked(one, [{"role": "user", "content": "word " * 50}], []).tokens == COUNT("word " * 50)
    with pytest.raises(InputError, match="request: it has no message"):
        one.count("chat", {"messages": []}, "m")


# what is refused


def test_a_window_counts_what_is_reserved_for_output() -> None:
    size = asked(session(), [TASK]).tokens
    assert asked(session(window=size), [TASK]).refusal is None
    assert asked(session(window=size + 100, reserved_output=100), [TASK]).refusal is None
    refused = asked(session(window=size + 99, reserved_output=100), [TASK])
    said = "This model's maximum context length is {} tokens. However, your messages resulted in {} tokens."
    assert refused.refusal == Refusal("overflow", said.format(size + 99, size + 100)) and refused.tokens == size


def test_a_limit_that_is_asked_for_refuses_a_step_so_many_times() -> None:
    one = session(("429@2:retry=7,times=2", "429@3"))
    assert asked(one, [TASK]).refusal is None
    limited = Refusal("rate_limited", "Rate limit reached. Please try again in 7s.", 7.0)
    found = [asked(one, FIRST_DONE) for _ in range(3)]
    assert [served.refusal for served in found] == [limited, limited, None]
    assert found[0].tokens == found[2].tokens > 0 and found[0].step == 2
    # Once, and after 3 seconds, where nothing is said.
    last = [asked(one, ALL_DONE).refusal for _ in range(2)]
    assert last == [Refusal("rate_limited", "Rate limit reached. Please try again in 3s.", 3.0), None]


def test_a_bucket_lets_a_request_through_once_it_has_waited() -> None:
    size = asked(session(), [TASK]).tokens
    # What no bucket holds is told to wait a minute, again and again.
    small = session(rate_limit=RateLimit(size - 1))
    never = Refusal("rate_limited", "Rate limit reached. Please try again in 60s.", 60.0)
    assert [asked(small, [TASK]).refusal for _ in range(2)] == [never, never]
    both = asked(session(), FIRST_DONE).tokens
    one = session(rate_limit=RateLimit(both))
    assert asked(one, [TASK]).refusal is None
    # It lacks what the first request took, and fills in a minute.
    refused = asked(one, FIRST_DONE).refusal
    assert refused is not None and refused.reason == "rate_limited"
    assert refused.retry_after_s == pytest.approx(60 * size / both)
    assert asked(one, FIRST_DONE).refusal is None and one.step == 2


def test_calls_and_results_that_do_not_pair_are_refused_unless_asked_for() -> None:
    unpaired = [TASK, call(1), TASK]
    one, lenient = session(), session(("unpaired",))
    refused = asked(one, unpaired).refusal
    assert refused is not None and refused.reason == "invalid"
    assert refused.message.startswith("Invalid request: ") and "not answered" in refused.message
    assert asked(lenient, unpaired).refusal is None and (one.step, lenient.step) == (0, 1)
    # The server's own tools are answered in the response that calls them.
    searched = [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}]  # fmt: skip
    sent = {"messages": [TASK, {"role": "assistant", "content": searched}, TASK], "max_tokens": 9}
    assert one.answer("messages", sent, "m", False, {}).refusal is None


# requests that aren't the conversation

TITLE = Helper("^Name this", kind="title", answer="A task")
SUMS = Helper("sum it up", where="system")
NAMED = Helper("^title$", kind="title", where="header", header="X-Purpose", answer="Short: {summary}!")
NOTHING_SAID = "The earlier part of the conversation was summarized."
MINE = Agent("mine", tools={"tool": {}}, helpers=(TITLE, SUMS, NAMED))


@pytest.mark.parametrize(
    ("messages", "tools", "headers", "kind", "text"),
    [
        ([{"role": "user", "content": "Name this talk."}], TOOLS, {}, "title", "A task"),
        # A task without a name in it is nothing that a summary would hold.
        ([{"role": "system", "content": "Now sum it up."}, TASK], TOOLS, {}, "summary", NOTHING_SAID),
        ([TASK], TOOLS, {"x-purpose": "title"}, "title", f"Short: {NOTHING_SAID}!"),
        ([TASK], TOOLS, {"x-purpose": "titles"}, "main", ""), ([TASK], [], {}, "other", NOTHING_SAID),
    ],
)  # fmt: skip
def test_an_agents_own_requests_are_known(
    messages: list[Any], tools: list[Any], headers: dict[str, str], kind: str, text: str
) -> None:
    one = session(agent=MINE)
    served = asked(one, messages, tools, headers)
    assert served.reply is not None and (served.kind, served.reply.text) == (kind, text)
    assert (served.step, one.step) == ((1, 1) if kind == "main" else (0, 0))
    assert (served.matched is None) == (kind != "main")
    assert asked(one, messages, tools, headers).retry


def test_a_summary_holds_what_stands_before_the_request_for_it() -> None:
    one = session(agent=MINE)
    texts = ["Close ticket_12 now. More.", "Read src/part_7.py first.", "Then sum."]
    messages = [{"role": "system", "content": "sum it up"}, *({"role": "user", "content": text} for text in texts)]
    served = asked(one, messages)
    # Of each user's text the first sentence; what asks for it isn't part of it.
    assert served.reply is not None and served.reply.text == "Close ticket_12 now.\nRead src/part_7.py first."
    two = asked(one, messages[:3])
    # Of two messages all of both, as the conversation may stand in one of them.
    assert two.reply is not None and two.reply.text == "Close ticket_12 now. More.\nRead src/part_7.py first."


def test_a_summary_has_at_most_eight_hundred_tokens() -> None:
    # With its end a line takes five tokens, each of the others four: 5 + 198 * 4 = 797.
    lines = ["ticket_100 on", *(f"ticket_{n}" for n in range(101, 400))]
    assert [COUNT(line) for line in lines] == [4, *[3] * 299]
    system = {"role": "system", "content": "sum it up"}
    summed = asked(session(agent=MINE), [system, {"role": "user", "content": "\n".join(lines)}]).reply
    assert summed is not None and len(summed.text.splitlines()) == 199


def test_of_a_client_of_which_nothing_is_known_a_summary_is_told_by_its_text() -> None:
    sums: dict[str, Any] = {"role": "user", "content": "Please summarise the work so far."}
    one = session()
    # The first request is never that: nothing has been sent that could be summarized.
    assert asked(one, [{"role": "user", "content": "Compact this file."}]).kind == "main"
    one = session()
    asked(one, [TASK])
    assert [asked(one, [TASK, call(1), result(1, FIRST), sums]).kind, one.step] == ["summary", 1]
    # Without that word, with it in a tool's result, or where items are missing, the conversation goes on.
    assert asked(one, [TASK, call(1), result(1, "summary")]).kind == "main"
    for messages in ([*ALL_DONE, TASK], [TASK, sums]):
        one = session()
        asked(one, [TASK])
        asked(one, FIRST_DONE)
        assert asked(one, messages).kind == "main"


# a request


def test_a_request_as_the_provider_sees_it() -> None:
    system = {"role": "system", "content": "You help."}
    found = ask("chat", {"messages": [system, *FIRST_DONE], "tools": [*TOOLS, 7, {"type": "x"}]}, "m", True)
    assert (found.api, found.model, found.stream, found.text, found.tools) == (
        "chat",
        "m",
        True,
        FIRST,
        (Tool("tool", {}),),
    )
    assert found.items == [
        Item("user", 0, 1, "Do the task."), Item("tool_call", 1, 2, "{}", "tool", call_id="call_0001_0"),
        Item("tool_result", 2, 3, FIRST, "tool", 1, "call_0001_0"),
    ]  # fmt: skip
    assert found.head.system == "You help." and len(found.head.tools) == 3
    for choice in ("none", {"type": "none"}, "auto"):
        sent = {"messages": [TASK], "tools": TOOLS, "tool_choice": choice}
        assert ask("chat", sent, "m", False).tools == ((Tool("tool", {}),) if choice == "auto" else ())
    declared = [{"functionDeclarations": [{"name": "tool"}]}]
    for mode in ("NONE", "AUTO"):
        config = {"functionCallingConfig": {"mode": mode}}
        contents = [{"role": "user", "parts": [{"text": "Do the task."}]}]
        known = ask("gemini", {"contents": contents, "tools": declared, "toolConfig": config}, "m", False)
        assert len(known.tools) == (mode == "AUTO")
    parts = [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    assert ask("chat", {"messages": [{"role": "user", "content": parts}]}, "m", False).text == "One.\nTwo."


def test_results_answer_calls_by_id_or_by_name_in_order() -> None:
    def results(*given: dict[str, Any]) -> list[tuple[str, int | None, int]]:
        calls = [{"functionCall": {"name": "read", "args": {}}}, {"functionCall": {"name": "list", "args": {}}},
                 {"functionCall": {"name": "read", "args": {}}}]  # fmt: skip
        answers = {"role": "user", "parts": [{"functionResponse": one} for one in given]}
        contents = [{"role": "user", "parts": [{"text": "Go."}]}, {"role": "model", "parts": calls}, answers]
        items = ask("gemini", {"contents": contents}, "m", False).items
        return [(item.tool, item.answers, item.message) for item in items[4:]]

    said = {"output": "x"}
    named = [{"name": name, "response": said} for name in ("read", "read", "list", "read")]
    # All of one message; a third result of that tool answers nothing.
    assert results(*named) == [("read", 1, 3), ("read", 3, 3), ("list", 2, 3), ("read", None, 3)]


def test_of_messages_that_requests_repeat_one_copy_is_kept() -> None:
    one, items = session(), [{"role": "user", "content": "Do the task."}]
    for number in range(4):
        one.answer("responses", {"input": items}, "m", False, {})
        items = [*items, {"role": "user", "content": f"And then {number}."}]
    task, *others = (said[0] for said in one._before.values())
    assert len(others) == 3 and all(other is task for other in others)
