"""What the transformers library is asked for: only what is on this machine, and no code of others."""

from __future__ import annotations

import sys
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
