"""Haystack's counter: the characters of the conversation as one plain text."""

from collections.abc import Sequence

from ctxsim.counting.estimators.estimator import Estimator
from ctxsim.counting.estimators.serialized import if_json
from ctxsim.transcript import Head, Item


class Haystack(Estimator):
    """Characters // 4 of lines like `[user] text`, `[tool:name] text`, `[assistant -> tool_call] name(arguments)`.

    deepset-ai/haystack, haystack/token_counters/approximate_counter.py. Rounded once for all messages. An item is a
    line.
    """

    judged_at = ()

    def text(self, text: str) -> int:
        return len(text) // 4

    def item(self, item: Item) -> int:
        return _line(item) // 4 + sum(media.tokens for media in item.media)

    def message(self, items: Sequence[Item]) -> int:
        # Each line with a line feed.
        return sum(_line(item) + 1 for item in items if item.kind != "reasoning")

    def together(self, size: int, system: str = "") -> int:
        # No line feed behind the last line.
        return max(0, size + (len(f"[system] {system}\n") if system else 0) - 1) // 4

    def head(self, head: Head) -> int:
        return (len(head.system) + sum(map(len, head.tools))) // 4 + head.hidden


def _line(item: Item) -> int:
    match item.kind:
        case "tool_call":
            return len(f"[assistant -> tool_call] {item.tool}()") + len(if_json(item.text, sort_keys=True))
        case "tool_result":
            return len(f"[tool:{item.tool}] ") + len(item.text)
        case "assistant" | "reasoning":
            return len("[assistant] ") + len(item.text)
        case _:
            return len("[user] ") + len(item.text)
