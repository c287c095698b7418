"""Caches: each vendor's rules, and planted waste is found where it was planted."""

from __future__ import annotations

import json
from dataclasses import dataclass

import msgspec
from cached_replay import BIG, PRICES, sent_of
from samples import TASK, chat, conversation, run_class

from ctxsim.policies import Policy
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.provider.prices import Prices, Split, expected_loss
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Call, Head, Item, Transcript
from ctxsim.view import View


class TestPlantedWaste:
    """Five ways to break a prompt cache, each planted once, each found at its call with its cause."""

    def with_heads(self, heads: list[Head | None]) -> Transcript:
        plain = conversation(*[BIG] * (len(heads) - 1), system=BIG)
        calls = tuple(msgspec.structs.replace(c, head=h) for c, h in zip(plain.calls, heads, strict=True))
        return msgspec.structs.replace(plain, calls=calls)

    def test_a_time_stamp_in_the_system_prompt(self) -> None:
        heads = [Head(f"It is 10:0{n}. {BIG}") for n in range(4)]
        sent = sent_of(self.with_heads(list(heads)))
        assert [one.bill.split.read for one in sent] == [0, 0, 0, 0]
        assert [one.bill.cause for one in sent] == ["", *["another system prompt than in the request before"] * 3]
        assert [one.bill.tokens_rewritten > 1_500 for one in sent] == [False, True, True, True]

    def test_a_tool_list_that_changes_once(self) -> None:
        before, after = Head(BIG, ('{"name":"a"}',)), Head(BIG, ('{"name":"a"}', '{"name":"b"}'))
        sent = sent_of(self.with_heads([before, before, after, after]))
        assert [one.bill.cause for one in sent] == ["", "", "other tools than in the request before", ""]
        assert sent[2].bill.split.read == 0 and sent[3].bill.split.read > 0

    def test_an_edit_in_mid_history(self) -> None:
        sent = sent_of(conversation(BIG, BIG, BIG, BIG, system=BIG), "mask:keep=2")
        broken = [one.call for one in sent if one.bill.cause]
        assert broken == [4, 5]
        assert {sent[3].bill.cause, sent[4].bill.cause} == {"older than the newest 2 results"}
        # Call 4 masks result 1: read stops before it, and what stands after it is written again.
        assert sent[3].bill.split.read < sent[2].bill.split.read
        assert 1_500 < sent[3].bill.tokens_rewritten < 1_600

    def test_a_pause_longer_than_the_lifetime(self) -> None:
        plain = conversation(BIG, BIG, BIG, BIG, system=BIG)
        times = [0, 100, 401, 500, 799]  # 301 s before call 3; 299 s before call 5
        calls = tuple(msgspec.structs.replace(c, time_s=1e9 + t) for c, t in zip(plain.calls, times, strict=True))
        sent = sent_of(msgspec.structs.replace(plain, calls=calls))
        assert [one.call for one in sent if one.bill.cause] == [3]
        assert sent[2].bill.cause == "lifetime" and sent[2].bill.split.read == 0
        hour = sent_of(msgspec.structs.replace(plain, calls=calls), long_cache=True)
        assert not any(one.bill.cause for one in hour)


class TestCacheRules:
    def test_anthropic_minimum(self) -> None:
        small = conversation("word " * 500, "x", system="s")
        assert all(one.bill.split.write == 0 for one in sent_of(small))
        opus = sent_of(conversation(BIG, BIG, BIG, system=BIG), model="claude-opus-4-5")
        # 4,096 for this model: the first requests are too short.
        assert [one.bill.split.write > 0 for one in opus] == [False, False, True, True]

    def test_anthropic_looks_back_20_positions_and_no_further(self) -> None:
        def grown(extra: int) -> list[Sent]:
            assembly = Assembly("lookback")
            assembly.system.append("short")
            assembly.user(BIG)
            assembly.response([Part("assistant", "ok")])
            for n in range(extra):
                assembly.user(f"message {n}")
            assembly.response([Part("assistant", "ok")])
            return sent_of(assembly.transcript())

        # The mark of call 2 is `1 + extra` positions behind the entry: response, then the messages.
        assert grown(18)[1].bill.split.read > 0
        assert grown(19)[1].bill.split.read == 0

    def test_what_is_further_back_than_the_cache_looks_has_not_expired(self) -> None:
        def broken(items: int, pause_s: float) -> str:
            plain = chat(TASK, ("assistant", "ok"), *[("user", BIG), ("assistant", "ok")])
            # The newest message is the only mark: twenty positions are looked back over.
            more = tuple(Item("user", 2 + n, 100 + n, BIG if not n else "more") for n in range(items))
            answer = Item("assistant", 2 + items, 999, "ok")
            calls = (Call(1, 2, time_s=0.0), Call(2 + items, 3 + items, time_s=pause_s))
            task = Item("user", 0, 0, BIG)
            made = msgspec.structs.replace(plain, items=(task, plain.items[1], *more, answer), calls=calls)
            return sent_of(made, breakpoints="automatic")[1].bill.cause

        assert broken(5, 1.0) == ""
        assert broken(30, 1.0) == "further back than the cache looks"
        assert broken(5, 301.0) == broken(30, 301.0) == "lifetime"

    def test_openai_rounds_down_to_128_from_1024_on(self) -> None:
        sent = sent_of(conversation("word " * 400, "word " * 900, "x", system="word " * 500), cache="openai")
        for one, before in zip(sent[1:], sent, strict=False):
            expected = before.tokens_sent - before.tokens_sent % 128
            assert one.bill.split.read == (expected if expected >= 1_024 else 0)
            assert one.bill.split.write == 0

    def test_token_granular_vendors_read_into_the_first_item_that_differs(self) -> None:
        transcript = conversation(BIG, "x", "y", system="s")
        label = "token-budget:budget=100,retain=5000"  # cuts result 1 (7,500 characters) after call 3
        partial = sent_of(transcript, label, cache="deepseek")[3].bill.split.read
        whole = sent_of(transcript, label, cache="google", model="gemini-2.5-pro")[3].bill.split.read
        # 5,000 characters of "word " are 1,000 tokens; the head of the request is shorter than DeepSeek's unit.
        assert 900 < partial <= 1_020 and partial % 64 == 0
        assert whole == 0

    def test_what_is_shared_within_a_call_is_counted_as_it_is_sent(self) -> None:
        """Escapes are four times as long as what they stand for, which DeepSeek is sent."""
        escaped = json.dumps({"content": "这是一个文件。" * 200})
        assembly = Assembly("alike")
        assembly.user("go")
        for number in range(4):
            assembly.response([Part("tool_call", escaped, "write", f"c{number}")])
            assembly.result("ok", f"c{number}")
        assembly.response([Part("assistant", "ok")])
        # Each exchange that goes leaves an equal call, with another id, where it stood.
        sent = sent_of(assembly.transcript(), "fifo:budget=5000", cache="deepseek", framing="deepseek")
        again = [one for one in sent if one.tally.edits]
        assert again and all(one.bill.split.read > 500 and one.bill.split.uncached > 0 for one in again)

    def test_clearing_a_little_on_every_call_loses_to_batches(self) -> None:
        transcript = conversation(*[BIG] * 30, system=BIG)

        def cost(label: str) -> float:
            return sum(one.cost_usd or 0 for one in sent_of(transcript, label))

        assert cost("mask:keep=5,batch=10") < cost("mask:keep=5,batch=1")
        # The same rule pays less where reading the cache costs less.
        cheap = msgspec.structs.replace(PRICES, cache_read=0.025)

        def against_keep_all(prices: Prices) -> float:
            parts = [
                sum(one.cost_usd or 0 for one in sent_of(transcript, label, prices=prices))
                for label in ("mask:keep=5,batch=10", "keep-all")
            ]
            return parts[0] / parts[1]

        assert against_keep_all(PRICES) < against_keep_all(cheap)


WORDY = "word " * 400


def test_equal_bytes_are_a_cache_hit_whatever_we_call_them() -> None:
    @dataclass
    class Repin(Policy):
        """Takes its note out and puts the same one back."""

        def before_call(self, view: View) -> View:
            old = [item.place for item in view if item.synthetic]
            return (view.drop(old, "re-pin") if old else view).insert("always the same note", 0, "re-pin")

    sent = run_class(Repin, conversation(*[WORDY * 3] * 4), cache="openai", pace_s=10)
    reads = [one.bill.split.read for one in sent]
    assert reads[2] < reads[3] < reads[4]
    assert not any(one.bill.cause for one in sent)


def test_expected_misses_are_a_share_of_each_read_and_written_again() -> None:
    plain, expected = (sent_of(conversation(BIG, BIG, system=BIG), misses=misses) for misses in ("none", "expected"))
    loss = expected_loss("anthropic", 10)
    assert loss is not None
    for one, other in zip(plain, expected, strict=True):
        lost = round(one.bill.split.read * loss.mean)
        assert (lost > 0) is (one.call > 1) and other.bill.tokens_missed == lost
        assert other.bill.split == Split(
            one.bill.split.read - lost, one.bill.split.write + lost, one.bill.split.uncached
        )
