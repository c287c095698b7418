"""Three engines, one truth: counts are equal on everything that has ever made fast tokenizers differ."""

from __future__ import annotations

import copy
from importlib.metadata import version

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxsim.counting.tokenizers import open_tokenizer, splintr_engine
from ctxsim.counting.tokenizers.splintr_engine import VOCABULARIES, SplintrTokenizer
from ctxsim.counting.tokenizers.tiktoken_engine import TiktokenTokenizer
from ctxsim.errors import UnknownName
from evidence.tokenizers import compare, hard_texts, transformers_copy

RANKED = ("o200k_base", "cl100k_base")


def test_known_counts() -> None:
    # By hand from the published vocabulary: "hello" and " world" are tokens; <|endoftext|> is 7 ordinary ones.
    assert open_tokenizer("o200k_base").count_many(["hello world", "", "<|endoftext|>"]) == [2, 0, 7]


def test_known_ids() -> None:
    for name in ("o200k_base", "tiktoken:o200k_base"):
        assert open_tokenizer(name).ids("hello world") == [24_912, 2_375]


@pytest.mark.parametrize("vocabulary", RANKED)
@settings(max_examples=25)
@given(st.lists(st.text(st.characters(), max_size=80), max_size=3))
def test_engines_agree_on_any_text(vocabulary: str, texts: list[str]) -> None:
    assert open_tokenizer(vocabulary).count_many(texts) == open_tokenizer(f"tiktoken:{vocabulary}").count_many(texts)


@pytest.mark.slow
def test_engines_agree_on_every_text_that_has_ever_made_fast_ones_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the third engine a whole vocabulary takes seconds: `evidence/` compares it, this a part of one."""
    part, reference = 2_000, copy.copy(open_tokenizer("tiktoken:cl100k_base"))
    assert isinstance(reference, TiktokenTokenizer)
    whole = reference._encoding
    ranks = {text: rank for text, rank in whole._mergeable_ranks.items() if rank < part}
    reference._encoding = tiktoken.Encoding(
        "part", pat_str=whole._pat_str, mergeable_ranks=ranks, special_tokens=whole._special_tokens
    )
    texts = hard_texts()
    assert transformers_copy("cl100k_base", part).count_many(texts) == reference.count_many(texts)
    monkeypatch.setattr("evidence.tokenizers.transformers_copy", open_tokenizer)
    found = list(compare())
    assert [(name, differ) for name, _, _, differ in found] == [(name, 0) for name in RANKED] and found[0][2] > 100


def test_vocabulary_hash_is_the_one_tiktoken_expects() -> None:
    # openai/tiktoken, tiktoken_ext/openai_public.py: expected_hash of o200k_base.
    expected = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    assert open_tokenizer("o200k_base").vocabulary_sha256 == expected
    assert open_tokenizer("tiktoken:o200k_base").vocabulary_sha256 == expected
    # ctxsim's own file of measured pieces: a run names it.
    assert open_tokenizer("claude_3").vocabulary_sha256.startswith("b31e597e089d8b9d")


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_special_strings_are_ordinary_text_singly_and_in_batches(vocabulary: str) -> None:
    tokenizer = SplintrTokenizer(vocabulary)
    engine = tokenizer._engine
    texts = [f"a {token} b" for token in sorted(engine.special_tokens())] + ["plain text"]
    boundary = len(engine.encode_ordinary(""))
    expected = [len(engine.encode_ordinary(text)) - boundary for text in texts]
    assert tokenizer.count_many(texts) == expected and min(expected) > 0
    assert [tokenizer.count_many([text])[0] for text in texts] == expected


def test_counting_a_text_in_pieces_or_alone_is_the_same() -> None:
    texts = hard_texts()[3:]
    tokenizer = open_tokenizer("llama3")
    assert tokenizer.count_many(texts) == [tokenizer.count_many([text])[0] for text in texts]


@pytest.mark.parametrize("name", ["o200k_base", "llama2", "mistral_v1", "phi4"])
def test_a_stored_hash_is_that_of_the_vocabulary(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if version("splintr-rs") != splintr_engine.STORED_FOR:
        pytest.skip("the hashes of another wheel are stored; they are computed here")
    assert set(splintr_engine.STORED) == set(VOCABULARIES)
    stored = splintr_engine.vocabulary_sha256(name)
    monkeypatch.setattr(splintr_engine, "STORED_FOR", "another")
    monkeypatch.setattr(splintr_engine, "STORED", {})
    assert splintr_engine.vocabulary_sha256(name) == stored


def test_unknown_names_say_what_is_close() -> None:
    with pytest.raises(UnknownName, match="did you mean o200k_base"):
        open_tokenizer("o200k")
    with pytest.raises(UnknownName):
        open_tokenizer("nobody:o200k_base")
    with pytest.raises(UnknownName, match="on this machine"):
        open_tokenizer("hf:no/such-model")
    with pytest.raises(UnknownName, match="needs a path"):
        open_tokenizer("hf:")
