"""Which vocabulary counts for a model, and whether it is its own."""

from __future__ import annotations

import pytest

from ctxsim.counting.tokenizers import bare, own_tokenizer, relative, tokenizer_of


@pytest.mark.parametrize(
    ("model", "vocabulary", "own"),
    [
        ("gpt-4o-mini", "o200k_base", True),
        ("gpt-4-turbo", "cl100k_base", True),
        ("openrouter/qwen/Qwen3-Coder", "qwen3", True),
        ("us.anthropic.claude-sonnet-4-5@20250929", "claude_3", True),
        ("claude-opus-4-20250514", "claude_3", True),
        ("claude-sonnet-4.6", "claude_3", True),
        ("claude-3-7-sonnet-latest", "claude_3", True),
        ("claude-4-opus", "claude_3", True),
        ("claude-2.1", "claude_3", True),
        ("claude-opus-4-7", "claude_4.7", True),
        ("openrouter/anthropic/claude-opus-4.8", "claude_4.7", True),
        ("claude-4.7-opus", "claude_4.7", True),
        ("claude-opus-5-4", "claude_4.7", True),
        ("claude-haiku-6", "claude_4.7", True),
        ("databricks-claude-opus-4-8", "claude_4.7", True),
        ("ca.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude_3", True),
        ("anthropic--claude-4.5-opus", "claude_3", True),
        # A vendor that publishes none: counted by another's.
        ("gemini-2.5-pro", "gemma3", False),
        ("nobody-knows-1", "o200k_base", False),
    ],
)
def test_a_models_vocabulary(model: str, vocabulary: str, own: bool) -> None:
    assert tokenizer_of(model) == (vocabulary, own)


def test_a_model_is_counted_by_its_vocabulary() -> None:
    assert own_tokenizer("claude-opus-4-7").name == "claude_4.7" and own_tokenizer("gpt-4-turbo").name == "cl100k_base"


@pytest.mark.parametrize("region", ["us", "us-gov", "eu", "apac", "jp", "au", "global"])
def test_a_region_is_no_part_of_a_name(region: str) -> None:
    assert bare(f"{region}.anthropic.claude-sonnet-4-5-20250929-v1:0") == "claude-sonnet-4-5-20250929-v1:0"


def test_one_vocabulary_counts_relative_to_another() -> None:
    # By models.toml 1.548 and 0.992 per token of o200k_base.
    assert relative("claude-opus-4-7", "gpt-4-turbo") == 1.548 / 0.992
