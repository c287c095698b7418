"""What if a tool had said less: its large results never come in."""

from dataclasses import dataclass

from ctxsim.policies.policy import Count, Policy
from ctxsim.transcript import Item


@dataclass
class Without(Policy):
    """Replace each result of `tool` of more than `bytes` UTF-8 bytes by one line as it comes in.

    A question rather than a rule to run: how much of the bill is this tool's? `ctxsim window` asks it of each tool.
    """

    tool: str
    bytes: Count = 10_240

    def on_tool_result(self, item: Item) -> Item:
        size = len(item.text.encode("utf-8", "surrogatepass"))
        if item.tool != self.tool or size <= self.bytes:
            return item
        return item.with_text(f"[a result of {size} bytes was left out]")
