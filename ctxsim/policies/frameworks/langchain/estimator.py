"""LangChain's approximate counter, with its scaling by the last reported usage."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ctxsim.counting.estimators.estimator import Estimator, PerToken, Reported, divided
from ctxsim.counting.estimators.serialized import parsed
from ctxsim.transcript import Head, Item


class Langchain(Estimator):
    """ceil(chars / ratio) + 3 per message; characters of ids, roles and names count, images count 85.

    langchain-ai/langchain, langchain_core/messages/utils.py, count_tokens_approximately (ratio 4.0; 3.3 where the model
    is Claude). Its middleware passes neither system prompt nor tools, so the head counts 0. `scaling` multiplies by
    reported / estimated tokens of the last usage, between 1.0 and 1.25.
    """

    judged_at = ("", "scaling=true")
    counts_head = False
    ratio: PerToken = 4.0
    scaling: bool = False

    def text(self, text: str) -> int:
        return divided(len(text), self.ratio, "ceil")

    def item(self, item: Item) -> int:
        match item.kind:
            case "tool_result":
                chars = len(item.text) + len(item.call_id) + len("tool") + len(item.tool)
            case "tool_call":
                call = {"name": item.tool, "args": item.text, "id": item.call_id, "type": "tool_call"}
                chars = len(repr([call]))
            case "assistant":
                chars = len(item.text) + len("assistant")
            case _:
                chars = len(item.text) + len("user")
        # Calls are part of their response's message, for which its text counts the 3 tokens.
        extra = 0 if item.kind == "tool_call" else 3
        return divided(chars, self.ratio, "ceil") + extra + 85 * len(item.media)

    def together(self, size: int, system: str = "") -> int:
        return size + (self._framed(len(system) + len("system")) if system else 0)

    def message(self, items: Sequence[Item]) -> int:
        """Tokens of one message, rounded as in LangChain: a response's calls are one list with parsed arguments."""
        calls = [_written(item.tool, item.text, item.call_id) for item in items if item.kind == "tool_call"]
        # Two more characters for each: a comma and a space, or the two brackets.
        chars = sum(calls) + 2 * len(calls)
        role, images = "user", 0
        for item in items:
            images += len(item.media)
            if item.kind == "tool_result":
                role = "tool"
                chars += len(item.call_id) + len(item.tool)
            elif item.kind in ("assistant", "tool_call", "reasoning"):
                role = "assistant"
            if item.kind not in ("tool_call", "reasoning"):
                chars += len(item.text)
        return self._framed(chars + len(role) + int(85 * self.ratio) * images)

    def _framed(self, chars: int) -> int:
        return divided(chars, self.ratio, "ceil") + 3

    def request(self, head: Head, size: int, items: Iterable[Item], reported: Reported) -> int:
        usage = reported.usage
        if not self.scaling or usage is None or not reported.size:
            return size
        factor = usage.total_tokens / reported.size
        return -int(-size * min(1.25, max(1.0, factor)) // 1)


@lru_cache(maxsize=1 << 15)
def _written(tool: str, arguments: str, call_id: str) -> int:
    """Characters of a call as the framework writes it, with its arguments parsed if they are an object."""
    value = parsed(arguments)
    args = value if isinstance(value, dict) else arguments
    return len(repr({"name": tool, "args": args, "id": call_id, "type": "tool_call"}))
