"""The recorded agent's own compactions and clearings of results, where its log shows them."""

from collections.abc import Sequence

from ctxsim.policies.policy import Policy
from ctxsim.transcript import CLEARED, Compaction
from ctxsim.view import View


class Recorded(Policy):
    """The recorded agent's own compactions with the summaries that it got, and its clearings of old results.

    A row of what happened beside what other policies would have done; the same as keep-all where the log shows no edit.
    A kept call whose result was dropped is dropped too, because providers refuse a call without its result.
    """

    bound = True

    def start(self) -> None:
        self._call = 0
        self.follow((), ())

    def follow(self, compactions: Sequence[Compaction], cleared: Sequence[tuple[int, int]]) -> None:
        """Called once by replay with the edits in the log: compactions, and (call, place) of each cleared result."""
        self._compactions = {one.call: one for one in compactions}
        self._cleared: dict[int, list[int]] = {}
        for call, place in cleared:
            self._cleared.setdefault(call, []).append(place)

    def before_call(self, view: View) -> View:
        self._call += 1
        if compaction := self._compactions.get(self._call):
            view = compacted(view, compaction)
        gone = [place for place in self._cleared.get(self._call, ()) if view.find(place) is not None]
        return view.rewrite(dict.fromkeys(gone, CLEARED), "cleared by the recorded agent")


def compacted(view: View, compaction: Compaction) -> View:
    """Return a view without the items that the recorded compaction dropped, and with the agent's summary."""
    kept = set(compaction.kept)
    old = {item.place for item in view if item.order < compaction.at and item.place not in kept}
    reason = f"compacted by the recorded agent{f' ({compaction.started_by})' if compaction.started_by else ''}"
    view = view.drop(view.partners(old), reason)
    at = next((item.order for item in view if item.order < compaction.at), compaction.at)
    for text in compaction.summary:
        view = view.insert(text, at, reason, kind="summary", sources=[place for place in old if place >= 0])
    return view
