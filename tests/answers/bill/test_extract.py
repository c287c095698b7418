"""All that is extracted of one recording made by hand: each part of each request, and what classes its log states."""

from __future__ import annotations

import json

import msgspec
import pytest
from samples import ASK, TASK, chat, conversation

from ctxsim.answers.bill.changes import Effect
from ctxsim.answers.bill.extract import LARGE, _Filled, _missed, facts_of
from ctxsim.answers.bill.facts import Large, Response, Session
from ctxsim.answers.bill.offers import Offer
from ctxsim.counting.tokenizers import open_tokenizer, tokenizer_of
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.provider.priors import tokens_per_counted, tokens_per_default
from ctxsim.simulator.provider.vendor import load_vendor, vendor_of
from ctxsim.transcript import UNSHOWN, Call, Head, Media, Transcript, Usage

MODEL = "claude-opus-4-6"


def recorded(model: str = MODEL) -> Transcript:
    """Texts of 400 characters each but for a result of 4,000 with a picture of 300 tokens, and an answer of 200."""
    made = Assembly("logs/s.jsonl")
    made.user("<system-reminder>" + "r" * 383)
    made.user("u" * 400)
    parts = [
        Part("reasoning", "t" * 400),
        Part("assistant", "a" * 200),
        Part("tool_call", "{}" + " " * 394, "Read", "c0"),
    ]
    made.response(parts, Usage(600, 50, 0, 500, cache_write_long_tokens=100))
    made.result("r" * 4_000, "c0", media=(Media("image", 300),))
    made.response([Part("tool_call", "{}" + " " * 382, "mcp__figma__draw", "c1")], Usage(2_100, 20, 600, 1_500))
    made.result("x" * 400, "c1")
    made.compacted("auto", ["S" * 800], (), 2_200, 400)
    made.user("g" * 400)
    made.response([Part("assistant", "d" * 400)], Usage(700, 30, 0, 700))
    whole = made.transcript()
    calls = tuple(
        msgspec.structs.replace(call, model=model, time_s=1_000.0 + 400 * n) for n, call in enumerate(whole.calls)
    )
    tools = (json.dumps({"name": "Read", "x": "y" * 380}), json.dumps({"name": "mcp__figma__draw", "x": "y" * 368}),
             "plain" * 8)  # fmt: skip
    return msgspec.structs.replace(
        whole, calls=calls, head=Head("s" * 400, tools), format="claude-code", project="p", version="2.1.0",
        beside=(Call(0, 0, usage=Usage(70, 3, 50, 10), time_s=1_500.0, model="claude-haiku-4-5"), Call(0, 0)),
        notes=("line 3 skipped, not JSON: cut", "other"),
    )  # fmt: skip


PARTS = (
    "head, system prompt", "head, tools", "head, MCP server figma", "attachments", "user", "thinking", "assistant",
    "tool calls", "results of Read", "images and files", "results of mcp__figma__draw", "unknown", "summaries",
    "outside the conversation",
)  # fmt: skip


def groups(*parts: tuple[int, int, int, int]) -> tuple[int, ...]:
    return tuple(number for part in parts for number in part)


def test_a_recording_is_told_in_numbers() -> None:
    # The first request is 541 by its texts and 59 of nobody knows what; of the second more is logged than was sent, so
    # all but its head is smaller: 330 for 110 each of the head's three. The third one is a history of its own.
    first = Response(
        1_000.0, MODEL, 0, 500, 100, 100, 50, False, None, 0,
        groups((0, 0, 106, 0), (1, 0, 117, 0), (2, 0, 107, 0), (3, 0, 106, 0), (4, 0, 64, 41),
        (11, 0, 0, 59)), 330, 270,
    )  # fmt: skip
    second = Response(
        1_400.0, MODEL, 600, 1_500, 0, 0, 20, False, None, 0,
        groups((0, 106, 0, 0), (1, 117, 0, 0), (2, 107, 0, 0), (3, 102, 0, 0), (4, 102, 0, 0), (5, 66, 36, 0),
               (6, 0, 51, 0), (7, 0, 102, 0), (8, 0, 1_021, 0), (9, 0, 290, 0)), 330, 1_311, 400.0,
    )  # fmt: skip
    third = Response(
        1_800.0, MODEL, 0, 700, 0, 0, 30, False, None, 0,
        groups((0, 0, 114, 0), (1, 0, 128, 0), (2, 0, 115, 0), (4, 0, 115, 0), (12, 0, 228, 0)), 357, 343, 400.0,
        # The 800 characters of the summary.
        compacted=229,
    )  # fmt: skip
    beside = Response(1_500.0, "claude-haiku-4-5", 50, 10, 0, 10, 3, False, None, parts=(13, 50, 10, 10))
    found = facts_of(recorded())
    assert found == Session(
        "logs/s.jsonl", "", "claude-code", "p", "2.1.0", (first, second, third), (beside,), PARTS,
        (Large(1, 2, 1_056, 8, 0),), {"Read": 1, "mcp__figma__draw": 1}, found.chars_per_token,
        skipped=("line 3 skipped, not JSON: cut",),
    )  # fmt: skip
    # The median of 400 / 105.6 and 400 / 114.
    assert found.chars_per_token == pytest.approx(3.64, abs=0.01)
    for one in found.responses:
        sums = [sum(one.parts[at::4]) for at in (1, 2, 3)]
        assert sums == [one.read, one.write, one.plain]


@pytest.mark.parametrize("then", [(9_000, 11_000, 13_000), (4_000, 5_000, 6_000)])
def test_tokens_are_fitted_to_the_requests_before_results_went(then: tuple[int, ...]) -> None:
    # Each request has 4,000 characters more than the one before, which are 2,000 tokens; then some are gone, unlogged.
    made = conversation(*["x" * 4_000] * 6)
    calls = tuple(
        msgspec.structs.replace(call, usage=Usage(tokens, 1), model="gpt-4.1")
        for call, tokens in zip(made.calls, (1_000, 3_000, 5_000, 7_000, *then), strict=True)
    )
    found = facts_of(msgspec.structs.replace(made, calls=calls, head=Head(recorded=False)))
    assert found.chars_per_token == pytest.approx(2.0, abs=0.01)


def test_compactions_after_the_last_response_are_told_by_their_summaries() -> None:
    whole = recorded()
    (cut,) = whole.compactions
    # Files that are sent again stand behind the summary, and weren't written by the model.
    behind = [msgspec.structs.replace(cut, call=4, summary=texts) for texts in (("S" * 800, "f" * 9_000), ())]
    found = facts_of(msgspec.structs.replace(whole, compactions=(cut, *behind)))
    assert found.ending == ((round(800 / found.chars_per_token), False), (0, False)) and len(found.responses) == 3
    # The cache lives for 300 s; a response began up to 30 s after its request, these two at 1,400 and 1,800 s.
    for waited_s, cold in ((270.0, False), (270.1, True), (None, False)):
        at = [waited_s and since_s + waited_s for since_s in (1_400, 1_800)]
        cuts = [msgspec.structs.replace(one, time_s=when) for one, when in zip((cut, behind[1]), at, strict=True)]
        found = facts_of(msgspec.structs.replace(whole, compactions=tuple(cuts)))
        assert [one.cold for one in found.responses] == [False, False, cold] and found.ending == ((0, cold),)
    # Where the log lacks the summary, all that follows the head is taken for it.
    bare = facts_of(msgspec.structs.replace(whole, compactions=(msgspec.structs.replace(cut, summary=()),)))
    assert bare.responses[2].compacted == bare.responses[2].input - bare.responses[2].head > 0


@pytest.mark.parametrize(("model", "held"), [(MODEL, True), ("openai/gpt-5", True), ("gemini-2.5-pro", False)])
def test_what_was_thought_is_in_a_request_by_the_rules_of_who_answers(model: str, held: bool) -> None:
    found = facts_of(recorded(model))
    thinking = found.parts.index("thinking")
    assert (thinking in found.responses[1].parts[::4]) is held
    # Where a user has said something more, only who sends all of it again still does.
    made = Assembly("t")
    made.user("u" * 400)
    made.response([Part("reasoning", "t" * 400), Part("assistant", "a" * 400)], Usage(1_000, 1))
    made.user("v" * 400)
    made.response([Part("assistant", "b")], Usage(1_400, 1))
    whole = made.transcript()
    calls = tuple(msgspec.structs.replace(call, model=model) for call in whole.calls)
    later = facts_of(msgspec.structs.replace(whole, calls=calls))
    assert (later.parts.index("thinking") in later.responses[1].parts[::4]) is (model == MODEL)


@pytest.mark.parametrize("model", [MODEL, "m"])
def test_an_unfinished_response_is_counted_as_the_model_writes_it(model: str) -> None:
    made = Assembly("logs/s.jsonl")
    made.user("Go.")
    parts = [
        Part("reasoning", "Look at it first.", media=(Media(UNSHOWN, 50),)), Part("assistant", "I'll read it."),
        Part("tool_call", '{"path": "src/main.py", "limit": 1}', "Read", "c0"),
    ]  # fmt: skip
    made.response(parts, Usage(600))
    whole = made.transcript()
    calls = (msgspec.structs.replace(whole.calls[0], model=model),)
    (one,) = facts_of(msgspec.structs.replace(whole, calls=calls)).responses
    known, framing = tokens_per_counted(model), load_vendor(vendor_of(model)).framing.of(model)
    call = ("Read", "path", "src/main.py", "limit", "1") if known else ("Read", '{"path": "src/main.py", "limit": 1}')
    # Hidden thinking of 50 tokens of o200k_base has 1.175 times as many of Claude's.
    texts = ["Look at it first.", "I'll read it.", *call]
    counts = [*open_tokenizer(tokenizer_of(model)[0]).count_many(texts), 59 if known else 50]
    content = sum(int(one * (known.tokens if known else 1.0) + 0.5) for one in counts)
    around = framing.reasoning + framing.calls + framing.answer + framing.call + 2 * framing.parameter
    assert one.begun and one.written == content + around


@pytest.mark.parametrize(("models", "model", "times"), [
    (("a", "b", "a", "a"), "a", (1.0, 3.0)), (("a", "b", "a", "a"), "b", (2.0,)),
    # Of another model were sub-agents: the sizes of their requests aren't known.
    (("a", "b", "a", "a"), "c", (1.0, 2.0, 3.0)), ((), "c", (9.0,)),
])  # fmt: skip
def test_a_total_counts_for_the_calls_before_it(models: tuple[str, ...], model: str, times: tuple[float, ...]) -> None:
    calls = tuple(Call(n, n + 1, None, n + 1.0, name) for n, name in enumerate(models))
    total = Call(0, 3, Usage(100, 7, 50, 30), 9.0, model)
    found = facts_of(msgspec.structs.replace(conversation(), items=(), calls=calls, beside=(total,)))
    assert [one.time_s for one in found.beside] == list(times)
    sums = [sum(of) for of in zip(*((one.read, one.write, one.plain, one.output) for one in found.beside), strict=True)]
    assert (sums, max(one.plain for one in found.beside)) == ([50, 30, 20, 7], -(-20 // len(times)))
    # The fourth call came later.
    assert found.unrecorded == ((4.0,) if calls else ()) and {found.parts[one.parts[0]] for one in found.beside} == {
        "unknown"
    }


@pytest.mark.parametrize(("usage", "told"), [
    # Read, written, of that for an hour, plain, output, unfinished, dollars: nothing is more than the request.
    (Usage(100, 5, 200, 50), (100, 0, 0, 0, 5, False, None)),
    (Usage(100, 5, 60, 70, cache_write_long_tokens=90), (60, 40, 40, 0, 5, False, None)),
    (Usage(100, 5, 60, 30, cache_write_long_tokens=20, cost_usd=0.5), (60, 30, 20, 10, 5, False, 0.5)),
    (Usage(100, output_begun_tokens=7), (0, 0, 0, 100, 7, True, None)), (Usage(100), (0, 0, 0, 100, 0, True, None)),
    (Usage(100, 0, output_begun_tokens=7), (0, 0, 0, 100, 0, False, None)),
])  # fmt: skip
def test_classes_are_those_that_the_log_states(usage: Usage, told: tuple[object, ...]) -> None:
    plain = conversation()
    made = msgspec.structs.replace(plain, beside=(Call(0, 0, usage=usage, model="m"),), cost_usd=2.0)
    (one,) = facts_of(made).beside
    assert (one.read, one.write, one.long, one.plain, one.output, one.begun, one.usd) == told
    assert one.unsaid == (usage.cache_read_tokens is None)
    calls = (msgspec.structs.replace(plain.calls[0], usage=usage),)
    found = facts_of(msgspec.structs.replace(made, calls=calls))
    # What is stated of the session counts where nothing is stated of its responses.
    assert found.usd == (None if told[-1] else 2.0) and found.responses[0].plain == told[3]
    silent = msgspec.structs.replace(made, calls=(msgspec.structs.replace(plain.calls[0], time_s=9.0, model="m"),))
    free = facts_of(msgspec.structs.replace(silent, cost_usd=0.0))
    assert free.unrecorded == (9.0,) and free.responses == ()
    # Dollars without tokens stand for all responses.
    assert facts_of(silent).responses == (Response(9.0, "m", 0, 0, 0, 0, 0, False, 2.0),)
    assert (facts_of(silent).unrecorded, facts_of(silent).usd) == ((), None)


@pytest.mark.parametrize(("chars", "large"), [(3_996, ()), (4_000, (1_000,)), (8_000, (2_000,))])
def test_a_result_is_large_from_a_thousand_tokens_on(chars: int, large: tuple[int, ...]) -> None:
    made = conversation("x" * chars)
    calls = tuple(msgspec.structs.replace(call, usage=Usage(9_000, 1), model="gpt-4.1") for call in made.calls)
    assert tuple(one.tokens for one in facts_of(msgspec.structs.replace(made, calls=calls)).large) == large


def response(read: int, write: int, **more: object) -> Response:
    made = Response(1_000.0, MODEL, read, write, 0, 0, 10, False, None)
    return msgspec.structs.replace(made, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("last", "this", "missed"), [
    # A request of 93 % goes on; a thousand tokens are missed from a thousand on, and from a twentieth of the request.
    (10_000, (0, 9_300), 9_300), (10_000, (0, 9_299), 0), (10_000, (9_000, 1_500), 1_000), (10_000, (9_001, 1_500), 0),
    (30_000, (28_500, 1_500), 1_500), (30_000, (28_501, 1_499), 0), (10_000, (0, 20_000), 10_000),
])  # fmt: skip
def test_what_is_missed_is_more_than_the_grain_of_a_cache(last: int, this: tuple[int, int], missed: int) -> None:
    found = _missed(response(*this), response(0, last), 1_000_000)
    assert found == (missed, 3 if missed else 0, 0.0)


@pytest.mark.parametrize(("model", "pause_s", "long", "cause"), [
    # Five minutes or an hour, less the half minute by which a log may be late; of others what their vendor says.
    (MODEL, 270.0, 0, 3), (MODEL, 270.5, 0, 1), (MODEL, 3_570.0, 5, 3), (MODEL, 3_570.5, 5, 1),
    ("gpt-5", 570.0, 0, 3), ("gpt-5", 570.5, 0, 1), ("openai/gpt-5.5", 86_370.0, 0, 3), ("nobodys", 90_000.0, 0, 3),
])  # fmt: skip
def test_a_cache_has_expired_half_a_minute_before_its_end(model: str, pause_s: float, long: int, cause: int) -> None:
    this = response(0, 9_900, time_s=1_000.0 + pause_s, model=model)
    assert _missed(this, response(0, 9_900, long=long, model=model), 9_900) == (9_900, cause, pause_s)


def thought(read: int) -> Assembly:
    """1,000 tokens of the user, 5,000 thought, 3,000 of a result; the second request reads some."""
    made = Assembly("t")
    made.user("u" * 4_000)
    made.response([Part("reasoning", "t" * 20_000), Part("tool_call", "{}", "Read", "c0")], Usage(1_000, 1, 0))
    made.result("r" * 12_000, "c0")
    made.response([Part("assistant", "a")], Usage(9_000, 1, read))
    return made


@pytest.mark.parametrize(("model", "tokens", "missed"), [("gpt-5", 10_000, 0), (MODEL, 15_000, 8_000)])
def test_what_was_left_out_ends_what_could_have_been_read(model: str, tokens: int, missed: int) -> None:
    # 1,000 of the user, 5,000 thought, 3,000 of a result; then 6,000 of the user. The last request reads 1,000: without
    # the thought ones no more was left of the beginning, with them there were 9,000.
    made = thought(read=1_000)
    made.user("v" * 24_000)
    made.response([Part("assistant", "b")], Usage(tokens, 1, 1_000))
    whole = made.transcript()
    calls = tuple(msgspec.structs.replace(call, model=model) for call in whole.calls)
    assert facts_of(msgspec.structs.replace(whole, calls=calls)).responses[2].missed == missed


def test_where_old_reasoning_is_left_out_the_fit_goes_on() -> None:
    # The second user's text, 250 tokens, takes the place of 5,000 thought ones: the request falls, and so does what is
    # counted. What joins unlogged after it, 2,000 tokens, is joined, not unknown.
    made = thought(read=0)
    made.user("v" * 1_000)
    for n, tokens in enumerate((4_250, 6_750, 7_250, 7_750)):
        made.response([Part("tool_call", "{}", "Read", f"d{n}")], Usage(tokens, 1, 0))
        made.result("x" * 2_000, f"d{n}")
    whole = made.transcript()
    calls = tuple(msgspec.structs.replace(call, model="gpt-5") for call in whole.calls)
    found = facts_of(msgspec.structs.replace(whole, calls=calls))
    held = dict.fromkeys(("joined, not in the log", "unknown"), 0)
    for part, *classes in (one.parts[at : at + 4] for one in found.responses for at in range(0, len(one.parts), 4)):
        if found.parts[part] in held:
            held[found.parts[part]] += sum(classes)
    assert held["joined, not in the log"] == pytest.approx(3 * 2_000, rel=0.05) and held["unknown"] < 300


def test_where_more_is_logged_than_was_sent_nothing_is_unknown() -> None:
    made = conversation("x" * 4_000)
    calls = tuple(msgspec.structs.replace(call, usage=Usage(tokens, 1), model="gpt-4.1")
                  for call, tokens in zip(made.calls, (1, 200), strict=True))  # fmt: skip
    found = facts_of(msgspec.structs.replace(made, calls=calls))
    assert "unknown" not in found.parts and found.parts[:2] == ("user", "tool calls")
    # What is more than is logged goes with every request.
    more = tuple(msgspec.structs.replace(call, usage=Usage(9_000, 1)) for call in calls)
    assert "head, not in the log" in facts_of(msgspec.structs.replace(made, calls=more)).parts


def session(*turns: tuple[str, str], tokens: int = 1_000) -> Session:
    """Each call with 100 more tokens than the one before."""
    made = chat(*turns)
    calls = tuple(
        msgspec.structs.replace(call, usage=Usage(tokens + 100 * n, 5), model="gpt-4.1")
        for n, call in enumerate(made.calls)
    )
    found = facts_of(msgspec.structs.replace(made, calls=calls))
    return found


def test_uses_of_what_is_a_call_old_or_older_are_counted_where_they_are_and_on_the_way() -> None:
    found = session(
        TASK, ASK, ("tool_result", "key abc12345 here"), ASK, ("tool_result", "value zz99887 now"),
        ("assistant", "It is abc12345 with zz99887."), ("user", "And?"), ("assistant", "Still abc12345."),
    )  # fmt: skip
    # The third response uses a result of the first call; what came right before it is fresh. The fourth uses what the
    # third has said since: nothing of a result alone.
    assert [one.needs for one in found.responses] == [0, 0, 1, 0]
    assert [one.crossing for one in found.responses] == [0, 1, 1, 0]
    assert [one.turn for one in found.responses] == [False, False, False, True] and found.uses == {"read": 2}


def test_large_results_are_told_with_their_calls_and_uses() -> None:
    text = "word " * (2 * LARGE) + "key abc12345 here"
    found = session(
        TASK, ASK, ("tool_result", text), ASK, ("tool_result", "small"), ("assistant", "It is abc12345."),
        tokens=3 * LARGE,
    )  # fmt: skip
    (one,) = found.large
    assert found.parts[one.part] == "results of read" and one.tokens > LARGE
    assert one == Large(1, 3, one.tokens, one.part, 1)


@pytest.mark.parametrize(("keeps", "effect", "words"), [
    (True, Effect(2, 20, 1), "keeps about 95% of what was used"),
    (True, Effect(2, 20, 40), "keeps about 0% of what was used"),
    (True, Effect(), "no use was seen, so what it loses is unknown"),
    (True, Effect(2, 400, 1), "keeps about 99% of what was used"),
    (False, Effect(2, 20, 1), "2 of 20, 10%"), (False, Effect(), "0 of 0, 0%"),
])  # fmt: skip
def test_an_offer_says_what_it_costs(keeps: bool, effect: Effect, words: str) -> None:
    offer = Offer("x", 1, lambda session, requests, effect: requests, "", keeps=keeps,
                  told="{times} of {chances}, {share:.0%}")  # fmt: skip
    assert offer.loses(effect) == words


def test_hidden_thinking_is_in_the_models_own_tokens() -> None:
    # It is sized in tokens of o200k_base, 1,000 here; Opus 5 has 1.548 for each, times its factor.
    made = Assembly("t")
    made.user("u" * 4_000)
    made.response([Part("reasoning", media=(Media(UNSHOWN, 1_000),)), Part("assistant", "a" * 400)], Usage(5_000, 1))
    made.user("v" * 400)
    made.response([Part("assistant", "b")], Usage(7_000, 1))
    whole = made.transcript()
    for model in ("claude-opus-5", "gpt-4.1"):
        calls = tuple(msgspec.structs.replace(call, model=model) for call in whole.calls)
        filled = _Filled(msgspec.structs.replace(whole, calls=calls), {})
        (thinking,) = (one.tokens for one in filled.entries if one.reasoning)
        assert thinking == round(1_000 * tokens_per_default(model)) and (thinking > 1_500) is (model != "gpt-4.1")
