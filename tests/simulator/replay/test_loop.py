"""One call after another: what is counted and what is sent."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from samples import ASK, TASK, basis_of, chat, conversation, run, run_class, spec_of

from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import Policy, Spec, Stop, open_policy
from ctxsim.simulator.measure.measured import measure
from ctxsim.simulator.provider import Provider, RateLimit
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.provider.summaries import EMPTY
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Item, Usage
from ctxsim.view import View

WORDY = "word " * 400


def test_a_thrown_away_overflow_edit_is_no_cause() -> None:
    @dataclass
    class Useless(Policy):
        def on_overflow(self, view: View, error: object) -> View:  # type: ignore[override]
            return view.insert("longer", 0, "thrown away")

    sent = run_class(Useless, conversation(*[WORDY * 4] * 3), window=3_000, cache="openai", pace_s=10_000)
    assert not any("thrown away" in one.bill.cause for one in sent)
    assert {one.bill.cause for one in sent} == {"", "lifetime"}
    assert not any(one.edits for one in sent)


def test_an_overflow_edit_that_was_not_taken_is_no_compaction() -> None:
    @dataclass
    class Useless(Policy):
        def on_overflow(self, view: View, error: object) -> View:  # type: ignore[override]
            return view.insert("longer", 0, "thrown away")

    @dataclass
    class AsItIs(Policy):
        def on_overflow(self, view: View, error: object) -> View:  # type: ignore[override]
            return view

    @dataclass
    class Cuts(Policy):
        def on_overflow(self, view: View, error: object) -> View:  # type: ignore[override]
            long = next(item.place for item in view if item.kind == "tool_result" and item.text != "cut")
            return view.rewrite({long: "cut"}, "too large")

    transcript = conversation(*[WORDY * 4] * 3)
    # Two results are over 3,000 tokens: calls 3 and 4 are refused, and nothing helps.
    for helpless in (Useless, AsItIs):
        sent = run_class(helpless, transcript, window=3_000)
        assert [one.status for one in sent] == ["ok", "ok", "overflow", "overflow"]
        assert [one.compactions for one in sent] == [0, 0, 0, 0]
    # Behind it one that helps: at each of them one compaction counts, not two, and one request more was sent.
    links = (("useless", Useless), ("cuts", Cuts))
    spec = Spec("useless+cuts", tuple((cls, name, {}) for name, cls in links), open_estimator())
    sent = list(replay(transcript, spec, Provider(window=3_000), Counter(open_tokenizer())))
    assert [one.status for one in sent] == ["ok"] * 4
    assert [one.compactions for one in sent] == [0, 0, 1, 1]
    assert [[edit.reason for _, edit in one.edits] for one in sent] == [[], [], ["too large"], ["too large"]]
    assert [one.attempts for one in sent] == [1, 1, 2, 2]


def test_a_summary_knows_what_comes_only_where_it_is_said_to() -> None:
    # One result of 1,600 tokens and more: at call 3 task, call and it become a summary, and call 4 uses zebra_one.
    # Call 2 has used lion_two.
    transcript = chat(
        TASK, ASK, ("tool_result", "zebra_one lion_two " + WORDY * 4), ("tool_call", "lion_two"), ("tool_result", "b"),
        ASK, ("tool_result", "c"), ("assistant", "zebra_one"),
    )  # fmt: skip
    for mode, text in (("clairvoyant", "zebra_one"), ("empty", EMPTY)):
        sent = run(transcript, "summary:at=0.5,keep_last=2,max_tokens=9", window=3_000, summaries=mode)
        assert [item.text for item in sent[-1].view if item.kind == "summary"] == [text]


@pytest.mark.parametrize(("pace_s", "read_usd"), [(299.0, 110.0), (301.0, 0.0)])
def test_a_summary_of_a_result_is_billed_at_the_time_of_the_call_that_it_joins(pace_s: float, read_usd: float) -> None:
    # The first request of 1,096 + 4 tokens is an entry for 300 s, and costs a tenth of a dollar a token to read.
    times: list[float] = []

    @dataclass
    class SumsUp(Policy):
        summary_head = None

        def before_call(self, view: View) -> View:
            self.seen = list(view)
            return view

        def on_tool_result(self, item: Item) -> Item:
            times.append(self.sees.now_s)
            return item.with_text(self.sees.summarize([*self.seen, item], 9) or "")

    rules = {"cache": "anthropic", "breakpoints": "automatic", "prices": Prices(1e6, 5e6, 1e5, 2e6), "pace_s": pace_s}
    sent = run_class(SumsUp, conversation(WORDY, system=" a" * 1_096), **rules)
    (asked,) = sent[1].tally.summaries
    assert asked.cost and (asked.cost.read, times) == (pytest.approx(read_usd), [pace_s])


def test_who_gives_up_sends_nothing() -> None:
    @dataclass
    class Quitter(Policy):
        def before_call(self, view: View) -> View | Stop:
            return Stop("95 % reached") if len(view) > 2 else view

    sent = run_class(Quitter, conversation(*[WORDY] * 4), rate_limit=RateLimit(tokens_per_minute=500))
    assert [one.status for one in sent] == ["ok", *["stopped"] * 4]
    assert all(one.wait_s == one.http_429 == 0 for one in sent)
    assert sent[1].verdict.reason == "95 % reached"
    assert [one.attempts for one in sent] == [1] * 5


def test_after_a_stop_the_bucket_is_fuller_than_under_keep_all() -> None:
    @dataclass
    class PausesOnce(Policy):
        def before_call(self, view: View) -> View | Stop:
            return Stop("enough") if len(view.results) == 1 else view

    # Requests of about 5, 405 and 810 tokens.
    basis = basis_of(conversation(WORDY, WORDY), Provider(rate_limit=RateLimit(tokens_per_minute=1_100)))
    kept, paused = (measure(basis, spec).rows for spec in (open_policy("keep-all"), spec_of(PausesOnce)))
    assert [row.status for row in paused] == ["ok", "stopped", "ok"]
    assert paused[2].wait_s == 0 < kept[2].wait_s, "call 2 took nothing: what comes after it isn't keep-all's"


def test_a_stopped_call_hides_no_edit_from_the_pair_rule() -> None:
    @dataclass
    class DropsAndStops(Policy):
        """Drops the task after call 2 and gives up once, at call 3."""

        def before_call(self, view: View) -> View | Stop:
            return Stop("enough") if sum(item.kind == "tool_call" for item in view) == 2 else view

        def after_call(self, view: View, usage: object) -> View:
            asked = sum(item.kind == "tool_call" for item in view)
            return view.drop([view[0].place], "r") if asked == 2 and view[0].kind == "user" else view

    sent = run_class(DropsAndStops, conversation("a", "b", "c", "d"))
    assert [one.status for one in sent] == ["ok", "ok", "stopped", "ok", "ok"]


def test_an_endpoint_may_report_less_than_was_used() -> None:
    seen: list[tuple[int, int | None]] = []

    @dataclass
    class Listens(Policy):
        """Writes down what it is told was used."""

        def after_call(self, view: View, usage: Usage) -> View:
            seen.append((usage.input_tokens, usage.output_tokens))
            return view

    sent = run_class(Listens, conversation("a b c " * 50))
    assert [tokens for tokens, _ in seen] == [one.tokens_sent for one in sent]
    seen.clear()
    run_class(Listens, conversation("a b c " * 50), usage_factor=0.5)
    assert [tokens for tokens, _ in seen] == [one.tokens_sent // 2 for one in sent]
    seen.clear()
    run_class(Listens, conversation("a b c " * 50), usage_factor=0)
    assert seen == [(0, 0), (0, 0)]


def test_thinking_behind_an_edit_leaves_the_request_and_is_counted() -> None:
    made = chat(TASK, ("reasoning", "hm"), ASK, ("tool_result", "r"), ("reasoning", "so"), ASK, ("tool_result", "c"),
                ("assistant", "done"))  # fmt: skip
    sent = run(made, "mask:keep=1", vendor="anthropic", reasoning="all", thinking="drop")
    # Before call 3 the first result is masked: of what stands behind it, "so" goes.
    assert [one.tally.thinking_dropped for one in sent] == [0, 0, 1]
    assert [item.place for item in sent[2].view if item.kind == "reasoning"] == [1]
