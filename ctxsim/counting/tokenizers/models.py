"""Which vocabulary counts for which model, and whether that is the vendor's own."""

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

_TABLES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def bare(model: str) -> str:
    """The model's own name, in lower case, without a router's, region's or vendor's prefix."""
    name = model.lower().rsplit("/", 1)[-1]
    for prefix in ("us.", "eu.", "apac.", "anthropic.", "openai.", "google."):
        name = name.removeprefix(prefix)
    return name.partition("@")[0]


def tokenizer_of(model: str) -> tuple[str, bool]:
    """Return the vocabulary for a model, and True if it is the model's own; an unknown model gets o200k_base."""
    name = bare(model)
    for table, vocabularies in _TABLES.items():
        for pattern, vocabulary in vocabularies.items():
            if fnmatchcase(name, pattern):
                return vocabulary, table == "own"
    return "o200k_base", False
