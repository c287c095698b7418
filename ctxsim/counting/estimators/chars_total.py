"""Characters of each message, or of all messages together, divided by a constant and rounded once per division."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ctxsim.counting.estimators.estimator import Divides, Estimator, Rounding, divided
from ctxsim.transcript import Head, Item


@dataclass(frozen=True)
class CharsTotal(Divides, Estimator):
    """Characters of texts, and of calls' names and arguments, over `ratio`; rounded for all at once or by `message`.

    pydantic/pydantic-ai-harness, pydantic_ai_harness/compaction (4, down). Tool schemas aren't counted.
    """

    judged_at = ()
    ratio: float = 4.0
    by: Literal["all", "message"] = "all"
    rounding: Rounding = "floor"

    def text(self, text: str) -> int:
        return divided(len(text), self.ratio, self.rounding)

    def messages(self, messages: Iterable[Sequence[Item]], system: str = "") -> int:
        chars = [sum(len(text) for item in message for text in item.texts) for message in messages]
        parts = [sum(chars) + len(system)] if self.by == "all" else [*chars, len(system)]
        return sum(divided(size, self.ratio, self.rounding) for size in parts)

    def head(self, head: Head) -> int:
        return self.text(head.system) + head.hidden
