"""LlamaIndex's buffer: a budget for contents, and a start that is nobody's answer."""

from dataclasses import dataclass
from itertools import accumulate

from ctxsim.policies.frameworks.shared.messages import Message, messages, only
from ctxsim.policies.policy import Policy, Positive
from ctxsim.view import View


@dataclass
class LlamaindexBuffer(Policy):
    """Over `token_limit`, send the newest messages that fit it, from a user's text on; without one, the last message.

    run-llama/llama_index, llama_index/core/memory/chat_memory_buffer.py, ChatMemoryBuffer. Contents alone count, not
    calls' arguments and not the system prompt. In a run with one task the last message is a result without its call.
    Upstream counts one joined text, here its parts are summed.
    """

    decides_by = "tokenizer:vocabulary=cl100k_base"
    family = "frameworks"
    source = "run-llama/llama_index"
    version = "llama-index-core 0.14.25"
    read_on = "2026-11-22"

    per_request = True

    token_limit: Positive = 3_000

    def before_call(self, view: View) -> View:
        found = messages(view)
        if not found:
            return view
        return only(view, found[self._start(found) :], f"over {self.token_limit:,} tokens")

    def _start(self, found: list[Message]) -> int:
        sizes = [self.sees.estimator.text(message.text) for message in found]
        left = sum(sizes)
        for start, before in enumerate(accumulate(sizes[:-1], initial=0)):
            if left - before <= self.token_limit and (start == 0 or found[start].role == "user"):
                return start
        return len(found) - 1
