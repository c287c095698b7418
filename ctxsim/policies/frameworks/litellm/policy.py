"""LiteLLM's trimmer: keeps the newest messages, and cuts the middle out of one that doesn't fit."""

from collections.abc import Sequence

from ctxsim.policies.frameworks.chat import Message, counted, messages, only
from ctxsim.policies.policy import Count, Policy, Share
from ctxsim.transcript import Item
from ctxsim.view import View

ATTEMPTS = 10


class LitellmTrim(Policy):
    """Over `max_tokens` keep the newest messages that fit. An older one that doesn't fit loses its middle.

    BerriAI/litellm, litellm/utils.py, trim_messages. 0 is `trim_ratio` of the model's window. Results at the end don't
    count for the budget, and calls and results aren't kept together. A message that can't be cut to fit is left out,
    and the one before it is tried. Upstream cuts a system prompt over the budget too. Here it is sent whole, and the
    budget is what upstream's cut would leave.
    """

    decides_by = "litellm"
    source = "BerriAI/litellm"
    version = "litellm 1.110.2"
    read_on = "2026-11-22"

    per_request = True

    max_tokens: Count = 0
    trim_ratio: Share = 0.75

    def before_call(self, view: View) -> View:
        found = messages(view)
        limit = self.max_tokens or int(self.sees.window * self.trim_ratio)
        end = len(found)
        while end and found[end - 1].role == "tool":
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
        """Tokens of the system prompt, after upstream's cut if it is over the limit."""
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
                kept.append(fits)
                used += size
        return kept

    def _size(self, message: Message) -> int:
        """Tokens that a message adds to a request."""
        return counted(self.sees, [message]) - counted(self.sees, [])

    def _cut(self, message: Message, room: int) -> Message:
        """The message without its middle, shortened in up to ten attempts. With too little room it becomes longer."""
        for _ in range(ATTEMPTS):
            total = counted(self.sees, [message])
            if total <= room:
                break
            half = max(0, int(len(message.text) * (room / total)) - 1) // 2
            # If `half` is 0, the slice [-0:] is the whole text. Upstream has the same defect.
            message = message.with_text(f"{message.text[:half]}..{message.text[-half:]}")
        return message
