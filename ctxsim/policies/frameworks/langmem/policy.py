"""langmem: a running summary before the messages, stored beside the history."""

import itertools
from collections.abc import Sequence
from functools import partial

from ctxsim.policies.frameworks.chat import Message, counted, each_counted, in_place_of, items_of, messages
from ctxsim.policies.frameworks.langchain.policy import OfLangchain, newest
from ctxsim.policies.policy import Count, Positive
from ctxsim.transcript import Item
from ctxsim.view import View

PREFIX = "Summary of the conversation so far: "


class Langmem(OfLangchain):
    """Once there are `max_tokens_before_summary` old tokens and the rest fits `max_tokens`, summarize the old ones.

    langchain-ai/langmem, langmem/short_term/summarization.py, summarize_messages. The rest must leave room for
    `max_summary_tokens` and the system prompt; if the prompt alone is larger, nothing ever happens. A response is
    summarized with its results, but a cut between parallel results parts them from their call. The history stays whole:
    the summary and its extent are stored beside it. Upstream has no default budget: 0 is the model's window.
    """

    source = "langchain-ai/langmem"
    version = "langmem 0.0.30"

    per_request = True

    max_tokens: Count = 0
    max_tokens_before_summary: Count = 0
    max_summary_tokens: Positive = 256

    def start(self) -> None:
        self._text = ""
        self._last: int | None = None  # the place of the newest item that the summary covers

    @property
    def _budget(self) -> int:
        return self.max_tokens or self.sees.window

    def before_call(self, view: View) -> View:
        found = messages(view)
        done = next((n + 1 for n, message in enumerate(found) if self._last in message.places), 0)
        end = self._cut(found, done)
        if end > done:
            text = self.sees.summarize(self._shown(found[done:end]), self.max_summary_tokens)
            if text is not None:
                self._text, self._last, done = text, found[end - 1].places[-1], end
        if not done:
            return view
        return in_place_of(view, found[:done], PREFIX + self._text, "covered by the running summary")

    def _cut(self, found: Sequence[Message], done: int) -> int:
        """Index after the last message to summarize now; `done` if there is none."""
        sizes = each_counted(self.sees, found[done:])
        least = self.max_tokens_before_summary or self._budget
        room = self._budget - self.max_summary_tokens
        if self.sees.head.system:
            room -= counted(self.sees, [], self.sees.head.system)
        total = sum(sizes)
        for n, reached in enumerate(itertools.accumulate(sizes), done):
            if reached >= least and total - reached <= room:
                asked = {call.place for call in found[n].calls}
                end = n + 1
                while end < len(found) and found[end].items[0].answers in asked:
                    end += 1
                return end
        return done

    def _shown(self, old: list[Message]) -> list[Item]:
        """The items for the summarizer: the earlier summary, and as many of the old messages as fit."""
        before = [Item("summary", -1, -1, self._text)] if self._last is not None else []
        room = self._budget - (counted(self.sees, [], self._text) if before else 0)
        if counted(self.sees, old) > room:
            old = newest(old, room, partial(counted, self.sees), ["human"], allow_partial=True) or old
        return [*before, *items_of(old)]
