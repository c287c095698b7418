"""Cuts a transcript where the agent compacted, so that each segment holds what was really sent.

Readers deliver the whole history, which was not sent after a compaction. `segments` gives the requests as they were,
`across` the history as if it had never been compacted.
"""

from collections.abc import Collection, Hashable, Iterator
from itertools import pairwise

import msgspec

from ctxsim.transcript import CLEARED, NO_RESULT, Compaction, Item, Needle, Transcript

UNLOGGED_CLEARING = "unlogged clearing"
"""Name in notes for a drop of recorded usage that no line of the log explains."""

START = Compaction(1, 0)
"""The cut before the first segment."""


def segments(transcript: Transcript, unlogged: Collection[int] = ()) -> list[Transcript]:
    """Return the segments between recorded compactions or clearings; without any, the transcript itself. Compactions
    before the calls in `unlogged` are inferred, not in the log.

    The first segment keeps its name, the n-th is called `NAME~n` and is its child. A later one begins with the recorded
    summary as a user message, then the kept items. Segments without a call are left out, and so is the session's total
    cost, because it belongs to no single segment.
    """
    cuts = sorted((*transcript.compactions, *_clearings(transcript)), key=lambda cut: cut.call)
    if not cuts:
        return [transcript]
    between = pairwise((START, *cuts, _end(transcript)))
    made = [one for cut, end in between if (one := _Segment(transcript, cut, end, unlogged)).calls]
    return [segment.transcript(number, len(made)) for number, segment in enumerate(made, 1)]


def history(transcript: Transcript) -> tuple[Item, ...]:
    """Return the items that a request after the last call would hold."""
    end = _end(transcript)
    *_, last = START, *transcript.compactions
    return _Segment(transcript, msgspec.structs.replace(last, call=end.call), end, ()).transcript(1, 1).items


def _end(transcript: Transcript) -> Compaction:
    return Compaction(len(transcript.calls) + 1, len(transcript.items))


def _clearings(transcript: Transcript) -> Iterator[Compaction]:
    """Yield a cut where old results were cleared: the segment before goes on, without the results' texts."""
    known = {compaction.call for compaction in transcript.compactions}
    for call in sorted({call for call, _ in transcript.cleared} - known):
        if 1 < call <= len(transcript.calls):
            yield going_on(transcript, call)


def going_on(transcript: Transcript, call: int) -> Compaction:
    """Return a cut before a call (2 or later) that keeps all items of the segment before it."""
    at = transcript.calls[call - 2].end
    last = max((one for one in transcript.compactions if one.call < call), key=lambda one: one.call, default=None)
    kept = (*last.kept, *range(last.at, at)) if last else tuple(range(at))
    return Compaction(call, at, "", last.summary if last else (), kept)


def across(transcript: Transcript) -> Transcript:
    """Return the whole history as if never compacted nor cleared. Usage is comparable only before either happened."""
    first = min([one.call for one in transcript.compactions] + [call for call, _ in transcript.cleared], default=0)
    if not first:
        return transcript
    calls = tuple(
        msgspec.structs.replace(call, comparable=call.comparable and number < first)
        for number, call in enumerate(transcript.calls, 1)
    )
    return msgspec.structs.replace(transcript, calls=calls)


class _Segment:
    """The calls between two cuts."""

    def __init__(self, whole: Transcript, begin: Compaction, end: Compaction, unlogged: Collection[int]) -> None:
        self.whole = whole
        self.begin = begin
        self.end = end
        self.unlogged = unlogged
        self.first, self.last = begin.call, end.call - 1
        self.calls = whole.calls[self.first - 1 : self.last]
        self._items: list[Item] = []
        self._places: dict[int, int] = {}
        self._message: Hashable = None
        self._gone = {place for call, place in whole.cleared if call <= self.first}
        self._orphans = self._unanswered = 0

    def transcript(self, number: int, of: int) -> Transcript:
        whole, begin = self.whole, self.begin
        for text in begin.summary:
            self._add(Item("user", -1, 0, text), "summary")
        for item in self._kept():
            self._recorded(item)
        carried = whole.carried if begin is START else len(self._items)
        for item in whole.items[begin.at : self.end.at]:
            self._recorded(item)
        calls = tuple(
            msgspec.structs.replace(call, start=self._moved(call.start), end=self._moved(call.end))
            for call in self.calls
        )
        return msgspec.structs.replace(
            whole,
            name=f"{whole.name}~{number}" if number > 1 else whole.name,
            parent=whole.name if number > 1 else whole.parent,
            items=tuple(self._items),
            calls=calls,
            notes=(*(whole.notes if number == 1 else ()), *self._notes(number, of, carried)),
            needles=tuple(self._needles()),
            compactions=(), cleared=(), carried=carried,
            after_compaction=begin.call not in self.unlogged and begin in whole.compactions,
            compacted_at=self._compacted_at(), cost_usd=None, beside=whole.beside if number == 1 else (),
        )  # fmt: skip

    def _compacted_at(self) -> int | None:
        """Return the recorded input, in tokens, at which an automatic compaction ended the segment, or None."""
        if self.end.started_by != "auto":
            return None
        usage = self.calls[-1].usage if self.calls else None
        return self.end.tokens_before or (usage.input_tokens if usage else None)

    def _kept(self) -> Iterator[Item]:
        """Yield the kept items. Providers require a result for each call, so a missing one is made up."""
        kept = [self.whole.items[place] for place in self.begin.kept]
        later = self.whole.items[self.begin.at : self.end.at]
        answered = {item.answers for item in (*kept, *later) if item.kind == "tool_result"}
        open_calls: list[Item] = []
        for number, item in enumerate(kept):
            yield item
            if item.kind == "tool_call" and item.place not in answered:
                open_calls.append(item)
            if number + 1 == len(kept) or kept[number + 1].message != item.message:
                for call in open_calls:
                    self._unanswered += 1
                    yield Item("tool_result", -1, 0, NO_RESULT, call.tool, call.place, call.call_id)
                open_calls = []

    def _recorded(self, item: Item) -> None:
        """Add a recorded item; a result whose call is no longer in the request is left out."""
        if item.place in self._gone:
            item = msgspec.structs.replace(item, text=CLEARED, media=())
        if item.kind != "tool_result":
            self._add(item, item.message)
        elif item.answers in self._places:
            # All results that answer one response are one message.
            self._add(item, ("results", self._items[self._places[item.answers]].message))
        else:
            self._orphans += 1

    def _add(self, item: Item, message: Hashable) -> None:
        number = self._items[-1].message if self._items else 0
        if message != self._message:
            number, self._message = number + 1, message
        place = len(self._items)
        answers = None if item.answers is None else self._places[item.answers]
        if item.place >= 0:
            self._places[item.place] = place
        self._items.append(msgspec.structs.replace(item, place=place, message=number, answers=answers))

    def _moved(self, edge: int) -> int:
        """Return the place in this segment of a call's edge."""
        later = (self._places[place] for place in range(edge, self.end.at) if place in self._places)
        return next(later, len(self._items))

    def _needles(self) -> Iterator[Needle]:
        for needle in self.whole.needles:
            if needle.place in self._places:
                used = tuple(call - self.first + 1 for call in needle.used if self.first <= call <= self.last)
                yield msgspec.structs.replace(needle, place=self._places[needle.place], used=used)

    def _cut(self, cut: Compaction) -> str:
        if cut.call in self.unlogged:
            return f"an {UNLOGGED_CLEARING}"
        return "the first recorded compaction" if cut in self.whole.compactions else "the first recorded clearing"

    def _notes(self, number: int, of: int, carried: int) -> list[str]:
        if self.begin is START:
            return [f"segment 1 of {of}: up to {self._cut(self.end)}"]
        summary = self.begin.summary
        kept = carried - len(summary)
        if self.begin.call in self.unlogged:
            gone = f"{len(self._gone)} old result(s) are taken to be gone" if self._gone else "what went isn't logged"
            said = f"after {self._cut(self.begin)}, {gone if kept else 'nothing is taken to be left'}"
        elif self.begin not in self.whole.compactions:
            said = f"{len(self._gone)} old result(s) cleared"
        elif summary:
            said = f"begins with the recorded summary, {sum(map(len, summary))} characters"
        else:
            said = "the log doesn't keep the summary that it begins with"
        notes = [f"segment {number} of {of}: {said}{f', and {kept} kept item(s)' if kept else ''}"]
        if self._unanswered:
            notes.append(f"{self._unanswered} kept tool call(s) without their result: '{NO_RESULT}' stands for it")
        if self._orphans:
            notes.append(f"{self._orphans} result(s) of calls that left the request left out")
        return notes
