"""Drop everything that may be dropped: the floor."""

from ctxsim.policies.policy import Policy
from ctxsim.view import View


class DropAll(Policy):
    """Sends the head, the first user message, and the newest message with the response that it answers."""

    bound = True

    def before_call(self, view: View) -> View:
        if not view:
            return view
        kept = {item.place for item in view.exchange(-1)}
        first = next((item.message for item in view if item.kind == "user"), None)
        old = [item.place for item in view if item.place not in kept and item.message != first]
        return view.drop(old, "floor: everything but the task and the newest exchange")
