"""The closed loop: if a call needs what the view has lost, the recorded call that fetched it is made again first.

It is the loop of `Replay`. A request that lacks something needed is answered by the tool call that fetches it, instead
of the recorded response. The result joins as the newest item, ages, and can be cut again. Once per source and call.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from ctxsim.policies import Spec
from ctxsim.simulator.ledger import SPREAD, Ledger, Leg, Verdict
from ctxsim.simulator.ledger.legs import recorded
from ctxsim.simulator.references.fetching import Fetching
from ctxsim.simulator.references.needs import References
from ctxsim.simulator.references.survival import Counts, Survival
from ctxsim.simulator.replay import Replay
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Item
from ctxsim.view import Edit, Made


class ClosedLoop(Replay):
    """One replay in which what was lost is fetched again; iterate it once.

    Places and messages are spread, so that fetched items get places between recorded ones, and a policy sees one
    conversation in order.
    """

    def __init__(
        self,
        ledger: Ledger,
        spec: Spec,
        references: References,
        kept: Sequence[Counts],
        fetching: Fetching,
        taken: Callable[[], bool],
    ) -> None:
        """`kept`: the counts for unedited views; `taken`: callback that decides whether a fetch is made. Raises
        ContractError where the policy breaks its contract.
        """
        super().__init__(ledger.spread, spec, references)
        self._recorded_legs = ledger.legs
        self._fetching = fetching
        self._taken = taken
        self._survival = Survival(references, kept)
        self.inserted = self.changed = 0
        """Calls inserted, and those of them whose source had been written to since."""
        self._starts = [leg.call.start for leg in ledger.legs]
        self._asked: set[int] = set()
        """Places of the results fetched, or skipped by `taken`, since the last recorded call."""
        self._brought: tuple[Item, ...] = ()
        self._inserted_at = self._free = 0
        """The first place of the newest inserted response, and the next free place."""

    def __iter__(self) -> Iterator[Sent]:
        for leg in self._ledger.legs:
            self._asked.clear()
            self._free, due = (leg.call.start - 1) * SPREAD + 1, leg
            while True:
                self._brought = ()
                sent = self._call(due)
                self._survival.end(_as_recorded(sent.tally.edits))
                yield sent
                if not self._brought:
                    break
                self._survival.begin([Made("", Edit(None, recorded(one), 0, "")) for one in self._brought])
                # What the recording states of the cache holds only for the first request after the pause.
                due = replace(
                    leg, call=replace(leg.call, held=None), joining=self._brought, begins_turn=False,
                    new_from=self._inserted_at,
                )  # fmt: skip
        self.moments.close()

    def _answered(self, leg: Leg, verdict: Verdict) -> Leg:
        self._survival.begin(_as_recorded(self.moments.tally.edits))
        wanted = self._wanted(leg) if verdict.status == "ok" else ()
        return self._fetch(leg, wanted) if wanted else leg

    def _wanted(self, leg: Leg) -> list[int]:
        """The places of the results that the next inserted call fetches: those of one recorded response."""
        lost = (need for need in self._survival.counts(leg.number).lost if need.detector == "strict" and need.age >= 1)
        found: set[int] = set()
        for need in lost:
            # A need that the view lacks even after a fetch isn't fetched again, nor from an older source.
            place = self._fetching.source(need.sources) if self._asked.isdisjoint(need.sources) else None
            if place is None or place in found:
                continue
            if self._taken():
                found.add(place)
            else:
                self._asked.add(place)
        together = [place for place in found if self._brought_by(place) == self._brought_by(max(found))]
        self._asked.update(together)
        return sorted(together)

    def _brought_by(self, place: int) -> tuple[tuple[Item, ...], int]:
        """The recorded response whose call a result answers, and its output tokens."""
        items = self._ledger.transcript.items
        asking = items[place].answers
        assert asking is not None  # what can be fetched answers a call
        leg = self._recorded_legs[bisect_right(self._starts, asking) - 1]
        if leg.call.start <= asking < leg.call.end:
            return leg.response, leg.tokens_output
        # The response is carried over from before a recorded compaction, so it belongs to no call here.
        response = tuple(item for item in items if item.message == items[asking].message)
        return response, self._ledger.frames.written(response)

    def _fetch(self, leg: Leg, wanted: Sequence[int]) -> Leg:
        """Return the call, answered by the recorded response that fetched these results, without its thinking and its
        other tool calls. The results join before the request is made again.
        """
        items, last = self._ledger.transcript.items, leg.call.start - 1
        at = self._inserted_at = self._free
        response, output = self._brought_by(wanted[0])
        asking = {items[place].answers for place in wanted}
        said = [one for one in response if one.kind == "assistant" or one.place in asking]
        message = items[last].message * SPREAD + at - last * SPREAD
        asks = tuple(self._copied(one, at + n, message) for n, one in enumerate(said))
        asked_at = {one.place: ask.place for one, ask in zip(said, asks, strict=True)}
        self._brought = tuple(
            self._copied(items[place], at + n, message + 1, asked_at[items[place].answers or 0])
            for n, place in enumerate(wanted, len(asks))
        )
        self._free = self._brought[-1].place + 1
        self.inserted += 1
        self.changed += any(self._fetching.changed(place, leg.call.start) for place in wanted)
        if len(said) < sum(one.kind != "reasoning" for one in response):
            output = self._ledger.frames.written(asks)
        return replace(leg, response=asks, answered=asks, tokens_output=output)

    def _copied(self, item: Item, place: int, message: int, answers: int | None = None) -> Item:
        """A copy of a recorded item at a new place. Its id is as long as recorded, for an equal size on the wire."""
        mark = f"~{self.inserted}"
        again = (item.call_id[: -len(mark)] + mark)[: len(item.call_id)]
        return replace(item, place=place, message=message, answers=answers, call_id=again)


def _as_recorded(edits: Sequence[Made]) -> Sequence[Made]:
    def moved(edit: Edit) -> Edit:
        return replace(edit, before=edit.before and recorded(edit.before), after=edit.after and recorded(edit.after))

    return [replace(made, edit=moved(made.edit)) for made in edits]
