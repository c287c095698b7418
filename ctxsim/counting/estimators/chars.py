"""Characters or bytes divided by a constant, the rule of thumb that most agents use: rounded by text or for more."""

from collections.abc import Sequence
from typing import Literal

from ctxsim.counting.estimators.estimator import Estimator, PerToken, Rounding, Unit, divided, length
from ctxsim.transcript import Head, Item


class Chars(Estimator):
    """length / ratio per text.

    ratio=4 (pi, qwen-code: ceil, utf16; opencode: round, utf16; Gemini documentation), 3.5 (document 004: floor,
    utf16), 3 (document 002: ceil, utf16), 3.7 (Token Bill).
    """

    judged_at = ("", "ratio=3.5", "ratio=3")
    ratio: PerToken = 4.0
    rounding: Rounding = "ceil"
    unit: Unit = "points"

    def text(self, text: str) -> int:
        return divided(length(text, self.unit), self.ratio, self.rounding)


class Bytes(Estimator):
    """UTF-8 bytes / ratio, up. openai/codex, utils/string/src/truncate.rs (4); charmbracelet/crush ((n + 3) / 4)."""

    ratio: PerToken = 4.0

    def text(self, text: str) -> int:
        return divided(length(text, "bytes"), self.ratio, "ceil")


class CharsTotal(Estimator):
    """Characters of texts, and of calls' names and arguments, over `ratio`; rounded for all at once or by `message`.

    pydantic/pydantic-ai-harness, pydantic_ai_harness/compaction (4, down). Tool schemas aren't counted.
    """

    judged_at = ()
    ratio: PerToken = 4.0
    by: Literal["all", "message"] = "all"
    rounding: Rounding = "floor"

    def text(self, text: str) -> int:
        return divided(len(text), self.ratio, self.rounding)

    def message(self, items: Sequence[Item]) -> int:
        chars = sum(len(text) for item in items for text in item.texts)
        return chars if self.by == "all" else divided(chars, self.ratio, self.rounding)

    def together(self, size: int, system: str = "") -> int:
        if self.by == "all":
            return divided(size + len(system), self.ratio, self.rounding)
        return size + self.text(system)

    def head(self, head: Head) -> int:
        return self.text(head.system) + head.hidden
