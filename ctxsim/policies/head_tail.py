"""Head and tail: keep the first and last lines of long output, within a byte limit."""

from dataclasses import dataclass
from itertools import accumulate

from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.transcript import Item


def marker(omitted: int, total: int) -> str:
    """The line that stands for what was left out."""
    return f"\n[... omitted {omitted} of {total} lines ...]\n"


def head_tail(text: str, lines: int, limit_bytes: int) -> str:
    """Return the first and last `lines` lines of a text, in at most `limit_bytes` UTF-8 bytes.

    Whole lines as long as they fit; where one line alone is too long it is cut between two characters. Text within
    both limits is returned unchanged.
    """
    rows = text.split("\n")
    size = len(text.encode("utf-8", "surrogatepass"))
    if size <= limit_bytes and len(rows) <= 2 * lines:
        return text
    room = max(0, limit_bytes - len(marker(len(rows), len(rows)).encode()))
    if len(rows) > 2 * lines:
        head, tail = rows[:lines], rows[-lines:]
    else:
        middle = (len(rows) + 1) // 2
        head, tail = rows[:middle], rows[middle:] or rows
    first, kept_first = _within(head, room - room // 2, from_end=False)
    last, kept_last = _within(tail, room // 2, from_end=True)
    omitted = len(rows) - kept_first - kept_last
    cut = first + marker(omitted, len(rows)) + last
    data = cut.encode("utf-8", "surrogatepass")
    # Only a limit below the marker's own length gets here with too much.
    return cut if len(data) <= limit_bytes else data[: max(0, limit_bytes)].decode("utf-8", "ignore")


def _within(rows: list[str], room: int, from_end: bool) -> tuple[str, int]:
    """Return as many whole rows as fit into `room` bytes, joined, and their number.

    If not even one fits, the part of it that does, which counts as omitted.
    """
    ordered = rows[::-1] if from_end else rows
    used = 0
    kept = 0
    for row in ordered:
        cost = len(row.encode("utf-8", "surrogatepass")) + (1 if kept else 0)
        if used + cost > room:
            break
        used += cost
        kept += 1
    if kept or not ordered:
        chosen = ordered[:kept]
        return "\n".join(chosen[::-1] if from_end else chosen), kept
    row = ordered[0][max(0, len(ordered[0]) - room) :] if from_end else ordered[0][:room]
    if row.isascii():
        return row, 0
    sizes = accumulate(
        len(character.encode("utf-8", "surrogatepass")) for character in (row[::-1] if from_end else row)
    )
    fitting = sum(size <= room for size in sizes)
    return (row[len(row) - fitting :] if from_end else row[:fitting]), 0


@dataclass
class HeadTail(Policy):
    """First and last `lines` lines and at most `bytes` bytes of each tool result. Document 003, layer 1.

    Both limits hold: its pseudo-code forgets the byte limit that its own test demands.
    """

    family = "seeds"
    source = "document 003, layer 1"

    lines: Positive = 128
    bytes: Count = 10_240

    def on_tool_result(self, item: Item) -> Item:
        return item.with_text(head_tail(item.text, self.lines, self.bytes))
