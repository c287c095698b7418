"""Errors of estimates, per text and per request, and their effect on a policy with a threshold."""

from collections import Counter as Frequencies
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from statistics import median

import msgspec

from ctxsim.counting.estimators import Estimator, estimator_label
from ctxsim.counting.tokenizers import Tokenizer
from ctxsim.counting.tokenizers.counter import Counter, counted
from ctxsim.policies import open_policy
from ctxsim.readers.assembly.segments import segments
from ctxsim.recorded.content import content_kind
from ctxsim.recorded.size_fit import comparisons
from ctxsim.simulator.measure.columns import displacement, first_over, misled, nearest_rank
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Transcript

SMALLEST_TEXT = 50
"""Texts of fewer tokens say more about rounding than about a rule."""

AT = 0.7
"""Threshold as a share of a segment's largest request: where many agents compact."""

WINDOW = 0.9 / AT
"""Window as a multiple of the threshold: 90 % of the largest request, so that a policy that never acts overflows."""


class Point(msgspec.Struct, frozen=True):
    """One text or request: its tokens, its recorded tokens if known, and the estimate of each estimator."""

    transcript: str
    kind: str
    tokens: int
    recorded: int | None
    estimates: tuple[int, ...]


class Accuracy(msgspec.Struct, frozen=True):
    """One estimator on one group. Errors are (estimate - tokens) / tokens; percentiles are of their absolute value.

    `worst_under` is the most negative error: the most underestimated request. `pooled` is the error of the sums.
    """

    estimator: str
    tokenizer: str
    scope: str
    kind: str
    n: int
    bias: float
    mape: float
    p50: float
    p95: float
    p99: float
    worst_under: float
    pooled: float


class Consequence(msgspec.Struct, frozen=True):
    """The effect of an estimator on a policy that acts over a threshold, on requests as they were sent.

    `transcripts` counts segments: a transcript without a recorded compaction is one.

    Displacement is of the first trigger: calls by the estimator minus calls by the tokenizer, positive = late; tokens
    likewise. Early and late are reported apart: one loses context, the other ends in a refused request.
    `extra_overflows` are transcripts in which a request passes the window (threshold x 0.9 / 0.7) before the estimate
    fires; by the tokenizer the policy always fires before.
    """

    estimator: str
    tokenizer: str
    transcripts: int
    both_trigger: int
    only_estimate: int
    only_truth: int
    late: int
    early: int
    median_displacement_calls: float | None
    median_tokens_late: float | None
    median_tokens_early: float | None
    extra_overflows: int
    false_safe_calls: int
    false_alarm_calls: int
    calls: int


class Observed(msgspec.Struct, frozen=True):
    """The points of a set of transcripts: per text, per request, and the requests of each segment in order.

    A segment is what lies between two recorded compactions. `usage` has the points that can be compared with recorded
    usage (`recorded.size_fit.comparisons`).
    """

    texts: list[Point]
    requests: list[Point]
    runs: list[list[Point]]
    usage: list[Point]


def observe(
    transcripts: Iterable[Transcript], tokenizer: Tokenizer | None, estimators: Sequence[Estimator]
) -> Observed:
    """Return every text of at least 50 tokens, once, and every request as it was sent, with all estimates.

    Without a tokenizer, each model's own one is used.
    """
    found = Observed([], [], [], [])
    for transcript in transcripts:
        if not transcript.calls:
            continue
        counter = counted(transcript, tokenizer)
        for item in transcript.items:
            tokens = counter.text(item.text)
            if tokens >= SMALLEST_TEXT and item.kind not in ("tool_call", "reasoning") and not item.media:
                kind = content_kind(item.text)
                estimates = tuple(estimator.item(item) for estimator in estimators)
                found.texts.append(Point(transcript.name, kind, tokens, None, estimates))
        for segment in segments(transcript):
            run = _requests(segment, counter, estimators)
            found.requests.extend(run)
            found.runs.append(run)
            found.usage.extend(_against_usage(segment, run))
    return found


def _requests(segment: Transcript, counter: Counter, estimators: Sequence[Estimator]) -> list[Point]:
    """A point for each request of a segment under keep-all."""
    provider = Provider(window=1 << 60)
    rows = [replay(segment, open_policy("keep-all", estimator), provider, counter) for estimator in estimators]
    found = []
    for first, *others in zip(*rows, strict=True):
        estimates = tuple(call.tokens_estimated for call in (first, *others))
        found.append(Point(segment.name, "request", first.tokens_sent, first.tokens_recorded, estimates))
    return found


def _against_usage(segment: Transcript, run: list[Point]) -> Iterator[Point]:
    for call, recorded, earlier in comparisons(segment):
        point = run[call - 1]
        if earlier is None:
            yield point
        else:
            base = run[earlier - 1]
            estimates = tuple(now - then for now, then in zip(point.estimates, base.estimates, strict=True))
            yield Point(point.transcript, "growth", point.tokens - base.tokens, recorded, estimates)


def accuracy(
    points: Sequence[Point], number: int, label: str, tokenizer: str, scope: str, kind: str
) -> Accuracy | None:
    """Return the accuracy of estimator `number` on some points; against recorded usage where `scope` is `usage`."""
    told = ((point.estimates[number], point.recorded if scope == "usage" else point.tokens) for point in points)
    pairs = [(estimate, truth) for estimate, truth in told if truth]
    if not pairs:
        return None
    errors = [(estimate - truth) / truth for estimate, truth in pairs]
    absolute = sorted(map(abs, errors))
    return Accuracy(
        label, "recorded usage" if scope == "usage" else tokenizer, scope, kind, len(errors),
        bias=round(sum(errors) / len(errors), 4), mape=round(sum(absolute) / len(absolute), 4),
        p50=round(nearest_rank(absolute, 50), 4), p95=round(nearest_rank(absolute, 95), 4),
        p99=round(nearest_rank(absolute, 99), 4), worst_under=round(min(errors), 4),
        pooled=round(sum(e for e, _ in pairs) / sum(t for _, t in pairs) - 1, 4),
    )  # fmt: skip


def table(observed: Observed, tokenizer: str, estimators: Sequence[Estimator]) -> list[Accuracy]:
    """Return the accuracy of each estimator: texts by kind and all, requests, and the growth of recorded usage.

    Growth is left out for estimators that go by usage, as they follow another rule after the first request.
    """
    kinds = sorted({point.kind for point in observed.texts})
    groups = [("text", kind, [p for p in observed.texts if p.kind == kind]) for kind in kinds]
    groups += [("text", "all", observed.texts), ("request", "all", observed.requests), ("usage", "all", observed.usage)]
    rows = [
        accuracy(points, number, estimator_label(estimator), tokenizer, scope, kind)
        for number, estimator in enumerate(estimators)
        for scope, kind, points in groups
        if scope != "usage" or not estimator.by_usage
    ]
    return [row for row in rows if row is not None]


def consequence(observed: Observed, number: int, label: str, tokenizer: str, threshold: int | None) -> Consequence:
    """Return what estimator `number` does at a threshold in tokens, or at 70 % of each segment's largest request."""
    displacements: list[tuple[int, int]] = []
    sides: Frequencies[str] = Frequencies()
    only_estimate = only_truth = overflows = 0
    for run in observed.runs:
        limit = threshold if threshold is not None else AT * max(point.tokens for point in run)
        tokens, estimates = [point.tokens for point in run], [point.estimates[number] for point in run]
        fired, due, over = first_over(estimates, limit), first_over(tokens, limit), first_over(tokens, limit * WINDOW)
        overflows += over is not None and (fired is None or fired > over)
        sides.update(map(misled, estimates, tokens, repeat(limit)))
        if moved := displacement(fired, due, tokens):
            displacements.append(moved)
        else:
            only_estimate += fired is not None
            only_truth += due is not None
    late = [tokens for calls, tokens in displacements if calls > 0]
    early = [tokens for calls, tokens in displacements if calls < 0]
    return Consequence(
        estimator=label, tokenizer=tokenizer, transcripts=len(observed.runs), both_trigger=len(displacements),
        only_estimate=only_estimate, only_truth=only_truth, late=len(late), early=len(early),
        median_displacement_calls=median(calls for calls, _ in displacements) if displacements else None,
        median_tokens_late=median(late) if late else None,
        median_tokens_early=-median(early) if early else None,
        extra_overflows=overflows, false_safe_calls=sides["false-safe"], false_alarm_calls=sides["false-alarm"],
        calls=len(observed.requests),
    )  # fmt: skip
