"""Repeated tool calls: those that repeat one from before a point, exactly or by reading the same file.

Also whether identifiers used after a compaction had come again by then: those it lost, and as control those it kept.
"""

from collections.abc import Sequence

import msgspec

from ctxsim.answers.compactions.cuts import Cut
from ctxsim.answers.compactions.later import identifiers
from ctxsim.counting.estimators.serialized import parsed
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import rate_at
from ctxsim.simulator.references.canonical import canonical, content
from ctxsim.simulator.references.finding import reissues, repeated
from ctxsim.simulator.references.identifiers import atoms
from ctxsim.simulator.references.needs import OUTPUT_KINDS
from ctxsim.transcript import Item, Transcript


class Asked(msgspec.Struct, frozen=True):
    """One tool call that repeats an earlier one, at the place `of` (the newest); `exact`: with the same arguments."""

    place: int
    call: int
    of: int
    exact: bool
    tokens_call: int
    tokens_result: int


def asked_again(transcript: Transcript, counter: Counter) -> list[Asked]:
    """Return the tool calls that repeat an earlier one: the same tool with the same arguments, or another read of the
    same file. Tokens are counted.
    """
    exact, same_file = reissues(transcript), repeated(transcript, _file)
    results = {item.answers: item for item in transcript.items if item.kind == "tool_result"}
    found = []
    for number, call in enumerate(transcript.calls, 1):
        for item in transcript.items[call.start : call.end]:
            of = max(exact.get(item.place, -1), same_file.get(item.place, -1))
            if of < 0:
                continue
            result = results.get(item.place)
            tokens = counter.item(item), counter.item(result) if result else 0
            found.append(Asked(item.place, number, of, item.place in exact, *tokens))
    return found


def _file(call: Item) -> tuple[str, str] | None:
    """The tool of a call and the file that it looks at; None if it looks at none."""
    path = looked_at(call.text)
    return (call.tool, path) if path else None


def looked_at(arguments: str) -> str | None:
    """Return the path that is the only text in some JSON arguments, else None. Numbers may say where in the file to
    look, so they are allowed.
    """
    values = parsed(arguments)
    texts = [value for value in values.values() if isinstance(value, str | dict)] if isinstance(values, dict) else []
    path = texts[0] if len(texts) == 1 and isinstance(texts[0], str) else ""
    return path if ("/" in path or "\\" in path) and not any(map(str.isspace, path)) else None


def repeated_after(asked: list[Asked], at: int, first: int, last: int) -> list[Asked]:
    """Return the repeats in the calls `first` to `last` whose newest earlier instance lies before the place `at`."""
    return [one for one in asked if first <= one.call <= last and one.of < at]


def asked_again_usd(provider: Provider, prompt: int, again: Sequence[Asked]) -> float | None:
    """Return the dollars of repeated tool calls as output tokens, and of results as new input; None without prices."""
    if provider.prices is None:
        return None
    calls, results = sum(one.tokens_call for one in again), sum(one.tokens_result for one in again)
    _, write = provider.read_and_write_usd(prompt)
    return round(calls * rate_at(provider.prices.output, prompt) / 1e6 + results * write, 6)


class CameAgain(msgspec.Struct):
    """Number of identifiers that calls used, and of those that had come again before their first use.

    `fetched`: the newest tool call that had brought it was repeated, or its file was read again. `shown`: any result
    after the compaction held it.
    """

    used: int = 0
    fetched: int = 0
    shown: int = 0


def came_again(cut: Cut, asked: Sequence[Asked]) -> tuple[CameAgain, CameAgain]:
    """Return the counts of what the compaction lost and of what it kept, of the identifiers that calls used after it.

    Counted are identifiers in tool results of the request before it, but not in head or user text. The agent may have
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
        outputs = [item for item in transcript.items[call.start : call.end] if item.kind in OUTPUT_KINDS]
        again = {of for place, of in repeats if cut.compaction.at <= place < call.start and of < cut.compaction.at}
        used = (identifiers(outputs) & source.keys()) - seen
        seen |= used
        for atom in used:
            one = kept if atom in left else lost
            one.used += 1
            one.fetched += source[atom] in again
            one.shown += atom in shown
    return lost, kept
