"""Do the engines agree? The same texts counted by each engine that has a vocabulary.

python -m evidence.tokenizers
"""

from __future__ import annotations

import json
import random
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from ctxsim.counting.tokenizers import Tokenizer, open_tokenizer
from ctxsim.counting.tokenizers.splintr_engine import RANKED, VOCABULARIES
from ctxsim.counting.tokenizers.tiktoken_engine import TiktokenTokenizer
from ctxsim.counting.tokenizers.transformers_engine import TransformersTokenizer


@cache
def hard_texts() -> list[str]:
    """Return texts on which fast tokenizers have gone wrong: long runs, base64, scripts, white space, specials."""
    rng = random.Random(0)
    blob = b64encode(rng.randbytes(30_000)).decode()
    texts = [
        "a" * 200_000,
        " " * 200_000,
        "\n" * 200_000,
        blob,
        "漢字と仮名の混ざった文章。" * 200,
        "안녕하세요 세계 " * 200,
        " \t\n \r\n\u00a0\u2003\u3000 x" * 300,
        "lone \ud800 surrogate \udfff",
        "e\u0301 \U0001f469\u200d\U0001f469\u200d\U0001f467 \u0645\u0631\u062d\u0628\u0627",
        "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 " * 100,
        json.dumps({"rows": [{"id": n, "value": rng.random()} for n in range(500)]}),
        "I'm you'LL we've DON'T it's HE'S 12345678 3.14159 \x00\x01\x7f",
        "",
    ]
    import splintr

    special = {token for name in VOCABULARIES for token in splintr.Tokenizer.from_pretrained(name).special_tokens()}
    return texts + [f"before {token} after{token}" for token in sorted(special)]


@cache
def transformers_copy(vocabulary: str, most: int | None = None) -> TransformersTokenizer:
    """Return the transformers library's tokenizer of tiktoken's first `most` ranks, converted by transformers itself."""
    from transformers.convert_slow_tokenizer import TikTokenConverter

    from ctxsim.counting.tokenizers.splintr_engine import rank_file

    tiktoken = open_tokenizer(f"tiktoken:{vocabulary}")
    assert isinstance(tiktoken, TiktokenTokenizer)
    encoding = tiktoken._encoding
    # The tokenizers library's regular expressions read `{1,3}+` as a repetition, not as possessive, and `$` as the end
    # of any line. Possessive quantifiers only save time here, so the plain ones say the same.
    pattern = re.sub(r"([?*+]|\{\d+,\d+\})\+", r"\1", encoding._pat_str).replace("$", r"\z")
    with TemporaryDirectory() as folder:
        ranks = Path(folder) / f"{vocabulary}.tiktoken"
        ranks.write_bytes(b"".join(rank_file(vocabulary).splitlines(keepends=True)[:most]))
        converter = TikTokenConverter(
            vocab_file=str(ranks), pattern=pattern, extra_special_tokens=list(encoding._special_tokens)
        )
        file = Path(folder) / "tokenizer.json"
        converter.converted().save(str(file))
        return TransformersTokenizer(str(file))


def compare(vocabularies: Iterable[str] = RANKED) -> Iterator[tuple[str, list[str], int, int]]:
    """Return per vocabulary: its name, the engines that have it, the number of texts, and how many counts differ."""
    texts = hard_texts()
    for vocabulary in vocabularies:
        engines: list[Tokenizer] = [
            open_tokenizer(vocabulary), open_tokenizer(f"tiktoken:{vocabulary}"), transformers_copy(vocabulary)
        ]  # fmt: skip
        counts = [engine.count_many(texts) for engine in engines]
        differ = sum(len(set(numbers)) > 1 for numbers in zip(*counts, strict=True))
        yield vocabulary, ["splintr", "tiktoken", "transformers"], len(texts), differ


if __name__ == "__main__":
    for vocabulary, engines, texts, disagreements in compare():
        print(f"{vocabulary}: {', '.join(engines)} on {texts} texts: {disagreements} disagreements")
