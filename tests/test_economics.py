"""The bill: closed forms of caching hold to the cent, and planted waste is found where it was planted."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import conversation
from strategies import transcripts

from ctxsim.economics import best_batch, break_even_refetch, deletion_pays, reads_until_caching_pays
from ctxsim.errors import InputError, UnknownName
from ctxsim.measure import Measured
from ctxsim.policies import open_policy
from ctxsim.provider import Provider
from ctxsim.provider.cache import Split
from ctxsim.provider.models import all_models, find_model, read_overrides
from ctxsim.provider.prices import Prices, cost_of, rate_at
from ctxsim.provider.resolve import resolve
from ctxsim.provider.vendor import load_vendor, vendor_names
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.replay import replay
from ctxsim.synthesis import load_scenario
from ctxsim.tally import Sent
from ctxsim.task import Setting, scenario_rows
from ctxsim.tokenizers import open_tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Head, Transcript

# Claude's ratios: write 1.25, one-hour write 2, read 0.1 of input.
PRICES = Prices(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25, cache_write_long=2.0)
BIG = "word " * 1_500  # about 1,500 tokens: over every minimum of 1,024


def sent_of(transcript: Transcript, label: str = "keep-all", **rules: object) -> list[Sent]:
    provider = Provider(**{"cache": "anthropic", "breakpoints": "automatic", "prices": PRICES, "pace_s": 10, **rules})  # type: ignore[arg-type]
    return list(replay(transcript, open_policy(label), provider, Counter(open_tokenizer())))


DROP_ONCE = f"{Path(__file__).parent / 'drop_once.py'}:DropOnce"


def repeated(calls: int) -> Transcript:
    """The same large request again and again: nothing is added but empty responses."""
    assembly = Assembly("repeated")
    assembly.user(BIG)
    for _ in range(calls):
        assembly.response([])
    return assembly.transcript()


class TestClosedForms:
    def test_one_write_and_nine_reads_cost_2_15(self) -> None:
        sent = sent_of(repeated(10))
        tokens = sent[0].row.tokens_sent
        cost = sum((one.row.cost_write_usd or 0) + (one.row.cost_read_usd or 0) for one in sent)
        # 1.25 + 9 * 0.1 = 2.15 times one uncached request, instead of 10.
        assert cost == pytest.approx(2.15 * tokens / 1e6, rel=1e-9)
        assert [one.row.tokens_cache_read for one in sent] == [0] + [tokens] * 9

    @pytest.mark.parametrize(("long", "reads"), [(False, 1), (True, 2)])
    def test_caching_pays_after_one_read_or_two(self, long: bool, reads: int) -> None:
        write = PRICES.cache_write_long if long else PRICES.cache_write
        assert reads_until_caching_pays(0.1, write) == reads  # type: ignore[arg-type]
        for calls in range(1, 5):
            cached = sent_of(repeated(calls), long_cache=long)
            plain = sent_of(repeated(calls), cache="none")
            pays = sum(one.row.cost_usd or 0 for one in cached) < sum(one.row.cost_usd or 0 for one in plain)
            assert pays == (calls - 1 >= reads), calls

    @settings(max_examples=60, deadline=None)
    @given(st.integers(50, 1_500), st.integers(100, 3_000), st.integers(1, 40))
    def test_deleting_pays_iff_the_closed_form_says_so(self, deleted: int, after: int, calls: int) -> None:
        """Delete `deleted` tokens that stand before `after` others, with `calls` calls to go."""
        read, write = 0.1, 1.25
        head = "head " * 2_000

        def cost(delete: bool) -> float:
            """Of the calls from the deletion on, from the provider's own bill."""
            assembly = Assembly("deletion")
            assembly.system.append(head)
            assembly.user(" a" * deleted)
            assembly.user(" b" * after)
            for _ in range(calls + 1):
                assembly.response([])
            label = DROP_ONCE if delete else "keep-all"
            sent = sent_of(assembly.transcript(), label, breakpoints="system-tools-last")
            return sum(one.row.cost_usd or 0 for one in sent[1:]) * 1e6

        saved = cost(False) - cost(True)
        # (calls) reads of b saved on each; the first also rewrites `after` at write instead of reading it.
        assert saved == pytest.approx(deleted * calls * read - after * (write - read), abs=1e-3)
        assert (saved > 1e-6) == deletion_pays(deleted, calls, after, read, write) or abs(saved) < 1e-3

    def test_best_batch_is_the_cheapest_of_all_batches(self) -> None:
        # Per call g = 900 prunable and c = 100 other tokens; P = 20,000 protected. Cost per call of batches of M:
        # holding M / 2 on average at r, and every M / g calls a rewrite of the tail, which grew by c each call.
        g, c, p, r, w = 900.0, 100.0, 20_000.0, 0.1, 1.25

        def per_call(m: float) -> float:
            return r * m / 2 + (w - r) * p * (g + c) / m

        best = best_batch(g, c, p, r, w)
        assert best == pytest.approx(math.sqrt(2 * (w - r) * p * (g + c) / r))
        assert all(per_call(best) <= per_call(best * factor) for factor in (0.5, 0.9, 1.1, 2.0))
        assert best_batch(g, c, p, r, w, cold=1.0) == 0, "a cold cache is no reason to wait"

    def test_payback(self) -> None:
        # Call 4 has 6,000 tokens: over 5,000, so results 1 and 2 are cut after it, and call 5 writes result 3 again.
        # Once: rewritten * (1.25 - 0.1). Saved per call: removed * 0.1.
        transcript = conversation(BIG, BIG, BIG, BIG, system=BIG)
        provider = Provider(cache="anthropic", breakpoints="automatic", prices=PRICES, pace_s=10)
        policy = open_policy("token-budget:budget=5000,retain=50")
        measured = Measured(transcript, policy, provider, Counter(open_tokenizer()))
        rows = measured.calls
        assert [row.call for row in rows if row.compactions] == [4]
        expected = rows[4].tokens_rewritten * 1.15 / (rows[3].tokens_removed * 0.1)
        assert 5 < expected < 20
        assert measured.summary(None).payback_calls == pytest.approx(expected, abs=0.001)

    def test_break_even(self) -> None:
        assert break_even_refetch(1.0, 4.0) == 0.25
        assert break_even_refetch(-1.0, 4.0) == 0
        assert break_even_refetch(1.0, 0.0) is None


class TestPlantedWaste:
    """Five ways to break a prompt cache, each planted once, each found at its call with its cause."""

    def with_heads(self, heads: list[Head | None]) -> Transcript:
        plain = conversation(*[BIG] * (len(heads) - 1), system=BIG)
        calls = tuple(msgspec.structs.replace(c, head=h) for c, h in zip(plain.calls, heads, strict=True))
        return msgspec.structs.replace(plain, calls=calls)

    def test_a_time_stamp_in_the_system_prompt(self) -> None:
        heads = [Head(f"It is 10:0{n}. {BIG}") for n in range(4)]
        sent = sent_of(self.with_heads(list(heads)))
        assert [one.row.tokens_cache_read for one in sent] == [0, 0, 0, 0]
        assert [one.row.cache_break for one in sent] == ["", *["another system prompt than in the request before"] * 3]
        assert [one.row.tokens_rewritten > 1_500 for one in sent] == [False, True, True, True]

    def test_a_tool_list_that_changes_once(self) -> None:
        before, after = Head(BIG, ('{"name":"a"}',)), Head(BIG, ('{"name":"a"}', '{"name":"b"}'))
        sent = sent_of(self.with_heads([before, before, after, after]))
        assert [one.row.cache_break for one in sent] == ["", "", "another tools than in the request before", ""]
        assert sent[2].row.tokens_cache_read == 0 and sent[3].row.tokens_cache_read > 0

    def test_an_edit_in_mid_history(self) -> None:
        sent = sent_of(conversation(BIG, BIG, BIG, BIG, system=BIG), "mask:keep=2")
        broken = [one.call for one in sent if one.row.cache_break]
        assert broken == [4, 5]
        assert {sent[3].row.cache_break, sent[4].row.cache_break} == {"older than the newest 2 results"}
        # Call 4 masks result 1: read stops before it, and what stands after it is written again.
        assert sent[3].row.tokens_cache_read < sent[2].row.tokens_cache_read
        assert 1_500 < sent[3].row.tokens_rewritten < 1_600

    def test_a_missing_breakpoint(self) -> None:
        sent = sent_of(conversation(BIG, BIG, BIG, system=BIG), breakpoints="none")
        assert all(one.row.tokens_cache_read == one.row.tokens_cache_write == 0 for one in sent)
        marked = sent_of(conversation(BIG, BIG, BIG, system=BIG), breakpoints="last-two-user")
        assert all(one.row.tokens_cache_read > 0 for one in marked[1:])

    def test_a_pause_longer_than_the_lifetime(self) -> None:
        plain = conversation(BIG, BIG, BIG, BIG, system=BIG)
        times = [0, 100, 401, 500, 799]  # 301 s before call 3; 299 s before call 5
        calls = tuple(msgspec.structs.replace(c, time_s=1e9 + t) for c, t in zip(plain.calls, times, strict=True))
        sent = sent_of(msgspec.structs.replace(plain, calls=calls))
        assert [one.call for one in sent if one.row.cache_break] == [3]
        assert sent[2].row.cache_break == "lifetime" and sent[2].row.tokens_cache_read == 0
        hour = sent_of(msgspec.structs.replace(plain, calls=calls), long_cache=True)
        assert not any(one.row.cache_break for one in hour)

    @settings(max_examples=40, deadline=None)
    @given(transcripts(), st.sampled_from(["anthropic", "openai", "deepseek", "google", "openai-paid-writes"]))
    def test_without_edits_nothing_is_ever_broken(self, transcript: Transcript, vendor: str) -> None:
        for one in sent_of(transcript, cache=vendor, reasoning="all"):
            assert one.row.cache_break == "" and one.row.tokens_rewritten == 0


class TestCacheRules:
    def test_anthropic_minimum(self) -> None:
        small = conversation("word " * 500, "x", system="s")
        assert all(one.row.tokens_cache_write == 0 for one in sent_of(small))
        opus = sent_of(conversation(BIG, BIG, BIG, system=BIG), model="claude-opus-4-5")
        # 4,096 for this model: the first requests are too short.
        assert [one.row.tokens_cache_write > 0 for one in opus] == [False, False, True, True]

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
        assert grown(18)[1].row.tokens_cache_read > 0
        assert grown(19)[1].row.tokens_cache_read == 0

    def test_a_run_of_results_is_one_position(self) -> None:
        assembly = Assembly("parallel")
        assembly.user(BIG)
        assembly.response([Part("tool_call", "{}", "t", f"c{n}") for n in range(30)])
        for n in range(30):
            assembly.result("r", f"c{n}")
        assembly.response([Part("assistant", "ok")])
        assert sent_of(assembly.transcript())[1].row.tokens_cache_read > 0

    def test_openai_rounds_down_to_128_from_1024_on(self) -> None:
        sent = sent_of(conversation("word " * 400, "word " * 900, "x", system="word " * 500), cache="openai")
        for one, before in zip(sent[1:], sent, strict=False):
            expected = before.row.tokens_sent - before.row.tokens_sent % 128
            assert one.row.tokens_cache_read == (expected if expected >= 1_024 else 0)
            assert one.row.tokens_cache_write == 0

    def test_token_granular_vendors_read_into_the_first_item_that_differs(self) -> None:
        transcript = conversation(BIG, "x", "y", system="s")
        label = "token-budget:budget=100,retain=5000"  # cuts result 1 (7,500 characters) after call 3
        partial = sent_of(transcript, label, cache="deepseek")[3].row.tokens_cache_read
        whole = sent_of(transcript, label, cache="google", model="gemini-2.5-pro")[3].row.tokens_cache_read
        # 5,000 characters of "word " are 1,000 tokens; the head of the request is shorter than DeepSeek's unit.
        assert 900 < partial <= 1_020 and partial % 64 == 0
        assert whole == 0

    @settings(max_examples=40, deadline=None)
    @given(
        transcripts(), st.sampled_from(vendor_names()), st.sampled_from(["mask:keep=1", "fifo:budget=200", "keep-all"])
    )
    def test_every_token_is_billed_once(self, transcript: Transcript, vendor: str, label: str) -> None:
        for one in sent_of(transcript, label, cache=vendor, framing=vendor):
            row = one.row
            assert row.tokens_cache_read + row.tokens_cache_write + row.tokens_uncached == row.tokens_sent
            assert min(row.tokens_cache_read, row.tokens_cache_write, row.tokens_uncached) >= 0
            prompt = (row.cost_read_usd or 0) + (row.cost_write_usd or 0) + (row.cost_uncached_usd or 0)
            rest = (row.cost_output_usd or 0) + (row.cost_summary_usd or 0)
            assert row.cost_usd == pytest.approx(prompt + rest, abs=1e-9)

    def test_an_ephemeral_edit_breaks_the_cache_once_if_sticky(self) -> None:
        transcript = conversation(*[BIG] * 8, system=BIG)
        sticky = sent_of(transcript, "clear-tool-uses:trigger=9000,keep=3,clear_at_least=4000")
        assert sum(bool(one.row.cache_break) for one in sticky) >= 1
        assert all(len(one.view) == 2 * one.call - 1 for one in sticky), "the client's history stays whole"

    def test_clearing_a_little_on_every_call_loses_to_batches(self) -> None:
        transcript = conversation(*[BIG] * 30, system=BIG)

        def cost(label: str) -> float:
            return sum(one.row.cost_usd or 0 for one in sent_of(transcript, label))

        assert cost("mask:keep=5,batch=10") < cost("mask:keep=5,batch=1")
        # The same rule pays less where reading the cache costs less.
        cheap = msgspec.structs.replace(PRICES, cache_read=0.025)

        def against_keep_all(prices: Prices) -> float:
            parts = [
                sum(one.row.cost_usd or 0 for one in sent_of(transcript, label, prices=prices))
                for label in ("mask:keep=5,batch=10", "keep-all")
            ]
            return parts[0] / parts[1]

        assert against_keep_all(PRICES) < against_keep_all(cheap)


class TestPrices:
    def test_steps_charge_the_whole_request(self) -> None:
        steps = ((0, 1.0), (200_000, 2.0))
        assert [rate_at(steps, n) for n in (1, 200_000, 200_001)] == [1.0, 1.0, 2.0]

    @pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-5.4", "gemini-2.5-pro", "deepseek-chat", "gpt-4.1"])
    @pytest.mark.parametrize("tokens", [1_000, 250_000])
    def test_equal_to_genai_prices_own_arithmetic(self, model: str, tokens: int) -> None:
        from datetime import UTC, datetime

        from genai_prices import Usage, calc_price

        found = find_model(model, date(2026, 11, 1))
        assert found and found.prices
        split = Split(read=tokens // 2, write=0, uncached=tokens - tokens // 2)
        ours = cost_of(found.prices, split, 700)
        usage = Usage(input_tokens=tokens, cache_read_tokens=tokens // 2, output_tokens=700)
        noon = datetime(2026, 11, 1, 12, tzinfo=UTC)
        theirs = calc_price(usage, model, genai_request_timestamp=noon)
        assert ours.total == pytest.approx(float(theirs.total_price), rel=1e-9)

    def test_unknown_price_is_unknown(self) -> None:
        rows = [one.row for one in sent_of(conversation("a"), prices=None)]
        assert {row.cost_usd for row in rows} == {None}

    def test_prices_hold_from_their_day_on(self, tmp_path: Path) -> None:
        file = tmp_path / "models.toml"
        file.write_text(
            '[[model]]\nid = "house-*"\nvendor = "anthropic"\nwindow = 5000\nprices = {input = 2.0, output = 4.0}\n'
            '[[model]]\nid = "house-*"\neffective = 2026-06-01\nprices = {input = 1.0, output = 4.0}\nwindow = 6000\n'
        )
        entries = read_overrides(file)
        early, late = (find_model("house-7b", day, entries) for day in (date(2026, 5, 31), date(2026, 6, 1)))
        assert early and late and early.prices and late.prices
        assert (early.prices.input, early.window, late.prices.input, late.window) == (2.0, 5_000, 1.0, 6_000)
        assert late.prices.effective == date(2026, 6, 1)
        provider = resolve({"model": "house-7b"}, ("x", {"window": 10}), None, entries)
        assert provider.window == 6_000, "the command line goes before the scenario"

    def test_bad_override_files_name_the_field(self, tmp_path: Path) -> None:
        file = tmp_path / "models.toml"
        file.write_text('[[model]]\nid = "x"\nwindw = 3\n')
        with pytest.raises(InputError, match="windw"):
            read_overrides(file)

    def test_recorded_names_are_understood(self) -> None:
        for name in ("litellm_proxy/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", "claude-sonnet-4-5-20250929"):
            found = find_model(name)
            assert found and found.vendor == "anthropic", name
        assert find_model("no-such-model-anywhere") is None
        with pytest.raises(UnknownName, match="unknown model"):
            resolve({"model": "no-such-model-anywhere"})

    def test_every_listed_model_opens(self) -> None:
        assert sum(1 for _ in all_models()) > 300

    def test_vendor_files_say_where_they_are_from(self) -> None:
        for name in vendor_names():
            vendor = load_vendor(name)
            for rule in (vendor.cache, vendor.rate, vendor.reasoning, vendor.overflow):
                assert name == "none" or rule.source, name


def test_the_cached_documented_case_says_it_plainly() -> None:
    scenario = load_scenario("documented-53k-cached")
    rows = list(scenario_rows(scenario, Setting(scenario.name, scenario.title, scenario.policies)))
    summary = {row.policy: row for one in rows for row in (one.tables.summary if one.tables else ())}
    keep_all, budget = summary["keep-all"], summary["token-budget:budget=40000,retain=500"]
    assert keep_all.first_failure is None, "cache reads are free of the rate limit"
    assert budget.tokens_sum < keep_all.tokens_sum
    assert budget.cost_vs_keep_all is not None and budget.cost_vs_keep_all > 1.1
    assert budget.break_even_refetch == 0
    assert budget.smallest_quota > keep_all.smallest_quota or budget.smallest_quota > 0


def test_a_rate_limit_that_reserves_and_counts_refusals() -> None:
    from ctxsim.provider.rate_limit import RateLimit

    transcript = conversation("word " * 300, "x")
    free = RateLimit(tokens_per_minute=600)
    counting = RateLimit(tokens_per_minute=600, failed_requests_count=True)
    reserving = RateLimit(tokens_per_minute=600, reserves_max_tokens=200)
    plain = sent_of(transcript, cache="none", rate_limit=free, pace_s=0)
    reserved = sent_of(transcript, cache="none", rate_limit=reserving, pace_s=0)
    assert sum(one.row.wait_s for one in reserved) > sum(one.row.wait_s for one in plain) > 0
    counted = sent_of(transcript, cache="none", rate_limit=counting, pace_s=0)
    assert sum(one.row.wait_s for one in counted) > sum(one.row.wait_s for one in plain)
    requests = RateLimit(tokens_per_minute=10**6, requests_per_minute=1)
    slow = sent_of(transcript, cache="none", rate_limit=requests, pace_s=0)
    assert [one.row.wait_s for one in slow] == [0, 60, 60]


def test_summary_modes_bracket_each_other() -> None:
    results = [f"ticket ABC-{n}4711 lives at https://x.example/{n}77\n" + "filler words here\n" * 40 for n in range(6)]
    assembly = Assembly("modes")
    assembly.user("Do it.")
    for n, text in enumerate(results):
        assembly.response([Part("tool_call", "{}", "t", f"c{n}")])
        assembly.result(text, f"c{n}")
    assembly.response([Part("assistant", "It was ABC-04711, see https://x.example/077.")])
    transcript = assembly.transcript()

    def summary(mode: str) -> str:
        provider = Provider(window=2_000, summaries=mode)  # type: ignore[arg-type]
        sent = list(replay(transcript, open_policy("summary:at=0.3,keep_last=2"), provider, Counter(open_tokenizer())))
        return next(item.text for item in sent[-1].view if item.kind == "summary")

    assert summary("empty") == "The earlier part of the conversation was summarized."
    assert "abc-04711" in summary("clairvoyant") and "abc-34711" not in summary("clairvoyant").lower()
    assert len(summary("empty")) < len(summary("extractive"))
