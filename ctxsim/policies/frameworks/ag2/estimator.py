"""AG2's counter: four characters per token, rounded down; a call counts as `name(arguments)`."""

from ctxsim.counting.estimators.estimator import Estimator
from ctxsim.transcript import Item


class Ag2(Estimator):
    """length // 4 of every text, and of `name(arguments)`. No head.

    ag2ai/ag2, ag2/events/sizing.py (estimated_tokens).
    """

    judged_at = ()
    counts_head = False

    def text(self, text: str) -> int:
        return len(text) // 4

    def item(self, item: Item) -> int:
        if item.kind == "tool_call":
            return (len(item.tool) + len(item.text) + 2) // 4
        return self.text(item.text)
