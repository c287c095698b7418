"""What an estimator's error does to a trigger."""

from __future__ import annotations

import msgspec
import pytest
from samples import conversation

from ctxsim.answers.validation.accuracy import Point, accuracy, consequence, observe, table
from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.transcript import Compaction, Head, Transcript, Usage
from evidence.claims import Evidence


class TestConsequences:
    def test_accuracy_by_hand(self) -> None:
        # Errors -4/7, 1/8, 0 and 2/6. The request without tokens has none. Sums: 25 of 26 tokens.
        points = [Point("a", "text", tokens, None, (one,)) for tokens, one in ((7, 3), (8, 9), (5, 5), (6, 8), (0, 4))]
        found = accuracy(points, 0, "mine", "o200k_base", "text", "all")
        assert found is not None and (found.n, found.tokenizer) == (4, "o200k_base")
        assert found.bias == round((-4 / 7 + 1 / 8 + 2 / 6) / 4, 4) == -0.0283
        assert found.mape == round((4 / 7 + 1 / 8 + 2 / 6) / 4, 4) == 0.2574
        # By nearest rank of 0, 0.125, 0.3333, 0.5714: the second, and the fourth twice.
        assert (found.p50, found.p95, found.p99, found.worst_under) == (0.125, 0.5714, 0.5714, -0.5714)
        assert found.pooled == round(25 / 26 - 1, 4) == -0.0385

    def test_a_perfect_estimator_has_no_consequence(self) -> None:
        transcript = conversation(*["some words here " * 80] * 5)
        estimators = [open_estimator("tokenizer")]
        observed = observe([transcript], open_tokenizer(), estimators)
        assert {row.mape for row in table(observed, "o200k_base", estimators)} == {0}
        found = consequence(observed, 0, "tokenizer", "o200k_base", None)
        assert (found.late, found.early, found.false_safe_calls, found.false_alarm_calls) == (0, 0, 0, 0)


@pytest.fixture
def compacted() -> Transcript:
    """Four results of 1,000 tokens; before call 4 all is replaced by a summary. Usage: 5,000 of hidden head, x 2."""
    made = conversation(*["1 " * 500] * 4)
    recorded = (5_000, 7_000, 9_000, 5_000, 7_000)
    calls = tuple(
        msgspec.structs.replace(call, usage=Usage(tokens, 1)) for call, tokens in zip(made.calls, recorded, strict=True)
    )
    at = made.calls[2].end
    head = Head(recorded=False)
    return msgspec.structs.replace(made, head=head, calls=calls, compactions=(Compaction(4, at, "", ("short",)),))


def test_no_study_counts_a_history_past_a_compaction(compacted: Transcript) -> None:
    observed = observe([compacted], open_tokenizer(), [open_estimator("tokenizer")])
    assert [len(run) for run in observed.runs] == [3, 2]
    # The third request is the largest; the fourth begins with the summary and the result that came after it.
    sizes = [point.tokens for point in observed.requests]
    assert max(sizes) == sizes[2] and sizes[3] < 1_100
    assert len(observed.texts) == 4, "each text once, whatever was kept"
    assert [(point.kind, point.recorded) for point in observed.usage] == [
        ("growth", 2_000), ("growth", 4_000), ("growth", 2_000),
    ]  # fmt: skip
    assert [point.tokens / (point.recorded or 1) - 1 for point in observed.usage] == pytest.approx([-0.5] * 3, abs=0.01)
    assert [len(one.calls) for one in Evidence([compacted]).recorded] == [3, 2]


def test_recorded_growth_is_not_told_of_estimators_that_go_by_usage(compacted: Transcript) -> None:
    labels = ("chars:ratio=4", "usage-tail", "usage-serialized", "output-only", "tokenizer")
    estimators = [open_estimator(label) for label in labels]
    told = table(observe([compacted], open_tokenizer(), estimators), "o200k_base", estimators)
    against = {row.estimator.partition(":")[0] for row in told if row.scope == "usage"}
    assert against == {"chars", "output-only", "tokenizer"}
    # Estimates grow by no less than nothing: a deeper error than all of it can't be.
    assert all(row.worst_under >= -1 for row in told)
