"""The bill for people: whose share of the dollars each part has."""

from __future__ import annotations

from ctxsim.answers.bill import facts
from ctxsim.answers.bill.sums import Sum
from ctxsim.report.bill import bill_sheet
from ctxsim.report.sheet import text_rows


def test_a_row_says_whose_share_of_the_dollars_it_is() -> None:
    # Of 10 dollars 4 are the system prompt's, 3 two tools' results, 2 answers; the user's 1 has no column.
    parts = {facts.SYSTEM: 4.0, f"{facts.RESULTS}Bash": 2.0, f"{facts.RESULTS}Read": 1.0, facts.ASSISTANT: 2.0,
             facts.USER: 1.0}  # fmt: skip
    one = Sum(usd_listed=10.0, usd_read=6.0, usd_new=3.5, parts={name: [0, 0, 0, usd] for name, usd in parts.items()})
    assert text_rows(bill_sheet("model", {"m": one}, whole=False)) == [
        {"model": "m", "USD": "10.00", "head": "40%", "results": "30%", "assistant": "20%", "read": "60%",
         "new": "35%"},
    ]  # fmt: skip
