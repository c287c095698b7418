"""What is sent, by hand: where recorded usage falls too far, whose size and prices hold, which reads are believed."""

from __future__ import annotations

from math import ceil

import msgspec
import pytest
from samples import conversation

from ctxsim.readers.assembly import Assembly, Part
from ctxsim.recorded.as_sent import _sized, as_sent, with_recorded_reads, with_unlogged_clearings
from ctxsim.recorded.size_fit import requests
from ctxsim.simulator.measure.measured import Size, Step
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import UNLOGGED, Compaction, Head, Media, Transcript, Usage


def logged(*recorded: int | None, model: str = "gpt-4.1", **changes: object) -> Transcript:
    """Calls with that usage, each with one short result more than the one before; the head isn't recorded."""
    made = conversation(*["result"] * (len(recorded) - 1))
    calls = tuple(
        msgspec.structs.replace(call, usage=None if tokens is None else Usage(tokens, 1), model=model)
        for call, tokens in zip(made.calls, recorded, strict=True)
    )
    return msgspec.structs.replace(made, calls=calls, head=Head(recorded=False), **changes)


PROVIDER = Provider(window=1 << 40)


@pytest.mark.parametrize(("fall", "found"), [(9_300, set()), (9_299, {3}), (1, {3})])
def test_a_request_of_less_than_93_percent_is_no_continuation(fall: int, found: set[int]) -> None:
    made = logged(9_900, 10_000, fall, fall + 100)
    cut, calls = with_unlogged_clearings(made, PROVIDER)
    assert calls == found and (cut == made) is not bool(found)
    assert cut.notes == tuple(f"unlogged clearing before call {call} (10000 to {fall} tokens)" for call in found)


def test_a_line_that_tells_of_a_fall_is_no_reason_to_look_further() -> None:
    made = logged(10_000, 10_100, 10_200, 5_000, 5_100)
    at = made.calls[1].end

    def found(*compactions: Compaction, cleared: tuple[tuple[int, int], ...] = ()) -> frozenset[int]:
        return with_unlogged_clearings(
            msgspec.structs.replace(made, compactions=compactions, cleared=cleared), PROVIDER
        )[1]

    assert found() == {4}
    # Told of call 4 it is known; of call 3, or of call 5, it isn't what happened before call 4.
    assert found(Compaction(4, made.calls[2].end)) == frozenset() == found(cleared=((4, 2),))
    assert found(Compaction(3, at)) == {4} == found(cleared=((5, 2),))
    # Where call 3 has no usage, what was told of it may be what is seen at call 4.
    silent = logged(10_000, 10_100, None, 5_000, 5_100, compactions=(Compaction(3, at),))
    assert with_unlogged_clearings(silent, PROVIDER)[1] == frozenset()


@pytest.mark.parametrize(("share", "found"), [(1.0, {2}), (1.5, {2}), (1.8, {2}), (1.95, set()), (3.0, set())])
def test_a_fall_with_as_much_less_counted_is_none(share: float, found: set[int]) -> None:
    # Its own head is counted: a shorter one is why less is sent, but not of twice as much.
    made = logged(10_000, 5_000)
    first, second = (one.text + one.framing for one in requests(made, PROVIDER))
    head = Head(" a" * (round(share * second) - first))
    made = msgspec.structs.replace(made, calls=(msgspec.structs.replace(made.calls[0], head=head), made.calls[1]))
    cleared, calls = with_unlogged_clearings(made, PROVIDER)
    assert calls == found and (cleared == made) is not bool(found)


def test_how_large_others_are_is_taken_before_priors() -> None:
    like = Size("fitted", 4_000, 1.5, (Step(2, 9),), 12, 0.01, 0.02)
    (one,) = as_sent(logged(None, None), like=like)
    assert one.size == Size("prior", 4_000, 1.5) and one.transcript.head.hidden == 4_000
    assert one.provider.tokens_factor == 1.5 and one.provider.origin.endswith("; size by priors")
    # Few requests take its factor, and have a head of their own.
    made = logged(9_000, None)
    (few,) = as_sent(made, like=like)
    (sent,) = requests(made, few.provider)
    assert few.size == Size("fitted", round(9_000 - 1.5 * sent.text - sent.framing), 1.5, (), 1, 0.0, 0.0)
    assert few.provider.origin.endswith("; size fitted to recorded usage")


def test_priors_are_those_of_the_model_and_the_agent() -> None:
    for format, head in (("", 0), ("gemini-cli", 5_350)):
        (one,) = as_sent(logged(None, None, model="gemini-2.5-pro", format=format))
        assert one.size == Size("prior", head, 0.989)
    # Of a known tokenizer there is a head alone; of an agent that nobody knows, none.
    (one,) = as_sent(logged(None, None, model="claude-opus-4-6", format="claude-code"))
    assert one.size == Size("prior", one.size.head) and one.size.head > 9_000
    (one,) = as_sent(logged(None, None))
    assert one.size == Size("counted") and one.transcript.head.hidden == 0
    # Before another model, what is hidden is larger by the vocabularies' rates and by that model's prior.
    (own,) = as_sent(logged(9_000, 9_100))
    for model, factor, rate in (("gemini-2.5-pro", 0.989, 1.162), ("claude-opus-4-6", 1.0, 1.175)):
        (other,) = as_sent(logged(9_000, 9_100), {"model": model})
        assert own.size.factor == 1.0 and other.size == msgspec.structs.replace(
            own.size, head=round(own.size.head * factor * rate), factor=factor
        )
    # A factor per token of Gemma's vocabulary isn't one per token of another that is chosen.
    (other,) = as_sent(logged(9_000, 9_100), {"model": "gemini-2.5-pro", "tokenizer": "o200k_base"})
    assert other.size == own.size and other.provider.tokens_factor == 1.0


def test_later_calls_are_told_from_earlier_ones_unless_the_log_is_whole() -> None:
    made = logged(*[9_000] * 4, *[9_900] * 4)
    (one,) = as_sent(made)
    # 900 of 9,900 were never seen before, and each call brings a few counted tokens more.
    assert one.size.how == "fitted" and len(one.size.later_errors) == 4
    assert all(0.08 < error < 0.091 for error in one.size.later_errors)


def test_a_whole_head_of_a_public_tokenizer_is_counted() -> None:
    made = msgspec.structs.replace(logged(0, 0, 0, 0), head=Head("word " * 1_000, ("{}",)))
    (one,) = as_sent(logged_as(made, [1_000] * 4))
    sizes = [sent.text + sent.framing for sent in requests(logged_as(made, [1_000] * 4), one.provider)]
    near = [ceil(size / 1.01) for size in sizes]

    def how(*recorded: int) -> str:
        (one,) = as_sent(logged_as(made, list(recorded)))
        return one.size.how

    # By the higher one of the two middle ones: as many as two of four may be further off than a hundredth.
    assert how(*sizes[:2], *near[2:]) == "counted" == how(*near[:3], 2 * sizes[3])
    assert how(*sizes[:2], *(size - 1 for size in near[2:])) == "fitted"
    (exact,) = as_sent(logged_as(made, sizes))
    assert exact.size == Size("counted", calls=4) and exact.provider.size == "counted"


def logged_as(made: Transcript, recorded: list[int]) -> Transcript:
    calls = tuple(
        msgspec.structs.replace(call, usage=Usage(tokens, 1)) for call, tokens in zip(made.calls, recorded, strict=True)
    )
    return msgspec.structs.replace(made, calls=calls)


def test_what_joined_unlogged_is_as_large_before_another_model() -> None:
    made = logged(*[12_000] * 6, *[16_000] * 6, model="claude-opus-4-6")
    (own,) = as_sent(made)
    (other,) = as_sent(made, {"model": "gpt-4.1"})
    assert [one.call for one in own.size.steps] == [7] and own.size.factor == 1.0
    (step,) = own.size.steps
    # A text has 1.175 times as many tokens in claude_3 as in o200k_base.
    assert other.size == msgspec.structs.replace(
        own.size, head=round(own.size.head / 1.175), steps=(Step(7, round(step.tokens / 1.175)),)
    )
    # It stands beside the call that joined with it, as what it is.
    (item,) = (item for item in other.transcript.items if item.media)
    assert item.media == (Media(UNLOGGED, other.size.steps[0].tokens),) and item.kind == "tool_call"


def test_each_calls_own_head_has_the_hidden_part_too() -> None:
    made = logged(9_000, 9_100)
    calls = (made.calls[0], msgspec.structs.replace(made.calls[1], head=Head("Other.", recorded=False)))
    (one,) = as_sent(msgspec.structs.replace(made, calls=calls), head=700)
    assert one.transcript.head.hidden == 700
    assert [call.head and call.head.hidden for call in one.transcript.calls] == [None, 700]


def test_prices_are_those_that_give_the_recorded_cost_unless_they_are_given() -> None:
    made = logged(10_000, 10_100, model="claude-sonnet-4-5")
    # 3 USD per million in and 15 out, with nothing read from a cache, though the log says that 9,000 were read.
    calls = tuple(
        msgspec.structs.replace(
            call, usage=Usage(call.usage.input_tokens, 100, 9_000, 0, cost_usd=call.usage.input_tokens * 3e-6 + 15e-4)
        )
        for call in made.calls
        if call.usage
    )
    paid = msgspec.structs.replace(made, calls=calls)
    (one,) = as_sent(paid)
    assert one.provider.prices and (one.provider.prices.cache_read, one.provider.prices.input) == (
        None,
        ((0, 3.0), (200_000, 6.0)),
    )
    (given,) = as_sent(paid, {"model": "claude-sonnet-4-5"})
    assert given.provider.prices and given.provider.prices.cache_read == ((0, 0.3), (200_000, 0.6))
    # Where no read is recorded either, nothing was cached; unless somebody says so.
    silent = tuple(
        msgspec.structs.replace(call, usage=Usage(call.usage.input_tokens, 100, cost_usd=call.usage.cost_usd))
        for call in calls
        if call.usage
    )
    plain = msgspec.structs.replace(made, calls=silent)
    (one,), (said,) = as_sent(plain), as_sent(plain, {"cache": "anthropic"})
    assert (one.provider.cache, said.provider.cache) == ("none", "anthropic")


WORDS = "word " * 1_000


@pytest.mark.parametrize(("cache", "reads", "held"), [
    # By Anthropic's rules these requests of 4, 1,007, 2,010, 3,013 and 4,016 tokens read 0, 0, 0, 2,010 and 3,013.
    # A twentieth of 3,013 is 150.65, of 2,010 100.5; less than a fiftieth of 3,013 is nothing, 60.26.
    ("anthropic", (0, 0, 0, 2_010, 3_013), {}), ("anthropic", (0, 0, 0, 1_860, 3_013), {}),
    ("anthropic", (0, 0, 0, 1_859, 3_013), {4: 1_859}), ("anthropic", (0, 0, 0, 2_160, 3_013), {}),
    ("anthropic", (0, 0, 0, 2_161, 3_013), {4: 2_161}), ("anthropic", (0, 0, 100, 2_010, 3_013), {}),
    ("anthropic", (0, 0, 101, 2_010, 3_013), {3: 101}), ("anthropic", (0, 0, 0, 61, 3_013), {4: 61}),
    ("anthropic", (0, 0, 0, 60, 3_013), {4: 0}), ("anthropic", (None, None, None, 61, None), {4: 61}),
    # Where nothing was ever read the log may not tell; where there is no cache nothing can be held.
    ("anthropic", (0, 0, 0, 0, 0), {}), ("none", (0, 0, 0, 61, 0), {}),
])  # fmt: skip
def test_reads_that_contradict_the_rules_are_believed(
    cache: str, reads: tuple[int | None, ...], held: dict[int, int]
) -> None:
    made = conversation(*[WORDS] * 4)
    # A limit of the provider's is none of what its cache held.
    provider = Provider(cache=cache, window=1_000)
    calls = tuple(
        msgspec.structs.replace(call, usage=Usage(size, 1, read))
        for call, size, read in zip(made.calls, (4, 1_007, 2_010, 3_013, 4_016), reads, strict=True)
    )
    found = with_recorded_reads(msgspec.structs.replace(made, calls=calls), provider, provider.counter())
    assert {number: call.held for number, call in enumerate(found.calls, 1) if call.held is not None} == held


def test_what_joined_stands_beside_what_policies_hardly_cut() -> None:
    assembly = Assembly("t")
    assembly.user("Do it.")
    for number in range(9):
        assembly.response(
            [Part("reasoning", "hm"), Part("assistant", "So."), Part("tool_call", "{}", "t", f"c{number}")]
        )
        assembly.result("ok", f"c{number}")
    assembly.response([Part("reasoning", "hm")])
    assembly.user("And now?")
    assembly.response([Part("assistant", "Done.")])
    made = assembly.transcript()

    def beside(number: int) -> tuple[str, int]:
        calls = tuple(
            msgspec.structs.replace(call, usage=Usage(9_000 + 5_000 * (n >= number), 1), model="gpt-4.1")
            for n, call in enumerate(made.calls, 1)
        )
        head = Head(recorded=False)
        (one,) = as_sent(msgspec.structs.replace(made, calls=calls, head=head, items=made.items))
        (item,) = (item for item in one.transcript.items if item.media)
        return item.text, item.place

    # Of call 4 what the third call answered, before its call and its result; of the last one what the user says.
    assert beside(4) == ("So.", made.calls[2].start + 1)
    assert beside(11) == ("And now?", made.calls[10].start - 1)
    # Where nothing is hidden too.
    assert [one.media for one in _sized(made, Size("fitted", steps=(Step(2, 300),))).items] == [
        (), (), (Media(UNLOGGED, 300),), *[()] * (len(made.items) - 3)
    ]  # fmt: skip
