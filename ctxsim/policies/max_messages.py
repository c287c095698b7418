"""A limit on the number of messages, whatever their role."""

from ctxsim.policies.policy import Policy, Positive
from ctxsim.view import View


class MaxMessages(Policy):
    """Drop messages from the front until `n` are left. Document 000, `MaxConversationMessages`.

    It drops "indiscriminately": the user's task too, and a call whose result stays behind as an orphan.
    """

    family = "seeds"
    source = "document 000, MaxConversationMessages"

    n: Positive

    def before_call(self, view: View) -> View:
        messages = view.messages()
        old = messages[: max(0, len(messages) - self.n)]
        return view.drop([item.place for message in old for item in message], f"more than {self.n} messages")
