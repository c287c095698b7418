"""Chains of policies."""

from __future__ import annotations

from samples import conversation, run

from ctxsim.simulator.replay.sent import Sent

LONG = "word " * 200  # 1,000 characters, about 200 tokens


def results(sent: Sent) -> list[str]:
    return [item.text for item in sent.view.results]


def test_chains_act_in_order_and_overflow_goes_to_the_first_that_shrinks() -> None:
    sent = run(conversation(LONG, LONG), "max-result-chars:chars=100+max-result-chars:chars=10")
    assert results(sent[1]) == [LONG[:10]]
    moments = [edit.after.text for _, edit in sent[1].edits if edit.after]
    assert moments == [LONG[:100], LONG[:10]]


WORDY = "word " * 400


def test_a_chain_retries_as_often_as_its_retry_says() -> None:
    transcript = conversation(*[WORDY] * 30)
    alone = run(transcript, "retry:attempts=2", window=5_000)
    chained = run(transcript, "mask:keep=50+retry:attempts=2", window=5_000)
    assert max(one.attempts for one in alone) == max(one.attempts for one in chained) == 3


def test_an_idle_ephemeral_policy_leaves_a_chain_lasting() -> None:
    transcript = conversation(*[WORDY] * 10)
    label = "summary:at=0.2,keep_last=2"
    alone = sum(one.summary_calls for one in run(transcript, label, window=6_000))
    idle = f"clear-tool-uses:trigger=1000000,sticky=False+{label}"
    busy = f"clear-tool-uses:trigger=700,keep=1,sticky=False+{label}"
    assert sum(one.summary_calls for one in run(transcript, idle, window=6_000)) == alone
    assert sum(one.summary_calls for one in run(transcript, busy, window=6_000)) == alone


def test_clearing_after_a_policy_that_drops() -> None:
    sent = run(conversation(*[WORDY] * 12), "fifo:budget=1500+clear-tool-uses:trigger=900,keep=1")
    assert {one.status for one in sent} == {"ok"}
