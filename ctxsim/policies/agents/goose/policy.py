"""goose: at the start of a turn, a summary and the user's last text."""

from collections.abc import Sequence

from ctxsim.policies.agents.shared.history import history_of, newly_asked, replaced
from ctxsim.policies.policy import SHIPPED, Overflow, Policy, Positive, ShareOrOff
from ctxsim.transcript import Item
from ctxsim.view import View

GO_ON = "The conversation so far was summarised above. I go on from there."
LADDER = (0, 10, 20, 50, 100)
"""Per cent of the tool responses that the summary request leaves out, by attempt."""


class Goose(Policy):
    """Over `auto_compact_threshold` of the window at the start of a turn: summary, note, the user's newest text.

    block/goose, crates/goose/src/context_mgmt/mod.rs, agents/large_response_handler.rs. The number compared is the
    last usage, or a count if there is none. It is checked only on a user's text, so one long turn is compacted only
    after a refusal, once per turn. If the summary request is refused, it is repeated with fewer tool responses, left
    out from the middle outwards; if their number is odd, the newest always stays. A result over `large_text_threshold`
    characters becomes one sentence. With a threshold of 0 or 1, only refusals compact.
    """

    source = "block/goose"
    version = "331a8429723"
    read_on = "2026-08"
    decides_by = "tokenizer"

    auto_compact_threshold: ShareOrOff = SHIPPED
    large_text_threshold: Positive = SHIPPED
    summary_tokens: Positive = 1_500

    def start(self) -> None:
        self._recovered = False

    def on_tool_result(self, item: Item) -> Item:
        if len(item.text) <= self.large_text_threshold:
            return item
        return item.with_text(
            f"The response of {len(item.text)} characters is too large; it is in tool-{item.place}.txt."
        )

    def before_call(self, view: View) -> View:
        if not newly_asked(view):
            return view
        self._recovered = False
        used = (self.sees.usage.total_tokens if self.sees.usage else 0) or self.sees.estimate(view)
        share = self.auto_compact_threshold
        if not 0 < share < 1 or used <= share * self.sees.window:
            return view
        return self._compacted(view, f"{used:,} tokens are over {share:.0%} of the window") or view

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        if self._recovered:
            return None
        self._recovered = True
        return self._compacted(view, "the provider refused: window exceeded")

    def _compacted(self, view: View, reason: str) -> View | None:
        history = history_of(view)
        asked = [item for item in view if item.kind == "user"]
        newest = newly_asked(view) or asked[-1:]
        kept = {item.place for item in newest}
        old = [item for item in view if item.place not in kept]
        if all(item.synthetic for item in old):
            return None
        for per_cent in LADDER:
            shown = without_responses(history, per_cent)
            text = self.sees.summarize(shown, self.summary_tokens) if shown else None
            if text is not None:
                at = newest[0].order if newest else view[-1].order + 1
                made = replaced(self, view, old, text, reason, at)
                return made.insert(GO_ON, at if newest else made[-1].order + 1, reason)
        return None


def without_responses(items: Sequence[Item], per_cent: int) -> list[Item]:
    """Return the items without `per_cent` of the tool responses, left out from the middle outwards."""
    responses = [item.place for item in items if item.kind == "tool_result"]
    count = len(responses)
    if not per_cent or not count:
        return list(items)
    middle, wanted = count // 2, max(1, count * per_cent // 100)
    order = [place for step in range(middle) for place in (middle - step - 1, middle + step)]
    gone = {responses[index] for index in order[:wanted]}
    return [item for item in items if item.place not in gone]
