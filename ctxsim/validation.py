"""Prediction against the record: what keep-all's replay says a request was, and what the provider said it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

import msgspec
import numpy as np
import numpy.typing as npt

from ctxsim.policies import open_policy
from ctxsim.provider import Provider
from ctxsim.replay import replay
from ctxsim.tokenizers import open_tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.tokenizers.models import tokenizer_of
from ctxsim.transcript import Transcript


class Compared(msgspec.Struct, frozen=True):
    """One call: tokens and wire messages that our rules count, tokens recorded, and cache reads both ways.

    `read_recorded` is None where the source doesn't say; `whole` is true if the source holds the head with its tools.
    """

    transcript: str
    format: str
    model: str
    call: int
    counted: int
    messages: int
    recorded: int
    read_predicted: int
    read_recorded: int | None
    cause: str
    whole: bool


class Fit(msgspec.Struct, frozen=True):
    """recorded = intercept + slope * counted + per_message * messages, of one model.

    One slope and one price per message for the model, one intercept per transcript (its hidden head); `intercept` is
    their median. Residuals are of |fitted - recorded| / recorded, in the calls that the fit was made from.
    """

    model: str
    calls: int
    transcripts: int
    slope: float
    per_message: float
    intercept: float
    residual_p50: float
    residual_p95: float

    def grown(self, first: Compared, call: Compared) -> float:
        """Tokens of a call, told from the recorded size of an earlier one."""
        text = self.slope * (call.counted - first.counted)
        return first.recorded + text + self.per_message * (call.messages - first.messages)


PLAIN = Fit("", 0, 0, 1.0, 0.0, 0.0, 0.0, 0.0)


def compare(transcript: Transcript, provider: Provider) -> list[Compared]:
    """Return the comparable calls of a transcript that have recorded usage.

    A head that isn't recorded is given the size that the first call's usage leaves for it: the cache reads it too.
    """
    unlimited = msgspec.structs.replace(provider, window=1 << 60, rate_limit=None)
    found = _replayed(transcript, unlimited)
    if not found or found[0].whole:
        return found
    slope = (fit(found) or PLAIN).slope
    hidden = max(0, round(found[0].recorded / slope - found[0].counted))
    with_head = _replayed(transcript, msgspec.structs.replace(unlimited, hidden_head=hidden))
    return [
        msgspec.structs.replace(
            call, read_predicted=round(other.read_predicted / other.counted * call.recorded), cause=other.cause
        )
        for call, other in zip(found, with_head, strict=True)
    ]


def _replayed(transcript: Transcript, provider: Provider) -> list[Compared]:
    counter = Counter(open_tokenizer(provider.tokenizer))
    asks = any(item.kind == "tool_call" for item in transcript.items)
    whole = transcript.head.recorded and bool(transcript.head.tools or not asks)
    found = []
    for sent in replay(transcript, open_policy("keep-all"), provider, counter):
        call = transcript.calls[sent.call - 1]
        if call.usage is None or not call.usage.input_tokens or not call.comparable:
            continue
        found.append(
            Compared(
                transcript=transcript.name,
                format=transcript.format,
                model=call.model or transcript.model,
                call=sent.call,
                counted=sent.row.tokens_sent,
                messages=len({item.message for item in sent.view}),
                recorded=call.usage.input_tokens,
                read_predicted=sent.row.tokens_cache_read,
                read_recorded=call.usage.cache_read_tokens,
                cause=sent.row.cache_break,
                whole=whole,
            )
        )
    return found


ENOUGH_CALLS = 12
"""Calls from which a price per message can be told from a slope."""


def fit(calls: Sequence[Compared]) -> Fit | None:
    """Return the least-squares fit of one model's calls; None with fewer than 4 calls or without any spread.

    Slope and price per message come from the spread within transcripts, so a head that isn't recorded doesn't bend
    them. A fit that finds a negative one falls back to the slope alone.
    """
    groups = list(_by_transcript(calls).values())
    if len(calls) < 4:
        return None
    x = np.concatenate([_centred([call.counted for call in group]) for group in groups])
    z = np.concatenate([_centred([call.messages for call in group]) for group in groups])
    y = np.concatenate([_centred([call.recorded for call in group]) for group in groups])
    if not float(x @ x):
        return None
    slope, per_message = float(x @ y / (x @ x)), 0.0
    if len(calls) >= ENOUGH_CALLS:
        both, *_ = np.linalg.lstsq(np.column_stack([x, z]), y, rcond=None)
        if both.min() >= 0:
            slope, per_message = float(both[0]), float(both[1])
    starts = [median([_left(call, slope, per_message) for call in group]) for group in groups]
    errors = sorted(
        abs(start - _left(call, slope, per_message)) / call.recorded
        for start, group in zip(starts, groups, strict=True)
        for call in group
    )
    return Fit(
        model=calls[0].model,
        calls=len(calls),
        transcripts=len(groups),
        slope=round(slope, 4),
        per_message=round(per_message, 2),
        intercept=round(median(starts), 1),
        residual_p50=round(median(errors), 4),
        residual_p95=round(errors[-(-95 * len(errors) // 100) - 1], 4),
    )


def _left(call: Compared, slope: float, per_message: float) -> float:
    """What of a recorded size text and messages don't explain."""
    return call.recorded - slope * call.counted - per_message * call.messages


def _by_transcript(calls: Iterable[Compared]) -> dict[str, list[Compared]]:
    groups: dict[str, list[Compared]] = {}
    for call in calls:
        groups.setdefault(call.transcript, []).append(call)
    return groups


def _centred(values: list[int]) -> npt.NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    return np.asarray(array - array.mean())


class Predicted(msgspec.Struct, frozen=True):
    """One call's prediction. `how` says from what: `counted` with the model's own tokenizer and the whole head, else
    `fitted`, from the other transcripts' fit and this transcript's first call.
    """

    call: Compared
    tokens: float
    how: str

    @property
    def error(self) -> float:
        """Relative error: (predicted - recorded) / recorded."""
        return (self.tokens - self.call.recorded) / self.call.recorded


def predict(calls: Sequence[Compared]) -> Iterator[Predicted]:
    """Return a prediction for each call of one model that can have one.

    Counted where the model's tokenizer is public and the head recorded whole. Else the hidden part is learned from the
    first comparable call of each transcript, which then is no prediction and is left out, and growth is scaled by the
    fit of the *other* transcripts (of this one, if there is no other).
    """
    public = tokenizer_of(calls[0].model)[1] if calls else False
    for name, group in _by_transcript(calls).items():
        if public and group[0].whole:
            for call in group:
                yield Predicted(call, call.counted, "counted")
            continue
        fitted = fit([call for call in calls if call.transcript != name]) or fit(group) or PLAIN
        for call in group[1:]:
            yield Predicted(call, fitted.grown(group[0], call), "fitted")


class Score(msgspec.Struct, frozen=True):
    """How well a group of calls was predicted; shares are of calls. Cache figures are None without recorded reads.

    First calls are not in the cache figures: another session may have warmed the cache.
    """

    format: str
    model: str
    how: str
    calls: int
    median_error: float
    p95_error: float
    within_2: float
    within_5: float
    within_10: float
    cache_calls: int
    cache_agreement: float | None
    reads_ratio: float | None


AGREES = 0.05
"""A predicted cache read agrees if it is within this share of the request."""


def score(predicted: Sequence[Predicted]) -> Score:
    """Return the score of predictions of one format and model; at least one."""
    errors = sorted(abs(one.error) for one in predicted)
    with_cache = [one.call for one in predicted if one.call.read_recorded is not None and one.call.call > 1]
    agree = [abs(call.read_predicted - (call.read_recorded or 0)) <= AGREES * call.recorded for call in with_cache]
    recorded_reads = sum(call.read_recorded or 0 for call in with_cache)
    predicted_reads = sum(call.read_predicted for call in with_cache)
    first = predicted[0]
    return Score(
        format=first.call.format,
        model=first.call.model,
        how=first.how,
        calls=len(predicted),
        median_error=round(median(errors), 4),
        p95_error=round(errors[-(-95 * len(errors) // 100) - 1], 4),
        within_2=_share(error <= 0.02 for error in errors),
        within_5=_share(error <= 0.05 for error in errors),
        within_10=_share(error <= 0.10 for error in errors),
        cache_calls=len(with_cache),
        cache_agreement=_share(agree) if agree else None,
        reads_ratio=round(predicted_reads / recorded_reads, 4) if recorded_reads else None,
    )


def _share(found: Iterable[bool]) -> float:
    values = list(found)
    return round(sum(values) / len(values), 4)
