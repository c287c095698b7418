"""Positions in a conversation: after the last response, and of the user's newest text."""

from collections.abc import Sequence

from ctxsim.transcript import RESPONSE_KINDS, Item


def since_response(items: Sequence[Item]) -> int:
    """Return the position after the last response; 0 if there is none."""
    return next((end for end in range(len(items), 0, -1) if items[end - 1].kind in RESPONSE_KINDS), 0)


def newly_asked(items: Sequence[Item]) -> list[Item]:
    """Return the user's texts after the last response. Agents check their history before they add these texts."""
    return [item for item in items[since_response(items) :] if item.kind == "user"]


def history_of(items: Sequence[Item]) -> list[Item]:
    """Return the items without the user's texts after the last response."""
    start = since_response(items)
    return [*items[:start], *(item for item in items[start:] if item.kind != "user")]


def run_ended(items: Sequence[Item]) -> bool:
    """Return whether the last response calls no tool, which ends the agent's turn."""
    end = since_response(items)
    if not end:
        return False
    last = items[end - 1].message
    return not any(item.kind == "tool_call" and item.message == last for item in reversed(items[:end]))


def last_asked(items: Sequence[Item]) -> int:
    """Return the position of the user's newest text; -1 if there is none."""
    return max((position for position, item in enumerate(items) if item.kind == "user"), default=-1)
