"""The moments at which policies act on the view. Each edit is checked by the contract, and recorded."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ctxsim.counting.estimators import Reported
from ctxsim.errors import ContractError
from ctxsim.policies import Overflow, Policy, Spec, Stop, Surroundings
from ctxsim.simulator.ledger.ledger import FINISHED
from ctxsim.simulator.replay.guard import guarded
from ctxsim.simulator.replay.sent import Tally
from ctxsim.transcript import Head, Item, Usage
from ctxsim.view import Edit, Made, View

RETRIES = 10
"""Requests sent again after an overflow where no policy states its own number."""


Edited = Callable[[View, Sequence[Edit]], object]
"""Callback for edits, of a policy or the vendor: the view before them, and the edits."""


class Moments:
    """The view, the chain of policies that edits it, and what they did since the last request."""

    def __init__(self, spec: Spec, sees: Surroundings, edited: Edited = lambda view, edits: None) -> None:
        self.sees = sees
        # Links that edit only the request, as a server does, come after those that edit the view.
        self.links = sorted(spec.create(), key=lambda link: link.ephemeral)
        # Summaries are given in calls only, in which each link that acts sets it.
        self._acting: Policy
        for link in self.links:
            link.attach(sees)
            guarded(link, "start")
            _must(link, "retries", "be a whole number or None", (int, type(None)), link.retries)
        sees.say = lambda text: self.tally.said.append(text)
        stated = [link.retries for link in self.links if link.retries is not None]
        self.retries = max(stated, default=RETRIES)
        """How often a refused request is sent again."""
        self._limiting = [link for link in self.links if _acts(link, "on_tool_result")]
        self._learning = [link for link in self.links if _acts(link, "after_call")]
        self.view = View(sees.sizes)
        self._edited = edited
        self.tally = Tally()
        self.lasting = True
        """Whether all edits of the present request outlast it."""

    @property
    def threshold(self) -> float | None:
        """The estimate over which the policy acts before a call; for a chain, the first one."""
        return next((limit for link in self.links if (limit := _threshold(link)) is not None), None)

    @property
    def summary_head(self) -> Head | None:
        """That of the link that acts."""
        head = self._acting.summary_head
        _must(self._acting, "summary_head", "be a Head or None", (Head, type(None)), head)
        return head

    # the view grows

    def end_turn(self) -> None:
        """Leave out the reasoning of the turn that has ended, as the vendor, not the policy, does."""
        if old := [item.place for item in self.view if item.kind == "reasoning"]:
            spoken = self.view.drop(old, FINISHED)
            self._edited(self.view, spoken.edits)
            self.view = spoken.settled()

    def join(self, items: Sequence[Item]) -> None:
        """Add items to the view; a result first passes the ingestion limits."""
        if self._limiting:
            taken = enumerate(items, len(self.view))
            items = [self._ingest(item, at) if item.kind == "tool_result" else item for at, item in taken]
        self.view = self.view.grow(items)

    def _ingest(self, item: Item, position: int) -> Item:
        for link in self._limiting:
            self._acting = link
            limited = guarded(link, "on_tool_result", item)
            if limited is item:
                continue
            _must(link, "on_tool_result", "return the item or an edit of it", Item, limited)
            if limited.with_text(item.text) != item:
                raise ContractError(f"{link.label}: on_tool_result may change only the text of item {item.place}")
            _must(link, "on_tool_result", "give a text", str, limited.text)
            if limited.text != item.text:
                _check_text(link, "on_tool_result", limited.text)
                self.tally.edits.append(Made("on_tool_result", Edit(item, limited, position, link.label)))
                item = limited
        return item

    def leave_out(self, request: View, items: Sequence[Item], why: str) -> View:
        """Return a request without items that the vendor drops, and drop them from the view too."""
        places = [item.place for item in items]
        left = request.drop(places, why).settled()
        self.view = left if self.view is request else self.view.drop(places, why).settled()
        return left

    # policies act

    def before_call(self) -> tuple[View, Stop | None]:
        """Return what the chain wants to send, and a policy's stop."""
        request, self.lasting = self.view, True
        for link in self.links:
            if (limit := _threshold(link)) is not None and self.tally.believed is None:
                self.tally.believed = (self.sees.estimate(request), limit)
            self.lasting = self.lasting and not link.ephemeral
            acted = self._act(link, "before_call", request, self.lasting)
            if isinstance(acted, Stop):
                return request, acted
            request = acted
            if self.lasting:
                self.view = request
        return request, None

    def on_overflow(self, view: View, error: Overflow) -> Iterable[View]:
        """Yield each policy's view after an overflow. Continuing the iteration rejects the last view: its edits are
        removed from the tally.
        """
        for link in self.links:
            known = len(self.tally.edits)
            acted = self._act(link, "on_overflow", view, self.lasting, error)
            if acted is None or acted is view:
                continue
            yield acted
            del self.tally.edits[known:]
            self.tally.compactions -= 1

    def after_call(self, usage: Usage, response: Sequence[Item]) -> None:
        """Give policies the usage of an accepted call, whose response is in the view."""
        self.sees.usage = usage
        # One dict grows with the replay: a copy for each call would make it quadratic.
        outputs = self.sees.reported.outputs
        if response and usage.output_tokens is not None:
            outputs[response[0].message] = usage.output_tokens
        self.sees.reported = Reported(usage, self.view.size, outputs)
        for link in self._learning:
            self.view = self._act(link, "after_call", self.view, True, usage)

    def close(self) -> None:
        """End all policies after the last call."""
        self.sees.close()
        for link in self.links:
            guarded(link, "end")

    def settle(self) -> Tally:
        """Return the tally since the last time, and begin a new one."""
        done, self.tally = self.tally, Tally()
        return done

    def _act(self, link: Policy, moment: str, view: View, lasting: bool, *seen: Usage | Overflow) -> Any:
        """Let one policy act on one view, check it by the contract, and record its edits. Return the view; or Stop, in
        `before_call`; or None, in `on_overflow`.
        """
        self._acting = link
        returned = guarded(link, moment, view, *seen)
        if returned is view or (returned is None and moment == "on_overflow"):
            return returned
        if isinstance(returned, Stop) and moment == "before_call":
            _must(link, moment, "give Stop a reason", str, returned.reason)
            _check_text(link, moment, returned.reason)
            return returned
        if not isinstance(returned, View) or returned.lineage is not view.lineage:
            raise ContractError(
                f"{link.label}: {moment} must return the view it was given or an edit of it, "
                f"not {type(returned).__name__}"
            )
        grown = sum((edit.after is not None) - (edit.before is not None) for edit in returned.edits)
        if not returned.edits or len(returned) != len(view) + grown:
            raise ContractError(f"{link.label}: {moment} returned a view from an earlier moment")
        for edit in returned.edits:
            if not isinstance(edit.reason, str):
                raise ContractError(f"{link.label}: {moment} gave a reason that is no text: {edit.reason!r}")
            _check_text(link, moment, edit.reason)
            if edit.after is not None:
                _check_text(link, moment, edit.after.text)
        self.tally.edits += [Made(moment, edit, lasting) for edit in returned.edits]
        self.tally.compactions += 1
        self._edited(view, returned.edits)
        return returned.settled()


def _check_text(link: Policy, moment: str, text: str) -> None:
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        raise ContractError(
            f"{link.label}: {moment} gave a text with half a surrogate pair, which is no text"
        ) from None


def _must(link: Policy, moment: str, what: str, kind: Any, found: object) -> None:
    if not isinstance(found, kind):
        raise ContractError(f"{link.label}: {moment} must {what}, not {type(found).__name__}")


def _acts(link: Policy, moment: str) -> bool:
    """Whether a policy does anything at a moment: its method is a replacement of the base class's."""
    return getattr(getattr(link, moment), "__func__", None) is not getattr(Policy, moment)


def _threshold(link: Policy) -> float | None:
    if not _acts(link, "threshold"):
        return None
    limit: float | None = guarded(link, "threshold")
    _must(link, "threshold", "return a number or None", (int, float, type(None)), limit)
    return limit
