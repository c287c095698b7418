"""Recordings that hold every request whole: which request goes on from which, and so what each conversation was.

A request continues an earlier one if it starts with all of that one's messages and its reply. Agents that shorten their
history break this rule: such a request continues the latest one in the same context whose reply it still holds.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec


class Snapshot(msgspec.Struct, frozen=True):
    """One request by the keys of its messages, and the key of its reply.

    `context` tells agents apart that must not be mixed up. `after_compaction` is true if the source says that the
    history was compacted since the last request in this context.
    """

    keys: Sequence[Hashable]
    reply: Hashable
    context: str = ""
    after_compaction: bool = False


class Step(msgspec.Struct, frozen=True):
    """One request of a thread: its number, and how many of its messages are not new.

    `whole` is false where the messages before the new ones are not the history as it was.
    """

    number: int
    known: int
    whole: bool


def threads(snapshots: Sequence[Snapshot]) -> tuple[list[list[Step]], list[int]]:
    """Return the threads in order of their first request, and the requests that no thread went on from.

    The latter were made again or rewound in the same context; what goes on in another context is a thread of its own.
    """
    parents, roots = _parents(snapshots)
    remaining = dict.fromkeys(range(len(snapshots)))
    found: list[list[Step]] = []
    abandoned: list[int] = []
    while remaining:
        first = next(iter(remaining))
        context, root = snapshots[first].context, roots[first]
        family = [number for number in remaining if roots[number] == root]
        last = max(number for number in family if snapshots[number].context == context)
        chain = _chain(last, parents, remaining)
        contexts = {snapshots[step.number].context for step in chain}
        on_chain = {step.number for step in chain}
        off = [number for number in family if number not in on_chain and snapshots[number].context in contexts]
        for number in (*on_chain, *off):
            del remaining[number]
        found.append(chain)
        abandoned += off
    found.sort(key=lambda chain: chain[0].number)
    return found, sorted(abandoned)


def _chain(last: int, parents: Sequence[Step | None], remaining: dict[int, None]) -> list[Step]:
    chain: list[Step] = []
    number: int | None = last
    while number is not None and number in remaining:
        link = parents[number]
        goes_on = link is not None and link.number in remaining
        chain.append(Step(number, link.known, link.whole) if goes_on and link else Step(number, 0, True))
        number = link.number if link else None
    return chain[::-1]


def _parents(snapshots: Sequence[Snapshot]) -> tuple[list[Step | None], list[int]]:
    """Return for each request the one that it continues, and the first one of its family."""
    parents: list[Step | None] = []
    roots: list[int] = []
    ends: dict[int, int] = {}
    starts: dict[int, int] = {}
    replies: dict[tuple[str, Hashable], int] = {}
    messages: dict[tuple[str, Hashable], int] = {}
    for number, snapshot in enumerate(snapshots):
        prefixes = _prefixes(snapshot.keys)
        link = next((Step(ends[h], k, True) for k, h in reversed([*enumerate(prefixes)]) if k and h in ends), None)
        # A request that was there before is made again, unless a compaction happened to bring the same one about.
        same = None if snapshot.after_compaction else starts.get(prefixes[-1])
        if same is None:
            # Replies behind the part that is as it was: the history was changed in its middle, so not the end of it.
            link = _edited(snapshot, link.known if link else 0, replies, messages) or link
        parents.append(link)
        roots.append(roots[link.number] if link else number if same is None else roots[same])
        ends[hash((prefixes[-1], snapshot.reply))] = number
        for prefix in prefixes[1:]:
            starts.setdefault(prefix, number)
        replies[snapshot.context, snapshot.reply] = number
        messages.update(((snapshot.context, key), number) for key in snapshot.keys)
    return parents, roots


def _prefixes(keys: Sequence[Hashable]) -> list[int]:
    """Return a hash for each number of leading messages."""
    hashes = [0]
    for key in keys:
        hashes.append(hash((hashes[-1], key)))
    return hashes


def _edited(
    snapshot: Snapshot,
    known: int,
    replies: dict[tuple[str, Hashable], int],
    messages: dict[tuple[str, Hashable], int],
) -> Step | None:
    """Return the request whose history was shortened to make this one, and where the new messages begin.

    The first `known` messages are explained already.
    """
    context = snapshot.context
    keys = [*enumerate(snapshot.keys)][known:]
    held = [(replies[context, key], n) for n, key in keys if (context, key) in replies]
    if held:
        latest, position = max(held)
        return Step(latest, position + 1, False)
    if snapshot.after_compaction and not known:
        held = [(messages[context, key], n) for n, key in keys if (context, key) in messages]
        if held:
            return Step(max(held)[0], max(position for _, position in held) + 1, False)
    return None
