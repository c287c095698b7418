"""LiteLLM's trimmer: newest first, and what doesn't fit is cut in its middle."""

from collections.abc import Sequence
from dataclasses import dataclass

from ctxsim.policies.frameworks.chat import Message, counted, messages, only
from ctxsim.policies.policy import Count, Policy, Share
from ctxsim.transcript import Item
from ctxsim.view import View

ATTEMPTS = 10


@dataclass
class LitellmTrim(Policy):
    """Over `max_tokens` keep the newest messages that fit; an older one that doesn't is cut in its middle to the rest.

    BerriAI/litellm, litellm/utils.py, trim_messages. 0 is `trim_ratio` of the model's window. Results at the end are
    outside the budget, and nothing keeps calls and results together. What can't be cut to fit is left out, and the
    message before it tried. Upstream cuts a system prompt over the budget too; here it is sent whole, and what it
    would leave is the budget.
    """

    decides_by = "litellm"
    source = "BerriAI/litellm"
    version = "litellm 1.106.2"
    read_on = "2026-11-22"

    per_request = True

    max_tokens: Count = 0
    trim_ratio: Share = 0.75

    def before_call(self, view: View) -> View:
        found = messages(view)
        limit = self.max_tokens or int(self.sees.window * self.trim_ratio)
        end = len(found)
        while end > 0 and found[end - 1].role == "tool":
            end -= 1
        said, results = found[:end], found[end:]
        system = self.sees.head.system
        if counted(self.sees, said, system) < limit:
            return view
        reason = f"beyond the newest {limit:,} tokens"
        if system:
            limit -= self._prompt(system, limit)
            if limit == 0:
                return only(view, [], reason)
        return only(view, [*self._newest(said, limit), *results], reason)

    def _prompt(self, system: str, limit: int) -> int:
        """Tokens of the system prompt, cut if it is over the limit."""
        prompt = Message((Item("note", -1, -1, system),))
        if counted(self.sees, [], system) > limit:
            prompt = self._cut(prompt, limit)
        return counted(self.sees, [], prompt.text)

    def _newest(self, said: Sequence[Message], limit: int) -> list[Message]:
        kept: list[Message] = []
        used = counted(self.sees, [])
        for message in reversed(said):
            if limit - used <= 3:
                break
            fits = message if used + self._size(message) <= limit else self._cut(message, limit - used)
            if (size := self._size(fits)) + used <= limit:
                kept.insert(0, fits)
                used += size
        return kept

    def _size(self, message: Message) -> int:
        """Tokens by which a request grows with a message."""
        return counted(self.sees, [message]) - counted(self.sees, [])

    def _cut(self, message: Message, room: int) -> Message:
        """The message with as much left out of its middle as ten guesses need; with too little room it grows."""
        for _ in range(ATTEMPTS):
            total = counted(self.sees, [message])
            if total <= room:
                break
            half = max(0, int(len(message.text) * (room / total)) - 1) // 2
            # With nothing of either half left Python's slice of the second is the whole text: so it is upstream.
            message = message.with_text(f"{message.text[:half]}..{message.text[-half:]}")
        return message
