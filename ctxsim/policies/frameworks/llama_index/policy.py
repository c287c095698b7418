"""LlamaIndex's buffers: a token budget for contents, with a summary of the rest or without one."""

from itertools import accumulate

from ctxsim.policies.agents.shared.tools import fitting
from ctxsim.policies.frameworks.chat import Message, in_place_of, items_of, messages, only
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.view import View


class _OfLlamaindex(Policy, abstract=True):
    decides_by = "tokenizer:vocabulary=cl100k_base"
    source = "run-llama/llama_index"
    version = "llama-index-core 0.14.25"
    read_on = "2026-11-22"

    token_limit: Count

    def budget(self) -> int:
        """Return the tokens that the messages may have; 0 is what upstream takes of a model, 0.75 of its window."""
        return self.token_limit or int(0.75 * self.sees.window)


class LlamaindexBuffer(_OfLlamaindex):
    """Over `token_limit`, send the newest messages that fit it, from a user's text on; without one, the last message.

    run-llama/llama_index, llama_index/core/memory/chat_memory_buffer.py, ChatMemoryBuffer. Only contents count, not
    calls' arguments or the system prompt. In a run with one task the last message is a result without its call.
    Upstream counts one joined text; here its parts are summed. 3,000 is upstream's limit if it isn't given an `llm`;
    0 is its limit with one, 0.75 of the window.
    """

    per_request = True

    token_limit: Count = 3_000

    def before_call(self, view: View) -> View:
        found = messages(view)
        return only(view, found[self._start(found) :], f"over {self.budget():,} tokens")

    def _start(self, found: list[Message]) -> int:
        sizes = [self.sees.estimator.text(message.text) for message in found]
        left = sum(sizes)
        for start, before in enumerate(accumulate(sizes[:-1], initial=0)):
            if left - before <= self.budget() and (start == 0 or found[start].role == "user"):
                return start
        return len(found) - 1


class LlamaindexSummary(_OfLlamaindex):
    """Keep the newest messages that fit `token_limit`, from a user's text on, and a summary of all before. Edits last.

    llama_index/core/memory/chat_summary_memory_buffer.py, ChatSummaryMemoryBuffer: contents count, also the summary's.
    Without `llm`, older messages are dropped: in a run with one task, all. A lone summary isn't summarized again. A
    `token_limit` of 0 is upstream's own: 0.75 of the window, or 2,000 without `llm`.
    """

    token_limit: Count = 0
    llm: bool = True
    summary_tokens: Positive = 1_000

    def budget(self) -> int:
        return super().budget() if self.llm or self.token_limit else 2_000

    def before_call(self, view: View) -> View:
        found = messages(view)
        sizes = (self.sees.estimator.text(message.text) for message in reversed(found))
        start = len(found) - fitting(sizes, self.budget())
        while start < len(found) and found[start].role != "user":
            start += 1
        old, reason = found[:start], f"over {self.budget():,} tokens"
        if not self.llm or not old:
            return only(view, found[start:], reason)
        if len(old) == 1 and old[0].items[0].kind == "summary":
            return view
        text = self.sees.summarize(items_of(old), self.summary_tokens)
        return view if text is None else in_place_of(view, old, text, reason)
