"""Gemini CLI's weights: ASCII and other characters count differently."""

from ctxsim.counting.estimators.estimator import Estimator, length
from ctxsim.transcript import Item


class Gemini(Estimator):
    """0.25 per ASCII character and `other` per further UTF-16 unit; length / 4 over 100,000, and for tool results.

    google-gemini/gemini-cli, packages/core/src/utils/tokenCalculation.ts (1.5; earlier versions 1.3). Its results count
    as plain JSON length / 4, whatever their script.
    """

    other: float = 1.5

    def text(self, text: str) -> int:
        size = length(text, "utf16")
        if size > 100_000:
            return size // 4
        ascii_count = sum(map(str.isascii, text)) if not text.isascii() else size
        return int(0.25 * ascii_count + self.other * (size - ascii_count))

    def item(self, item: Item) -> int:
        if item.kind in ("tool_result", "tool_call"):
            size = sum(length(text, "utf16") for text in item.texts)
            return size // 4 + sum(media.tokens for media in item.media)
        return super().item(item)
