"""Replaces many items by one billed summary, as most agents do when their context is full."""

from collections.abc import Iterable, Sequence

from ctxsim.policies.agents.shared.phases import history_of, newly_asked
from ctxsim.policies.policy import Policy
from ctxsim.transcript import Item
from ctxsim.view import View


def condense(
    policy: Policy,
    view: View,
    old: Sequence[Item],
    reason: str,
    max_tokens: int,
    at: int | None = None,
    shown: Iterable[Item] | None = None,
) -> View | None:
    """Return the view with one summary in place of the items `old`, inserted before place `at` or at the end.

    `shown` are the items that the summariser gets, if they aren't `old`. None if `old` holds only synthetic items, or
    if the summary request is refused.
    """
    if all(item.synthetic for item in old):
        return None
    text = policy.sees.summarize(old if shown is None else shown, max_tokens)
    return None if text is None else replaced(policy, view, old, text, reason, at)


def condense_history(policy: Policy, view: View, reason: str, max_tokens: int) -> View | None:
    """Return the view with one summary in place of all items but the user's texts after the last response.

    These texts follow the summary. None as in `condense`.
    """
    at = next((item.place for item in newly_asked(view)), None)
    return condense(policy, view, history_of(view), reason, max_tokens, at)


def replaced(policy: Policy, view: View, old: Sequence[Item], text: str, reason: str, at: int | None = None) -> View:
    """Return the view with the summary `text` in place of the items `old`, before place `at` or at the end."""
    policy.sees.say(f"Compacted {len(old)} items into a summary: {reason}")
    places = [item.place for item in old]
    end = view[-1].order + 1
    return view.drop(places, reason).insert(text, end if at is None else at, reason, kind="summary", sources=places)


def results_cut(items: Iterable[Item], chars: int, kinds: Sequence[str] = ("tool_result",)) -> list[Item]:
    """Return the items with each tool result, or each of other `kinds`, cut to `chars` characters for a summariser."""
    return [item.with_text(item.text[:chars]) if item.kind in kinds else item for item in items]
