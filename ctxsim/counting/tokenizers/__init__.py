"""Real token counts, offline: tokenizer names, engines, what is available on this machine, and models' vocabularies.

`o200k_base` is the default engine's vocabulary, `tiktoken:o200k_base` the reference engine's, `claude_3` one of
Claude's, `hf:PATH_OR_ID` any tokenizer of the transformers library that is already on this machine.
"""

import re
import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Protocol

from ctxsim.counting.tokenizers.splintr_engine import RANKED, VOCABULARIES, SplintrTokenizer
from ctxsim.errors import UnknownName, unknown

DEFAULT = "o200k_base"

CLAUDE = ("claude_3", "claude_4.7")
"""The vocabularies of Claude up to Opus 4.6, and from Opus 4.7 on."""

DATED = re.compile(r"-20\d\d(-?)\d\d\1\d\d$")
"""Matches the date at the end of a model's name, as `-20250929` or `-2025-09-29`."""


class Tokenizer(Protocol):
    """Counts tokens of untrusted text: special tokens in it count as ordinary text."""

    @property
    def name(self) -> str: ...

    @property
    def vocabulary_sha256(self) -> str: ...

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, counted separately."""

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text."""


def available() -> list[str]:
    """Return the names that can be opened without network on this machine, apart from `hf:` names."""
    return [*VOCABULARIES, *CLAUDE, *(f"tiktoken:{name}" for name in RANKED)]


@lru_cache(maxsize=8)
def open_tokenizer(name: str = DEFAULT) -> Tokenizer:
    """Return the tokenizer called `name`.

    Raises UnknownName for an unknown name, with close ones, and for an `hf:` tokenizer that isn't on this machine.
    """
    engine, colon, rest = name.partition(":")
    # Each engine is imported only when one of its tokenizers is opened.
    if engine == "hf" and rest:
        from ctxsim.counting.tokenizers.transformers_engine import TransformersTokenizer

        return TransformersTokenizer(rest)
    if engine == "tiktoken" and rest in RANKED:
        from ctxsim.counting.tokenizers.tiktoken_engine import TiktokenTokenizer

        return TiktokenTokenizer(rest)
    if name in CLAUDE:
        from ctxsim.counting.tokenizers.claude_engine import ClaudeTokenizer

        return ClaudeTokenizer(name)
    if not colon and name in VOCABULARIES:
        return SplintrTokenizer(name)
    if engine == "hf":
        raise UnknownName("hf: needs a path or a cached model id, as in hf:./tokenizer.json")
    raise unknown("tokenizer", name, available())


@cache
def _tables() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))


REGIONS = ("us.", "us-gov.", "eu.", "apac.", "jp.", "au.")
"""Prefixes of inference profiles of a region (Amazon Bedrock User Guide); `global.` is that of no region."""


MARK = "[1m]"
"""Suffix of the name of a model that was requested with a window of a million tokens."""


FIREWORKS = "accounts/fireworks/"
"""Begins the names of a host that writes 2p6 for 2.6."""


def bare(model: str) -> str:
    """Return a model's own name in lower case, without MARK and prefixes of routers, regions, vendors, up to an `@`."""
    name = model.lower().removesuffix(MARK).rpartition("/")[-1]
    for prefix in (*REGIONS, "global.", "anthropic.", "openai.", "google."):
        name = name.removeprefix(prefix)
    if FIREWORKS in model.lower():
        name = re.sub(r"(?<=\d)p(?=\d)", ".", name)
    # Gateways put their own words before it: databricks-claude-opus-4-8.
    return name[max(0, name.find("claude-")) :].partition("@")[0]


def tokenizer_of(model: str) -> tuple[str, bool]:
    """Return the vocabulary for a model, and True if it is the model's own; an unknown model gets o200k_base."""
    name = bare(model)
    for table in ("own", "stand_ins"):
        for pattern, vocabulary in _tables()[table].items():
            if fnmatchcase(name, pattern):
                return vocabulary, table == "own"
    return DEFAULT, False


OWN = "each model's own tokenizer"
"""What stands for a tokenizer's name where each transcript's model decides."""


def own_tokenizer(model: str) -> Tokenizer:
    """Return the tokenizer that counts for a model."""
    return open_tokenizer(tokenizer_of(model)[0])


def per_default(vocabulary: str) -> float:
    """Return the tokens of a vocabulary per token of o200k_base, as on recordings; 1 for one that wasn't measured."""
    return float(_tables()["per_default"].get(vocabulary, 1.0))


def relative(model: str, other: str) -> float:
    """Return the tokens of a model's vocabulary per token of another model's."""
    return per_default(tokenizer_of(model)[0]) / per_default(tokenizer_of(other)[0])
