"""Clearing of old results after a pause: the provider's cache is taken to be gone, so nothing is lost by it."""

from collections.abc import Callable

from ctxsim.view import View

CLEARED = "[Old tool result content cleared]"


def clear_old(view: View, keep: int, reason: str, clears: Callable[[str], bool]) -> View:
    """Return the view with all but the newest `keep` results cleared, of the tools that `clears` says."""
    results = [item for item in view.results if clears(item.tool)]
    old = [item.place for item in results[: max(0, len(results) - keep)]]
    return view.rewrite(dict.fromkeys(old, CLEARED), reason)
