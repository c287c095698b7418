"""The two estimators of document 004: one tracks output tokens only, the other adds the characters of tool results."""

from collections.abc import Iterable
from dataclasses import dataclass

from ctxsim.counting.estimators.estimator import Divides, Estimator, Reported, Unit, divided, length
from ctxsim.transcript import RESPONSE_KINDS, Head, Item


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class ToolChars(Divides, OutputOnly):
    """Output-only tracking, with floor(length / ratio) for tool results. Document 004, option A (3.5; "or 4")."""

    ratio: float = 3.5
    unit: Unit = "utf16"

    def item(self, item: Item) -> int:
        return divided(length(item.text, self.unit), self.ratio, "floor") if item.kind == "tool_result" else 0
