"""Without text: what the provider says stays, what a policy says goes."""

from __future__ import annotations

import msgspec
import pytest
from cached_replay import BIG, PRICES
from samples import conversation

from ctxsim.policies import open_policies
from ctxsim.runs.anonymous import without_text
from ctxsim.runs.transcript_rows import rows_of
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Head


def test_why_a_cache_did_not_hold_is_told_without_a_policys_words() -> None:
    plain = conversation(*[BIG] * 3, system=BIG)
    heads = [Head(BIG), Head(BIG, ('{"name":"a"}',)), Head(f"And now: {BIG}", ('{"name":"a"}',)), None]
    calls = tuple(msgspec.structs.replace(call, head=head) for call, head in zip(plain.calls, heads, strict=True))
    provider = Provider(cache="anthropic", breakpoints="automatic", prices=PRICES, pace_s=10)
    failed: list[str] = []
    one = AsSent(msgspec.structs.replace(plain, calls=calls), provider)
    rows = rows_of(one, open_policies(("keep-all", "mask:keep=1")), failed)
    told = without_text(rows, "").tables.calls.to_pandas()
    assert not failed
    assert list(told[told.policy == "keep-all"].cache_break) == [
        "", "another tools than in the request before", "another system prompt than in the request before",
        "another tools than in the request before",
    ]  # fmt: skip
    assert set(told[told.policy != "keep-all"].cache_break) - set(told[told.policy == "keep-all"].cache_break) <= {
        "edit"
    }


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("claude-opus-4-5", "claude-opus-4-5"), ("claude-opus-4-5-20251101", "claude-opus-4-5-20251101"),
        ("anns-own-model", None), ("anns-own-model-20251101", None), ("claude-opus-4-5-20251101-of-ann", None),
    ],
)  # fmt: skip
def test_a_model_that_is_listed_is_told_with_its_date_and_no_other(model: str, told: str | None) -> None:
    one = AsSent(conversation(BIG), Provider(prices=PRICES))
    rows = rows_of(one, open_policies(("keep-all",)), [])
    assert [summary["model"] for summary in without_text(rows, model).summaries] == [told]
