"""What recorded compactions kept and lost, with their own summaries, beside policies that leave as many tokens."""

from __future__ import annotations

from collections import Counter as Frequencies
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import msgspec

from ctxsim.answers.compactions.cuts import Control, Cut, controls, cost, session_of
from ctxsim.answers.compactions.later import KINDS, NEEDED, SOON, Later, held_by, identifiers, kind_of_atom, later
from ctxsim.answers.compactions.policies_beside import DEFAULT_SUMMARY, FITTED, Left, fitted, left_by, tokens_of
from ctxsim.answers.compactions.repeated_calls import asked_again, asked_again_usd, came_again, repeated_after
from ctxsim.policies import agent_of
from ctxsim.results.compactions import BesideRow, CompactionKindRow, CompactionNeedRow, CompactionRow
from ctxsim.results.frames import Frame, frame_of
from ctxsim.simulator.provider.summaries import clairvoyant
from ctxsim.simulator.references.canonical import canonical
from ctxsim.simulator.references.finding import prepare
from ctxsim.simulator.references.needs import References
from ctxsim.transcript import Item, Transcript


class Compactions(msgspec.Struct):
    """Rows of recorded compactions: what each kept and lost, what policies would have kept (`beside`), and what became
    of each need and of each kind of content.
    """

    compactions: list[CompactionRow] = []
    beside: list[BesideRow] = []
    needs: list[CompactionNeedRow] = []
    kinds: list[CompactionKindRow] = []

    def add(self, other: Compactions) -> None:
        """Append the rows of another one."""
        for mine, theirs in zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True):
            mine.extend(theirs)

    def frame(self) -> Frame:
        """Return a row for each compaction: the columns of docs/columns.md."""
        return frame_of(self.compactions, CompactionRow)


def score(transcript: Transcript, beside: bool = True) -> Compactions:
    """Return the rows of a transcript's recorded compactions; with `beside` also those of policies."""
    scored = Compactions()
    if not transcript.compactions:
        return scored
    session, references = session_of(transcript), prepare(transcript)
    for cut in session.cuts():
        one = _Compaction(cut, controls(session, cut), references)
        scored.compactions.append(one.row())
        scored.needs += one.needs()
        scored.kinds += one.kinds()
        if beside and cut.readable:
            scored.beside += one.beside()
    return scored


class _Compaction:
    """The rows of one recorded compaction."""

    def __init__(self, cut: Cut, controls: Sequence[Control], references: References) -> None:
        self.cut = cut
        self.references = references
        self.counter = cut.provider.counter()
        self.asked = asked_again(cut.transcript, self.counter)
        self.later = later(references, cut.compaction.at, cut.first, cut.last, held_by(references, cut.before))
        self.soon = self.later.until(cut.first + SOON - 1)
        self.controls = [
            (one, later(references, one.at, one.call, one.call + SOON - 1, held_by(references, one.items)))
            for one in controls
        ]
        """The control calls, and what the next calls after each needed."""
        self.held = held_by(references, cut.after) if cut.readable else None
        """The keys that are left; None if the log doesn't hold the summary."""
        self.tokens = tokens_of(cut.after, self.counter)
        self.identifiers = identifiers(cut.before)
        self.identifiers_left = self.identifiers & identifiers(cut.after)

    def row(self) -> CompactionRow:
        """The compaction's own row."""
        cut, transcript = self.cut, self.cut.transcript
        again = repeated_after(self.asked, cut.compaction.at, cut.first, min(cut.first + SOON - 1, cut.last))
        before, after, rewritten = _sizes(cut)
        last = transcript.calls[cut.first - 2]
        window = last.window or cut.provider.window
        summary = self.counter.text(cut.summary) if cut.readable else None
        used_again = [key for key in self.later.again if key[0] == "strict"]
        return CompactionRow(
            transcript=transcript.name, root=transcript.parent or transcript.name, compaction=cut.number,
            agent=transcript.format, model=last.model or transcript.model, started_by=cut.compaction.started_by,
            call=cut.first, calls_after=cut.last - cut.first + 1, seconds=cut.compaction.seconds,
            window=window, share=round(before / window, 4) if before else None,
            tokens_before=before, tokens_after=after, tokens_left=self.tokens, tokens_summary=summary,
            tokens_unlogged=cut.unlogged_tokens, tokens_rewritten=rewritten, items_kept=len(cut.compaction.kept),
            used_again=len(used_again),
            used_again_kept=None if self.held is None else len(self.held.intersection(used_again)),
            identifiers_before=len(self.identifiers),
            identifiers_kept=len(self.identifiers_left) if cut.readable else None,
            reread_calls=len(again), reread_exact=sum(one.exact for one in again),
            reread_tokens=sum(one.tokens_call + one.tokens_result for one in again),
            reread_usd=asked_again_usd(cut.provider, after or 0, again),
            **cost(cut.provider, before, after, summary, rewritten, agent_of(transcript.format), cut.cold),
            **self.later.counts(self.held), **self.soon.counts(self.held, ("strict", "loose"), "_soon"),
            **self._control(), **self._came_again(),
        )  # fmt: skip

    def _control(self) -> dict[str, Any]:
        """Means of the same measures over the control calls."""
        again = [repeated_after(self.asked, one.at, one.call, one.call + SOON - 1) for one, _ in self.controls]
        counts = {
            "reread_calls": [len(one) for one in again],
            "needed_strict": [len(soon.of("strict")) for _, soon in self.controls],
            "needed_carried": [len(soon.carried) for _, soon in self.controls],
        }
        means = {f"control_{name}": round(fmean(of), 4) if of else None for name, of in counts.items()}
        return {"controls": len(again), **means}

    def _came_again(self) -> dict[str, int]:
        """What came again before it was used; empty if the log doesn't hold the summary."""
        if not self.cut.readable:
            return {}
        both = zip(("lost", "kept"), came_again(self.cut, self.asked), strict=True)
        return {f"{kind}_{name}": n for kind, one in both for name, n in msgspec.structs.asdict(one).items()}

    def needs(self) -> list[CompactionNeedRow]:
        """A row for each need of later calls for content from before the compaction."""
        rows = []
        for name, keys in msgspec.structs.asdict(self.later).items():
            for key, call in keys.items():
                kept = None if self.held is None else key in self.held
                place = self.cut.transcript.name, self.cut.number, call
                rows.append(CompactionNeedRow(*place, name, key[0], kind_of_atom(*key), key[1], kept))
        return rows

    def kinds(self) -> list[CompactionKindRow]:
        """A row for each kind of identifier: how many there were before, and how many are left."""
        before = Frequencies(kind_of_atom("strict", atom) for atom in self.identifiers)
        left = Frequencies(kind_of_atom("strict", atom) for atom in self.identifiers_left)
        name, number, readable = self.cut.transcript.name, self.cut.number, self.cut.readable
        return [
            CompactionKindRow(name, number, kind, before[kind], left[kind] if readable else None) for kind in KINDS[:-1]
        ]

    def beside(self) -> list[BesideRow]:
        """What policies would have left with as many tokens, at the compaction and at every second control."""
        cut = self.cut
        here = Control(cut.first, cut.compaction.at, cut.before)
        recorded = Left("recorded", cut.after, self.tokens)
        rows = [self._beside("compaction", here, self.soon, "recorded", recorded)]
        rows += self._policies("compaction", here, self.soon)
        for one, soon in self.controls[::2]:
            rows += self._policies("control", one, soon)
        return rows

    def _policies(self, at: str, one: Control, soon: Later) -> list[BesideRow]:
        common = (self.cut.transcript.head, self.cut.provider, self.counter)
        found = {name: fitted(pattern, one.items, self.tokens, *common) for name, pattern in FITTED.items()}
        found["summary, default"] = left_by(DEFAULT_SUMMARY, one.items, *common)
        wanted = dict.fromkeys(atom for _, atom in (*soon.needed, *soon.carried))
        known = Item("summary", -1, -1, clairvoyant((), self.tokens, self.counter.text, list(wanted)))
        found["clairvoyant"] = Left("clairvoyant", (known,), self.counter.item(known))
        return [self._beside(at, one, soon, name, left) for name, left in found.items()]

    def _beside(self, at: str, one: Control, soon: Later, name: str, left: Left) -> BesideRow:
        known, transcript = identifiers(one.items), self.cut.transcript
        return BesideRow(
            transcript=transcript.name, root=transcript.parent or transcript.name, compaction=self.cut.number,
            at=at, call=one.call, name=name, policy=left.policy, tokens_allowed=self.tokens, tokens_left=left.tokens,
            identifiers_before=len(known), identifiers_kept=len(known & identifiers(left.items)),
            **soon.counts(held_by(self.references, left.items)),
        )  # fmt: skip


def _sizes(cut: Cut) -> tuple[int | None, int | None, int | None]:
    """Recorded input before and after, and the tokens after that weren't read from the cache; None if not recorded."""
    calls = cut.transcript.calls
    last = calls[cut.first - 2].usage
    following = calls[cut.first - 1].usage if cut.first <= len(calls) else None
    before = cut.compaction.tokens_before or (last.input_tokens if last else None)
    after = following.input_tokens if following and following.input_tokens else cut.compaction.tokens_after
    if following is None or following.cache_read_tokens is None:
        return before, after, None
    return before, after, following.input_tokens - following.cache_read_tokens


class SummaryScore(msgspec.Struct, frozen=True):
    """What a text holds of the history before a call. Needs are of the calls from there on.

    `lost` are the needs that it doesn't hold, with their kinds, in order of use; carried ones come last.
    """

    transcript: str
    call: int
    tokens: int
    tokens_history: int
    identifiers: int
    identifiers_kept: int
    needed: dict[str, int]
    kept: dict[str, int]
    lost: tuple[tuple[str, str], ...]


def score_summary(text: str, transcript: Transcript, call: int | None = None) -> SummaryScore:
    """Return the score of a text in place of the history before a call, from 2; by default before the last compaction's
    call, or at the end of the transcript. Raises ValueError if there is no history before the call.
    """
    calls = len(transcript.calls)
    if call is None:
        call = transcript.compactions[-1].call if transcript.compactions else calls + 1
    if not 2 <= call <= calls + 1:
        raise ValueError(f"there is no history before call {call}; the transcript has {calls} calls")
    known = next((one for one in transcript.compactions if one.call == call), None)
    at = known.at if known else transcript.calls[call - 1].start if call <= calls else len(transcript.items)
    references = prepare(transcript)
    found = later(references, at, call, calls)
    names = ("identifiers", "quotations", "identifiers, own repeats too")
    groups = {name: found.of(kind) for name, kind in zip(names, NEEDED, strict=True)}
    held = references.vocabulary.held(canonical(text))
    before, item = transcript.items[:at], Item("summary", -1, -1, text)
    counter = session_of(transcript).segments[0][1].provider.counter()
    counter.learn_transcript(transcript)
    known_before = identifiers(before)
    return SummaryScore(
        transcript=transcript.name, call=call, tokens=counter.text(text), tokens_history=tokens_of(before, counter),
        identifiers=len(known_before), identifiers_kept=len(known_before & identifiers((item,))),
        needed={name: len(keys) for name, keys in groups.items()},
        kept={name: len(held.intersection(keys)) for name, keys in groups.items()},
        lost=tuple(
            (kind_of_atom(*key), key[1]) for key in dict.fromkeys((*found.needed, *found.carried)) if key not in held
        ),
    )  # fmt: skip
