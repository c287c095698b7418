"""Characters per token by kind of content and tokenizer: the table in evidence/chars_per_token.md.

python -m evidence.chars_per_token FOLDER...
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from ctxsim.answers.calibration.calibration import ratio_of
from ctxsim.counting.tokenizers import Tokenizer, open_tokenizer
from ctxsim.counting.tokenizers.counter import counted
from ctxsim.readers import read
from ctxsim.recorded.content import content_kind
from ctxsim.recorded.sample import texts_of
from ctxsim.transcript import Transcript

MATRIX_TOKENIZERS = (
    "o200k_base", "claude_3", "claude_4.7", "cl100k_base", "llama3", "qwen3", "deepseek_v3", "mistral_v3", "kimi_k2", "glm4",
)  # fmt: skip
PAGE_TOKENIZERS = ("o200k_base", "claude_3", "claude_4.7", "qwen3", "deepseek_v3", "mistral_v3")
"""The tokenizers of evidence/chars_per_token.md. Ratios of the others are near the first one's."""


class Counted(msgspec.Struct, frozen=True):
    """One text: its transcript's number, its characters, and its tokens by each of several tokenizers."""

    transcript: int
    chars: int
    tokens: tuple[int, ...]


def by_kind(transcripts: Iterable[Transcript], tokenizers: Sequence[Tokenizer]) -> dict[str, list[Counted]]:
    """Return every text of some transcripts by its kind of content, counted; the kind with most characters first."""
    found: dict[str, list[Counted]] = {}
    for number, transcript in enumerate(transcripts):
        counters = [counted(transcript, tokenizer) for tokenizer in tokenizers]
        for _, text in texts_of(transcript):
            one = Counted(number, len(text), tuple(counter.text(text) for counter in counters))
            found.setdefault(content_kind(text), []).append(one)
    found.pop("empty", None)
    return dict(sorted(found.items(), key=lambda pair: -sum(one.chars for one in pair[1])))


def matrix(kinds: Mapping[str, Sequence[Counted]], tokenizers: Sequence[str]) -> str:
    """Return characters per token by content kind and tokenizer as a Markdown table.

    Each cell: pooled ratio, 95 % interval over transcripts, and the 10th to 90th percentile of single texts.
    """
    lines = [f"| kind | texts | characters | {' | '.join(tokenizers)} |", "|---|--:|--:|" + "--:|" * len(tokenizers)]
    for kind, texts in kinds.items():
        cells = [kind, f"{len(texts):,}", f"{sum(text.chars for text in texts):,}"]
        cells += [_matrix_cell(texts, number) for number in range(len(tokenizers))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _matrix_cell(texts: Sequence[Counted], number: int) -> str:
    ratio = ratio_of([(text.transcript, text.chars, text.tokens[number]) for text in texts])
    single = [text.chars / text.tokens[number] for text in texts if text.tokens[number] >= 20]
    spread = f"{np.percentile(single, 10):.1f}-{np.percentile(single, 90):.1f}" if len(single) >= 5 else "few"
    interval = f"±{(ratio.high - ratio.low) / 2:.2f}" if ratio.low is not None and ratio.high is not None else "n/a"
    return f"**{ratio.chars_per_token:.2f}** {interval} ({spread})"


if __name__ == "__main__":
    found = by_kind((one for path in sys.argv[1:] for one in read(path)), list(map(open_tokenizer, MATRIX_TOKENIZERS)))
    print(matrix(found, MATRIX_TOKENIZERS), end="")
