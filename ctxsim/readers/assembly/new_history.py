"""Logs that hold the new history of a compaction whole: what of it is recorded already, and what is new."""

from collections.abc import Iterable, Sequence

from ctxsim.transcript import Item, Kind


def kept_and_new(items: Sequence[Item], history: Iterable[tuple[Kind, str]]) -> tuple[list[int], list[str]]:
    """Return the places of recorded items that stand in a new history, and the texts in it that are new.

    The history is given as kinds and texts. Of equal items the latest is taken: a compaction keeps what is newest. A
    tool call or a result that isn't recorded is no text, and left out.
    """
    places: dict[tuple[Kind, str], list[int]] = {}
    for item in items:
        places.setdefault((item.kind, item.text), []).append(item.place)
    kept: list[int] = []
    new: list[str] = []
    for kind, text in reversed([*history]):
        found = places.get((kind, text))
        if found:
            kept.append(found.pop())
        elif kind in ("user", "assistant"):
            new.append(text)
    return sorted(kept), new[::-1]
