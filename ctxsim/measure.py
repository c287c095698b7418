"""One transcript under one policy in one row: what its calls add up to."""

from __future__ import annotations

from collections.abc import Sequence

from ctxsim.rows import CallRow, SummaryRow


def summarize_calls(rows: Sequence[CallRow]) -> SummaryRow:
    """Return the summary of one replay's call rows, in call order; at least one.

    `estimate_*` compare `tokens_estimated` with `tokens_sent`: bias is the signed mean of the relative error (negative:
    the policy believes the request is smaller than it is), MAPE and p95 are of its absolute value.
    A compaction makes no progress if it removed no tokens.
    """
    sent = [row.tokens_sent for row in rows]
    failed = next((row for row in rows if row.status != "ok"), None)
    statuses = [row.status for row in rows]
    errors = [(row.tokens_estimated - row.tokens_sent) / row.tokens_sent for row in rows if row.tokens_sent]
    absolute = sorted(map(abs, errors))
    return SummaryRow(
        transcript=rows[0].transcript,
        policy=rows[0].policy,
        calls=len(rows),
        tokens_peak=max(sent),
        tokens_sum=sum(sent),
        tokens_full_sum=sum(row.tokens_full for row in rows),
        tokens_growth_per_call=round((sent[-1] - sent[0]) / (len(sent) - 1), 3) if len(sent) > 1 else None,
        calls_until_first_failure=failed.call - 1 if failed else None,
        first_failure=failed.status if failed else None,
        overflows=statuses.count("overflow"),
        rate_limited=statuses.count("rate_limited"),
        invalid_pairs=statuses.count("invalid_pairs"),
        stopped=statuses.count("stopped"),
        http_429=sum(row.http_429 for row in rows),
        wait_s=round(sum(row.wait_s for row in rows), 6),
        compactions=sum(row.compactions for row in rows),
        no_progress_compactions=sum(row.compactions > 0 and row.tokens_removed <= 0 for row in rows),
        items_edited=sum(row.items_edited for row in rows),
        items_dropped=sum(row.items_dropped for row in rows),
        tokens_removed=sum(row.tokens_removed for row in rows),
        summary_calls=sum(row.summary_calls for row in rows),
        tokens_summary=sum(row.tokens_summary_in + row.tokens_summary_out for row in rows),
        estimate_bias=round(sum(errors) / len(errors), 6) if errors else None,
        estimate_mape=round(sum(absolute) / len(absolute), 6) if absolute else None,
        # Nearest-rank 95th percentile.
        estimate_p95=round(absolute[-(-95 * len(absolute) // 100) - 1], 6) if absolute else None,
    )
