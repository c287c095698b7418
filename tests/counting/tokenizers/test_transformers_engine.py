"""What the transformers library is asked for: only what is on this machine, and no code of others."""

from __future__ import annotations

import sys
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import pytest

from ctxsim.counting.tokenizers.transformers_engine import TransformersTokenizer
from ctxsim.errors import UnknownName


def test_nothing_is_downloaded_or_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def from_pretrained(path_or_id: str, **options: Any) -> Any:
        asked.append(options)
        if path_or_id == "mine/gone":
            raise OSError("not cached")
        return SimpleNamespace()

    fake = SimpleNamespace(
        AutoTokenizer=SimpleNamespace(from_pretrained=from_pretrained), PreTrainedTokenizerFast=SimpleNamespace
    )
    monkeypatch.setitem(sys.modules, "transformers", fake)
    assert TransformersTokenizer("mine/model").name == "hf:mine/model"
    with pytest.raises(UnknownName, match="no tokenizer 'mine/gone' on this machine"):
        TransformersTokenizer("mine/gone")
    assert asked == [{"local_files_only": True, "trust_remote_code": False}] * 2


def test_ids_are_of_the_whole_text_and_of_nothing_special(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def encoded(texts: list[str], **options: Any) -> Any:
        asked.append((texts, options))
        return {"input_ids": [list(text.encode()) for text in texts]}

    auto = SimpleNamespace(from_pretrained=lambda path_or_id, **options: encoded)
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(AutoTokenizer=auto, PreTrainedTokenizerFast=None))
    tokenizer = TransformersTokenizer("mine/model")
    # Half of an emoji is no text: the replacement character stands for it.
    assert tokenizer.ids("ab\ud83d") == [97, 98, 0xEF, 0xBF, 0xBD]
    assert tokenizer.count_many(["abc", "", "\ud83d"]) == [3, 0, 3] and tokenizer.count_many([]) == []
    plain = {
        "add_special_tokens": False,
        "split_special_tokens": True,
        "return_attention_mask": False,
        "verbose": False,
    }
    assert asked == [(["ab\ufffd"], plain), (["abc", "", "\ufffd"], plain)]


def test_a_vocabulary_is_hashed_in_the_order_of_its_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = SimpleNamespace(get_vocab=lambda: {"b": 0, "\ud83d": 2, "a": 1})
    auto = SimpleNamespace(from_pretrained=lambda path_or_id, **options: fast)
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(AutoTokenizer=auto, PreTrainedTokenizerFast=None))
    assert TransformersTokenizer("mine/model").vocabulary_sha256 == sha256(b"b 0\na 1\n\xed\xa0\xbd 2\n").hexdigest()
