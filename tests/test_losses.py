"""What was lost: forms, refetches, planted facts found lost exactly where a policy cut, ranks that don't rank noise."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from samples import run
from test_references import ASK, TASK, chat

from ctxsim.bench import bench
from ctxsim.errors import LabelError
from ctxsim.losses import Losses
from ctxsim.measure import Measured
from ctxsim.policies import open_policy
from ctxsim.provider import Provider
from ctxsim.provider.prices import Prices
from ctxsim.readers.ctxsim_jsonl import lines
from ctxsim.references import prepare
from ctxsim.references.depth import depth
from ctxsim.report.intervals import bootstrap_mean, rank_ranges, survival_interval
from ctxsim.report.losses import breakdown, needle_rows, survival_rows
from ctxsim.report.tradeoff import Scope, advise, points
from ctxsim.results import Run, read_run
from ctxsim.rows import NeedleRow
from ctxsim.sweep import expand
from ctxsim.synthesis import load_scenario, synthesize
from ctxsim.task import Setting
from ctxsim.tokenizers import open_tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Transcript

PRICES = Prices(input=1.0, output=1.0)
LONG = "zebra_one " + "filler " * 400 + "zebra_two"
LOST_ONE = chat(
    TASK, ASK, ("tool_result", LONG), ASK, ("tool_result", "ok"), ("assistant", "zebra_one zebra_two"),
)  # fmt: skip


def losses(transcript: Transcript, label: str, **provider: object) -> Losses:
    rules = Provider(prices=PRICES, **provider)  # type: ignore[arg-type]
    found = Losses(transcript, prepare(transcript), label, rules, Counter(open_tokenizer()))
    for sent in run(transcript, label, prices=PRICES, **provider):
        found.after(sent)
    return found


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("keep-all", []),
        # Cut to its beginning: only the second name is gone, and the text still begins as it did.
        ("truncate-after-use:retain=500", [("truncated", 1)]),
        ("max-result-chars:chars=500", [("truncated", 1)]),
        # Replaced by a placeholder: both are gone with the whole text.
        ("mask:keep=1", [("dropped", 0), ("dropped", 1)]),
        ("max-messages:n=2", [("dropped", 0), ("dropped", 1)]),
    ],
)
def test_forms_of_loss(label: str, expected: list[tuple[str, int]]) -> None:
    found = losses(LOST_ONE, label)
    assert [(row.form, row.need) for row in found.lost] == expected
    assert {row.call for row in found.lost} <= {3}


def test_what_a_summary_replaced_is_summarised_also_by_a_summary_of_it() -> None:
    turns = [part for _ in range(8) for part in (ASK, ("tool_result", "word " * 300))]
    transcript = chat(TASK, ASK, ("tool_result", "zebra_one " * 300), *turns, ("assistant", "zebra_one"))
    found = losses(transcript, "summary:at=0.5,keep_last=2,max_tokens=20", window=3_000, summaries="empty")
    assert [row.form for row in found.lost] == ["summarised"]
    sent = run(transcript, "summary:at=0.5,keep_last=2,max_tokens=20", window=3_000, summaries="empty")
    assert sum(one.row.summary_calls for one in sent) > 1


def test_refetches_count_each_result_once() -> None:
    # mask keeps the newest: results 2, 4 and 6 are replaced in turn, only 2 held what is needed later.
    transcript = chat(
        TASK, ASK, ("tool_result", LONG), ASK, ("tool_result", "b " * 200), ASK, ("tool_result", "c " * 200), ASK,
        ("tool_result", "d"), ("assistant", "zebra_one zebra_two"),
    )  # fmt: skip
    found = losses(transcript, "mask:keep=1")
    assert (sorted(found.edited), found.missed) == ([2, 4, 6], {2})
    count = Counter(open_tokenizer())
    asked = count.item(transcript.items[1])
    again = found.edited[2]
    assert again.tokens == count.text(LONG) + asked
    # Fetched at call 3, the first request without it: that prompt once more, the question, the result. 1 USD/M each.
    sent = run(transcript, "mask:keep=1", prices=PRICES)
    assert again.cost_usd == pytest.approx((sent[2].row.tokens_sent + again.tokens) / 1e6)
    row = measured(transcript, "mask:keep=1").summary(None)
    assert (row.results_edited, row.results_missed, row.refetch_tokens) == (3, 1, again.tokens)
    assert row.refetch_usd == pytest.approx(again.cost_usd)


def measured(transcript: Transcript, label: str) -> Measured:
    return Measured(transcript, open_policy(label), Provider(prices=PRICES), Counter(open_tokenizer()))


def test_calls_asked_again_after_their_result_was_edited() -> None:
    ask = ("tool_call", '{"path": "a"}')
    transcript = chat(TASK, ask, ("tool_result", LONG), ("tool_call", '{"path": "b"}'), ("tool_result", "x"), ask,
                      ("tool_result", LONG), ("assistant", "done"))  # fmt: skip
    kept, cut = measured(transcript, "keep-all").summary(None), measured(transcript, "mask:keep=1").summary(None)
    assert (kept.reissued_calls, kept.reissued_after_edit) == (1, 0)
    assert (cut.reissued_calls, cut.reissued_after_edit) == (1, 1)


def test_depth_is_head_middle_or_tail() -> None:
    text = "x_first " + "word " * 300 + "x_middle " + "word " * 300 + "x_final"
    transcript = chat(
        TASK, ASK, ("tool_result", text), ASK, ("tool_result", ""), ("assistant", "x_first x_middle x_final"),
    )  # fmt: skip
    found = {need.atom: depth(need, transcript.items[2]) for need in prepare(transcript).needs(3)}
    assert found == {"x_first": "head", "x_middle": "middle", "x_final": "tail"}
    # Whole tokens only: order_12 stands in the tail, order_123 before it in the head.
    text = "order_123 " + "word " * 300 + "order_12"
    transcript = chat(TASK, ASK, ("tool_result", text), ASK, ("tool_result", ""), ("assistant", "order_12"))
    assert [depth(need, transcript.items[2]) for need in prepare(transcript).needs(3)] == ["tail"]


# needles


@pytest.fixture(scope="module")
def planted() -> Transcript:
    return synthesize(load_scenario("needles"))


def needles(transcript: Transcript, label: str) -> list[NeedleRow]:
    return measured(transcript, label).losses.needles


def test_needles_are_planted_once_where_they_say(planted: Transcript) -> None:
    facts = [needle for needle in planted.needles if needle.kind != "rule"]
    assert len(facts) == 48 and len({(n.kind, n.depth, n.used) for n in facts}) == 48
    for needle in facts:
        text = planted.items[needle.place].text
        assert sum(needle.text in item.text for item in planted.items) == 2  # its result and its one use
        at = text.index(needle.text) / len(text)
        assert {"head": at < 0.15, "middle": 0.4 < at < 0.6, "tail": at > 0.85}[needle.depth]
        (call,) = needle.used
        used = planted.calls[call - 1]
        assert any(needle.text in item.text for item in planted.items[used.start : used.end])
    assert [row for row in needles(planted, "keep-all") if not row.kept] == []


def test_needles_are_lost_exactly_where_a_policy_cut(planted: Transcript) -> None:
    results = [item for item in planted.items if item.kind == "tool_result"]
    order = {item.place: number for number, item in enumerate(results)}
    facts = {n: needle for n, needle in enumerate(planted.needles) if needle.kind != "rule"}

    def kept(label: str) -> dict[int, bool]:
        return {row.needle: row.kept for row in needles(planted, label) if row.needle in facts}

    def end(number: int) -> int:
        needle = facts[number]
        text = planted.items[needle.place].text
        return text.index(needle.text) + len(needle.text)

    # Cut at 1,500 characters on arrival: what ends later is gone, whatever its age.
    assert kept("max-result-chars:chars=1500") == {number: end(number) <= 1500 for number in facts}
    # The newest ten stay: at call k results 0 .. k - 2 are there.
    assert kept("mask:keep=10") == {n: order[needle.place] >= needle.used[0] - 1 - 10 for n, needle in facts.items()}
    assert not any(kept("drop-all").values())
    assert all(kept("oracle-lossless").values())


def test_a_rule_that_was_dropped_is_lost(planted: Transcript) -> None:
    rules = [row for row in needles(planted, "max-messages:n=19") if row.kind == "rule"]
    # The user's message leaves after nine more exchanges: rules that are 2 calls old are there, older ones not.
    assert {row.age: row.kept for row in rules} == {2: True, 10: False, 30: False}
    assert all(row.kept for row in needles(planted, "mask:keep=3") if row.kind == "rule")


def test_compactions_between_request_and_use_are_counted(planted: Transcript) -> None:
    rows = {row.needle: row for row in needles(planted, "mask:keep=1") if row.kind != "rule"}
    # mask edits on every call once there are two results, so one compaction per call from the first request on.
    assert all(row.compactions == row.age + (row.call - row.age > 2) for row in rows.values())


def test_needles_travel_in_our_own_format(planted: Transcript) -> None:
    assert b"needles" in next(lines(planted))


# runs and tables


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Six conversations; a and b lose the same by turns, c loses all."""
    folder = tmp_path_factory.mktemp("runs")
    with (folder / "many.jsonl").open("wb") as file:
        for n in range(6):
            text = f"zebra_{n}00 " + "word " * 200 + f"zebra_{n}01 " + "word " * 200
            chatted = chat(
                TASK, ASK, ("tool_result", text), ASK, ("tool_result", "ok"), ("assistant", f"zebra_{n}00 zebra_{n}01")
            )
            named = Transcript(f"t{n}", chatted.head, chatted.items, chatted.calls)
            file.writelines(line + b"\n" for line in lines(named))
    policies = ("keep-all", "max-result-chars:chars=500", "truncate-after-use:retain=500", "mask:keep=1")
    bench(Setting("many", "many", policies), folder / "out", paths=[str(folder / "many.jsonl")])
    return read_run(folder / "out")


def test_ranks_say_what_cannot_be_told_apart(ranked: Run) -> None:
    cut, late, masked = ranked.info.policies[1:]
    # Both cuts keep the first name only, in every transcript; mask keeps nothing.
    parts = {label: ranked.of(label) for label in (cut, late, masked)}
    assert [survival_interval(part) for part in parts.values()] == [(0.5, 0.5, 0.5), (0.5, 0.5, 0.5), (0, 0, 0)]
    assert rank_ranges(parts) == {cut: (1, 2), late: (1, 2), masked: (3, 3)}
    rows = {row["policy"]: row for row in survival_rows(ranked)}
    assert [rows[label]["rank"] for label in (cut, late, masked)] == ["1-2", "1-2", "3"]
    assert rows["keep-all (bound)"]["rank"] == "-"


def test_breakdowns_add_up(ranked: Run) -> None:
    by_form = {row["policy"]: row for row in breakdown(ranked, "form")}
    cut, _, masked = ranked.info.policies[1:]
    assert by_form[cut] == {"policy": cut, "truncated": "6", "dropped": "0", "summarised": "0"}
    assert by_form[masked] == {"policy": masked, "truncated": "0", "dropped": "12", "summarised": "0"}
    by_depth = {row["policy"]: row for row in breakdown(ranked, "depth")}
    assert by_depth[cut] == {"policy": cut, "head (n=6)": "100%", "middle (n=6)": "0%"}
    assert {len(breakdown(ranked, by)) for by in ("age", "kind", "tool")} == {4}
    assert needle_rows(ranked) == []


def test_chance_is_the_share_that_the_transcript_before_would_have_held(ranked: Run) -> None:
    found = ranked.summary.drop_duplicates("transcript").chance_rate
    # The first has none before it; no two share a name.
    assert pandas.isna(found.iloc[0]) and set(found.iloc[1:]) == {0.0}


def test_intervals_resample_sessions_not_transcripts() -> None:
    # Two sessions, one of them with three equal sub-agents: four values, but only two sessions to draw from.
    apart = bootstrap_mean([0.0, 1.0, 1.0, 1.0])
    together = bootstrap_mean([0.0, 1.0, 1.0, 1.0], ["a", "b", "b", "b"])
    assert apart is not None and together is not None
    assert together[0] == apart[0] == 0.75 and together[1:] == (0.0, 1.0) and apart[1] > 0
    assert bootstrap_mean([1.0, 0.0], ["a", "a"]) is None


def test_of_many_sessions_the_normal_interval_and_ranks_are_the_resampled_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    roots = [f"s{n // 3}" for n in range(900)]
    parts = {
        name: pandas.DataFrame({"transcript": range(900), "root": roots, "survival": rng.random(900) * top})
        for name, top in (("a", 1.0), ("b", 1.0), ("c", 0.8))
    }
    resampled, ranks = survival_interval(parts["a"]), rank_ranges(parts)
    monkeypatch.setattr("ctxsim.report.intervals.MANY_SESSIONS", 100)
    normal = survival_interval(parts["a"])
    assert resampled is not None and normal is not None and normal == pytest.approx(resampled, rel=0.01)
    assert rank_ranges(parts) == ranks == {"a": (1, 2), "b": (1, 2), "c": (3, 3)}


def test_summaries_carry_an_interval() -> None:
    turns = [part for _ in range(6) for part in (ASK, ("tool_result", "word " * 300))]
    transcript = chat(TASK, ASK, ("tool_result", "word " * 300 + "zebra_one zebra_two"), *turns,
                      ("assistant", "zebra_one zebra_two"))  # fmt: skip
    label = "summary:at=0.4,keep_last=2,max_tokens=5"
    found = Measured(transcript, open_policy(label), Provider(window=3_000), Counter(open_tokenizer())).summary(None)
    # Five tokens are too few for both names: even a clairvoyant keeps one at most.
    assert (found.survival_low, found.survival_high) == (0.0, 0.5)
    assert measured(transcript, "mask:keep=1").summary(None).survival_low is None


# sweeps


@pytest.mark.parametrize(
    ("grid", "labels"),
    [
        ("mask:keep=2..6@3", ["mask:keep=2,batch=1", "mask:keep=4,batch=1", "mask:keep=6,batch=1"]),
        ("mask:keep=3|5", ["mask:keep=3,batch=1", "mask:keep=5,batch=1"]),
        ("mask:keep=1..2@5", ["mask:keep=1,batch=1", "mask:keep=2,batch=1"]),  # rounded, equal ones once
        (
            "token-budget:retain=100..200@2,budget=1000..2000@2",
            [f"token-budget:budget={b},retain={r}" for r in (100, 200) for b in (1000, 2000)],
        ),
        ("summary:at=0.2..0.6@2", [f"summary:at={at},keep_last=10,max_tokens=500" for at in (0.2, 0.6)]),
        ("keep-all", ["keep-all"]),
    ],
)
def test_grids(grid: str, labels: list[str]) -> None:
    assert expand(grid) == labels


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ("mask:keep=1..9", "low..high@steps"),
        ("mask:keep=9..1@3", "upwards"),
        ("mask:keep=a..b@3", "low..high@steps"),
        ("mask:keep=1..900000@90000", "90,000 settings"),
        ("mask:kep=1..3@3", "kep"),
    ],
)
def test_bad_grids_say_why(grid: str, message: str) -> None:
    with pytest.raises(LabelError, match=message):
        expand(grid)


def test_advice_takes_the_cheapest_of_the_best(ranked: Run) -> None:
    cut, late, masked = ranked.info.policies[1:]
    found = {point.policy: point for point in points(ranked, Scope(ranked).of)}
    assert found[masked].survival == 0 and found[cut].survival == found[late].survival == 0.5
    # Cut on arrival is sent short from the first request on, so it is cheaper than cutting after use.
    assert found[cut].tokens < found[late].tokens
    advice = advise(ranked)
    assert advice is not None and advice.policy == cut
    assert (advice.agreement, advice.others) == (1.0, {})
    assert "no call refused" in advice.reason and "50% kept" in advice.reason
