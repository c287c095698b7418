"""How wrong estimates are, per text and per request, and what that does to a policy with a threshold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

import msgspec

from ctxsim.content import content_kind
from ctxsim.estimators import Estimator, estimator_label
from ctxsim.policies import open_policy
from ctxsim.provider import Provider
from ctxsim.replay import replay
from ctxsim.tokenizers import Tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Transcript

SMALLEST_TEXT = 50
"""Texts of fewer tokens say more about rounding than about a rule."""

SMALLEST_GROWTH = 500
"""Growth of fewer recorded tokens is mostly framing."""

AT = 0.7
"""Threshold as a share of a transcript's largest request: where many agents compact."""


WINDOW_SHARE = 0.9
"""Window as a share of a transcript's largest request, so that who never acts overflows."""


class Point(msgspec.Struct, frozen=True):
    """One text or request: what it counts and what each estimator says."""

    transcript: str
    kind: str
    tokens: int
    recorded: int | None
    estimates: tuple[int, ...]


class Accuracy(msgspec.Struct, frozen=True):
    """One estimator on one group. Errors are (estimate - tokens) / tokens; percentiles are of their absolute value.

    `worst_under` is the most negative error: the request that would have been believed much smaller than it is.
    `pooled` is the error of the sums.
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
    """What an estimator does to a policy that acts over a threshold, on the uncompacted history.

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


class Measured(msgspec.Struct, frozen=True):
    """Everything of a set of transcripts: per text, per request, and each transcript's requests in order.

    `usage` has what providers recorded: whole requests where the source holds the head with its tools, else what was
    added since the transcript's first comparable call.
    """

    texts: list[Point]
    requests: list[Point]
    runs: list[list[Point]]
    usage: list[Point]


def measure(transcripts: Iterable[Transcript], tokenizer: Tokenizer, estimators: Sequence[Estimator]) -> Measured:
    """Return every text of at least 50 tokens and every request of the uncompacted history, with all estimates."""
    found = Measured([], [], [], [])
    provider = Provider(window=1 << 60)
    for transcript in transcripts:
        if not transcript.calls:
            continue
        counter = Counter(tokenizer)
        counter.learn_transcript(transcript)
        for item in transcript.items:
            tokens = counter.text(item.text)
            if tokens >= SMALLEST_TEXT and item.kind not in ("tool_call", "reasoning") and not item.media:
                kind = content_kind(item.text)
                estimates = tuple(estimator.item(item) for estimator in estimators)
                found.texts.append(Point(transcript.name, kind, tokens, None, estimates))
        rows = [
            [sent.row for sent in replay(transcript, open_policy("keep-all", estimator), provider, counter)]
            for estimator in estimators
        ]
        run = []
        for calls in zip(*rows, strict=True):
            first = calls[0]
            estimates = tuple(row.tokens_estimated for row in calls)
            run.append(Point(transcript.name, "request", first.tokens_sent, first.tokens_recorded, estimates))
        found.requests.extend(run)
        found.runs.append(run)
        found.usage.extend(_against_usage(transcript, run))
    return found


def _against_usage(transcript: Transcript, run: list[Point]) -> Iterator[Point]:
    comparable = [point for point in run if point.recorded]
    asks = any(item.kind == "tool_call" for item in transcript.items)
    if transcript.head.recorded and (transcript.head.tools or not asks):
        yield from comparable
        return
    for point in comparable[1:]:
        first = comparable[0]
        grown = (point.recorded or 0) - (first.recorded or 0)
        if grown >= SMALLEST_GROWTH:
            estimates = tuple(now - then for now, then in zip(point.estimates, first.estimates, strict=True))
            yield Point(point.transcript, "growth", point.tokens - first.tokens, grown, estimates)


def accuracy(
    points: Sequence[Point], number: int, label: str, tokenizer: str, scope: str, kind: str
) -> Accuracy | None:
    """Return the accuracy of estimator `number` on some points; against recorded usage where `scope` is `usage`."""
    pairs = []
    for point in points:
        truth = point.recorded if scope == "usage" else point.tokens
        if truth:
            pairs.append((point.estimates[number], truth))
    if not pairs:
        return None
    errors = [(estimate - truth) / truth for estimate, truth in pairs]
    absolute = sorted(map(abs, errors))
    return Accuracy(
        estimator=label,
        tokenizer="recorded usage" if scope == "usage" else tokenizer,
        scope=scope,
        kind=kind,
        n=len(errors),
        bias=round(sum(errors) / len(errors), 4),
        mape=round(sum(absolute) / len(absolute), 4),
        p50=round(median(absolute), 4),
        p95=_rank(absolute, 95),
        p99=_rank(absolute, 99),
        worst_under=round(min(errors), 4),
        pooled=round(sum(e for e, _ in pairs) / sum(t for _, t in pairs) - 1, 4),
    )


def _rank(ordered: Sequence[float], percent: int) -> float:
    """Nearest-rank percentile."""
    return round(ordered[-(-percent * len(ordered) // 100) - 1], 4)


def table(measured: Measured, tokenizer: str, estimators: Sequence[Estimator]) -> list[Accuracy]:
    """Return the accuracy of each estimator: texts by kind and all, requests, and requests against recorded usage."""
    kinds = sorted({point.kind for point in measured.texts})
    groups = [("text", kind, [p for p in measured.texts if p.kind == kind]) for kind in kinds]
    groups += [
        ("text", "all", measured.texts),
        ("request", "all", measured.requests),
        ("usage", "all", measured.usage),
    ]
    rows = [
        accuracy(points, number, estimator_label(estimator), tokenizer, scope, kind)
        for number, estimator in enumerate(estimators)
        for scope, kind, points in groups
    ]
    return [row for row in rows if row is not None]


def consequence(measured: Measured, number: int, label: str, tokenizer: str, threshold: int | None) -> Consequence:
    """Return what estimator `number` does at a threshold in tokens, or at 70 % of each transcript's largest request."""
    late: list[tuple[int, int]] = []
    early: list[tuple[int, int]] = []
    displacements: list[int] = []
    only_estimate = only_truth = false_safe = false_alarm = overflows = 0
    for run in measured.runs:
        limit = threshold if threshold is not None else AT * max(point.tokens for point in run)
        fired = next((n for n, point in enumerate(run) if point.estimates[number] > limit), None)
        due = next((n for n, point in enumerate(run) if point.tokens > limit), None)
        window = limit * WINDOW_SHARE / AT
        over = next((n for n, point in enumerate(run) if point.tokens > window), None)
        overflows += over is not None and (fired is None or fired > over)
        false_safe += sum(point.estimates[number] <= limit < point.tokens for point in run)
        false_alarm += sum(point.tokens <= limit < point.estimates[number] for point in run)
        if fired is None or due is None:
            only_estimate += fired is not None
            only_truth += due is not None
            continue
        displacements.append(fired - due)
        tokens = run[fired].tokens - run[due].tokens
        if fired != due:
            (late if fired > due else early).append((fired - due, tokens))
    return Consequence(
        estimator=label,
        tokenizer=tokenizer,
        transcripts=len(measured.runs),
        both_trigger=len(displacements),
        only_estimate=only_estimate,
        only_truth=only_truth,
        late=len(late),
        early=len(early),
        median_displacement_calls=median(displacements) if displacements else None,
        median_tokens_late=median(tokens for _, tokens in late) if late else None,
        median_tokens_early=median(-tokens for _, tokens in early) if early else None,
        extra_overflows=overflows,
        false_safe_calls=false_safe,
        false_alarm_calls=false_alarm,
        calls=len(measured.requests),
    )
