"""GitHub Copilot CLI: compaction in parallel with the conversation, which takes effect one request later."""

from ctxsim.policies.agents.shared.tools import byte_length
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive, Share
from ctxsim.transcript import Item
from ctxsim.view import View


class CopilotCli(Policy):
    """From `at` of the window on, by its own count, make a summary in parallel with a request, and use it at the next.

    Closed source: as observed. Usage isn't used. The summary replaces the items that were sent when it began, and
    quotes all texts of the user; later items stay. Its count was ours plus 4 tokens for each message, plus `overhead`
    for its tools. A result of `large_output_bytes` or more (19.7 KB stayed, 27.4 KB did not) becomes a notice with its
    first five lines and a file's name. A refused request ends the turn.
    """

    source = "github/copilot-cli, as observed"
    decides_by = "tokenizer"
    summary_head = None  # the same tools, system prompt and messages: observed with 1.0.102

    at: Share = SHIPPED
    overhead: Count = SHIPPED
    large_output_bytes: Positive = SHIPPED
    summary_tokens: Positive = 1_500

    def start(self) -> None:
        self._summarised: tuple[str, list[int]] | None = None
        self._asked: dict[int, str] = {}

    def threshold(self) -> float:
        return self.at * self.sees.window

    def on_tool_result(self, item: Item) -> Item:
        if byte_length(item.text) < self.large_output_bytes:
            return item
        lines = "\n".join(item.text.split("\n")[:5])[:600]
        return item.with_text(
            f"Output too large to show: {byte_length(item.text):,} bytes are in the file tool-{item.place}.txt. "
            f"Search it or view a range of it.\n\nPreview:\n{lines}"
        )

    def before_call(self, view: View) -> View:
        if self._summarised is not None:
            view = self._swapped(view, *self._summarised)
            self._summarised = None
        used = self.sees.estimate(view) + self.overhead
        if used >= self.threshold() and not all(item.synthetic for item in view):
            text = self.sees.summarize(view, self.summary_tokens)
            if text is not None:
                self._asked |= {item.place: item.text for item in view if item.kind == "user"}
                self._summarised = (text, [item.place for item in view])
        return view

    def _swapped(self, view: View, text: str, places: list[int]) -> View:
        gone = {place for place in places if view.find(place) is not None}
        # A response whose results came later stays with them.
        later = [item for item in view if item.place not in gone]
        gone -= {item.answers for item in later if item.answers is not None}
        reason = f"at {self.at:.0%} of the window by its own count, one request ago"
        at = next((item.order for item in later), 0)
        quoted = "\n\n".join(["User messages:", *self._asked.values(), text])
        return view.drop(gone, reason).insert(quoted, at, reason, kind="summary", sources=gone)
