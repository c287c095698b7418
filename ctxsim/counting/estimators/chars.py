"""Characters divided by a constant: the rule of thumb that most agents use."""

from dataclasses import dataclass

from ctxsim.counting.estimators.estimator import Divides, Estimator, Rounding, Unit, divided, length


@dataclass(frozen=True)
class Chars(Divides, Estimator):
    """length / ratio per text.

    ratio=4 (pi, qwen-code: ceil, utf16; opencode: round, utf16; Gemini documentation), 3.5 (document 004: floor,
    utf16), 3 (document 002: ceil, utf16), 3.7 (Token Bill).
    """

    judged_at = ("", "ratio=3.5", "ratio=3")
    ratio: float = 4.0
    rounding: Rounding = "ceil"
    unit: Unit = "points"

    def text(self, text: str) -> int:
        return divided(length(text, self.unit), self.ratio, self.rounding)


@dataclass(frozen=True)
class Bytes(Divides, Estimator):
    """UTF-8 bytes / ratio, up. openai/codex, utils/string/src/truncate.rs (4); charmbracelet/crush ((n + 3) / 4)."""

    ratio: float = 4.0

    def text(self, text: str) -> int:
        return divided(length(text, "bytes"), self.ratio, "ceil")
