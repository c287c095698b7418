"""Trial and error: only a refused request shortens the history."""

from ctxsim.policies.policy import Count, Overflow, Policy
from ctxsim.view import View


class Retry(Policy):
    """On overflow drop the oldest item and its pair and try again, up to `attempts` times.

    Document 004, "What Codex Does Differently" and option B; openai/codex, core/src/compact.rs (remove_first).
    """

    family = "seeds"
    source = "document 004, option B"

    attempts: Count = 10

    @property
    def retries(self) -> int:
        return self.attempts

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        if not view:
            return None
        oldest = view.partners([view[0].place])
        newest = {item.place for item in view.exchange(-1)}
        return None if oldest & newest else view.drop(oldest, "the provider refused: window exceeded")
