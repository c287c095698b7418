"""A budget in characters. Over it, old tool exchanges are dropped, then everything but the last turns."""

from collections.abc import Callable

from ctxsim.counting.estimators.estimator import length
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.transcript import Item, Sizes
from ctxsim.view import View


def prune(view: View, size: Callable[[View], int], most: float, keep_tools: int, keep_turns: int, reason: str) -> View:
    """Return the view without old tool exchanges and, if its size is still over `most`, with only the last turns.

    The last `keep_tools` results stay with the calls they answer. A turn starts with a user text.
    """
    if size(view) <= most:
        return view
    kept = view.partners(item.place for item in view.results[max(0, len(view.results) - keep_tools) :])
    old = view.partners(item.place for item in view.results) - kept
    view = view.drop(old, reason)
    if size(view) <= most:
        return view
    starts = [item.place for item in view if item.kind == "user"]
    if len(starts) <= keep_turns:
        return view
    first = view.position(starts[-keep_turns])
    return view.drop([item.place for item in view[:first]], reason)


class CharBudget(Policy):
    """Over `chars` characters of content, drop old tool exchanges, then all but the last `keep_turns` turns.

    Document 002, agentLoop.ts: MAX_CONTEXT_CHARS, KEEP_LAST_TOOL_MESSAGES, TOOL_RESULT_SNIPPET_CHARS (a plain cut on
    arrival, in UTF-16 units). It doesn't say how messages are dropped. Here calls are dropped with their results,
    because providers refuse one without the other.
    """

    family = "seeds"
    source = "document 002, agentLoop.ts"

    chars: Positive = 180_000
    keep_tools: Count = 10
    snippet: Count = 4_000
    keep_turns: Positive = 12

    def on_tool_result(self, item: Item) -> Item:
        return item if length(item.text, "utf16") <= self.snippet else item.with_text(cut(item.text, self.snippet))

    def start(self) -> None:
        self._units = Sizes(lambda item: 0 if item.kind == "tool_call" else length(item.text, "utf16"))

    def before_call(self, view: View) -> View:
        reason = f"over {self.chars:,} characters"
        return prune(view, self._units.of, self.chars, self.keep_tools, self.keep_turns, reason)


def cut(text: str, units: int) -> str:
    """Return the longest beginning of a text in at most `units` UTF-16 units, as JavaScript's `slice` does."""
    return text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore")
