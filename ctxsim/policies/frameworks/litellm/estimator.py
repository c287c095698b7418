"""LiteLLM's counter: a vocabulary's count of every field of a message, and three tokens of framing."""

from collections.abc import Sequence

from ctxsim.counting.estimators.estimator import Estimator
from ctxsim.counting.estimators.real import Counts
from ctxsim.transcript import Head, Item

FRAME = 3
"""Tokens of framing of each message, for models after gpt-3.5-turbo-0301, and of the start of the reply."""
PIECE = 1_024
"""Characters of the pieces into which a text is cut before it is counted."""


class Litellm(Counts, Estimator):
    """Role, content, ids, names and arguments by a vocabulary, in pieces of 1,024 characters; no tool schemas.

    BerriAI/litellm, litellm/litellm_core_utils/token_counter.py: 3 more per message and for the reply, 1 more per name.
    Without a model's name it counts by cl100k_base. Its samples of texts over 4,000,000 characters aren't modelled.
    """

    judged_at = ()
    vocabulary: str = "cl100k_base"

    def text(self, text: str) -> int:
        return sum(self._counter.text(text[start : start + PIECE]) for start in range(0, len(text), PIECE))

    def item(self, item: Item) -> int:
        return self.message([item]) + sum(media.tokens for media in item.media)

    def together(self, size: int, system: str = "") -> int:
        return FRAME + size + (FRAME + self.text("system") + self.text(system) if system else 0)

    def message(self, items: Sequence[Item]) -> int:
        tokens, role = FRAME, "user"
        for item in items:
            if item.kind == "reasoning":
                continue
            tokens += self.text(item.text)
            if item.kind == "tool_result":
                role = "tool"
                tokens += self.text(item.call_id) + self.text(item.tool) + 1
            elif item.kind in ("assistant", "tool_call"):
                role = "assistant"
        return tokens + self.text(role)

    def head(self, head: Head) -> int:
        return self.together(0, head.system) + head.hidden
