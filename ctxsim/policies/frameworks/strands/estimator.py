"""Strands' counter: four characters of text or two of JSON per token."""

from ctxsim.counting.estimators.estimator import Estimator, divided
from ctxsim.counting.estimators.serialized import written_again
from ctxsim.transcript import Head, Item


class Strands(Estimator):
    """ceil(length / 4) of a text, ceil(length / 2) of a call's arguments and of a tool's schema; images count 0.

    Arguments count as `json.dumps` writes them: a non-ASCII character is six characters or twelve.

    strands-agents/sdk-python, strands/models/model.py (_estimate_tokens_with_heuristic).
    """

    judged_at = ()

    def text(self, text: str) -> int:
        return divided(len(text), 4, "ceil")

    def item(self, item: Item) -> int:
        if item.kind == "tool_call":
            return self.text(item.tool) + divided(len(written_again(item.text)), 2, "ceil")
        return self.text(item.text)

    def head(self, head: Head) -> int:
        return self.text(head.system) + sum(divided(len(tool), 2, "ceil") for tool in head.tools) + head.hidden
