"""Where a recorded compaction cuts: what the request held before it, what was left of that, and what followed.

Calls without a compaction are its control: agents ask again and use old things anyway.
"""

import random

import msgspec

from ctxsim.answers.compactions.later import SOON
from ctxsim.recorded.as_sent import as_sent
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Compaction, Item, Transcript


class Cut(msgspec.Struct, frozen=True):
    """One recorded compaction. `last` is the last call, from 1, before the history is cut again, or of the recording.

    `before` and `after` are the items of the request that was compacted and what stood for them afterwards: summary and
    kept items, without what joined later. `readable` is false where the log doesn't hold the summary's text.
    """

    transcript: Transcript
    number: int
    compaction: Compaction
    last: int
    before: tuple[Item, ...]
    after: tuple[Item, ...]
    provider: Provider
    unlogged_tokens: int
    """By how many tokens the fitted hidden head is larger after it: files attached again without a line in the log."""

    @property
    def readable(self) -> bool:
        """Whether what stood for the history is known: the log holds the summary in words."""
        return bool(self.compaction.summary)

    @property
    def first(self) -> int:
        """The first call, from 1, that was sent without the history before."""
        return self.compaction.call

    @property
    def summary(self) -> str:
        """The summary, all its texts."""
        return "\n".join(self.compaction.summary)


class Session(msgspec.Struct, frozen=True):
    """A transcript with its segments, each with the number of its first call, from 1."""

    transcript: Transcript
    segments: tuple[tuple[int, AsSent], ...]

    def cuts(self) -> list[Cut]:
        """Return the recorded compactions of which the history before is known, in order."""
        begins = dict(self.segments)
        ends = {first + len(one.transcript.calls): one for first, one in self.segments}
        found = []
        for number, compaction in enumerate(self.transcript.compactions, 1):
            before, after = ends.get(compaction.call), begins.get(compaction.call)
            if before is None:
                continue
            last, unlogged, provider = compaction.call - 1, 0, before.provider
            if after:
                left = after.transcript.items[: after.transcript.carried]
                last, provider = last + len(after.transcript.calls), after.provider
                unlogged = max(0, after.size.head - before.size.head)
            else:
                summary = (Item("user", place, 0, text) for place, text in enumerate(compaction.summary))
                left = (*summary, *(self.transcript.items[place] for place in compaction.kept))
            items = before.transcript.items
            found.append(Cut(self.transcript, number, compaction, last, items, left, provider, unlogged))
        return found


def session_of(transcript: Transcript) -> Session:
    """Return a transcript with its segments as they were sent."""
    segments = []
    first = 1
    for one in as_sent(transcript):
        segments.append((first, one))
        first += len(one.transcript.calls)
    return Session(transcript, tuple(segments))


CONTROLS = 10
"""Control calls drawn for each compaction."""

BEHIND = 20
"""Calls that a control has behind it at least."""


class Control(msgspec.Struct, frozen=True):
    """One call of the same session, the items of its request, and the place up to which the recording had come."""

    call: int
    at: int
    items: tuple[Item, ...]


def controls(session: Session, cut: Cut) -> list[Control]:
    """Return up to `CONTROLS` calls drawn at random, in order: no compaction among the ten calls before or after.

    The draw depends on the transcript's name and the compaction's number alone.
    """
    possible = [
        (first + local, one.transcript.items[: one.transcript.calls[local].start])
        for first, one in session.segments
        for local in range(len(one.transcript.calls) - SOON + 1)
        if first + local > BEHIND and local >= SOON
    ]
    drawn = random.Random(f"{cut.transcript.name} {cut.number}").sample(possible, min(CONTROLS, len(possible)))
    drawn.sort(key=lambda pair: pair[0])
    return [Control(call, session.transcript.calls[call - 1].start, items) for call, items in drawn]
