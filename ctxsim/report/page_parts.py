"""The page's data on each transcript, call by call: a packed part each, which is unpacked when it is shown."""

import base64
import zlib
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pandas

from ctxsim.errors import InputError
from ctxsim.report.plots import limits
from ctxsim.results import Run

MOST_ROWS = 400_000
"""Calls times policies in a page, at most. If there are more, it has only the transcripts with the most tokens."""

AT_ONCE = 100_000
"""Calls times policies that are read together."""

MOST_EDITS = 20_000
"""Edits of one transcript under one policy, at most. An edit that is made again call after call counts once."""

TEXT_BUDGET = 24_000_000
"""Characters of transcript text in a page. Beyond, all texts are cut to one length. The file takes a fifth of it."""


def chosen_transcripts(run: Run, word: str = "") -> list[str]:
    """Return the transcripts whose name contains the word, the most tokens first, up to MOST_ROWS, but at least one.

    Raises InputError if no name contains it.
    """
    rows = run.of(run.labels[0]).sort_values("tokens_full_sum", ascending=False, kind="stable")
    rows = rows[[word in name for name in rows.transcript]]
    if not len(rows):
        raise InputError(run.folder, f"has no transcript whose name holds '{word}'")
    fits = int((rows.calls.cumsum() * len(run.labels) <= MOST_ROWS).sum())
    return [str(name) for name in rows.transcript[: max(1, fits)]]


def packed(run: Run, chosen: Sequence[str]) -> Iterator[str]:
    """Yield each transcript's part, in the order of `chosen`: JSON, compressed by zlib (RFC 1950), in base 64."""
    room, rows = _room(run, chosen), run.of(run.labels[0])
    provider = dict(zip(rows.transcript, rows.provider, strict=True))
    for group in _groups(run, chosen):
        for part in _parts(run, group, room, provider):
            yield base64.b64encode(zlib.compress(msgspec.json.encode(part), 9)).decode()


def _groups(run: Run, chosen: Sequence[str]) -> Iterator[list[str]]:
    """The transcripts in groups of about AT_ONCE rows, each of which is read at once."""
    rows = run.of(run.labels[0]).set_index("transcript").calls[list(chosen)] * len(run.labels)
    for _, group in rows.groupby(rows.cumsum() // AT_ONCE, sort=False):
        yield list(group.index)


def _room(run: Run, chosen: Sequence[str]) -> int:
    """The length to which texts are cut so that all fit into the page's budget, at least 200 characters."""
    among = set(chosen)
    lengths: list[npt.NDArray[np.int64]] = []
    for table in ("items", "events"):
        for batch in run.batches(table, ["transcript", "text"]):
            texts = batch[batch.transcript.isin(among)].drop_duplicates().text
            lengths.append(texts.str.len().to_numpy(dtype=np.int64))
    return max(200, longest(np.concatenate(lengths), TEXT_BUDGET))


def longest(lengths: npt.NDArray[np.int64], budget: int) -> int:
    """Return the largest length to which all texts can be cut so that their sum is within a budget."""
    most = int(lengths.max(initial=0))
    return bisect(range(1, most + 1), budget, key=lambda length: int(np.minimum(lengths, length).sum()))


KEYS = ("transcript", "policy")
ITEM = ("item", "kind", "tool", "tokens", "first_call", "used_by", "text")
EDIT = ("call", "moment", "item", "action", "tokens_before", "tokens_after", "reason", "sources", "text")
CALL = (
    "call", "status", "compactions", "tokens_sent", "tokens_estimated", "tokens_cache_read", "tokens_cache_write",
    "tokens_uncached",
)  # fmt: skip


def _parts(run: Run, names: Sequence[str], room: int, provider: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Each transcript's items, and its calls, edits and losses by the policy's number in the page."""
    number = {label: n for n, label in enumerate(run.labels)}
    items, events, calls, lost = (
        _by(keys, run.table(table, *keys, *columns, transcript=names), columns)
        for table, keys, columns in (
            ("items", ("transcript",), ITEM), ("events", KEYS, EDIT), ("calls", KEYS, CALL),
            ("losses", KEYS, ("call", "item")),
        )
    )  # fmt: skip
    for name in names:
        # Each distinct string is stored once; edits hold its number.
        strings: dict[str, int] = defaultdict(count().__next__)
        edits = {n: _edits(rows, room, strings) for n, rows in _under(number, events, name)}
        yield {
            "limits": limits(run.info.providers[int(provider[name])], run.info.limits),
            "calls": {n: _calls(rows) for n, rows in _under(number, calls, name)},
            "items": [
                {
                    "item": item, "kind": kind, "tool": tool, "tokens": tokens, "first": first,
                    "used": [int(call) for call in used.split()], "text": text[:room],
                }
                for item, kind, tool, tokens, first, used, text in items.get((name,), ())
            ],
            "edits": {n: found[:MOST_EDITS] for n, found in edits.items()},
            "more": {n: len(found) - MOST_EDITS for n, found in edits.items() if len(found) > MOST_EDITS},
            "lost": dict(_under(number, lost, name)),
            "strings": list(strings),
        }  # fmt: skip


Rows = list[tuple[Any, ...]]


def _by(keys: Sequence[str], table: pandas.DataFrame, columns: Sequence[str]) -> dict[tuple[str, ...], Rows]:
    """A table's rows by the values of their keys, in order."""
    found: dict[tuple[str, ...], Rows] = {}
    identities = zip(*(table[name].tolist() for name in keys), strict=True)
    rows = zip(*(table[name].tolist() for name in columns), strict=True)
    for identity, row in zip(identities, rows, strict=True):
        found.setdefault(identity, []).append(row)
    return found


def _under(number: dict[str, int], found: dict[tuple[str, ...], Rows], name: str) -> Iterator[tuple[int, Rows]]:
    """One transcript's rows by the number of their policy."""
    return ((n, found[name, label]) for label, n in number.items() if (name, label) in found)


def _edits(rows: Rows, room: int, strings: dict[str, int]) -> list[list[int]]:
    """Each edit, with the last call at which it was repeated, because some policies edit every request anew."""
    found: list[list[int]] = []
    latest: dict[int, list[int]] = {}
    for call, moment, item, action, before, after, reason, sources, text in rows:
        what = [strings[moment], item, strings[action], before, after]
        why = [strings[reason], strings[sources], strings[text[:room]]]
        last = latest.get(item)
        if last and last[1:6] == what and last[7:9] == why[1:] and last[9] == call - 1:
            last[9] = call
            continue
        latest[item] = [call, *what, *why, call]
        found.append(latest[item])
    return found


def _calls(rows: Rows) -> dict[str, list[Any]]:
    _, status, compactions, sent, estimated, read, write, uncached = map(list, zip(*sorted(rows), strict=True))
    return {
        "sent": sent, "estimated": estimated, "read": read, "write": write, "uncached": uncached, "status": status,
        "compacted": [int(value > 0) for value in compactions],
    }  # fmt: skip
