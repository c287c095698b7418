"""The last reported usage plus an estimate of what came since: the error grows with the tail, not with the context."""

from collections.abc import Iterable
from dataclasses import dataclass

from ctxsim.counting.estimators.chars import Chars
from ctxsim.counting.estimators.estimator import Reported
from ctxsim.transcript import Head, Item


@dataclass(frozen=True)
class UsageTail(Chars):
    """Input and output tokens of the last accepted call + length / ratio of what joined (or left) since.

    openai/codex (bytes), opencode v2 (round, utf16), qwen-code, pydantic-ai harness (floor, points). Before the first
    usage it is the plain estimate.
    """

    name = "usage-tail"

    def request(self, head: Head, size: int, items: Iterable[Item], reported: Reported) -> int:
        if reported.usage is None:
            return self.head(head) + size
        return max(0, reported.usage.total_tokens + size - reported.size)
