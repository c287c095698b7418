"""CrewAI: after a refusal, one message replaces everything but the system prompt."""

from ctxsim.policies.frameworks.chat import Message, counted, in_place_of, items_of, messages
from ctxsim.policies.policy import Overflow, Policy, Positive
from ctxsim.view import View


class CrewaiSummarize(Policy):
    """After a refusal put one summary in the place of all messages, including the task and the newest results.

    crewAIInc/crewAI, crewai/llms/context_window.py, summarize_messages: the history is cut into pieces that fit the
    window, each is summarized, and the summaries are joined.
    """

    source = "crewAIInc/crewAI"
    version = "crewai 1.15.30"
    read_on = "2026-11-25"
    retries = 20  # it retries until its own limit of steps

    summary_tokens: Positive = 1_000

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        found = messages(view)
        pieces: list[list[Message]] = [[]]
        size = 0
        for message in found:
            tokens = counted(self.sees, [message])
            if pieces[-1] and size + tokens > self.sees.window:
                pieces, size = [*pieces, []], 0
            pieces[-1].append(message)
            size += tokens
        texts = [self.sees.summarize(items_of(piece), self.summary_tokens) for piece in pieces if piece]
        written = [text for text in texts if text]
        if not written:
            return None
        return in_place_of(view, found, "\n\n".join(written), "its window was exceeded")
