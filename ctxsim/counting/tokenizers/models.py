"""Which vocabulary counts for which model, and whether that is the vendor's own."""

from __future__ import annotations

from fnmatch import fnmatchcase

PUBLIC: tuple[tuple[str, str], ...] = (
    # pattern of the model's name: vocabulary. The first that fits decides.
    ("gpt-4o*", "o200k_base"),
    ("gpt-4.1*", "o200k_base"),
    ("gpt-4.5*", "o200k_base"),
    ("gpt-4*", "cl100k_base"),
    ("gpt-3.5*", "cl100k_base"),
    ("gpt-*", "o200k_base"),
    ("chatgpt-*", "o200k_base"),
    ("o[134]*", "o200k_base"),
    ("codex*", "o200k_base"),
    ("deepseek*", "deepseek_v3"),
    ("qwen*", "qwen3"),
    ("kimi*", "kimi_k2"),
    ("moonshot*", "kimi_k2"),
    ("glm*", "glm4"),
    ("llama-2*", "llama2"),
    ("*llama-3*", "llama3"),
    ("*llama3*", "llama3"),
    ("mistral-nemo*", "mistral_v3"),
    ("mistral-large*", "mistral_v3"),
    ("mistral-medium*", "mistral_v3"),
    ("devstral*", "mistral_v3"),
    ("codestral*", "mistral_v2"),
    ("mi[sx]tral-*", "mistral_v1"),
    ("phi-4*", "phi4"),
    ("gemma-3*", "gemma3"),
    ("gemma-2*", "gemma2"),
)

STAND_INS: tuple[tuple[str, str], ...] = (
    # Vendors that publish no tokenizer. Gemma's vocabulary comes from Gemini's.
    ("gemini*", "gemma3"),
    ("claude*", "o200k_base"),
)


def bare(model: str) -> str:
    """The model's own name, in lower case, without a router's, region's or vendor's prefix."""
    name = model.lower().rsplit("/", 1)[-1]
    for prefix in ("us.", "eu.", "apac.", "anthropic.", "openai.", "google."):
        name = name.removeprefix(prefix)
    return name.partition("@")[0]


def tokenizer_of(model: str) -> tuple[str, bool]:
    """Return the vocabulary for a model, and True if it is the model's own; an unknown model gets o200k_base."""
    name = bare(model)
    for table, own in ((PUBLIC, True), (STAND_INS, False)):
        for pattern, vocabulary in table:
            if fnmatchcase(name, pattern):
                return vocabulary, own
    return "o200k_base", False
