"""Re-issue detector: a tool call that repeats an earlier one exactly, same tool and same decoded arguments.

Keys of an object may stand in any order; numbers are compared as written. Calls of one response don't repeat each
other. Source of the rule: docs/references.md, definition.
"""

import json
from collections import Counter as Frequencies
from collections.abc import Mapping

from ctxsim.simulator.references.canonical import content, decoded
from ctxsim.transcript import Item, Transcript

VERSION = "reissue-1"

_ENCODER = json.JSONEncoder(sort_keys=True)


def reissues(transcript: Transcript, contents: Mapping[int, str] | None = None) -> dict[int, int]:
    """Return, for the place of each tool call that was made before, the place of the newest such call.

    `contents` are what `canonical.content` gives by place, where somebody has asked for it before.
    """
    made = [item for item in transcript.items if item.kind == "tool_call"]
    # Most calls have values that no other has: to compare them whole takes longer.
    values = {item.place: _values(item, contents[item.place] if contents else content(item)) for item in made}
    often = Frequencies(values.values())
    found: dict[int, int] = {}
    newest: dict[tuple[str, str], int] = {}
    for call in transcript.calls:
        asked = {
            item.place: _key(item)
            for item in transcript.items[call.start : call.end]
            if item.kind == "tool_call" and often[values[item.place]] > 1
        }
        found.update((place, newest[key]) for place, key in asked.items() if key in newest)
        newest.update((key, place) for place, key in asked.items())
    return found


def asked_again(transcript: Transcript, contents: Mapping[int, str] | None = None) -> dict[int, tuple[int, ...]]:
    """Return, for each call that repeats earlier tool calls, the places of the results it had had."""
    results = {item.answers: item.place for item in transcript.items if item.kind == "tool_result"}
    repeated = reissues(transcript, contents)
    found: dict[int, tuple[int, ...]] = {}
    for number, call in enumerate(transcript.calls, 1):
        places = tuple(results[repeated[p]] for p in range(call.start, call.end) if repeated.get(p) in results)
        if places:
            found[number] = places
    return found


def _values(item: Item, text: str) -> tuple[str, ...]:
    """The tool, and the values of its arguments, in an order that doesn't tell theirs."""
    return item.tool, *sorted(text.split("\n"))


def _key(item: Item) -> tuple[str, str]:
    try:
        # The prefix keeps arguments that are not JSON apart from those that are.
        return item.tool, "json " + _ENCODER.encode(decoded(item.text))
    except (ValueError, RecursionError):
        return item.tool, "text " + item.text
