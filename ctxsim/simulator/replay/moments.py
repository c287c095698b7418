"""The moments at which policies act on the view: each edit held to the contract, and written down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ctxsim.counting.estimators import Reported
from ctxsim.errors import ContractError
from ctxsim.policies import Overflow, Policy, Spec, Stop, Surroundings
from ctxsim.simulator.replay.guard import guarded
from ctxsim.simulator.replay.tally import Tally
from ctxsim.transcript import Item, Usage
from ctxsim.view import Edit, Made, View


class Request(NamedTuple):
    """What policies want to send: the view, whether their edits outlast the request, and a policy's stop."""

    view: View
    lasting: bool
    stop: Stop | None


class Moments:
    """The view, the chain of policies that edits it, and what they did since the last request."""

    def __init__(
        self,
        spec: Spec,
        sees: Surroundings,
        sizes: Callable[[Item], int] | None = None,
        views: list[View] | None = None,
    ) -> None:
        """`sizes`: what the policy's estimator says of items, if somebody remembers it; `views`: those that nobody has
        edited, as `add` makes them one after the other.
        """
        self.sees = sees
        # What edits only the request, as a server does, comes after what edits the view.
        self.links = sorted(spec.create(), key=lambda link: link.ephemeral)
        for link in self.links:
            link.attach(sees)
            guarded(link, "start")
        sees.say = self._say
        self._limiting = [link for link in self.links if _has(link, "on_tool_result")]
        self._deciding = [_has(link, "threshold") for link in self.links]
        self._following = [link for link in self.links if _has(link, "after_call")]
        self.view = View(sizes or spec.estimator.item)
        self._views = views
        self._added = 0
        self.tally = Tally()
        self._lasting = True
        """Whether the request that was asked for holds only edits that outlast it."""
        self.touched = False
        """Whether any policy has edited anything: until then every request is keep-all's."""
        self.changed_from = 0
        """From which position on the next request differs from the last one."""
        self.texts_at: set[int] | None = set()
        """The positions up to the last request's end at which it has other texts, if it has no other items."""
        self.reshaped_from = 0
        """From which on it has other items, not only other texts."""
        self.cause = ""
        """Why it does."""

    def _say(self, text: str) -> None:
        self.tally.said.append(text)

    @property
    def retries(self) -> int | None:
        """How often a refused request is sent again, if a policy of the chain says so."""
        return max((link.retries for link in self.links if link.retries is not None), default=None)

    @property
    def threshold(self) -> float | None:
        """The estimate over which the policy acts before a call; the first of a chain's."""
        return next((limit for link in self.links if (limit := _threshold(link)) is not None), None)

    # the view grows

    def add(self, items: Sequence[Item]) -> None:
        """New items enter the view; a result first passes the ingestion limits."""
        if self._limiting:
            start = len(self.view)
            items = [
                self._ingest(item, start + n) if item.kind == "tool_result" else item for n, item in enumerate(items)
            ]
        if self._views is None or self.touched:
            self.view = self.view.grow(items)
            return
        if self._added == len(self._views):
            self._views.append(self.view.grow(items))
        self.view = self._views[self._added]
        self._added += 1

    def _ingest(self, item: Item, position: int) -> Item:
        for link in self._limiting:
            limited = guarded(link, "on_tool_result", item)
            if limited is item:
                continue
            if not isinstance(limited, Item):
                what = type(limited).__name__
                raise ContractError(f"{link.label}: on_tool_result must return the item or an edit of it, not {what}")
            if limited.with_text(item.text) != item:
                raise ContractError(f"{link.label}: on_tool_result may change only the text of item {item.place}")
            if not isinstance(limited.text, str):
                what = type(limited.text).__name__
                raise ContractError(f"{link.label}: on_tool_result must give a text, not {what}")
            if limited.text != item.text:
                self.touched = True
                self.tally.edits.append(Made("on_tool_result", Edit(item, limited, position, link.label)))
                item = limited
        return item

    def forget_reasoning(self) -> None:
        """The vendor, not the policy, leaves out the reasoning of finished turns."""
        old = [item.place for item in self.view if item.kind == "reasoning"]
        if old:
            edited = self.view.drop(old, "reasoning of a finished turn")
            self._changed(edited.edits)
            self.view = edited.settled()

    # policies act

    def before_call(self) -> Request:
        """Return what the chain wants to send."""
        request, lasting = self.view, True
        for link, decides in zip(self.links, self._deciding, strict=True):
            if decides and (limit := _threshold(link)) is not None and self.tally.believed is None:
                self.tally.believed = (self.sees.estimate(request), limit)
            acted = self._act(link, "before_call", request, lasting and not link.ephemeral)
            if isinstance(acted, Stop):
                return Request(request, lasting, acted)
            if acted is None:
                raise ContractError(f"{link.label}: before_call must return a view or Stop")
            lasting = lasting and not link.ephemeral
            request = acted
            if lasting:
                self.view = request
        self._lasting = lasting
        return Request(request, lasting, None)

    def on_overflow(self, view: View, error: Overflow) -> Iterable[View]:
        """Yield each policy's answer to a refusal, as long as the last one was not taken: it is then as if not made."""
        for link in self.links:
            edits, known = len(self.tally.edits), (self.changed_from, self.reshaped_from, self.cause)
            texts_at = None if self.texts_at is None else self.texts_at.copy()
            acted = self._act(link, "on_overflow", view, self._lasting, error)
            if isinstance(acted, Stop):
                raise ContractError(f"{link.label}: on_overflow returns a view or None; only before_call may stop")
            if acted is None or acted is view:
                continue
            yield acted
            self.changed_from, self.reshaped_from, self.cause = known
            self.texts_at = texts_at
            del self.tally.edits[edits:]
            self.tally.compactions -= 1

    def after_call(self, usage: Usage, response: Sequence[Item]) -> None:
        """The provider has reported an accepted call's usage; its response is in the view."""
        self.sees.usage = usage
        # One dict grows with the replay: a copy for each call would make it quadratic.
        outputs = self.sees.reported.outputs
        if response and usage.output_tokens is not None:
            outputs[response[0].message] = usage.output_tokens
        self.sees.reported = Reported(usage, self.view.size, outputs)
        for link in self._following:
            acted = self._act(link, "after_call", self.view, True, usage)
            if not isinstance(acted, View):
                raise ContractError(f"{link.label}: after_call must return a view")
            self.view = acted

    def sent(self, request: View) -> tuple[int, str]:
        """Return from where on the request differs from the one before, and why; the next is compared with this one."""
        changed, self.cause = (self.changed_from, self.cause), ""
        # An ephemeral edit makes the next request differ where this one was edited.
        whole = len(request)
        stays = request is self.view
        self.changed_from = whole if stays else min(self.changed_from, whole)
        self.reshaped_from = whole if stays else min(self.reshaped_from, whole)
        self.texts_at = set() if stays else self.texts_at
        return changed

    def close(self) -> None:
        """The last call is over."""
        for link in self.links:
            link.end()
        self.sees.close()

    def settle(self) -> Tally:
        """Return what was done since the last time this was asked."""
        done, self.tally = self.tally, Tally()
        return done

    def _act(self, link: Policy, moment: str, view: View, lasting: bool, *seen: Usage | Overflow) -> View | Stop | None:
        """Let one policy act on one view, hold it to the contract, and write its edits down."""
        returned: Any
        returned = guarded(link, moment, view, *seen)
        if isinstance(returned, Stop) and not isinstance(returned.reason, str):
            raise ContractError(f"{link.label}: {moment} must give Stop a reason, not {type(returned.reason).__name__}")
        if returned is view or isinstance(returned, Stop) or (returned is None and moment == "on_overflow"):
            return returned
        if not isinstance(returned, View) or returned.lineage is not view.lineage:
            raise ContractError(
                f"{link.label}: {moment} must return the view it was given or an edit of it, "
                f"not {type(returned).__name__}"
            )
        grown = sum((edit.after is not None) - (edit.before is not None) for edit in returned.edits)
        if not returned.edits or len(returned) != len(view) + grown:
            raise ContractError(f"{link.label}: {moment} returned a view from an earlier moment")
        self.touched = True
        self.tally.edits += [Made(moment, edit, lasting) for edit in returned.edits]
        self.tally.compactions += 1
        self._changed(returned.edits)
        return returned.settled()

    def _changed(self, edits: Sequence[Edit]) -> None:
        reshaped = [edit.position for edit in edits if edit.before is None or edit.after is None]
        self.reshaped_from = min(self.reshaped_from, *reshaped) if reshaped else self.reshaped_from
        if reshaped:
            self.texts_at = None
        elif self.texts_at is not None:
            self.texts_at.update(edit.position for edit in edits)
        first = min(edits, key=lambda edit: edit.position)
        if first.position < self.changed_from:
            self.changed_from = first.position
            self.cause = first.reason


def _has(link: Policy, moment: str) -> bool:
    """Whether a policy says anything at a moment."""
    return getattr(type(link), moment) is not getattr(Policy, moment) or moment in vars(link)


def _threshold(link: Policy) -> float | None:
    limit = guarded(link, "threshold")
    if limit is not None and not isinstance(limit, int | float):
        raise ContractError(f"{link.label}: threshold must return a number or None, not {type(limit).__name__}")
    return limit
