"""The columns: what is measured per call and per edit. These names are the API of every result file.

Each column says what kind of number it is: `recorded` by the source, `counted` by a real tokenizer, `estimated` by the
policy's estimator, `modelled` by the mock provider's rules, `fitted` to recorded usage, or a `fact` of the replay.
Its annotation also says what the column means; `ctxsim list columns --format md` prints both.
"""

import typing
from collections.abc import Iterator
from typing import Annotated

import msgspec


def column(kind: str, unit: str) -> msgspec.Meta:
    """Return a column's metadata: its kind of number and its unit."""
    return msgspec.Meta(extra_json_schema={"kind": kind, "unit": unit})


def described(row: type[msgspec.Struct]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield each column of a row type: its name, type (`int`, or `int?` if a value may be missing), kind, unit and
    meaning.
    """
    for name, annotation in typing.get_type_hints(row, include_extras=True).items():
        meta, meaning = annotation.__metadata__[:2]
        kinds = typing.get_args(annotation.__origin__) or (annotation.__origin__,)
        of_type = kinds[0].__name__ + "?" * (type(None) in kinds)
        yield name, of_type, meta.extra_json_schema["kind"], meta.extra_json_schema["unit"], meaning


Fact = column("fact", "")
Number = column("fact", "count")
Recorded = column("recorded", "tokens")
Counted = column("counted", "tokens")
Estimated = column("estimated", "tokens")
Modelled = column("modelled", "count")
ModelledTokens = column("modelled", "tokens")
Seconds = column("modelled", "seconds")
Found = column("counted", "references")
Share = column("counted", "share of references")
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
Amount = column("modelled", "USD or tokens")


class OfTranscript(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Base of the rows of every table, with the first column."""

    transcript: Annotated[str, Fact, "the transcript's name"]


class OfPolicy(OfTranscript, frozen=True):
    """Base of the rows of tables by policy, with the first columns."""

    policy: Annotated[str, Fact, "the policy's full label"]


class CallRow(OfPolicy, frozen=True):
    """One call under one policy."""

    call: Annotated[int, Number, "the call's number, from 1"]
    status: Annotated[str, Fact, "ok, overflow, rate_limited, invalid_pairs, invalid_thinking or stopped"]
    reason: Annotated[str, Fact, "the provider's message, or why the policy gave up"]
    attempts: Annotated[int, Number, "requests sent for this call, with retries after an overflow"]
    tokens_full: Annotated[int, Counted, "input of the request if the policy had never edited"]
    tokens_sent: Annotated[int, Counted, "input of the request that the policy sent, also if it was refused"]
    tokens_estimated: Annotated[int, Estimated, "the policy's estimate of tokens_sent"]
    tokens_recorded: Annotated[int | None, Recorded, "input of the recorded request, if it is comparable"]
    trigger: Annotated[str, Fact, "false-safe or false-alarm: estimate and count on two sides of the policy's limit"]
    tokens_cache_read: Annotated[int, ModelledTokens, "input read from the prompt cache"]
    tokens_cache_write: Annotated[int, ModelledTokens, "input written to the prompt cache"]
    tokens_uncached: Annotated[int, ModelledTokens, "input neither read from the cache nor written to it"]
    tokens_rewritten: Annotated[int, ModelledTokens, "input that was in the cache and had to be written again"]
    cache_break: Annotated[
        str, Fact, "why input was rewritten: an edit's reason, lifetime, reach, model, tools, prompt or a recorded miss"
    ]
    tokens_output: Annotated[int, Counted, "size of the response: as recorded where that is trusted, else as counted"]
    cost_usd: Annotated[float | None, Dollars, "cost with summary calls; a refused call costs as if answered"]
    cost_read_usd: Annotated[float | None, Dollars, "part of cost_usd: reading the cache"]
    cost_write_usd: Annotated[float | None, Dollars, "part of cost_usd: writing the cache"]
    cost_uncached_usd: Annotated[float | None, Dollars, "part of cost_usd: input without the cache"]
    cost_output_usd: Annotated[float | None, Dollars, "part of cost_usd: output"]
    cost_summary_usd: Annotated[float | None, Dollars, "part of cost_usd: summary calls"]
    cost_recorded_usd: Annotated[float | None, RecordedDollars, "cost of the call in the log"]
    http_429: Annotated[int, Modelled, "times that the rate limit refused the request"]
    wait_s: Annotated[float, Seconds, "time that the call waited for the rate limit"]
    compactions: Annotated[int, Number, "times that the policy edited the view"]
    items_edited: Annotated[int, Number, "items whose text the policy changed"]
    items_dropped: Annotated[int, Number, "items that the policy removed"]
    tokens_removed: Annotated[int, Counted, "input that the policy's edits removed; negative if they added some"]
    summary_calls: Annotated[int, Number, "summaries that the policy asked for"]
    tokens_summary_in: Annotated[int, ModelledTokens, "input of the summary calls"]
    tokens_summary_out: Annotated[int, ModelledTokens, "output of the summary calls"]
    refs_needed_strict: Annotated[int, Found, "aged identifiers that the response used"] = 0
    refs_kept_strict: Annotated[int, Found, "part of refs_needed_strict that the view still held"] = 0
    refs_needed_values: Annotated[int, Found, "aged values (identifiers except names) that the response used"] = 0
    refs_kept_values: Annotated[int, Found, "part of refs_needed_values that the view still held"] = 0
    refs_needed_loose: Annotated[int, Found, "aged quotations that the response used"] = 0
    refs_kept_loose: Annotated[int, Found, "part of refs_needed_loose that the view still held"] = 0
    refs_needed_fresh: Annotated[int, Found, "identifiers of the newest results that the response used"] = 0
    refs_kept_fresh: Annotated[int, Found, "part of refs_needed_fresh that the view still held"] = 0
    refs_needed_carried: Annotated[int, Found, "aged identifiers used, also those that the agent had repeated"] = 0
    refs_kept_carried: Annotated[int, Found, "part of refs_needed_carried that the view still held"] = 0
    tokens_cache_write_5m: Annotated[int | None, ModelledTokens, "tokens_cache_write that lasts five minutes"] = None
    tokens_cache_write_1h: Annotated[int | None, ModelledTokens, "tokens_cache_write with a lifetime of an hour"] = None
    tokens_missed: Annotated[int | None, ModelledTokens, "input that the cache should have read but missed"] = None
    tokens_thinking_dropped: Annotated[int | None, Counted, "thinking dropped by the provider, in the request"] = None
    refs_needed_user: Annotated[int | None, Found, "aged identifiers used that only users or answers said"] = None
    refs_kept_user: Annotated[int | None, Found, "part of refs_needed_user that the view still held"] = None


class Event(OfPolicy, frozen=True):
    """One edit."""

    call: Annotated[int, Number, "the call's number, from 1"]
    moment: Annotated[str, Fact, "when the policy edited: on_tool_result, before_call, after_call or on_overflow"]
    item: Annotated[int, Number, "the item's place in the recording; negative if a policy made the item"]
    action: Annotated[str, Fact, "edited, dropped or inserted"]
    tokens_before: Annotated[int, Counted, "the item's size before the edit; 0 if the edit inserts it"]
    tokens_after: Annotated[int, Counted, "the item's size after the edit; 0 if the edit drops it"]
    reason: Annotated[str, Fact, "the policy's reason for the edit"]
    sources: Annotated[str, Fact, "places of the items that an inserted item replaces"] = ""
    text: Annotated[str, Fact, "the beginning of the item's new text"] = ""


class ItemRow(OfTranscript, frozen=True):
    """One recorded item."""

    item: Annotated[int, Number, "the item's place in the recording"]
    kind: Annotated[str, Fact, "user, assistant, reasoning, tool_call or tool_result"]
    tool: Annotated[str, Fact, "the tool's name, for tool calls and tool results"]
    message: Annotated[int, Number, "number of the message that contains the item"]
    first_call: Annotated[int, Number, "number of the first call whose request sends the item"]
    tokens: Annotated[int, Counted, "the item's size"]
    used_by: Annotated[str, Fact, "numbers of the calls that needed something of the item"]
    text: Annotated[str, Fact, "the beginning of the item's text"]


class NeedRow(OfTranscript, frozen=True):
    """One reference that a call needed."""

    call: Annotated[int, Number, "the call's number, from 1"]
    detector: Annotated[str, Fact, "strict or loose"]
    kind: Annotated[str, Fact, "value, name or quotation"]
    age: Annotated[int, Calls, "calls since the reference's newest source was first sent"]
    depth: Annotated[str, Fact, "where the newest source holds it: head, middle or tail"]
    tool: Annotated[str, Fact, "the tool whose result is the newest source"]
    item: Annotated[int, Number, "the newest source's place in the recording"]
    sources: Annotated[int, Number, "number of items that hold the reference"]
    atom: Annotated[str, Fact, "the text of the reference"]


class LossRow(OfPolicy, frozen=True):
    """One need that a policy's view no longer held.

    The columns after `form` repeat those of the need, so that losses can be summed without the table of needs.
    """

    call: Annotated[int, Number, "the call's number, from 1"]
    need: Annotated[int, Number, "the need's row in the table needs, from 0 in each transcript"]
    form: Annotated[str, Fact, "how it was lost: truncated, dropped or summarised"]
    detector: Annotated[str, Fact, "strict or loose"]
    kind: Annotated[str, Fact, "value, name or quotation"]
    age: Annotated[int, Calls, "calls since the reference's newest source was first sent"]
    depth: Annotated[str, Fact, "where the newest source holds it: head, middle or tail"]
    tool: Annotated[str, Fact, "the tool whose result is the newest source"]
    item: Annotated[int, Number, "the newest source's place in the recording"]


class FrontierRow(OfTranscript, frozen=True):
    """The least tokens and dollars at one survival: no policy of the family can have less.

    `scheduled_usd` is the cost of a schedule, which a policy can undercut; only rows of the family `results` have it.
    """

    family: Annotated[str, Fact, "results: policies that remove whole results; any: all policies"]
    survival: Annotated[float, Share, "the survival to be reached"]
    tokens: Annotated[float, Counted, "the least input over all calls"]
    cost_usd: Annotated[float | None, Dollars, "the least cost, if edits cost nothing"]
    scheduled_usd: Annotated[
        float | None, Dollars, "with edits paid for and each result sent once or more; cutting sooner can cost less"
    ]


class NeedleRow(OfPolicy, frozen=True):
    """One planted fact at one later use under one policy."""

    needle: Annotated[int, Number, "the planted fact's number"]
    kind: Annotated[str, Fact, "key-value, json, log, prose, rule, or a kind that the scenario names"]
    depth: Annotated[str, Fact, "head, middle or tail of its result, or its part of the conversation"]
    call: Annotated[int, Number, "number of the call that uses the fact"]
    age: Annotated[int, Calls, "calls since the fact was first sent"]
    compactions: Annotated[int, Number, "compactions between the fact's first request and that call"]
    kept: Annotated[bool, Fact, "whether the view still held the fact"]
    stale: Annotated[bool, Fact, "whether the view held only an older value that the fact had replaced"] = False


class SummaryRow(OfTranscript, frozen=True):
    """One transcript under one policy. None is "not known" or "never", not zero."""

    root: Annotated[str, Fact, "the session of the transcript: its own name, or its parent's"]
    policy: Annotated[str, Fact, "the policy's full label"]
    provider: Annotated[int, Index, "the provider whose rules applied"]
    calls: Annotated[int, Number, "calls replayed"]
    tokens_peak: Annotated[int, Counted, "the largest request"]
    tokens_sum: Annotated[int, Counted, "input of all calls, also of refused ones"]
    tokens_full_sum: Annotated[int, Counted, "input of all calls if the policy had never edited"]
    tokens_output_sum: Annotated[int, Counted, "output of all calls"]
    tokens_growth_per_call: Annotated[float | None, Growth, "mean growth of the request from call to call"]
    cost_usd: Annotated[float | None, Dollars, "cost with summary calls; a refused call costs as if answered"]
    cost_read_usd: Annotated[float | None, Dollars, "part of cost_usd: reading the cache"]
    cost_write_usd: Annotated[float | None, Dollars, "part of cost_usd: writing the cache"]
    cost_uncached_usd: Annotated[float | None, Dollars, "part of cost_usd: input without the cache"]
    cost_output_usd: Annotated[float | None, Dollars, "part of cost_usd: output"]
    cost_summary_usd: Annotated[float | None, Dollars, "part of cost_usd: summary calls"]
    cost_vs_keep_all: Annotated[float | None, Ratio, "cost_usd divided by keep-all's cost_usd"]
    cache_hit_ratio: Annotated[float | None, Ratio, "share of the input that was read from the cache"]
    cache_breaks: Annotated[int, Modelled, "calls that wrote input again that they could have read from the cache"]
    tokens_rewritten: Annotated[int, ModelledTokens, "input that those calls wrote again"]
    payback_calls: Annotated[float | None, ModelledCalls, "median of the calls until a compaction pays off"]
    smallest_quota: Annotated[int, Quota, "the lowest rate limit at which no call waits"]
    calls_until_first_failure: Annotated[int | None, Number, "calls before the first refused call, if there is one"]
    first_failure: Annotated[str | None, Fact, "status of the first refused call"]
    overflows: Annotated[int, Modelled, "calls whose request is larger than the window"]
    rate_limited: Annotated[int, Modelled, "calls that the rate limit can never let through"]
    invalid_pairs: Annotated[int, Modelled, "calls whose tool calls and results don't pair"]
    stopped: Annotated[int, Modelled, "calls at which the policy gave up"]
    http_429: Annotated[int, Modelled, "times that the rate limit refused a request"]
    wait_s: Annotated[float, Seconds, "time that all calls waited for the rate limit"]
    compactions: Annotated[int, Number, "times that the policy edited the view"]
    no_progress_compactions: Annotated[int, Number, "calls whose compactions removed no token"]
    items_edited: Annotated[int, Number, "items whose text the policy changed"]
    items_dropped: Annotated[int, Number, "items that the policy removed"]
    tokens_removed: Annotated[int, Counted, "input that the policy's edits removed; negative if they added some"]
    summary_calls: Annotated[int, Number, "summaries that the policy asked for"]
    tokens_summary: Annotated[int, ModelledTokens, "input and output of the summary calls"]
    calls_with_aged_needs: Annotated[int, Number, "calls that used an aged identifier"]
    survival: Annotated[float | None, Share, "share of the needed aged identifiers still in view, mean over calls"]
    survival_values: Annotated[float | None, Share, "survival of values, which are identifiers except names"]
    survival_loose: Annotated[float | None, Share, "survival of aged quotations"]
    survival_fresh: Annotated[float | None, Share, "survival of identifiers of the newest results"]
    survival_carried: Annotated[float | None, Share, "survival of aged identifiers, also of repeated ones"]
    survival_low: Annotated[float | None, Share, "survival if summaries kept nothing"]
    survival_high: Annotated[float | None, Share, "survival if summaries kept what later calls use"]
    chance_rate: Annotated[float | None, Share, "share of needed identifiers that another session's results hold too"]
    lost_truncated: Annotated[int, Found, "needs lost because the policy cut their source"]
    lost_dropped: Annotated[int, Found, "needs lost because the policy removed their source"]
    lost_summarised: Annotated[int, Found, "needs lost because the policy summarised their source"]
    results_edited: Annotated[int, Number, "tool results that the policy cut or removed"]
    results_missed: Annotated[int, Number, "edited results that held a lost identifier"]
    reissued_calls: Annotated[int, Number, "tool calls that repeat an earlier one exactly"]
    reissued_after_edit: Annotated[int, Number, "reissued calls whose earlier result was removed or cut"]
    tokens_frontier: Annotated[float | None, Counted, "the least input with this survival, by any means"]
    tokens_frontier_results: Annotated[float | None, Counted, "the same, by removing whole results"]
    cost_frontier_usd: Annotated[float | None, Dollars, "the least cost with this survival, by any means"]
    cost_frontier_results_usd: Annotated[float | None, Dollars, "the same, by removing whole results"]
    false_safe_calls: Annotated[
        int | None, Modelled, "calls with the estimate under the policy's limit and the count over it"
    ]
    false_alarm_calls: Annotated[
        int | None, Modelled, "calls with the estimate over the policy's limit and the count under it"
    ]
    trigger_displacement_calls: Annotated[
        int | None, ModelledCalls, "calls by which the estimate passes the limit too late; negative: too early"
    ]
    trigger_displacement_tokens: Annotated[
        int | None, ModelledTokens, "input by which the estimate passes the limit too late; negative: too early"
    ]
    estimate_bias: Annotated[float | None, Error, "mean error of the estimates; negative if they are too small"]
    estimate_mape: Annotated[float | None, Error, "mean absolute error of the estimates"]
    estimate_p95: Annotated[float | None, Error, "95th percentile of the estimates' absolute error"]
    size: Annotated[str, Fact, "how sizes were matched with recorded ones: counted, fitted, prior or given"]
    tokens_hidden: Annotated[int, Fitted, "input that no log holds: the hidden head and unlogged items"]
    tokens_factor: Annotated[float, FittedRatio, "tokens that the provider bills for each counted token"]
    calls_recorded: Annotated[int, Number, "calls whose recorded input can be compared with keep-all's"]
    tokens_recorded_sum: Annotated[int, Recorded, "recorded input of the calls in calls_recorded"]
    tokens_full_recorded: Annotated[int, Counted, "input under keep-all of the calls in calls_recorded"]
    cost_recorded_usd: Annotated[float | None, RecordedDollars, "sum of the costs that the log states"]
    cost_full_recorded_usd: Annotated[float | None, Dollars, "cost under keep-all of the calls with a cost in the log"]
    cost_low_usd: Annotated[float | None, Dollars, "cost at the lowest rate of cache misses that recordings allow"]
    cost_high_usd: Annotated[float | None, Dollars, "cost at the highest rate of cache misses that recordings allow"]
    calls_unseen: Annotated[int | None, Number, "calls whose size was predicted from earlier calls"] = None
    unseen_median: Annotated[float | None, UnseenError, "median absolute error of these predictions"] = None
    unseen_p95: Annotated[float | None, UnseenError, "95th percentile of these predictions' absolute error"] = None
    invalid_thinking: Annotated[int | None, Modelled, "calls refused for thinking behind a changed prefix"] = None
    tokens_missed: Annotated[int | None, ModelledTokens, "input that the cache should have read but missed"] = None
    tokens_thinking_dropped: Annotated[int | None, Counted, "thinking dropped by the provider, in all requests"] = None
    started: Annotated[float | None, StartSeconds, "when the first call began"] = None
    project: Annotated[str | None, RecordedFact, "the folder in which the agent worked"] = None
    model: Annotated[str | None, RecordedFact, "the model of the first call"] = None
    version: Annotated[str | None, RecordedFact, "the agent's version"] = None
    compactions_recorded: Annotated[int | None, RecordedNumber, "1 if it begins after a recorded compaction"] = None
    refs_lost_for_good: Annotated[int | None, Found, "lost aged identifiers that no known tool can fetch again"] = None
    calls_refetched: Annotated[int | None, Modelled, "calls inserted to fetch what was lost and can be fetched"] = None
    calls_refetched_changed: Annotated[int | None, Modelled, "inserted calls whose source has changed since"] = None
    tokens_refetch: Annotated[int | None, ModelledTokens, "input that the inserted calls add"] = None
    cost_refetch_usd: Annotated[float | None, Dollars, "cost that the inserted calls add"] = None
    survival_user: Annotated[float | None, Share, "survival of what only users or answers said"] = None


class DrawRow(OfPolicy, frozen=True):
    """One transcript under one policy in one draw: lost references are fetched again at random."""

    draw: Annotated[int, Number, "the draw's number, from 1"]
    inserted: Annotated[int, Modelled, "calls inserted to fetch lost references again"]
    cost_usd: Annotated[float | None, Dollars, "cost of all calls, with the inserted ones"]
    tokens_sent: Annotated[int, ModelledTokens, "input of all calls, with the inserted ones"]


class EstimateRow(msgspec.Struct, frozen=True):
    """A policy's estimated amount in the folder that a sample was drawn from: a row of `estimates.csv`."""

    policy: Annotated[str, Fact, "the policy's label"]
    measure: Annotated[str, Fact, "`usd` or `tokens`"]
    keep_all: Annotated[float | None, Amount, "keep-all's amount in the folder, which is known"]
    estimated: Annotated[float | None, Amount, "the policy's amount in the folder, estimated from the sample"]
    share: Annotated[float, Ratio, "estimated / keep_all"]
    low_of_this_folder: Annotated[float | None, Ratio, "lower end of the share's 95 % interval, for this folder"]
    high_of_this_folder: Annotated[float | None, Ratio, "upper end of the share's 95 % interval, for this folder"]
