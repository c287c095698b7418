"""Recorded compactions: what the request held before, what was left of that, the calls that followed, and the cost.

Calls without a compaction are the control: agents repeat calls and use old content anyway.
"""

import random
from itertools import accumulate
from typing import Any

import msgspec

from ctxsim.answers.compactions.later import SOON
from ctxsim.policies import continues
from ctxsim.recorded.as_sent import as_sent
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import rate_at
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.transcript import Compaction, Item, Transcript

CONTROLS = 10
"""Most control calls drawn for each compaction."""

BEHIND = 20
"""Least calls of the session before a control."""


class Cut(msgspec.Struct, frozen=True):
    """One recorded compaction. `last` is the last call, from 1, before the history is cut again, or of the recording.

    `before` and `after` are the items of the compacted request and those that replaced them: summary and kept items,
    without what joined later. `readable` is false if the log doesn't hold the summary's text.
    """

    transcript: Transcript
    number: int
    compaction: Compaction
    last: int
    before: tuple[Item, ...]
    after: tuple[Item, ...]
    provider: Provider
    unlogged_tokens: int
    """Tokens by which the fitted hidden head is larger after it: files attached again without a line in the log."""

    @property
    def readable(self) -> bool:
        """Whether the log holds the summary's text, so that the content left is known."""
        return bool(self.compaction.summary)

    @property
    def first(self) -> int:
        """The number, from 1, of the first call that was sent without the history before."""
        return self.compaction.call

    @property
    def cold(self) -> bool:
        """Whether the request for the summary came after the cache's lifetime; False if a time isn't known."""
        last_s, now_s = self.transcript.calls[self.first - 2].time_s, self.compaction.time_s
        lives_s = load_vendor(self.provider.cache).cache.lifetime(self.provider.model, self.provider.long_cache)
        return last_s is not None and now_s is not None and now_s - last_s > lives_s > 0

    @property
    def summary(self) -> str:
        """All texts of the summary, joined."""
        return "\n".join(self.compaction.summary)


class Session(msgspec.Struct, frozen=True):
    """A transcript with its segments, each with the number of its first call, from 1."""

    transcript: Transcript
    segments: tuple[tuple[int, AsSent], ...]

    def cuts(self) -> list[Cut]:
        """Return the recorded compactions whose history before is known, in order."""
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
    sent = list(as_sent(transcript))
    firsts = accumulate((len(one.transcript.calls) for one in sent), initial=1)
    return Session(transcript, tuple(zip(firsts, sent, strict=False)))


class Control(msgspec.Struct, frozen=True):
    """A control call of the same session, the items of its request, and the place `at` which its response begins."""

    call: int
    at: int
    items: tuple[Item, ...]


def controls(session: Session, cut: Cut) -> list[Control]:
    """Return up to `CONTROLS` calls drawn at random, in order, with no compaction in the ten calls before or after.

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


def cost(
    provider: Provider,
    before: int | None,
    after: int | None,
    summary: int | None,
    rewritten: int | None,
    agent: str,
    cold: bool = False,
) -> dict[str, Any]:
    """Return columns with the modelled dollars of a compaction of a request from `before` to `after` tokens, and with
    the calls until savings have paid for them; None in each without prices or one of these sizes.

    The summary request has `before` tokens, read from the cache if the policy `agent` sends it with the conversation's
    head, and outputs `summary` tokens. The next request writes `rewritten` tokens that it would have read. Nothing
    could be read if the cache was `cold`. Each later call saves reading what was removed. The same rule as
    `measure.columns.payback_calls`.
    """
    if provider.prices is None or not (before and after and summary):
        return dict.fromkeys(("cost_summary_usd", "cost_cache_usd", "payback_calls"))
    read, write = provider.read_and_write_usd(before)
    sent = read if continues(agent) and not cold else rate_at(provider.prices.input, before) / 1e6
    asked = before * sent + summary * rate_at(provider.prices.output, before) / 1e6
    broken = 0.0 if cold else (rewritten or 0) * (write - read)
    saved = (before - after) * read
    return {
        "cost_summary_usd": round(asked, 6), "cost_cache_usd": round(broken, 6),
        "payback_calls": round((asked + broken) / saved, 2) if saved > 0 else None,
    }  # fmt: skip
