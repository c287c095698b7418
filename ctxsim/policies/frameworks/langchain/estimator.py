"""LangChain's approximate counter, with its scaling by the last reported usage."""

from collections.abc import Iterable, Sequence

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

    def messages(self, messages: Iterable[Sequence[Item]], system: str = "") -> int:
        counted = self._framed(len(system) + len("system")) if system else 0
        return counted + sum(map(self._message, messages))

    def _message(self, items: Sequence[Item]) -> int:
        """Tokens of one message, rounded as in LangChain: a response's calls are one list with parsed arguments."""
        calls = [
            {"name": item.tool, "args": _arguments(item.text), "id": item.call_id, "type": "tool_call"}
            for item in items
            if item.kind == "tool_call"
        ]
        chars = len(repr(calls)) if calls else 0
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


def _arguments(text: str) -> object:
    """A call's arguments as the framework stores them: parsed if they are an object, else as text."""
    value = parsed(text)
    return value if isinstance(value, dict) else text
