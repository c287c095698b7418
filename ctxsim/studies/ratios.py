"""Characters per token with their spread: of any texts, and by kind of content and tokenizer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ctxsim.estimators.calibrated import Ratio
from ctxsim.studies.heads import RESAMPLES
from ctxsim.studies.sample import Text, collect
from ctxsim.tokenizers import Tokenizer
from ctxsim.transcript import Transcript

MATRIX_TOKENIZERS = (
    "o200k_base", "cl100k_base", "llama3", "qwen3", "deepseek_v3", "mistral_v3", "kimi_k2", "glm4",
)  # fmt: skip


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


def matrix(transcripts: Sequence[Transcript], tokenizers: Sequence[Tokenizer]) -> str:
    """Return characters per token by content kind and tokenizer as a Markdown table.

    Each cell: pooled ratio, 95 % interval over transcripts, and the 10th to 90th percentile of single texts.
    """
    samples = [collect(transcripts, tokenizer, "kind") for tokenizer in tokenizers]
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
        sample = collect(transcripts, tokenizer, "kind")
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
