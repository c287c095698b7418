"""Three triggers in order of priority: a share of the window, a number of tokens, a number of messages."""

from typing import ClassVar, Literal

from ctxsim.policies.agents.shared.history import condense
from ctxsim.policies.policy import Count, Policy, Positive, Share
from ctxsim.transcript import Head, Item
from ctxsim.view import View

Limit = Literal["percentage", "tokens", "messages"]


class ThreeTriggers(Policy):
    """Reduce the messages after the last summary to the target of the first trigger that fires.

    Document 004: over `at` of `window` to `preserve` of it; over `budget` + `buffer` to `target` tokens; over
    `messages` + `spare` to `messages`. `only` leaves one trigger: in its code the first one configured decides alone.
    `tools_by_messages` is its option D. `reducer`: drop old messages, or replace them by a billed summary.
    """

    family = "seeds"
    source = "document 004"

    decides_by = "output-only"
    renamed: ClassVar = {"trigger": "at"}

    only: Literal["all", "percentage", "tokens", "messages"] = "all"
    reducer: Literal["counting", "summarizing"] = "counting"
    at: Share = 0.7
    preserve: Share = 0.3
    window: Positive = 128_000
    budget: Positive = 90_000
    target: Positive = 40_000
    buffer: Count = 1_000
    messages: Positive = 20
    spare: Count = 5
    tools_by_messages: bool = False

    @property
    def _most(self) -> dict[Limit, float]:
        """What each trigger lets through, in order of priority."""
        tokens, messages = float(self.budget + self.buffer), self.messages + self.spare
        return {"percentage": self.at * self.window, "tokens": tokens, "messages": messages}

    def threshold(self) -> float | None:
        return None if self.only == "messages" else self._most["percentage" if self.only == "all" else self.only]

    def limits(self) -> dict[str, float]:
        return {"budget": self.budget}

    def before_call(self, view: View) -> View:
        groups = view.messages()
        last = max((n for n, group in enumerate(groups) if group[0].kind == "summary"), default=-1)
        after = groups[last + 1 :]
        fired = self._fired(view, after)
        if fired is None:
            return view
        start = self._kept_from(after, fired)
        # The kept tail is extended backwards to a whole exchange.
        while start > 0 and after[start][0].kind == "tool_result":
            start -= 1
        old = [item for group in after[:start] for item in group]
        reason = f"over its {fired} trigger"
        if self.reducer == "counting" or not old:
            return view.drop([item.place for item in old], reason)
        return condense(self, view, old, reason, 500) or view

    def _fired(self, view: View, after: list[list[Item]]) -> Limit | None:
        """The first trigger, in order of priority, whose limit the messages after the last summary exceed."""
        by_messages = self.tools_by_messages and bool(view.results)
        only = "messages" if by_messages else self.only
        tokens = self._tokens(after)
        over = (name for name, most in self._most.items() if (len(after) if name == "messages" else tokens) > most)
        return next((name for name in over if only in ("all", name)), None)

    def _kept_from(self, after: list[list[Item]], fired: Limit) -> int:
        """Index of the first message that stays. At least the newest one stays."""
        if fired == "messages":
            return len(after) - self.messages
        room = self.preserve * self.window if fired == "percentage" else self.target
        start = len(after) - 1
        while start > 0 and self._tokens(after[start - 1 :]) <= room:
            start -= 1
        return start

    def _tokens(self, groups: list[list[Item]]) -> int:
        """The estimated tokens of these messages, as its tracking counts them: without the head."""
        items = [item for group in groups for item in group]
        return self.sees.estimator.request(Head(), self.sees.size_of(items), items, self.sees.reported)
