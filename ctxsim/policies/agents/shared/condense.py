"""One billed summary in the place of many items: what most agents do when their context is full."""

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
    """Return the view with one summary for the items `old`, before place `at` or at the end.

    `shown` is what the summariser gets, where that isn't what leaves. None if nothing is old but summaries, or if the
    summary request is refused.
    """
    if all(item.synthetic for item in old):
        return None
    text = policy.sees.summarize(old if shown is None else shown, max_tokens)
    return None if text is None else replaced(policy, view, old, text, reason, at)


def condense_history(policy: Policy, view: View, reason: str, max_tokens: int) -> View | None:
    """Return the view with one summary for all but the user's texts that no response has seen, which stand behind it.

    None as of `condense`.
    """
    at = next((item.place for item in newly_asked(view)), None)
    return condense(policy, view, history_of(view), reason, max_tokens, at)


def replaced(policy: Policy, view: View, old: Sequence[Item], text: str, reason: str, at: int | None = None) -> View:
    """Return the view with a summary's text for the items `old`, before place `at` or at the end."""
    policy.sees.say(f"Compacted {len(old)} items into a summary: {reason}")
    places = [item.place for item in old]
    end = view[-1].order + 1
    return view.drop(places, reason).insert(text, end if at is None else at, reason, kind="summary", sources=places)


def results_cut(items: Iterable[Item], chars: int) -> list[Item]:
    """Return the items as a summariser gets them: the first `chars` characters of each tool result."""
    return [item.with_text(item.text[:chars]) if item.kind == "tool_result" else item for item in items]
