"""The pair rule: every tool call is answered in the next message, and every result answers such a call."""

from __future__ import annotations

from collections.abc import Sequence

from ctxsim.transcript import Item


class PairCheck:
    """Checks the items of a growing view once, and after an edit those from the message before it on."""

    def __init__(self) -> None:
        self._checked = 0
        self._open: dict[int, Item] = {}

    def errors(self, view: Sequence[Item], changed_from: int = 0) -> list[str]:
        """Return what a provider would refuse in a request that holds these items; empty if it's valid.

        Items before position `changed_from` are those of the last view. Rule: Anthropic Messages API and OpenAI Chat
        Completions both refuse a request otherwise.
        """
        if changed_from < self._checked:
            self._checked, self._open = self._start_of_message(view, changed_from - 1), {}
        open_calls = dict(self._open)
        found: list[str] = []
        for item in view[self._checked :]:
            if item.kind == "tool_result":
                if item.answers is None or open_calls.pop(item.answers, None) is None:
                    found.append(f"result {item.place} has no call in the message before it")
                continue
            if open_calls and item.message not in {call.message for call in open_calls.values()}:
                found += self._unanswered(open_calls)
                open_calls = {}
            if item.kind == "tool_call":
                open_calls[item.place] = item
        if not found:
            self._checked, self._open = len(view), dict(open_calls)
        else:
            self._checked, self._open = 0, {}
        return found + self._unanswered(open_calls)

    @staticmethod
    def _start_of_message(view: Sequence[Item], position: int) -> int:
        """The beginning of the message at a position, or of the one whose calls it answers: nothing is open there."""
        while position > 0 and (
            view[position].kind == "tool_result" or view[position - 1].message == view[position].message
        ):
            position -= 1
        return max(0, position)

    @staticmethod
    def _unanswered(calls: dict[int, Item]) -> list[str]:
        return [f"call {place} ({item.tool}) is not answered in the next message" for place, item in calls.items()]
