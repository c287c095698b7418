"""AutoGen's three model contexts: the last messages, head and tail, and a budget that removes from the middle."""

from ctxsim.policies.frameworks.chat import Message, each_counted, in_place_of, only, packed
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.view import View


class _OfAutogen(Policy, abstract=True):
    source = "microsoft/autogen"
    version = "autogen-core 0.7.5"
    read_on = "2026-11-22"
    per_request = True


def _without_leading_results(found: list[Message]) -> list[Message]:
    return found[1:] if found and found[0].role == "tool" else found


class AutogenBuffered(_OfAutogen):
    """Send the last `buffer_size` messages, where a response's results are one message; results in front are dropped.

    autogen_core/model_context, BufferedChatCompletionContext. Upstream has no default.
    """

    buffer_size: Positive = 10

    def before_call(self, view: View) -> View:
        kept = _without_leading_results(packed(view)[-self.buffer_size :])
        return only(view, kept, f"before the last {self.buffer_size} messages")


class AutogenHeadTail(_OfAutogen):
    """Send the first `head_size` and the last `tail_size` messages, and between them how many were skipped.

    autogen_core/model_context, HeadAndTailChatCompletionContext: a call at the end of the head and results in front of
    the tail are removed too, but not counted. Upstream has no defaults.
    """

    head_size: Positive = 2
    tail_size: Positive = 8

    def before_call(self, view: View) -> View:
        found = packed(view)
        skipped = len(found) - self.head_size - self.tail_size
        if skipped <= 0:
            return view
        head, tail = found[: self.head_size], _without_leading_results(found[-self.tail_size :])
        if head[-1].calls:
            head.pop()
        left = found[len(head) : len(found) - len(tail)]
        return in_place_of(view, left, f"Skipped {skipped} messages.", "between head and tail", kind="note")


class AutogenTokenLimited(_OfAutogen):
    """While over `token_limit`, remove the message in the middle; then remove results in front.

    autogen_core/model_context, TokenLimitedChatCompletionContext: calls and results aren't kept together, and a request
    can become empty. The system prompt doesn't count. Upstream's client counts; here the estimator does. 0 is the
    window, as upstream without a limit.
    """

    token_limit: Count = 0

    def before_call(self, view: View) -> View:
        limit = self.token_limit or self.sees.window
        found = packed(view)
        sizes = each_counted(self.sees, found)
        total = sum(sizes)
        while total > limit and found:
            middle = len(found) // 2
            found.pop(middle)
            total -= sizes.pop(middle)
        return only(view, _without_leading_results(found), f"over {limit:,} tokens, from the middle")
