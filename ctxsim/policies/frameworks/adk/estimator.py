"""The Agent Development Kit's counter: the sum of all characters, with results as JSON, divided once."""

import json
from collections.abc import Sequence

from ctxsim.counting.estimators.estimator import Estimator
from ctxsim.counting.estimators.serialized import written_again
from ctxsim.transcript import Item


class Adk(Estimator):
    """Characters // 4 of all messages at once: texts, names, arguments and `{"result": text}` as JSON. No head.

    google/adk-python, google/adk/apps/compaction.py (_estimate_prompt_token_count). One item alone is rounded likewise.
    """

    judged_at = ()
    counts_head = False

    def text(self, text: str) -> int:
        return len(text) // 4

    def item(self, item: Item) -> int:
        return _chars(item) // 4

    def message(self, items: Sequence[Item]) -> int:
        return sum(map(_chars, items))

    def together(self, size: int, system: str = "") -> int:
        return size // 4


def _chars(item: Item) -> int:
    if item.kind == "tool_result":
        return len(item.tool) + len(json.dumps({"result": item.text}))
    if item.kind == "tool_call":
        again = written_again(item.text)
        # Upstream counts arguments only if there are any.
        return len(item.tool) + (len(again) if again != "{}" else 0)
    return len(item.text)
