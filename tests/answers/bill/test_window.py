"""What fills a window: parts add up to what was sent and billed, and are those that stand there."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import RESULT, basis_of, chat, conversation

from ctxsim.answers.bill.window import (
    FITTED,
    JOINED,
    MEDIA,
    OUTPUT,
    SYSTEM,
    TOOLS,
    Filled,
    Part,
    by_server,
    filled,
    pooled,
)
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.transcript import UNLOGGED, Call, Head, Media, Transcript

PRICED = Provider(
    cache="anthropic", vendor="anthropic", framing="anthropic", breakpoints="automatic", model="claude-sonnet-4-5",
    prices=Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75),
)  # fmt: skip

READ = Part("results", "tool")


def of(transcript: Transcript, provider: Provider = PRICED) -> Filled:
    return filled(basis_of(transcript, provider))


def hidden(transcript: Transcript, tokens: int) -> Transcript:
    return msgspec.structs.replace(transcript, head=msgspec.structs.replace(transcript.head, hidden=tokens))


@given(st.lists(st.text(max_size=300), max_size=5), st.integers(0, 9000), st.integers(0, 500), st.integers(0, 9000))
def test_parts_add_up_to_what_was_sent_and_billed(results: list[str], head: int, image: int, new_head: int) -> None:
    made = hidden(conversation(*results, RESULT, system="Be brief."), head)
    items = list(made.items)
    items[-2] = msgspec.structs.replace(items[-2], media=(Media("image", image), Media(UNLOGGED, 70)))
    calls = list(made.calls)
    calls[-1] = msgspec.structs.replace(calls[-1], head=Head("Other.", hidden=new_head))
    made = msgspec.structs.replace(made, items=tuple(items), calls=tuple(calls))
    basis = basis_of(made, PRICED)
    found, sent = filled(basis), basis.keep_all.rows
    assert found.tokens == pytest.approx(sum(one.tokens_sent for one in sent))
    assert found.usd == pytest.approx(sum(one.cost_usd or 0.0 for one in sent))
    for number, one in enumerate(sent):
        assert sum(values[number] for values in found.growth.values()) == pytest.approx(one.tokens_sent)


def test_a_part_is_told_over_all_calls_and_once() -> None:
    # Two results of 50 tokens by length of words: the first is in two requests, the second in one.
    words = " ".join(["word"] * 50)
    found = of(conversation(words, words), Provider())
    basis = basis_of(conversation(words, words), Provider())
    size = basis.counter.text(words)
    amount = found.parts[READ]
    assert (amount.items, amount.tokens, amount.once) == (2, 3 * size, 2 * size)
    assert found.usd is None and found.calls == 3


def test_dollars_follow_the_cache() -> None:
    # Uncached at 2 USD per million: 3 times the result's 5,000 tokens less one request, so 2 x 5,000 x 2 / 1e6.
    prices = Prices(input=2.0, output=0.0)
    made = hidden(conversation(RESULT, RESULT), 5_000)
    plain = of(made, Provider(prices=prices))
    assert plain.parts[Part(FITTED)].tokens == 15_000
    assert plain.parts[Part(FITTED)].usd == pytest.approx(15_000 * 2 / 1e6)
    # With a cache the first request writes the head, and two read it: 3.75 + 2 x 0.3 instead of 3 x 3.
    cached = of(made)
    assert cached.parts[Part(FITTED)].usd == pytest.approx(5_000 * (3.75 + 2 * 0.3) / 1e6)


def test_a_heads_three_parts_stand_apart() -> None:
    # Two requests, each with a prompt of 30 tokens, a tool of 20 and 7 that no log holds.
    made = conversation(RESULT, system=" a" * 30)
    head = msgspec.structs.replace(made.head, tools=(" b" * 20,), hidden=7)
    found = of(msgspec.structs.replace(made, head=head), Provider())
    assert [found.parts[Part(name)].tokens for name in (FITTED, TOOLS, SYSTEM)] == [14, 40, 60]
    assert [found.parts[Part(name)].once for name in (FITTED, TOOLS, SYSTEM)] == [7, 20, 30]


def test_output_is_paid_and_fills_nothing() -> None:
    made = of(conversation(RESULT), Provider(prices=Prices(input=0.0, output=10.0)))
    output = made.parts[Part(OUTPUT)]
    assert output.tokens > 0 and output.usd == pytest.approx(output.tokens * 10 / 1e6)
    assert made.usd == pytest.approx(output.usd) and Part(OUTPUT) not in made.growth


def test_images_and_what_no_log_holds_stand_apart() -> None:
    made = conversation(RESULT)
    items = list(made.items)
    items[2] = msgspec.structs.replace(items[2], media=(Media("image", 300), Media(UNLOGGED, 900)))
    found = of(msgspec.structs.replace(made, items=tuple(items)), Provider())
    plain = of(made, Provider())
    assert found.parts[Part(MEDIA)].tokens == 300 and found.parts[Part(JOINED)].tokens == 900
    assert found.parts[READ].tokens == plain.parts[READ].tokens


def test_lines_of_an_earlier_result_are_repeated() -> None:
    first = "a line of thirty characters, 01"
    second = "another line, of the same size."
    assert len(first) == len(second) == 31
    found = of(conversation(first, f"{first}\n{second}", "short\nshort"), Provider())
    # The second result holds 63 characters, 31 of them again, and is in two requests; short lines say nothing.
    counter = basis_of(conversation(), Provider()).counter
    expected = 2 * counter.text(f"{first}\n{second}") * 31 / 63
    assert found.parts[READ].repeated == pytest.approx(expected)


def test_what_is_said_twice_by_a_user_is_no_repeated_result() -> None:
    line = "please read the same file again"
    found = of(chat(("user", line), ("assistant", "ok"), ("user", line), ("assistant", "ok")), Provider())
    assert not any(amount.repeated for amount in found.parts.values())


def test_transcripts_pool_by_part_and_servers_by_name() -> None:
    made = conversation(RESULT)
    items = [msgspec.structs.replace(item, tool="mcp__github__search") if item.tool else item for item in made.items]
    other = msgspec.structs.replace(made, items=tuple(items))
    plain, mcp = of(made), of(other)
    sums = pooled([plain, mcp])
    assert sums[Part("user")].tokens == 2 * plain.parts[Part("user")].tokens
    assert sum(one.usd for one in sums.values()) == pytest.approx((plain.usd or 0) + (mcp.usd or 0))
    assert by_server(sums) == {"github": mcp.parts[Part("results", "mcp__github__search")]}


def test_a_call_without_anything_is_a_head() -> None:
    made = Transcript("empty", Head(hidden=10), (), (Call(0, 0),))
    assert of(made, Provider()).tokens == 10
