"""The last reported usage plus an estimate of the items since: the error grows with these, not with the context."""

from collections.abc import Iterable
from dataclasses import dataclass

from ctxsim.counting.estimators.chars import Chars
from ctxsim.counting.estimators.estimator import Reported, gone_on
from ctxsim.transcript import Head, Item


@dataclass(frozen=True)
class UsageTail(Chars):
    """Input and output tokens of the last accepted call + length / ratio of what joined (or left) since.

    openai/codex (bytes), opencode v2 (round, utf16), qwen-code, pydantic-ai harness (floor, points). Before the first
    usage it is the plain estimate.
    """

    def request(self, head: Head, size: int, items: Iterable[Item], reported: Reported) -> int:
        return gone_on(self, head, size, reported)
