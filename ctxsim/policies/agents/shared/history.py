"""The history that agents replace by one billed summary: where it ends, and what of it stays."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from ctxsim.policies.policy import Policy
from ctxsim.transcript import RESPONSE_KINDS, Item
from ctxsim.view import View


def since_response(items: Sequence[Item]) -> int:
    """Return the position after the last response; 0 if there is none."""
    return next((end for end in range(len(items), 0, -1) if items[end - 1].kind in RESPONSE_KINDS), 0)


def newly_asked(items: Sequence[Item]) -> list[Item]:
    """Return the user's texts after the last response. Agents check their history before they add these texts."""
    return [item for item in items[since_response(items) :] if item.kind == "user"]


def asked_at(items: Sequence[Item]) -> int | None:
    """Return the place of the first of these texts, which stand behind a summary of the history; None without any."""
    return next((item.place for item in newly_asked(items)), None)


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


def newest_texts(
    items: Sequence[Item], tokens: int, measure: Callable[[str], int], cut: Callable[[str, int], str], units: int = 4
) -> dict[int, str]:
    """Return the user's newest texts within `tokens`, by place. The text that crosses the limit is cut to the rest.

    A token is so many `units` of `measure`.
    """
    kept: dict[int, str] = {}
    for item in reversed(items):
        if item.kind == "user" and tokens > 0:
            size = -(-measure(item.text) // units)
            kept[item.place] = item.text if size <= tokens else cut(item.text, units * tokens)
            tokens -= size
    return kept


def condense(
    policy: Policy,
    view: View,
    old: Sequence[Item],
    reason: str,
    max_tokens: int,
    at: int | None = None,
    shown: Iterable[Item] | None = None,
) -> View | None:
    """Return the view with one summary in place of the items `old`, as by `in_place_of`.

    `shown` are the items that the summariser gets, if they aren't `old`. None if `old` holds only synthetic items, or
    if the summary request is refused.
    """
    if all(item.synthetic for item in old):
        return None
    text = policy.sees.summarize(old if shown is None else shown, max_tokens)
    return None if text is None else replaced(policy, view, old, text, reason, at)


def replaced(policy: Policy, view: View, old: Sequence[Item], text: str, reason: str, at: int | None = None) -> View:
    """Return the view with the summary `text` in place of the items `old`, as by `in_place_of`, and tell the user."""
    policy.sees.say(f"Compacted {len(old)} items into a summary: {reason}")
    return in_place_of(view, old, text, reason, at)


def in_place_of(
    view: View,
    old: Sequence[Item],
    text: str,
    reason: str,
    at: int | None = None,
    kind: Literal["summary", "note"] = "summary",
) -> View:
    """Return the view with `text` in place of the items `old`: before place `at`, or else behind the last of them."""
    places = [item.place for item in old]
    if at is None:
        behind = view.position(places[-1]) + 1
        at = view[behind].order if behind < len(view) else view[-1].order + 1
    return view.drop(places, reason).insert(text, at, reason, kind, places)


def results_cut(items: Iterable[Item], chars: int, kinds: Sequence[str] = ("tool_result",)) -> list[Item]:
    """Return the items with each tool result, or each of other `kinds`, cut to `chars` characters for a summariser."""
    return [item.with_text(item.text[:chars]) if item.kind in kinds else item for item in items]
