"""Did what calls used after a compaction come again before: of what it lost, and of what it kept, the control."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ctxsim.answers.compactions.again import Asked
from ctxsim.answers.compactions.cuts import Cut
from ctxsim.answers.compactions.later import identifiers
from ctxsim.simulator.references import OUTPUT_KINDS
from ctxsim.simulator.references.canonical import canonical, content
from ctxsim.simulator.references.identifiers import atoms
from ctxsim.transcript import Item


class CameAgain(msgspec.Struct):
    """Identifiers that calls used, once each, and of those the ones that had come again before their first use.

    `fetched`: the newest tool call that had brought it was made again, or looked into the same file again. `shown`: any
    result after the compaction held it.
    """

    used: int = 0
    fetched: int = 0
    shown: int = 0


def came_again(cut: Cut, asked: Sequence[Asked]) -> tuple[CameAgain, CameAgain]:
    """Return both of what the compaction lost and of what it kept, of the identifiers that calls used after it.

    They are those that a tool result of the request before it held, and neither head nor user text. The agent may have
    repeated them. `asked` are the transcript's repeated tool calls.
    """
    transcript = cut.transcript
    results = [item for item in cut.before if item.kind == "tool_result"]
    source = {atom: item.answers for item in results for atom in atoms(content(item))}
    told = identifiers([item for item in cut.before if item.kind == "user"])
    told = told.union(*(atoms(canonical(text)) for text in transcript.head.texts))
    left = identifiers(cut.after)
    answered = {item.answers: item.place for item in transcript.items if item.kind == "tool_result"}
    repeats = sorted((answered[one.place], one.of) for one in asked if one.place in answered)
    lost, kept = CameAgain(), CameAgain()
    seen, shown = set(told), set[str]()
    joined = cut.compaction.at
    for call in transcript.calls[cut.first - 1 : cut.last]:
        shown |= identifiers([item for item in transcript.items[joined : call.start] if item.kind == "tool_result"])
        joined = max(joined, call.start)
        again = {of for place, of in repeats if cut.compaction.at <= place < call.start and of < cut.compaction.at}
        used = (_names(transcript.items[call.start : call.end]) & source.keys()) - seen
        seen |= used
        for atom in used:
            one = kept if atom in left else lost
            one.used += 1
            one.fetched += source[atom] in again
            one.shown += atom in shown
    return lost, kept


def _names(items: Sequence[Item]) -> set[str]:
    return identifiers([item for item in items if item.kind in OUTPUT_KINDS])
