"""A limit on the length of each new tool result."""

from ctxsim.policies.policy import Count, Policy
from ctxsim.transcript import Item


class MaxResultChars(Policy):
    """Cut each tool result to `chars` characters at ingestion. Document 000, `MaxToolResultChars`, without marker."""

    family = "seeds"
    source = "document 000, MaxToolResultChars"

    chars: Count

    def on_tool_result(self, item: Item) -> Item:
        return item if len(item.text) <= self.chars else item.with_text(item.text[: self.chars])
