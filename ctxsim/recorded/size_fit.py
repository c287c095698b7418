"""Our counts against recorded usage: which calls compare, and the hidden head and factor that explain the difference.

Requests hold texts that a log lacks: system prompt, tools, attachments. And a tokenizer that isn't public gives other
counts than ours. So, for one transcript,

    recorded = head + factor x counted texts + framing + what joined later without being logged

A head and a factor are fitted by weighted least squares; then steps: calls from which on the
difference is larger and stays so. All these numbers are *fitted*, and named so wherever they are shown.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.ledger.request import Request as Sent
from ctxsim.simulator.measure.columns import nearest_rank
from ctxsim.simulator.measure.measured import Size, Step
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Sizes, Transcript

Array = npt.NDArray[np.float64]

LEAST_FACTOR, MOST_FACTOR = 0.6, 3.5
"""A factor outside this range means that texts are missing. The largest factor of a tokenizer seen is 2.4."""

NO_FACTOR = 0.01
"""Fewer recorded tokens per counted token than this aren't the usage of the request."""

SPREAD = 200
"""Counted tokens by which requests must differ so that a factor and a head can be told apart."""

LEAST_GROWTH = 500
"""Recorded growth of fewer tokens than this is mostly framing."""

STEP_SHARE, STEP_TOKENS, MOST_STEPS = 0.02, 300, 20
"""Least size of a step, as a share of the request and in tokens, and the most steps of a transcript."""

ENOUGH = 8
"""Least number of calls with usage in a segment that is cut in halves."""

PRIOR_TOKENS = 5_000
"""The prior of a model's factor weighs as much as this many counted tokens of growth."""


CLEARED = 0.93
"""A request below this share of the one before isn't its continuation: something was cleared, logged or not."""


class Request(msgspec.Struct, frozen=True):
    """One call with usage of its own request. Tokens: `text` and `framing` (with media) as counted, and `recorded`."""

    call: int
    text: int
    framing: int
    recorded: int
    model: str = ""

    @property
    def hidden(self) -> int:
        """Recorded tokens beyond the counted ones."""
        return self.recorded - self.text - self.framing


def head_is_whole(transcript: Transcript) -> bool:
    """Return whether the log holds the head, and tool schemas if any tool is called."""
    asks = any(item.kind == "tool_call" for item in transcript.items)
    return transcript.head.recorded and bool(transcript.head.tools or not asks)


def requests(transcript: Transcript, provider: Provider, known: Counter | None = None) -> list[Request]:
    """Return the calls of a transcript that have recorded usage of their own request, with the tokens of the history
    before them, without reasoning that the provider's rule doesn't resend.

    `known` is a counter whose memo is reused.
    """
    plain = msgspec.structs.replace(provider, rate_limit=None, tokens_factor=1.0, prices=None, cache="none")
    ledger = Ledger(transcript, plain, plain.counter(known))
    frames, counter, hidden = ledger.frames, ledger.counter, transcript.head.hidden
    text_of = Sizes(lambda item: sum(map(counter.text, frames.texts(item))) + counter.unshown(item))
    request = Sent(frames, transcript.head)
    recorded = {number: tokens for number, tokens, _ in recorded_calls(transcript)}
    found, summed, texts = [], 0, 0
    for leg in ledger.legs:
        request.with_head(leg.head)
        ledger.enter(request, leg)
        if leg.begins_turn:
            # The reasoning of earlier turns has left.
            summed, texts = 0, 0
        texts += sum(map(text_of, request.items[summed:]))
        summed = len(request.items)
        if leg.number in recorded:
            text = counter.head(leg.head) - hidden + texts
            framing = request.total - text - hidden
            found.append(Request(leg.number, text, framing, recorded[leg.number], leg.call.model))
    return found


def comparisons(segment: Transcript) -> Iterator[tuple[int, int, int | None]]:
    """Yield number, recorded tokens and None for each call of a segment whose whole request compares with its usage. If
    the head isn't whole, yield `growth`, in which the unrecorded head cancels.

    `segment` must be one of `segments(transcript)`: a history across a compaction was never sent.
    """
    if head_is_whole(segment):
        yield from ((number, tokens, None) for number, tokens, _ in recorded_calls(segment))
    else:
        yield from growth(segment)


def growth(segment: Transcript) -> Iterator[tuple[int, int, int]]:
    """Yield number, growth in recorded tokens, and the number of the base: the first comparable call of the segment to
    the same model. Calls that grew by less than LEAST_GROWTH are left out.
    """
    bases: dict[str, tuple[int, int]] = {}
    for number, tokens, model in recorded_calls(segment):
        base, before = bases.setdefault(model, (number, tokens))
        if tokens - before >= LEAST_GROWTH:
            yield number, tokens - before, base


def recorded_calls(segment: Transcript) -> Iterator[tuple[int, int, str]]:
    """Yield number, recorded tokens and model of each call whose usage is of its own request."""
    for number, call in enumerate(segment.calls, 1):
        if call.comparable and call.usage and call.usage.input_tokens:
            yield number, call.usage.input_tokens, call.model


def fit_size(found: Sequence[Request], factor: float = 1.0) -> Size | None:
    """Return the fit of one transcript's requests; None without any.

    `factor` is used where none can be fitted: few requests, of one size, or with texts missing.
    """
    if not found:
        return None
    text = np.array([one.text for one in found], dtype=float)
    recorded = np.array([one.recorded for one in found], dtype=float)
    framing = np.array([one.framing for one in found], dtype=float)
    steps: list[int] = []
    solved = _solve(text, recorded - framing, recorded, steps, factor)
    while len(steps) < min(MOST_STEPS, len(found) // 3):
        at = _next_step(recorded - framing - _modelled(text, steps, solved), recorded, steps)
        if at is None:
            break
        better = _solve(text, recorded - framing, recorded, [*steps, at], factor)
        if min(better[2:]) < 0:
            break
        steps, solved = [*steps, at], better
    tokens = [max(0, round(value)) for value in (solved[0], *solved[2:])]
    chosen = round(float(solved[1]), 4)
    # Errors are those of requests as billed, in whole tokens.
    billed = _modelled(text, steps, np.array([tokens[0], chosen, *tokens[1:]])) + framing
    errors = sorted((np.abs(billed - recorded) / recorded).tolist())
    joined = tuple(Step(found[at].call, size) for at, size in sorted(zip(steps, tokens[1:], strict=True)))
    middle, most = (round(nearest_rank(errors, percent), 4) for percent in (50, 95))
    return Size("fitted", tokens[0], chosen, joined, len(found), middle, most)


def _columns(count: int, steps: Sequence[int]) -> list[Array]:
    return [np.asarray(np.arange(count) >= at, dtype=float) for at in steps]


def _modelled(text: Array, steps: Sequence[int], solved: Array) -> Array:
    joined = sum(map(np.multiply, solved[2:], _columns(len(text), steps)), 0.0)
    return np.asarray(solved[0] + solved[1] * text + joined)


def _solve(text: Array, target: Array, recorded: Array, steps: Sequence[int], factor: float) -> Array:
    """Head, factor and steps with the least weighted squares; the head is 0 if it would be negative."""
    # Between absolute and relative errors: neither the small first requests nor the large last ones dominate.
    weights = 1 / np.sqrt(recorded)
    ones, later = np.ones(len(text)), _columns(len(text), steps)

    def least(columns: Sequence[Array], goal: Array) -> Array:
        found, *_ = np.linalg.lstsq(np.column_stack(columns) * weights[:, None], goal * weights, rcond=None)
        return np.asarray(found)

    if len(text) - len(steps) >= 3 and np.ptp(text) > SPREAD:
        solved = least([ones, text, *later], target)
        if solved[0] < 0:
            solved = np.array([0.0, *least([text, *later], target)])
        if LEAST_FACTOR <= solved[1] <= MOST_FACTOR:
            return solved
    rest = target - factor * text
    without = least([ones, *later], rest)
    if without[0] < 0 and text.any():
        # More tokens are counted than recorded: fit a factor alone, unless framing alone exceeds the usage.
        alone = np.array([0.0, *least([text, *later], target)])
        return alone if alone[1] >= NO_FACTOR else np.array([0.0, factor, *np.zeros(len(steps))])
    return np.array([without[0], factor, *without[1:]])


def _next_step(left: Array, recorded: Array, known: Sequence[int]) -> int | None:
    """The index of the request at which the residual rises most and stays up; None if no rise is large enough."""
    rises = np.diff(left)
    order = np.argsort(-rises)
    large = rises >= np.maximum(STEP_TOKENS, STEP_SHARE * recorded[1:])
    for at in order[large[order]][:5]:
        stays = np.median(left[at + 1 : at + 4]) - np.median(left[max(0, at - 2) : at + 1])
        if int(at) + 1 not in known and stays >= rises[at] / 2:
            return int(at) + 1
    return None


def factor_of(found: Sequence[Request], prior: float) -> float:
    """Return the provider's tokens per counted token, by the growth of requests. Growth outside LEAST_FACTOR to
    MOST_FACTOR is skipped, because unlogged tokens joined or left.
    """
    counted, recorded = float(PRIOR_TOKENS), PRIOR_TOKENS * prior
    for last, this in pairwise(found):
        grew = this.text - last.text
        by = this.recorded - this.framing - last.recorded + last.framing
        if grew > 0 and LEAST_FACTOR * grew <= by <= MOST_FACTOR * grew:
            counted, recorded = counted + grew, recorded + by
    return recorded / counted


def later_calls(found: Sequence[Request], prior: float, whole: bool = False) -> list[tuple[Request, float]]:
    """Return the calls in the later half of a segment, and their tokens as the earlier half predicts them.

    A prediction is the usage of the earlier half's last call plus the growth since; if the log is `whole`, the count.
    """
    if len(found) < ENOUGH:
        return []
    known = len(found) // 2
    if whole:
        return [(one, float(one.text + one.framing)) for one in found[known:]]
    factor, last = factor_of(found[:known], prior), found[known - 1]
    return [
        (one, last.recorded + factor * (one.text - last.text) + one.framing - last.framing) for one in found[known:]
    ]


def later_errors(found: Sequence[Request], prior: float, whole: bool = False) -> tuple[float, ...]:
    """Return |predicted - recorded| / recorded of each call in the later half; empty for a short segment."""
    return tuple(
        round(abs(tokens - one.recorded) / one.recorded, 4) for one, tokens in later_calls(found, prior, whole)
    )
