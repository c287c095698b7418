"""Fitting chars-per-token ratios and class weights to one's own transcripts, with how far to trust them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from ctxsim.content import content_kind
from ctxsim.errors import CtxsimError
from ctxsim.estimators.calibrated import VERSION, Calibration, Ratio
from ctxsim.estimators.classes import FEATURES, features
from ctxsim.tokenizers import Tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Transcript

RESAMPLES = 1_000
FOLDS = 5
NEAR_WINDOW = 0.5
"""Requests of at least this share of a transcript's largest are what a risk is about: small ones can't overflow."""

Array = npt.NDArray[np.float64]


class Text(msgspec.Struct, frozen=True):
    """One text: its transcript's number, size, tokens, group, and class features."""

    transcript: int
    chars: int
    tokens: int
    group: str
    features: tuple[int, ...]


class Request(msgspec.Struct, frozen=True):
    """One request of the uncompacted history, counted by the tokenizer or as the provider recorded it."""

    transcript: int
    chars: int
    tokens: float
    features: tuple[int, ...]


class Sample(msgspec.Struct, frozen=True):
    """What a calibration is fitted to."""

    texts: list[Text]
    requests: list[Request]
    transcripts: int


def collect(transcripts: Iterable[Transcript], tokenizer: Tokenizer, by: str, against_usage: bool) -> Sample:
    """Return every text and request of some transcripts.

    `by` groups texts by content `kind`, by `tool`, or by `model`. With `against_usage` a request is what was added
    since the transcript's first comparable call, as its provider recorded it: that cancels a head nobody recorded.
    """
    sample = Sample([], [], 0)
    number = -1
    for number, transcript in enumerate(transcripts):
        counter = Counter(tokenizer)
        counter.learn_transcript(transcript)
        running = np.zeros(2 + len(FEATURES))
        sums = [running.copy()]
        for item in transcript.items:
            if item.kind != "reasoning":
                for text in filter(None, item.texts):
                    found = Text(
                        number, len(text), counter.text(text), _group(item, text, transcript, by), features(text)
                    )
                    sample.texts.append(found)
                    running = running + np.array([found.chars, found.tokens, *found.features], dtype=float)
            sums.append(running)
        sample.requests.extend(_requests(transcript, number, sums, against_usage))
    return msgspec.structs.replace(sample, transcripts=number + 1)


def _group(item: object, text: str, transcript: Transcript, by: str) -> str:
    if by == "kind":
        return content_kind(text)
    if by == "model":
        return transcript.model or "unknown"
    kind, tool = getattr(item, "kind", ""), getattr(item, "tool", "")
    return tool if kind == "tool_result" and tool else f"({kind})"


def _requests(transcript: Transcript, number: int, sums: list[Array], against_usage: bool) -> Iterator[Request]:
    base: tuple[Array, int] | None = None
    for call in transcript.calls:
        total = sums[call.start]
        if not against_usage:
            yield Request(number, int(total[0]), float(total[1]), tuple(map(int, total[2:])))
            continue
        if call.usage is None or not call.comparable or not call.usage.input_tokens:
            continue
        if base is None:
            base = (total, call.usage.input_tokens)
            continue
        grown = total - base[0]
        if grown[0] > 0 and call.usage.input_tokens > base[1]:
            yield Request(number, int(grown[0]), float(call.usage.input_tokens - base[1]), tuple(map(int, grown[2:])))


def ratio_of(pairs: Sequence[tuple[int, float, float]], seed: int = 0) -> Ratio:
    """Return characters per token of (transcript, chars, tokens), pooled, with an interval over transcripts."""
    chars, tokens = sum(p[1] for p in pairs), sum(p[2] for p in pairs)
    numbers = sorted({p[0] for p in pairs})
    position = {n: i for i, n in enumerate(numbers)}
    sums = np.zeros((len(numbers), 2))
    for transcript, c, t in pairs:
        sums[position[transcript]] += (c, t)
    low = high = None
    if len(numbers) > 1:
        rng = np.random.default_rng(seed)
        drawn = sums[rng.integers(0, len(numbers), (RESAMPLES, len(numbers)))].sum(axis=1)
        usable = drawn[drawn[:, 1] > 0]
        low, high = (round(float(v), 4) for v in np.percentile(usable[:, 0] / usable[:, 1], [2.5, 97.5]))
    return Ratio(
        chars_per_token=round(chars / tokens, 4) if tokens else math.inf,
        low=low,
        high=high,
        texts=len(pairs),
        transcripts=len(numbers),
        chars=int(chars),
        tokens=round(tokens),
    )


MATRIX_TOKENIZERS = (
    "o200k_base", "cl100k_base", "llama3", "qwen3", "deepseek_v3", "mistral_v3", "kimi_k2", "glm4",
)  # fmt: skip


def matrix(transcripts: Sequence[Transcript], tokenizers: Sequence[Tokenizer]) -> str:
    """Return characters per token by content kind and tokenizer as a Markdown table.

    Each cell: pooled ratio, 95 % interval over transcripts, and the 10th to 90th percentile of single texts.
    """
    samples = [collect(transcripts, tokenizer, "kind", False) for tokenizer in tokenizers]
    sizes: dict[str, int] = {}
    for text in samples[0].texts:
        sizes[text.group] = sizes.get(text.group, 0) + text.chars
    lines = ["| kind | texts | characters | " + " | ".join(tokenizer.name for tokenizer in tokenizers) + " |"]
    lines.append("|---|--:|--:|" + "--:|" * len(tokenizers))
    for kind in sorted((kind for kind in sizes if kind != "empty"), key=lambda kind: -sizes[kind]):
        cells = [kind, f"{sum(text.group == kind for text in samples[0].texts):,}", f"{sizes[kind]:,}"]
        cells += [_matrix_cell([text for text in sample.texts if text.group == kind]) for sample in samples]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def matrix_ratios(transcripts: Sequence[Transcript], tokenizers: Sequence[Tokenizer]) -> dict[str, list[float]]:
    """Return the pooled ratios alone: per kind one per tokenizer, most text first."""
    found: dict[str, list[float]] = {}
    for tokenizer in tokenizers:
        sample = collect(transcripts, tokenizer, "kind", False)
        groups: dict[str, list[Text]] = {}
        for text in sample.texts:
            groups.setdefault(text.group, []).append(text)
        for kind, texts in sorted(groups.items(), key=lambda pair: -sum(text.chars for text in pair[1])):
            if kind != "empty":
                tokens = sum(text.tokens for text in texts)
                found.setdefault(kind, []).append(sum(text.chars for text in texts) / tokens)
    return found


def _matrix_cell(texts: Sequence[Text]) -> str:
    ratio = ratio_of([(text.transcript, text.chars, text.tokens) for text in texts])
    single = [text.chars / text.tokens for text in texts if text.tokens >= 20]
    spread = f"{np.percentile(single, 10):.1f}-{np.percentile(single, 90):.1f}" if len(single) >= 5 else "few"
    interval = f"±{(ratio.high - ratio.low) / 2:.2f}" if ratio.low is not None and ratio.high is not None else "n/a"
    return f"**{ratio.chars_per_token:.2f}** {interval} ({spread})"


def class_weights(texts: Sequence[Text]) -> Array:
    """Return the non-negative weight of each class that fits tokens best (scipy's NNLS).

    Each text counts by the square root of its tokens, so that neither the many small nor the few large ones decide.
    """
    from scipy.optimize import nnls

    matrix = np.array([text.features for text in texts], dtype=float)
    target = np.array([text.tokens for text in texts], dtype=float)
    scale = 1 / np.sqrt(np.maximum(target, 1))
    weights, _ = nnls(matrix * scale[:, None], target * scale)
    return np.asarray(weights)


def divisor_at_risk(requests: Sequence[Request], risk: float) -> float:
    """Return the divisor whose chance to under-estimate any request near the window of a new transcript is at most
    `risk`.

    Split-conformal: of n transcripts' smallest ratios take the k-th smallest with k = floor(risk * (n + 1)); if a new
    transcript is like these, the chance that its own is smaller is at most k / (n + 1). With k = 0 there are too few
    transcripts for so small a risk, and the smallest ratio seen is all that can be said. Raises CtxsimError without
    any request.
    """
    smallest: dict[int, float] = {}
    for request in _near_window(requests):
        # chars / divisor < tokens, an under-estimate, exactly where chars / tokens < divisor.
        ratio = request.chars / request.tokens
        smallest[request.transcript] = min(smallest.get(request.transcript, math.inf), ratio)
    if not smallest:
        raise CtxsimError("no request to take a risk with: the transcripts have no calls")
    rank = max(1, math.floor(risk * (len(smallest) + 1)))
    # Rounded down, and past rounding errors: equality must not count as an under-estimate.
    return math.floor(sorted(smallest.values())[rank - 1] * 1e4 - 1e-6) / 1e4


def _near_window(requests: Sequence[Request]) -> Iterator[Request]:
    largest: dict[int, float] = {}
    for request in requests:
        largest[request.transcript] = max(largest.get(request.transcript, 0.0), request.tokens)
    return (r for r in requests if r.tokens > 0 and r.tokens >= NEAR_WINDOW * largest[r.transcript])


class Held(msgspec.Struct, frozen=True):
    """Errors on transcripts that the fit never saw: mean absolute relative error of requests, and the share of
    requests near the window that the divisor under-estimated.
    """

    chars4: float
    ratio: float
    classes: float
    false_safe: float


def cross_validate(sample: Sample, risk: float | None) -> Held | None:
    """Return held-out errors, folds by transcript; None with fewer than 5 transcripts."""
    if sample.transcripts < FOLDS:
        return None
    errors: dict[str, list[float]] = {"chars4": [], "ratio": [], "classes": []}
    under: list[float] = []
    for fold in range(FOLDS):
        training = [r for r in sample.requests if r.transcript % FOLDS != fold]
        held = [r for r in sample.requests if r.transcript % FOLDS == fold and r.tokens > 0]
        texts = [t for t in sample.texts if t.transcript % FOLDS != fold]
        if not training or not held or not texts:
            continue
        chars, tokens = sum(r.chars for r in training), sum(r.tokens for r in training)
        weights = class_weights(texts) * _scale(training, class_weights(texts))
        divisor = divisor_at_risk(training, risk) if risk is not None else chars / tokens
        for request in held:
            errors["chars4"].append(abs(request.chars / 4 / request.tokens - 1))
            errors["ratio"].append(abs(request.chars / (chars / tokens) / request.tokens - 1))
            errors["classes"].append(abs(float(weights @ np.array(request.features)) / request.tokens - 1))
        near = list(_near_window(held))
        by_transcript: dict[int, list[bool]] = {}
        for request in near:
            by_transcript.setdefault(request.transcript, []).append(request.chars / divisor < request.tokens)
        under += [sum(votes) / len(votes) for votes in by_transcript.values()]
    if not errors["ratio"]:
        return None
    means = {name: round(float(np.mean(values)), 4) for name, values in errors.items()}
    return Held(**means, false_safe=round(float(np.mean(under)), 4))


def _scale(requests: Sequence[Request], weights: Array) -> float:
    """What the class weights, fitted to counted texts, must be multiplied by to meet the requests' tokens."""
    predicted = sum(float(weights @ np.array(r.features)) for r in requests)
    return sum(r.tokens for r in requests) / predicted if predicted else 1.0


def calibrate(sample: Sample, tokenizer: str, by: str, risk: float | None, against_usage: bool) -> Calibration:
    """Return the calibration of a sample. Raises CtxsimError if there is nothing to fit to."""
    if not sample.texts or not sample.requests:
        raise CtxsimError(
            "nothing to calibrate with: no transcript has a call" + (" with usage" if against_usage else "")
        )
    groups: dict[str, list[tuple[int, float, float]]] = {}
    for text in sample.texts:
        groups.setdefault(text.group, []).append((text.transcript, text.chars, text.tokens))
    source = sample.requests if against_usage else sample.texts
    overall = ratio_of([(one.transcript, one.chars, one.tokens) for one in source])
    weights = class_weights(sample.texts)
    if against_usage:
        weights = weights * _scale(sample.requests, weights)
    held = cross_validate(sample, risk)
    return Calibration(
        version=VERSION,
        tokenizer="recorded usage" if against_usage else tokenizer,
        overall=overall,
        divisor=divisor_at_risk(sample.requests, risk) if risk is not None else overall.chars_per_token,
        risk=risk,
        by=by,
        groups={
            name: ratio_of(pairs)
            for name, pairs in sorted(groups.items(), key=lambda group: -sum(pair[2] for pair in group[1]))
            if sum(pair[2] for pair in pairs)
        },
        class_weights={name: round(float(weight), 5) for name, weight in zip(FEATURES, weights, strict=True)},
        errors={
            "chars/4, held-out MAPE": held.chars4 if held else None,
            "one ratio, held-out MAPE": held.ratio if held else None,
            "character classes, held-out MAPE": held.classes if held else None,
            "under-estimated near the window, held-out share": held.false_safe if held else None,
        },
        provenance={
            "transcripts": sample.transcripts,
            "texts": len(sample.texts),
            "requests": len(sample.requests),
            "resamples": RESAMPLES,
            "folds": FOLDS,
        },
    )
