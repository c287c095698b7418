"""aider: the finished part of a chat is summarised when it outgrows a small budget."""

from collections.abc import Sequence

from ctxsim.policies.agents.shared.history import condense, last_asked, newly_asked
from ctxsim.policies.agents.shared.tools import fitting
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.transcript import Item
from ctxsim.view import View, each_exchange


class Aider(Policy):
    """On a user's text, if finished messages exceed `max_chat_history_tokens`: a summary, and less than half of it.

    Aider-AI/aider, aider/history.py, aider/coders/base_coder.py. 0 means a sixteenth of the window, between 1,024 and
    8,192. Messages before the user's newest text are finished, so nothing within one task is shortened. With `whole`,
    all but the newest exchange are finished. aider has no tool calls: here an exchange counts as one message. Messages
    that don't fit the summariser's window (`summarizer_tokens`, less 512) are neither summarised nor kept. 0 means the
    model's window; upstream takes the weak model's, or 4,096 where that isn't known. A refused request isn't handled.
    """

    source = "Aider-AI/aider"
    decides_by = "tokenizer"

    max_chat_history_tokens: Count = 0
    summarizer_tokens: Count = 0
    whole: bool = False
    summary_tokens: Positive = 500

    def before_call(self, view: View) -> View:
        if not view or not (self.whole or newly_asked(view)):
            return view
        budget = self.max_chat_history_tokens or max(1_024, min(8_192, self.sees.window // 16))
        done = view.exchanges()[:-1] if self.whole else list(each_exchange(view[: last_asked(view)]))
        if sum(map(self.sees.size_of, done)) <= budget:
            return view
        return self._summarised(view, done, budget)

    def _summarised(self, view: View, done: list[list[Item]], budget: int) -> View:
        split = self._split(done, budget)
        if split <= 4:
            split = len(done)
        old = [item for exchange in done[:split] for item in exchange]
        room = (self.summarizer_tokens or self.sees.window) - 512
        # If all finished messages become one summary, its request holds all of them.
        count = fitting(map(self.sees.size_of, done[:split]), room) if split < len(done) else split
        fits = [item for exchange in done[:count] for item in exchange]
        if not fits:
            return view
        reason = f"finished messages are over {budget:,} tokens"
        return condense(self, view, old, reason, self.summary_tokens, shown=fits) or view

    def _split(self, done: Sequence[Sequence[Item]], budget: int) -> int:
        """The number of old exchanges. The others take less than half of the budget and begin after a response."""
        split = len(done) - fitting(map(self.sees.size_of, reversed(done)), (budget - 1) // 2)
        while split > 1 and done[split - 1][-1].kind == "user":
            split -= 1
        return split
