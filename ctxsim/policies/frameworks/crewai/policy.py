"""CrewAI: after a refusal, one message replaces everything but the system prompt."""

from ctxsim.policies.frameworks.chat import Message, counted, in_place_of, items_of, messages
from ctxsim.policies.policy import Overflow, Policy, Positive
from ctxsim.view import View

INSTRUCTIONS = 182
"""Tokens of a summary request beside the history."""


class CrewaiSummarize(Policy):
    """After a refusal put one summary in the place of all messages, including the task and the newest results.

    crewAIInc/crewAI, crewai/llms/context_window.py, summarize_messages: the history is cut into pieces whose requests
    fit 0.85 of the window, each is summarized, and the summaries are joined. A message that doesn't fit is cut into
    parts of three quarters of that. Where the instructions alone don't fit, the run ends.
    """

    source = "crewAIInc/crewAI"
    version = "crewai 1.15.30"
    read_on = "2026-11-25"
    retries = 20  # it retries until its own limit of steps

    summary_tokens: Positive = 1_000

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        found = messages(view)
        most = int(0.85 * self.sees.window) - INSTRUCTIONS
        if most <= 0:
            return None
        pieces: list[list[Message]] = [[]]
        size = 0
        for message in found:
            for n, part in enumerate(parts := self._parts(message, most)):
                tokens = counted(self.sees, [part])
                if pieces[-1] and (size + tokens > most or (n == 0 and len(parts) > 1)):
                    pieces.append([])
                    size = 0
                pieces[-1].append(part)
                size += tokens
        texts = [self.sees.summarize(items_of(piece), self.summary_tokens) for piece in pieces if piece]
        written = [text for text in texts if text]
        if not written:
            return None
        return in_place_of(view, found, "\n\n".join(written), "its window was exceeded")

    def _parts(self, message: Message, most: int) -> list[Message]:
        tokens, text = counted(self.sees, [message]), message.text
        if tokens <= most or not text:
            return [message]
        length = max(1, len(text) * int(0.75 * most) // tokens)
        return [message.with_text(text[start : start + length]) for start in range(0, len(text), length)]
