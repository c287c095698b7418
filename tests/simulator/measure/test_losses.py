"""What was lost: forms, refetches, calls asked again."""

from __future__ import annotations

import pytest
from samples import ASK, TASK, basis_of, chat, run, summarized

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.simulator.measure.losses import Losses, item_rows, kind_of, need_rows
from ctxsim.simulator.measure.measured import Measured, measure
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.references.finding import prepare
from ctxsim.simulator.references.needs import Need
from ctxsim.simulator.references.survival import Counts
from ctxsim.transcript import Transcript

PRICES = Prices(input=1.0, output=1.0)


LONG = "zebra_one " + "filler " * 400 + "zebra_two"


LOST_ONE = chat(
    TASK, ASK, ("tool_result", LONG), ASK, ("tool_result", "ok"), ("assistant", "zebra_one zebra_two"),
)  # fmt: skip


def losses(transcript: Transcript, label: str, **provider: object) -> Losses:
    found = Losses(basis_of(transcript), label)
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
    assert [need.age for need in found.lost_strict] == [1] * len(expected)


def test_what_a_summary_replaced_is_summarised_also_by_a_summary_of_it() -> None:
    turns = [part for _ in range(8) for part in (ASK, ("tool_result", "word " * 300))]
    transcript = chat(TASK, ASK, ("tool_result", "zebra_one " * 300), *turns, ("assistant", "zebra_one"))
    found = losses(transcript, "summary:at=0.5,keep_last=2,max_tokens=20", window=3_000, summaries="empty")
    assert [row.form for row in found.lost] == ["summarised"]
    sent = run(transcript, "summary:at=0.5,keep_last=2,max_tokens=20", window=3_000, summaries="empty")
    assert sum(one.summary_calls for one in sent) > 1


def test_a_need_is_a_value_a_name_or_a_quotation() -> None:
    kinds = {("strict", True): "value", ("strict", False): "name", ("loose", False): "quotation"}
    for (detector, value), kind in kinds.items():
        assert kind_of(Need("x", detector, value, (2,), 1)) == kind  # type: ignore[arg-type]


def test_rows_of_needs_and_items() -> None:
    references, counter = prepare(LOST_ONE), Counter(open_tokenizer())
    needs = need_rows(LOST_ONE.name, references)
    assert [(row.call, row.atom, row.kind, row.age, row.depth, row.item) for row in needs] == [
        (3, "zebra_one", "name", 1, "head", 2), (3, "zebra_two", "name", 1, "tail", 2),
    ]  # fmt: skip
    items = item_rows(LOST_ONE, references, counter)
    assert [(row.item, row.first_call, row.used_by) for row in items] == [
        (0, 1, ""), (1, 2, ""), (2, 2, "3"), (3, 3, ""), (4, 3, ""), (5, 4, ""),
    ]  # fmt: skip
    assert items[2].tokens == counter.item(LOST_ONE.items[2]) and items[2].text.endswith("more characters)")


def test_edited_results_count_once() -> None:
    # mask keeps the newest: results 2, 4 and 6 are replaced in turn, only 2 held what is needed later.
    transcript = chat(
        TASK, ASK, ("tool_result", LONG), ASK, ("tool_result", "b " * 200), ASK, ("tool_result", "c " * 200), ASK,
        ("tool_result", "d"), ("assistant", "zebra_one zebra_two"),
    )  # fmt: skip
    found = losses(transcript, "mask:keep=1")
    assert (sorted(found.edited), found.missed) == ([2, 4, 6], {2})
    row = summarized(transcript, "mask:keep=1", Provider(prices=PRICES))
    assert (row.results_edited, row.results_missed) == (3, 1)


def measured(transcript: Transcript, label: str) -> Measured:
    return measure(basis_of(transcript, Provider(prices=PRICES)), open_policy(label))


def test_calls_asked_again_after_their_result_was_edited() -> None:
    ask = ("tool_call", '{"path": "a"}')
    transcript = chat(TASK, ask, ("tool_result", LONG), ("tool_call", '{"path": "b"}'), ("tool_result", "x"), ask,
                      ("tool_result", LONG), ("assistant", "done"))  # fmt: skip
    kept, cut = (
        summarized(transcript, "keep-all", Provider(prices=PRICES)),
        summarized(transcript, "mask:keep=1", Provider(prices=PRICES)),
    )
    assert (kept.reissued_calls, kept.reissued_after_edit) == (1, 0)
    assert (cut.reissued_calls, cut.reissued_after_edit) == (1, 1)


def test_summaries_carry_an_interval() -> None:
    turns = [part for _ in range(6) for part in (ASK, ("tool_result", "word " * 300))]
    transcript = chat(TASK, ASK, ("tool_result", "word " * 300 + "zebra_one zebra_two"), *turns,
                      ("assistant", "zebra_one zebra_two"))  # fmt: skip
    label = "summary:at=0.4,keep_last=2,max_tokens=5"
    found = summarized(transcript, label, Provider(window=3_000))
    # Five tokens are too few for both names: even a clairvoyant keeps one at most.
    assert (found.survival_low, found.survival_high) == (0.0, 0.5)
    assert summarized(transcript, "mask:keep=1", Provider(prices=PRICES)).survival_low is None


def test_the_interval_holds_what_was_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    # The summary of five tokens has none of both names that are needed; with others, a tenth and a fifth would be kept.
    others = iter([[Counts(refs_needed_strict=10, refs_kept_strict=kept)] for kept in (1, 2)])
    monkeypatch.setattr("ctxsim.simulator.measure.summary.counts_if", lambda *of: next(others))
    turns = [part for _ in range(6) for part in (ASK, ("tool_result", "word " * 300))]
    transcript = chat(TASK, ASK, ("tool_result", "word " * 300 + "zebra_one zebra_two"), *turns,
                      ("assistant", "zebra_one zebra_two"))  # fmt: skip
    found = summarized(transcript, "summary:at=0.4,keep_last=2,max_tokens=5", Provider(window=3_000))
    assert (found.survival, found.survival_low, found.survival_high) == (0.0, 0.0, 0.2)
