"""Inspect's counter: o200k_base plus 10 %, with arguments written again as JSON."""

from ctxsim.counting.estimators.real import FullCount
from ctxsim.counting.estimators.serialized import written_again
from ctxsim.transcript import Item


class Inspect(FullCount):
    """o200k_base x 1.1 of texts, names and arguments; arguments as `json.dumps` writes them.

    UKGovernmentBEIS/inspect_ai, inspect_ai/model/_tokens.py. Rounded text by text; upstream rounds all at once.
    """

    factor: float = 1.1

    def item(self, item: Item) -> int:
        if item.kind == "tool_call":
            return self.text(item.tool) + self.text(written_again(item.text))
        return super().item(item)
