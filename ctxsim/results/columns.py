"""The columns: what is measured per call and per edit. These names are the API of every result file.

Each column says what kind of number it is: `recorded` by the source, `counted` by a real tokenizer, `estimated` by the
policy's estimator, `modelled` by the mock provider's rules, `fitted` to recorded usage, or a `fact` of the replay.
Beside it stands what the column means; `ctxsim list columns --format md` makes docs/columns.md of that.
"""

from typing import Annotated

import msgspec


def column(kind: str, unit: str) -> msgspec.Meta:
    """Return what a column says of itself: what kind of number it is, and its unit."""
    return msgspec.Meta(extra_json_schema={"kind": kind, "unit": unit})


class Shown(msgspec.Struct, frozen=True):
    """Marks a column of calls whose total stands in a run's table too, under this heading, where any call has it."""

    heading: str


Fact = column("fact", "")
Number = column("fact", "count")
Recorded = column("recorded", "tokens")
Counted = column("counted", "tokens")
Estimated = column("estimated", "tokens")
Modelled = column("modelled", "count")
ModelledTokens = column("modelled", "tokens")
Seconds = column("modelled", "seconds")
Found = column("counted", "references")
SurvivalShare = column("counted", "share of references")
Dollars = column("modelled", "USD")
Ratio = column("modelled", "ratio")
RecordedDollars = column("recorded", "USD")
RecordedFact = column("recorded", "")
RecordedNumber = column("recorded", "count")
StartSeconds = column("recorded", "s, UTC")
Fitted = column("fitted", "tokens")
UnseenError = column("predicted", "share of recorded")
FittedRatio = column("fitted", "ratio")
Calls = column("fact", "calls")
ModelledCalls = column("modelled", "calls")
Error = column("estimated", "fraction of counted")
Growth = column("counted", "tokens per call")
Quota = column("modelled", "tokens per minute")
Index = column("fact", "index into run.json providers")


class CallRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One call under one policy."""

    transcript: Annotated[str, Fact, "the transcript's name"]
    policy: Annotated[str, Fact, "the policy's full label"]
    call: Annotated[int, Number, "the call's number, from 1"]
    status: Annotated[str, Fact, "ok, overflow, rate_limited, invalid_pairs, invalid_thinking or stopped"]
    reason: Annotated[str, Fact, "what the provider said, or why the policy gave up"]
    attempts: Annotated[int, Number, "requests sent, retries after an overflow included"]
    tokens_full: Annotated[int, Counted, "input if nothing had ever been edited"]
    tokens_sent: Annotated[int, Counted, "input of the request that the policy sent"]
    tokens_estimated: Annotated[int, Estimated, "the same request by the policy's estimator"]
    tokens_recorded: Annotated[
        int | None, Recorded, "the recorded input; none where it isn't comparable", Shown("recorded")
    ]
    trigger: Annotated[str, Fact, "false-safe or false-alarm, if the estimate misled the policy"]
    tokens_cache_read: Annotated[int, ModelledTokens, "input read from the prompt cache"]
    tokens_cache_write: Annotated[int, ModelledTokens, "input written to the prompt cache"]
    tokens_uncached: Annotated[int, ModelledTokens, "input neither read from the cache nor written to it"]
    tokens_rewritten: Annotated[int, ModelledTokens, "input that an edit, another head or a pause kept from being read"]
    cache_break: Annotated[
        str, Fact, "why it wasn't read: the edit's reason, or lifetime, reach, tools, prompt, recorded"
    ]
    tokens_output: Annotated[int, Counted, "the response: recorded where trusted, else counted"]
    cost_usd: Annotated[float | None, Dollars, "what the call costs, its summaries included"]
    cost_read_usd: Annotated[float | None, Dollars, "of that, reading the cache"]
    cost_write_usd: Annotated[float | None, Dollars, "of that, writing it"]
    cost_uncached_usd: Annotated[float | None, Dollars, "of that, input without the cache"]
    cost_output_usd: Annotated[float | None, Dollars, "of that, output"]
    cost_summary_usd: Annotated[float | None, Dollars, "of that, summary calls"]
    cost_recorded_usd: Annotated[float | None, RecordedDollars, "what the log says the call cost"]
    http_429: Annotated[int, Modelled, "refusals for rate before the request went through"]
    wait_s: Annotated[float, Seconds, "time that it waited for the rate limit"]
    compactions: Annotated[int, Number, "times that the policy edited the view"]
    items_edited: Annotated[int, Number, "items whose text it changed"]
    items_dropped: Annotated[int, Number, "items that it removed"]
    tokens_removed: Annotated[int, Counted, "input that its edits removed; negative: added"]
    summary_calls: Annotated[int, Number, "summaries it asked for"]
    tokens_summary_in: Annotated[int, ModelledTokens, "input of those"]
    tokens_summary_out: Annotated[int, ModelledTokens, "output of those"]
    refs_needed_strict: Annotated[int, Found, "aged identifiers that the response used"] = 0
    refs_kept_strict: Annotated[int, Found, "of those, still in the view"] = 0
    refs_needed_values: Annotated[int, Found, "aged identifiers except names that the response used"] = 0
    refs_kept_values: Annotated[int, Found, "of those, still in the view"] = 0
    refs_needed_loose: Annotated[int, Found, "aged quotations that the response used"] = 0
    refs_kept_loose: Annotated[int, Found, "of those, still in the view"] = 0
    refs_needed_fresh: Annotated[int, Found, "identifiers of the newest results that the response used"] = 0
    refs_kept_fresh: Annotated[int, Found, "of those, still in the view"] = 0
    refs_needed_carried: Annotated[int, Found, "aged identifiers used, also those that the agent repeated"] = 0
    refs_kept_carried: Annotated[int, Found, "of those, still in the view"] = 0
    tokens_cache_write_5m: Annotated[int | None, ModelledTokens, "of tokens_cache_write, for five minutes"] = None
    tokens_cache_write_1h: Annotated[int | None, ModelledTokens, "of tokens_cache_write, for an hour"] = None
    tokens_missed: Annotated[int | None, ModelledTokens, "input that the cache should have read and didn't"] = None
    tokens_thinking_dropped: Annotated[int | None, Counted, "thinking that the provider dropped from the request"] = (
        None
    )
    refs_needed_user: Annotated[int | None, Found, "aged identifiers used that only user texts and answers held"] = None
    refs_kept_user: Annotated[int | None, Found, "of those, still in the view"] = None


class Event(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One edit. `item` is the place in the recording, negative for an item that a policy made.

    `sources` are the places that an inserted item stands for; `text` is what stands there now, its beginning.
    """

    transcript: Annotated[str, Fact, "the transcript's name"]
    policy: Annotated[str, Fact, "the policy's full label"]
    call: Annotated[int, Number, "the call's number, from 1"]
    moment: Annotated[str, Fact, "when: on_tool_result, before_call, after_call, on_overflow"]
    item: Annotated[int, Number, "place in the recording; negative: a policy made it"]
    action: Annotated[str, Fact, "edited, dropped or inserted"]
    tokens_before: Annotated[int, Counted, "the item's size before; 0 if it is new"]
    tokens_after: Annotated[int, Counted, "the item's size after; 0 if it is gone"]
    reason: Annotated[str, Fact, "the policy's reason"]
    sources: Annotated[str, Fact, "places that an inserted item stands for"] = ""
    text: Annotated[str, Fact, "the beginning of the new text"] = ""


class ItemRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One recorded item. `first_call` is the request that first sends it, `used_by` the calls that needed it."""

    transcript: Annotated[str, Fact, "the transcript's name"]
    item: Annotated[int, Number, "the item's place in the recording"]
    kind: Annotated[str, Fact, "user, assistant, reasoning, tool_call or tool_result"]
    tool: Annotated[str, Fact, "the tool's name, of calls and results"]
    message: Annotated[int, Number, "number of the message that it travels in"]
    first_call: Annotated[int, Number, "the first request that sends it"]
    tokens: Annotated[int, Counted, "its size"]
    used_by: Annotated[str, Fact, "the calls that needed it"]
    text: Annotated[str, Fact, "its beginning"]


class NeedRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One reference that a call needed. `item` is the place of its newest source, `depth` the atom's in it."""

    transcript: Annotated[str, Fact, "the transcript's name"]
    call: Annotated[int, Number, "the call's number, from 1"]
    detector: Annotated[str, Fact, "strict or loose"]
    kind: Annotated[str, Fact, "value, name or quotation"]
    age: Annotated[int, Calls, "since its newest source was first sent"]
    depth: Annotated[str, Fact, "head, middle or tail of that source"]
    tool: Annotated[str, Fact, "the tool that gave the result"]
    item: Annotated[int, Number, "the place of that source"]
    sources: Annotated[int, Number, "how many items hold it"]
    atom: Annotated[str, Fact, "what was needed"]


class LossRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One need that a policy's view no longer held; `need` is its row in needs, from 0 in each transcript.

    `form`: `truncated`, `dropped` or `summarised`, of the newest source. The others are the need's own, so that losses
    can be added up by themselves.
    """

    transcript: Annotated[str, Fact, "the transcript's name"]
    policy: Annotated[str, Fact, "the policy's full label"]
    call: Annotated[int, Number, "the call's number, from 1"]
    need: Annotated[int, Number, "its row in needs, from 0 in each transcript"]
    form: Annotated[str, Fact, "how it was lost: truncated, dropped or summarised"]
    detector: Annotated[str, Fact, "strict or loose"]
    kind: Annotated[str, Fact, "value, name or quotation"]
    age: Annotated[int, Calls, "since its newest source was first sent"]
    depth: Annotated[str, Fact, "head, middle or tail of that source"]
    tool: Annotated[str, Fact, "the tool that gave the result"]
    item: Annotated[int, Number, "the place of that source"]


class FrontierRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The least tokens and dollars at one survival: no policy of the family can have less.

    `scheduled_usd` is what a schedule with its edits at the best times would cost; of the family `results` only.
    """

    transcript: Annotated[str, Fact, "the transcript's name"]
    family: Annotated[str, Fact, "results: removing whole results; any: by any means"]
    survival: Annotated[float, SurvivalShare, "the level that is to be reached"]
    tokens: Annotated[float, Counted, "the least input over all calls"]
    cost_usd: Annotated[float | None, Dollars, "the least dollars, if edits were free"]
    scheduled_usd: Annotated[float | None, Dollars, "the cost with edits paid for, at their best times"]


class NeedleRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One planted fact at one later use under one policy. `compactions` lie between its first request and the use."""

    transcript: Annotated[str, Fact, "the transcript's name"]
    policy: Annotated[str, Fact, "the policy's full label"]
    needle: Annotated[int, Number, "the planted fact's number"]
    kind: Annotated[str, Fact, "what kind of fact: key-value, json, log, prose, rule; or as its scenario says"]
    depth: Annotated[str, Fact, "where: head, middle or tail of its result; or in which part of the telling"]
    call: Annotated[int, Number, "the call that uses it"]
    age: Annotated[int, Calls, "since it was first sent"]
    compactions: Annotated[int, Number, "compactions between its first sending and that call"]
    kept: Annotated[bool, Fact, "whether the view still held it"]
    stale: Annotated[bool, Fact, "whether only an older value was left, which it had replaced"] = False


class SummaryRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One transcript under one policy. None is "not known" or "never", not zero."""

    transcript: Annotated[str, Fact, "the transcript's name"]
    root: Annotated[str, Fact, "the session that it belongs to; its own name, or a parent's"]
    policy: Annotated[str, Fact, "the policy's full label"]
    provider: Annotated[int, Index, "which provider's rules applied"]
    calls: Annotated[int, Number, "calls replayed"]
    tokens_peak: Annotated[int, Counted, "the largest request"]
    tokens_sum: Annotated[int, Counted, "input of all calls"]
    tokens_full_sum: Annotated[int, Counted, "the same if nothing had ever been edited"]
    tokens_output_sum: Annotated[int, Counted, "output of all calls"]
    tokens_growth_per_call: Annotated[float | None, Growth, "growth from the first to the last request, per call"]
    cost_usd: Annotated[float | None, Dollars, "what all calls cost, summaries included"]
    cost_read_usd: Annotated[float | None, Dollars, "of that, reading the cache"]
    cost_write_usd: Annotated[float | None, Dollars, "of that, writing it"]
    cost_uncached_usd: Annotated[float | None, Dollars, "of that, input without the cache"]
    cost_output_usd: Annotated[float | None, Dollars, "of that, output"]
    cost_summary_usd: Annotated[float | None, Dollars, "of that, summary calls"]
    cost_vs_keep_all: Annotated[float | None, Ratio, "cost_usd to keep-all's"]
    cache_hit_ratio: Annotated[float | None, Ratio, "share of the input that was read from the cache"]
    cache_breaks: Annotated[int, Modelled, "calls that had to write cached input again"]
    tokens_rewritten: Annotated[int, ModelledTokens, "input that those calls wrote again"]
    payback_calls: Annotated[float | None, ModelledCalls, "calls until a compaction has paid for itself, median"]
    smallest_quota: Annotated[int, Quota, "the rate limit with which no call would have waited"]
    calls_until_first_failure: Annotated[
        int | None, Number, "calls before the first refused one; empty if none was refused"
    ]
    first_failure: Annotated[str | None, Fact, "status of the first refused call"]
    overflows: Annotated[int, Modelled, "calls over the window"]
    rate_limited: Annotated[int, Modelled, "calls that the rate limit can never let through"]
    invalid_pairs: Annotated[int, Modelled, "calls whose tool calls and results don't pair"]
    stopped: Annotated[int, Modelled, "calls at which the policy gave up"]
    http_429: Annotated[int, Modelled, "refusals for rate before requests went through"]
    wait_s: Annotated[float, Seconds, "how long all calls waited"]
    compactions: Annotated[int, Number, "times that the policy edited the view"]
    no_progress_compactions: Annotated[int, Number, "calls whose compactions removed no token"]
    items_edited: Annotated[int, Number, "items whose text it changed"]
    items_dropped: Annotated[int, Number, "items that it removed"]
    tokens_removed: Annotated[int, Counted, "input that its edits removed; negative: added"]
    summary_calls: Annotated[int, Number, "summaries it asked for"]
    tokens_summary: Annotated[int, ModelledTokens, "input and output of those"]
    calls_with_aged_needs: Annotated[int, Number, "calls that used an aged identifier"]
    survival: Annotated[float | None, SurvivalShare, "aged identifiers still in view, mean over those calls"]
    survival_values: Annotated[float | None, SurvivalShare, "the same, of identifiers except names"]
    survival_loose: Annotated[float | None, SurvivalShare, "the same, of aged quotations"]
    survival_fresh: Annotated[float | None, SurvivalShare, "the same, of identifiers of the newest results"]
    survival_carried: Annotated[
        float | None, SurvivalShare, "the same, of identifiers that the agent may have repeated"
    ]
    survival_low: Annotated[float | None, SurvivalShare, "survival if summaries kept nothing"]
    survival_high: Annotated[float | None, SurvivalShare, "survival if summaries kept what later calls use"]
    chance_rate: Annotated[float | None, SurvivalShare, "share of needs that another session's results hold too"]
    lost_truncated: Annotated[int, Found, "needs lost by cutting their source"]
    lost_dropped: Annotated[int, Found, "needs lost by removing it"]
    lost_summarised: Annotated[int, Found, "needs lost by summarising it"]
    results_edited: Annotated[int, Number, "results that were ever cut or removed"]
    results_missed: Annotated[int, Number, "of those, the ones that held a lost identifier"]
    reissued_calls: Annotated[int, Number, "tool calls that repeat an earlier one exactly"]
    reissued_after_edit: Annotated[int, Number, "of those, the ones whose result was gone or cut"]
    tokens_frontier: Annotated[float, Counted, "the least input at this survival, by any means"]
    tokens_frontier_results: Annotated[float, Counted, "the same, by removing whole results"]
    cost_frontier_usd: Annotated[float | None, Dollars, "the least dollars at this survival, by any means"]
    cost_frontier_results_usd: Annotated[float | None, Dollars, "the same, by removing whole results"]
    false_safe_calls: Annotated[
        int | None, Modelled, "decisions where the estimate is under a limit and the count over it"
    ]
    false_alarm_calls: Annotated[
        int | None, Modelled, "decisions where the estimate is over a limit and the count under it"
    ]
    trigger_displacement_calls: Annotated[
        int | None, ModelledCalls, "calls by which the estimate triggers later than the count"
    ]
    trigger_displacement_tokens: Annotated[int | None, ModelledTokens, "the same in input tokens; negative: earlier"]
    estimate_bias: Annotated[float | None, Error, "mean error of the estimate; negative: too small"]
    estimate_mape: Annotated[float | None, Error, "mean absolute error of the estimate"]
    estimate_p95: Annotated[float | None, Error, "the error's 95th percentile"]
    size: Annotated[str, Fact, "how keep-all's size was matched with the recording: counted, fitted, prior or given"]
    tokens_hidden: Annotated[int, Fitted, "input that no log holds: the hidden head and unlogged items"]
    tokens_factor: Annotated[float, FittedRatio, "the provider's tokens for each counted one"]
    calls_recorded: Annotated[int, Number, "calls whose recorded input is comparable"]
    tokens_recorded_sum: Annotated[int, Recorded, "the recorded input of those calls"]
    tokens_full_recorded: Annotated[int, Counted, "what keep-all sends at those calls"]
    cost_recorded_usd: Annotated[float | None, RecordedDollars, "what the log says its calls cost, where it does"]
    cost_full_recorded_usd: Annotated[float | None, Dollars, "what those calls cost under keep-all"]
    cost_low_usd: Annotated[float | None, Dollars, "the cost if caches miss as rarely as recordings allow"]
    cost_high_usd: Annotated[float | None, Dollars, "the cost if caches miss as often as recordings allow"]
    calls_unseen: Annotated[int | None, Number, "calls predicted from earlier ones of their segment, as a check"] = None
    unseen_median: Annotated[float | None, UnseenError, "median error of those predictions"] = None
    unseen_p95: Annotated[float | None, UnseenError, "their 95th percentile of error"] = None
    invalid_thinking: Annotated[int | None, Modelled, "calls refused for thinking behind a changed prefix"] = None
    tokens_missed: Annotated[int | None, ModelledTokens, "input that the cache should have read and didn't"] = None
    tokens_thinking_dropped: Annotated[int | None, Counted, "thinking that the provider dropped from requests"] = None
    started: Annotated[float | None, StartSeconds, "when its first call began"] = None
    project: Annotated[str | None, RecordedFact, "the folder that its agent worked in"] = None
    model: Annotated[str | None, RecordedFact, "the model of its first call"] = None
    version: Annotated[str | None, RecordedFact, "its agent's version"] = None
    compactions_recorded: Annotated[
        int | None, RecordedNumber, "1 if the transcript begins after a recorded compaction"
    ] = None
    refs_lost_for_good: Annotated[int | None, Found, "lost aged identifiers that no call could fetch again"] = None
    calls_refetched: Annotated[int | None, Modelled, "calls inserted if all else that is lost is fetched again"] = None
    calls_refetched_changed: Annotated[int | None, Modelled, "of those, the ones whose source has changed since"] = None
    tokens_refetch: Annotated[int | None, ModelledTokens, "the input that fetching all of it again adds"] = None
    cost_refetch_usd: Annotated[float | None, Dollars, "the dollars that fetching all of it again adds"] = None
    survival_user: Annotated[float | None, SurvivalShare, "survival of what only users and answers said"] = None


class DrawRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One transcript under one policy in one draw: each thing that it lost is fetched again by chance."""

    transcript: Annotated[str, Fact, "the transcript's name"]
    policy: Annotated[str, Fact, "the policy's full label"]
    draw: Annotated[int, Number, "the draw's number, from 1"]
    inserted: Annotated[int, Modelled, "calls inserted"]
    cost_usd: Annotated[float | None, Dollars, "the dollars of all calls, the inserted ones too"]
    tokens_sent: Annotated[int, ModelledTokens, "their input"]
