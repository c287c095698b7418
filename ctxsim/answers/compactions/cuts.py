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
            left = after.transcript.items[: after.transcript.carried] if after else self._left(compaction)
            found.append(
                Cut(
                    transcript=self.transcript,
                    number=number,
                    compaction=compaction,
                    last=compaction.call + (len(after.transcript.calls) if after else 0) - 1,
                    before=before.transcript.items,
                    after=left,
                    provider=(after or before).provider,
                    unlogged_tokens=max(0, after.size.head - before.size.head) if after else 0,
                )
            )
        return found

    def _left(self, compaction: Compaction) -> tuple[Item, ...]:
        """What stands for the history after a compaction that no call follows."""
        summary = (Item("user", place, 0, text) for place, text in enumerate(compaction.summary))
        return (*summary, *(self.transcript.items[place] for place in compaction.kept))


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
    segment: AsSent


def controls(session: Session, cut: Cut) -> list[Control]:
    """Return up to `CONTROLS` calls drawn at random, in order: no compaction among the ten calls before or after.

    The draw depends on the transcript's name and the compaction's number alone.
    """
    possible = [
        (first + local, one)
        for first, one in session.segments
        for local in range(len(one.transcript.calls) - SOON + 1)
        if first + local > BEHIND and (first == 1 or local >= SOON)
    ]
    drawn = random.Random(f"{cut.transcript.name} {cut.number}").sample(possible, min(CONTROLS, len(possible)))
    return [_control(session, call, one) for call, one in sorted(drawn, key=lambda pair: pair[0])]


def _control(session: Session, call: int, one: AsSent) -> Control:
    first = next(first for first, other in session.segments if other is one)
    start = one.transcript.calls[call - first].start
    return Control(call, session.transcript.calls[call - 1].start, one.transcript.items[:start], one)
