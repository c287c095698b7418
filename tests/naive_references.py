"""The definition written down as it reads, slow: what the fast computation is tested against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from plain_references import identifiers, quotations, runs

from ctxsim.simulator.references.canonical import canonical, content, fold
from ctxsim.simulator.references.identifiers import is_value, tokens
from ctxsim.simulator.references.needs import OUTPUT_KINDS, Detector, Need
from ctxsim.simulator.references.survival import Counts, counted
from ctxsim.transcript import Item, Transcript

Whole = tuple[set[str], set[str]]
"""All tokens and all five-word runs of a text."""


def naive_counts(transcript: Transcript, number: int, view: Sequence[Item]) -> Counts:
    """Return what `Survival.call` returns, by scanning every text before the call and of the view."""
    before = [(item, _of(item)) for item in _counting(transcript.items[: _start(transcript, number)])]
    sent = [_of(item) for item in _counting(view)]
    needs, carried, said = naive_needs(transcript, number, before)
    return counted(needs, *([_holds(sent, need) for need in ones] for ones in (needs, carried, said)))


def naive_needs(
    transcript: Transcript, number: int, before: Sequence[tuple[Item, Whole]]
) -> tuple[list[Need], list[Need], list[Need]]:
    """Return a call's needs, its carried ones and those of what was said, given the items before and what they hold."""
    heads = [call.head or transcript.head for call in transcript.calls[:number]]
    head = [_whole(canonical(text)) for text in dict.fromkeys(text for one in heads for text in one.texts)]
    needs: list[Need] = []
    carried: list[Need] = []
    said: list[Need] = []
    for detector, atom in _used(transcript, number):
        side = 0 if detector == "strict" else 1
        sources = [item for item, whole in before if atom in whole[side]]
        kinds = {item.kind for item in sources}
        if not sources or any(atom in whole[side] for whole in head):
            continue
        newest = max(item.place for item in sources)
        age = number - next(n for n, call in enumerate(transcript.calls, 1) if call.start > newest)
        value = detector == "strict" and is_value(atom)
        need = Need(atom, detector, value, tuple(item.place for item in sources), age)
        if kinds == {"tool_result"}:
            needs.append(need)
        if detector == "strict" and age >= 1:
            if "tool_result" in kinds and "user" not in kinds:
                carried.append(need)
            if kinds <= {"user", "assistant"}:
                said.append(need)
    return needs, carried, said


def _used(transcript: Transcript, number: int) -> list[tuple[Detector, str]]:
    call = transcript.calls[number - 1]
    outputs = [content(item) for item in transcript.items[call.start : call.end] if item.kind in OUTPUT_KINDS]
    found: list[tuple[Detector, str]] = []
    found += [("strict", atom) for atom in sorted(set[str]().union(*map(_names, outputs)))]
    found += [("loose", atom) for atom in sorted(set[str]().union(*map(_quotations, outputs)))]
    return found


@cache
def _names(text: str) -> frozenset[str]:
    return frozenset(identifiers(text))


@cache
def _quotations(text: str) -> frozenset[str]:
    return frozenset(quotations(fold(text)))


def _start(transcript: Transcript, number: int) -> int:
    return transcript.calls[number - 1].start


def _counting(items: Iterable[Item]) -> list[Item]:
    return [item for item in items if item.kind != "reasoning"]


@cache
def _of(item: Item) -> Whole:
    return _whole(fold(content(item)))


@cache
def _whole(text: str) -> Whole:
    return tokens(text), set(runs(text))


def _holds(view: Sequence[Whole], need: Need) -> bool:
    return any(need.atom in whole[0 if need.detector == "strict" else 1] for whole in view)
