"""The moments at which policies act on the view: each edit held to the contract, and written down."""

from __future__ import annotations

import traceback
from collections.abc import Sequence

from ctxsim.errors import ContractError
from ctxsim.estimators import Reported
from ctxsim.policies import Overflow, Policy, Spec, Stop, Surroundings
from ctxsim.tally import Tally
from ctxsim.transcript import Item, Usage
from ctxsim.view import Edit, View


class Moments:
    """The view, the chain of policies that edits it, and what they did since the last request."""

    def __init__(self, spec: Spec, sees: Surroundings) -> None:
        self.label = spec.label
        self.sees = sees
        # What edits only the request, as a server does, comes after what edits the view.
        self.parts = sorted(spec.create(), key=lambda part: part.ephemeral)
        for part in self.parts:
            part.attach(sees)
        self.view = View(spec.estimator.item)
        self.touched = False
        """Whether any edit was made: until then every request is the uncompacted one."""
        self.changed_from = 0
        self.cause = ""
        """From which position on the next request differs from the last one, and why."""
        self.tally = Tally()

    def ingest(self, item: Item) -> Item:
        for part in self.parts:
            limited = part.on_tool_result(item)
            if limited is item:
                continue
            if not isinstance(limited, Item) or limited.with_text(item.text) != item:
                raise ContractError(f"{part.label}: on_tool_result may change only the text of item {item.place}")
            if limited.text != item.text:
                self.touched = True
                self.tally.edits.append(("on_tool_result", Edit(item, limited, len(self.view), part.label)))
                item = limited
        return item

    def moment(self, part: Policy, moment: str, view: View, *seen: Usage | Overflow) -> View | Stop | None:
        """Let one policy act on one view, hold it to the contract, and write its edits down."""
        try:
            returned = getattr(part, moment)(view, *seen)
        except ContractError:
            raise
        # A policy is anybody's code: whatever it raises is told in one line, with its place.
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            raise ContractError(
                f"{part.label}: {moment} raised {type(error).__name__}: {error} ({place.filename}:{place.lineno})"
            ) from error
        if returned is view or isinstance(returned, Stop) or (returned is None and moment == "on_overflow"):
            return returned
        if not isinstance(returned, View) or returned.lineage is not view.lineage:
            raise ContractError(
                f"{part.label}: {moment} must return the view it was given or an edit of it, "
                f"not {type(returned).__name__}"
            )
        grown = sum((edit.after is not None) - (edit.before is not None) for edit in returned.edits)
        if not returned.edits or len(returned) != len(view) + grown:
            raise ContractError(f"{part.label}: {moment} returned a view from an earlier moment")
        self.touched = True
        self.tally.edits += [(moment, edit) for edit in returned.edits]
        self.tally.compactions += 1
        self.changed(returned.edits)
        return returned.settled()

    def changed(self, edits: Sequence[Edit]) -> None:
        """Remember from which position on the next request differs from the last one, and why."""
        first = min(edits, key=lambda edit: edit.position)
        if first.position < self.changed_from:
            self.changed_from = first.position
            self.cause = first.reason

    def before_call(self) -> tuple[View, bool, Stop | None]:
        """Return the view to send, whether its edits last, and the policy's stop if it gives up."""
        request, lasting = self.view, True
        for part in self.parts:
            limit = part.threshold()
            if limit is not None and self.tally.believed is None:
                self.tally.believed = (self.sees.estimate(request), limit)
            acted = self.moment(part, "before_call", request)
            if isinstance(acted, Stop):
                return request, lasting, acted
            if acted is None:
                raise ContractError(f"{part.label}: before_call must return a view or Stop")
            lasting = lasting and not part.ephemeral
            request = acted
            if lasting:
                self.view = request
        return request, lasting, None

    def after_call(self, usage: Usage, response: Sequence[Item]) -> None:
        self.sees.usage = usage
        # One dict grows with the replay: a copy for each call would make it quadratic.
        outputs = self.sees.reported.outputs
        if response and usage.output_tokens is not None:
            outputs[response[0].message] = usage.output_tokens
        self.sees.reported = Reported(usage, self.view.size, outputs)
        for part in self.parts:
            acted = self.moment(part, "after_call", self.view, usage)
            if not isinstance(acted, View):
                raise ContractError(f"{part.label}: after_call must return a view")
            self.view = acted
