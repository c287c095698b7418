"""Estimates from reported usage: output tokens only, with the characters of tool results, or the last total and what
joined since. The first two are those of document 004.
"""

from collections.abc import Iterable

from ctxsim.counting.estimators.chars import Chars
from ctxsim.counting.estimators.estimator import Estimator, PerToken, Reported, Unit, divided, length
from ctxsim.transcript import RESPONSE_KINDS, Head, Item


class OutputOnly(Estimator):
    """Responses count their reported output tokens; tool and user messages and the head count 0.

    Document 004, "Critical Finding": what CalculateTotalTokens() returns.
    """

    def text(self, text: str) -> int:
        return 0

    def item(self, item: Item) -> int:
        return 0

    def request(self, head: Head, size: int, items: Iterable[Item], reported: Reported) -> int:
        present = {item.message for item in items if item.kind in RESPONSE_KINDS}
        return sum(tokens for message, tokens in reported.outputs.items() if message in present) + size


class ToolChars(OutputOnly):
    """Output-only tracking, with floor(length / ratio) for tool results. Document 004, option A (3.5; "or 4")."""

    ratio: PerToken = 3.5
    unit: Unit = "utf16"

    def item(self, item: Item) -> int:
        return divided(length(item.text, self.unit), self.ratio, "floor") if item.kind == "tool_result" else 0


class UsageTail(Chars):
    """Input and output tokens of the last accepted call + length / ratio of what joined (or left) since.

    openai/codex (bytes), opencode v2 (round, utf16), qwen-code, pydantic-ai harness (floor, points). Before the first
    usage it is the plain estimate.
    """

    goes_on = True
