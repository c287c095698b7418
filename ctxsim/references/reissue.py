"""Re-issue detector: a tool call that repeats an earlier one exactly, same tool and same decoded arguments.

Keys of an object may stand in any order; numbers are compared as written. Calls of one response don't repeat each
other. Source of the rule: docs/references.md, definition.
"""

from __future__ import annotations

import json

from ctxsim.references.canonical import decoded
from ctxsim.transcript import Item, Transcript

VERSION = "reissue-1"


def reissues(transcript: Transcript) -> dict[int, int]:
    """Return, for the place of each tool call that was made before, the place of the newest such call."""
    found: dict[int, int] = {}
    newest: dict[tuple[str, str], int] = {}
    for call in transcript.calls:
        asked = {item.place: _key(item) for item in transcript.items[call.start : call.end] if item.kind == "tool_call"}
        found.update((place, newest[key]) for place, key in asked.items() if key in newest)
        newest.update((key, place) for place, key in asked.items())
    return found


def asked_again(transcript: Transcript) -> dict[int, tuple[int, ...]]:
    """Return, for each call that repeats earlier tool calls, the places of the results it had had."""
    results = {item.answers: item.place for item in transcript.items if item.kind == "tool_result"}
    repeated = reissues(transcript)
    found: dict[int, tuple[int, ...]] = {}
    for number, call in enumerate(transcript.calls, 1):
        places = tuple(results[repeated[p]] for p in range(call.start, call.end) if repeated.get(p) in results)
        if places:
            found[number] = places
    return found


def _key(item: Item) -> tuple[str, str]:
    try:
        # The prefix keeps arguments that are not JSON apart from those that are.
        return item.tool, "json " + json.dumps(decoded(item.text), sort_keys=True)
    except (ValueError, RecursionError):
        return item.tool, "text " + item.text
