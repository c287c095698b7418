"""What policies share until their first edit doesn't show: with a kernel of its own a replay is the same."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from samples import ASK, TASK, chat
from strategies import transcripts

from ctxsim.policies import open_policy
from ctxsim.simulator.ledger import Course, Ledger, Leg
from ctxsim.simulator.provider import Provider, RateLimit
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.references import prepare
from ctxsim.simulator.replay import Replay
from ctxsim.transcript import Item, Transcript

POLICIES = (
    "keep-all", "drop-all", "oracle-lossless", "token-budget:budget=60,retain=10", "truncate-after-use:retain=5",
    "retry", "max-result-chars:chars=20", "max-messages:n=3", "head-tail:lines=2,bytes=30", "fifo:budget=100",
    "summary:at=0.3,keep_last=2", "mask:keep=1", "clear-tool-uses:trigger=50,keep=1", "three-layer:at=0.2,stop=0.4",
    "three-triggers:only=messages,messages=3,spare=1", "round-summary:every=2", "fifo:budget=90,estimator=usage-tail",
)  # fmt: skip


class Alone(Course):
    """Shares nothing."""

    def begin(self, leg: Leg, items: Sequence[Item]) -> None:
        super().begin(leg, items)
        self._own()


@settings(max_examples=25)
@given(
    transcript=transcripts(),
    window=st.sampled_from([60, 300, 100_000]),
    cache=st.sampled_from(["none", "anthropic", "openai", "deepseek"]),
    reasoning=st.sampled_from(["never", "current_turn", "all"]),
    limit=st.sampled_from([None, 200, 2_000]),
)
def test_a_replay_that_shares_is_one_that_shares_nothing(
    transcript: Transcript, window: int, cache: str, reasoning: str, limit: int | None
) -> None:
    prices = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
    rate = RateLimit(tokens_per_minute=limit) if limit else None
    provider = Provider(window=window, cache=cache, reasoning=reasoning, rate_limit=rate, prices=prices, pace_s=3)  # type: ignore[arg-type]
    check(transcript, provider, POLICIES)


def test_pairs_are_checked_from_where_they_were_well_the_last_time() -> None:
    """A refused call, then reasoning left out in a call that keep-all answers for: later positions are others."""
    made = chat(
        TASK, ("reasoning", "think " * 200), ASK, ("tool_result", "a " * 5), ASK, ("tool_result", "b " * 5),
        ("user", "And now?"), ASK, ("tool_result", "c " * 5), ("assistant", "Done."),
    )  # fmt: skip
    check(made, Provider(window=100, reasoning="current_turn"), POLICIES)


def check(transcript: Transcript, provider: Provider, labels: Sequence[str]) -> None:
    ledger, references = Ledger(transcript, provider, provider.counter()), prepare(transcript)
    for label in labels:
        sharing, alone = (Replay(ledger, open_policy(label), references) for _ in range(2))
        alone.course = Alone(ledger)
        alone.moments._edited = alone.course.edit
        assert everything(sharing) == everything(alone), label


def everything(replayed: Replay) -> tuple[object, ...]:
    """All that a row could be made from, and what the rate limit was asked for."""
    return [
        (
            sent.call, list(sent.view), sent.changed_from, sent.verdict, sent.attempts, sent.bill, sent.tokens_sent,
            sent.tokens_estimated, sent.tokens_output, sent.untouched, sent.edits, sent.said,
            sent.compactions, sent.tally.believed, sent.tally.summaries,
        )
        for sent in replayed
    ], replayed.course.demands  # fmt: skip
