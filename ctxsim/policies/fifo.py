"""First in, first out: drop whole old exchanges until the estimate fits."""

from ctxsim.policies.policy import Count, Policy
from ctxsim.view import View, each_exchange


class Fifo(Policy):
    """While the estimate is over `budget`, drop the oldest response with its results.

    Document 003, rejected option 1, with pairs kept whole. User texts and the newest exchange stay.
    """

    family = "seeds"
    source = "document 003, rejected option 1"

    budget: Count

    def threshold(self) -> float:
        return self.budget

    def limits(self) -> dict[str, float]:
        return {"budget": self.budget} if self.budget else {}

    def before_call(self, view: View) -> View:
        excess = self.sees.estimate(view) - self.budget
        if excess <= 0:
            return view
        old: list[int] = []
        newest = view.exchange(-1)[:1]
        for exchange in each_exchange(view):
            if excess <= 0 or exchange[:1] == newest:
                break
            if exchange[0].kind != "user":
                old += [item.place for item in exchange]
                excess -= self.sees.size_of(exchange)
        return view.drop(old, f"estimate over budget ({self.budget:,})")
