"""Head and tail: keep the first and last lines of long output, within a byte limit."""

from ctxsim.policies.agents.shared.tools import byte_length, first_bytes, last_bytes, rows_within
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.transcript import Item


def marker(omitted: int, total: int) -> str:
    """Return the line that stands for the omitted lines."""
    return f"\n[... omitted {omitted} of {total} lines ...]\n"


def head_tail(text: str, lines: int, limit_bytes: int) -> str:
    """Return the first and last `lines` lines of a text, in at most `limit_bytes` UTF-8 bytes.

    Lines stay whole, unless the first or the last one alone is too long: it is cut between two characters. A text
    within both limits is returned unchanged.
    """
    rows = text.split("\n")
    if byte_length(text) <= limit_bytes and len(rows) <= 2 * lines:
        return text
    room = max(0, limit_bytes - byte_length(marker(len(rows), len(rows))))
    if len(rows) > 2 * lines:
        head, tail = rows[:lines], rows[-lines:]
    else:
        middle = (len(rows) + 1) // 2
        head, tail = rows[:middle], rows[middle:] or rows
    first, last = rows_within(head, room - room // 2), rows_within(tail[::-1], room // 2)[::-1]
    # A row that doesn't fit is cut, and counts as omitted.
    before = "\n".join(first) if first else first_bytes(head[0], room - room // 2)
    behind = "\n".join(last) if last else last_bytes(tail[-1], room // 2)
    cut = before + marker(len(rows) - len(first) - len(last), len(rows)) + behind
    # This cuts only if the limit is less than the marker's own length.
    return first_bytes(cut, max(0, limit_bytes))


class HeadTail(Policy):
    """First and last `lines` lines and at most `bytes` bytes of each tool result. Document 003, layer 1.

    Both limits hold. The document's pseudo-code omits the byte limit, which the document's own test demands.
    """

    family = "seeds"
    source = "document 003, layer 1"

    lines: Positive = 128
    bytes: Count = 10_240

    def on_tool_result(self, item: Item) -> Item:
        return item.with_text(head_tail(item.text, self.lines, self.bytes))
