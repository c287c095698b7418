"""The columns: what is measured per call and per edit. These names are the API of every result file.

Each column says what kind of number it is: `recorded` by the source, `counted` by a real tokenizer, `estimated` by the
policy's estimator, `modelled` by the mock provider's rules, or a plain `fact` of the replay.
"""

from __future__ import annotations

from typing import Annotated

import msgspec


def _column(kind: str, unit: str) -> msgspec.Meta:
    return msgspec.Meta(extra_json_schema={"kind": kind, "unit": unit})


Fact = _column("fact", "")
Number = _column("fact", "count")
Recorded = _column("recorded", "tokens")
Counted = _column("counted", "tokens")
Estimated = _column("estimated", "tokens")
Modelled = _column("modelled", "count")
ModelledTokens = _column("modelled", "tokens")
Seconds = _column("modelled", "seconds")
Found = _column("counted", "references")
SurvivalShare = _column("counted", "share of references")
Dollars = _column("modelled", "USD")


class CallRow(msgspec.Struct, frozen=True, array_like=True):
    """One call under one policy. The `refs_` columns are filled by `measure`, which knows the references."""

    transcript: Annotated[str, Fact]
    policy: Annotated[str, Fact]
    call: Annotated[int, Number]
    status: Annotated[str, Fact]
    reason: Annotated[str, Fact]
    attempts: Annotated[int, Number]
    tokens_full: Annotated[int, Counted]
    tokens_sent: Annotated[int, Counted]
    tokens_estimated: Annotated[int, Estimated]
    tokens_recorded: Annotated[int | None, Recorded]
    trigger: Annotated[str, Fact]
    tokens_cache_read: Annotated[int, ModelledTokens]
    tokens_cache_write: Annotated[int, ModelledTokens]
    tokens_uncached: Annotated[int, ModelledTokens]
    tokens_rewritten: Annotated[int, ModelledTokens]
    cache_break: Annotated[str, Fact]
    tokens_output: Annotated[int, Counted]
    cost_usd: Annotated[float | None, Dollars]
    cost_read_usd: Annotated[float | None, Dollars]
    cost_write_usd: Annotated[float | None, Dollars]
    cost_uncached_usd: Annotated[float | None, Dollars]
    cost_output_usd: Annotated[float | None, Dollars]
    cost_summary_usd: Annotated[float | None, Dollars]
    http_429: Annotated[int, Modelled]
    wait_s: Annotated[float, Seconds]
    compactions: Annotated[int, Number]
    items_edited: Annotated[int, Number]
    items_dropped: Annotated[int, Number]
    tokens_removed: Annotated[int, Counted]
    summary_calls: Annotated[int, Number]
    tokens_summary_in: Annotated[int, ModelledTokens]
    tokens_summary_out: Annotated[int, ModelledTokens]
    refs_needed_strict: Annotated[int, Found] = 0
    refs_kept_strict: Annotated[int, Found] = 0
    refs_needed_values: Annotated[int, Found] = 0
    refs_kept_values: Annotated[int, Found] = 0
    refs_needed_loose: Annotated[int, Found] = 0
    refs_kept_loose: Annotated[int, Found] = 0
    refs_needed_fresh: Annotated[int, Found] = 0
    refs_kept_fresh: Annotated[int, Found] = 0
    refs_needed_carried: Annotated[int, Found] = 0
    refs_kept_carried: Annotated[int, Found] = 0


class Event(msgspec.Struct, frozen=True, array_like=True):
    """One edit. `item` is the place in the recording, negative for an item that a policy made.

    `sources` are the places that an inserted item stands for; `text` is what stands there now, its beginning.
    """

    transcript: Annotated[str, Fact]
    policy: Annotated[str, Fact]
    call: Annotated[int, Number]
    moment: Annotated[str, Fact]
    item: Annotated[int, Number]
    action: Annotated[str, Fact]
    tokens_before: Annotated[int, Counted]
    tokens_after: Annotated[int, Counted]
    reason: Annotated[str, Fact]
    sources: Annotated[str, Fact] = ""
    text: Annotated[str, Fact] = ""


class ItemRow(msgspec.Struct, frozen=True, array_like=True):
    """One recorded item. `first_call` is the request that first sends it, `used_by` the calls that needed it."""

    transcript: Annotated[str, Fact]
    item: Annotated[int, Number]
    kind: Annotated[str, Fact]
    tool: Annotated[str, Fact]
    message: Annotated[int, Number]
    first_call: Annotated[int, Number]
    tokens: Annotated[int, Counted]
    used_by: Annotated[str, Fact]
    text: Annotated[str, Fact]


class NeedRow(msgspec.Struct, frozen=True, array_like=True):
    """One reference that a call needed. `item` is the place of its newest source, `depth` the atom's in it."""

    transcript: Annotated[str, Fact]
    call: Annotated[int, Number]
    detector: Annotated[str, Fact]
    kind: Annotated[str, Fact]
    age: Annotated[int, _column("fact", "calls")]
    depth: Annotated[str, Fact]
    tool: Annotated[str, Fact]
    item: Annotated[int, Number]
    sources: Annotated[int, Number]
    atom: Annotated[str, Fact]


class LossRow(msgspec.Struct, frozen=True, array_like=True):
    """One need that a policy's view no longer held; `need` is its row in needs, from 0 in each transcript.

    `form`: `truncated`, `dropped` or `summarised`, of the newest source. The others are the need's own, so that losses
    can be added up by themselves.
    """

    transcript: Annotated[str, Fact]
    policy: Annotated[str, Fact]
    call: Annotated[int, Number]
    need: Annotated[int, Number]
    form: Annotated[str, Fact]
    detector: Annotated[str, Fact]
    kind: Annotated[str, Fact]
    age: Annotated[int, _column("fact", "calls")]
    depth: Annotated[str, Fact]
    tool: Annotated[str, Fact]
    item: Annotated[int, Number]


class FrontierRow(msgspec.Struct, frozen=True, array_like=True):
    """The least tokens and dollars at one survival: no policy of the family can have less.

    `scheduled_usd` is what a schedule with its edits at the best times would cost; of the family `results` only.
    """

    transcript: Annotated[str, Fact]
    family: Annotated[str, Fact]
    survival: Annotated[float, SurvivalShare]
    tokens: Annotated[float, Counted]
    cost_usd: Annotated[float | None, Dollars]
    scheduled_usd: Annotated[float | None, Dollars]


class NeedleRow(msgspec.Struct, frozen=True, array_like=True):
    """One planted fact at one later use under one policy. `compactions` lie between its first request and the use."""

    transcript: Annotated[str, Fact]
    policy: Annotated[str, Fact]
    needle: Annotated[int, Number]
    kind: Annotated[str, Fact]
    depth: Annotated[str, Fact]
    call: Annotated[int, Number]
    age: Annotated[int, _column("fact", "calls")]
    compactions: Annotated[int, Number]
    kept: Annotated[bool, Fact]


class SummaryRow(msgspec.Struct, frozen=True, array_like=True):
    """One transcript under one policy. None is "not known" or "never", not zero."""

    transcript: Annotated[str, Fact]
    root: Annotated[str, Fact]
    policy: Annotated[str, Fact]
    provider: Annotated[int, _column("fact", "index into run.json providers")]
    calls: Annotated[int, Number]
    tokens_peak: Annotated[int, Counted]
    tokens_sum: Annotated[int, Counted]
    tokens_full_sum: Annotated[int, Counted]
    tokens_output_sum: Annotated[int, Counted]
    tokens_growth_per_call: Annotated[float | None, _column("counted", "tokens per call")]
    cost_usd: Annotated[float | None, Dollars]
    cost_read_usd: Annotated[float | None, Dollars]
    cost_write_usd: Annotated[float | None, Dollars]
    cost_uncached_usd: Annotated[float | None, Dollars]
    cost_output_usd: Annotated[float | None, Dollars]
    cost_summary_usd: Annotated[float | None, Dollars]
    cost_vs_keep_all: Annotated[float | None, _column("modelled", "ratio")]
    cache_hit_ratio: Annotated[float | None, _column("modelled", "ratio")]
    cache_breaks: Annotated[int, Modelled]
    tokens_rewritten: Annotated[int, ModelledTokens]
    payback_calls: Annotated[float | None, _column("modelled", "calls")]
    break_even_refetch: Annotated[float | None, _column("modelled", "ratio")]
    smallest_quota: Annotated[int, _column("modelled", "tokens per minute")]
    calls_until_first_failure: Annotated[int | None, Number]
    first_failure: Annotated[str | None, Fact]
    overflows: Annotated[int, Modelled]
    rate_limited: Annotated[int, Modelled]
    invalid_pairs: Annotated[int, Modelled]
    stopped: Annotated[int, Modelled]
    http_429: Annotated[int, Modelled]
    wait_s: Annotated[float, Seconds]
    compactions: Annotated[int, Number]
    no_progress_compactions: Annotated[int, Number]
    items_edited: Annotated[int, Number]
    items_dropped: Annotated[int, Number]
    tokens_removed: Annotated[int, Counted]
    summary_calls: Annotated[int, Number]
    tokens_summary: Annotated[int, ModelledTokens]
    calls_with_aged_needs: Annotated[int, Number]
    survival: Annotated[float | None, SurvivalShare]
    survival_values: Annotated[float | None, SurvivalShare]
    survival_loose: Annotated[float | None, SurvivalShare]
    survival_fresh: Annotated[float | None, SurvivalShare]
    survival_carried: Annotated[float | None, SurvivalShare]
    survival_low: Annotated[float | None, SurvivalShare]
    survival_high: Annotated[float | None, SurvivalShare]
    chance_rate: Annotated[float | None, SurvivalShare]
    lost_truncated: Annotated[int, Found]
    lost_dropped: Annotated[int, Found]
    lost_summarised: Annotated[int, Found]
    results_edited: Annotated[int, Number]
    results_missed: Annotated[int, Number]
    refetch_tokens: Annotated[int, Counted]
    refetch_usd: Annotated[float | None, Dollars]
    reissued_calls: Annotated[int, Number]
    reissued_after_edit: Annotated[int, Number]
    tokens_frontier: Annotated[float, Counted]
    tokens_frontier_results: Annotated[float, Counted]
    cost_frontier_usd: Annotated[float | None, Dollars]
    cost_frontier_results_usd: Annotated[float | None, Dollars]
    false_safe_calls: Annotated[int | None, Modelled]
    false_alarm_calls: Annotated[int | None, Modelled]
    trigger_displacement_calls: Annotated[int | None, _column("modelled", "calls")]
    trigger_displacement_tokens: Annotated[int | None, ModelledTokens]
    estimate_bias: Annotated[float | None, _column("estimated", "fraction of counted")]
    estimate_mape: Annotated[float | None, _column("estimated", "fraction of counted")]
    estimate_p95: Annotated[float | None, _column("estimated", "fraction of counted")]
