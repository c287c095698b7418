"""The part of a page that holds a transcript: its calls, items and losses, and edits that are made again and again."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_runs import made_run

from ctxsim.report import page_parts
from ctxsim.report.page_parts import longest, packed
from ctxsim.results.columns import CallRow, Event, ItemRow, LossRow


def loss(policy: str) -> LossRow:
    return LossRow("t1", policy, 5, 0, "dropped", "strict", "value", 1, "head", "read", 1)


TEXTS = ("status", "reason", "trigger", "cache_break", "transcript", "policy")
CALLS: dict[str, Any] = {name: "" if name in TEXTS else 0 for name in CallRow.__struct_fields__}


def call(number: int, policy: str, sent: int, **given: Any) -> CallRow:
    known = {"transcript": "t1", "policy": policy, "call": number, "status": "ok", "tokens_sent": sent}
    return CallRow(**{**CALLS, **known, **given})


ITEMS = [
    ItemRow("t1", 0, "user", "", 0, 1, 7, "", "x" * 300), ItemRow("t1", 1, "tool_result", "read", 1, 2, 8, "3 5", "y")
]  # fmt: skip


def edit(number: int, item: int, text: str, moment: str = "before_call", sources: str = "", after: int = 3) -> Event:
    return Event("t1", "mask:keep=1", number, moment, item, "edited", 9, after, f"why {number}", sources, text)


EDITS = [
    edit(1, 4, "cut"), edit(2, 4, "cut"), edit(3, 4, "cut"), edit(2, 5, "cut"), edit(5, 4, "cut"), edit(6, 4, "short"),
    edit(7, 4, "short", "after_call"), edit(8, 4, "short", "after_call", "1 2"),
    edit(9, 4, "short", "after_call", "1 2", after=2),
]  # fmt: skip


def test_texts_are_as_long_as_the_budget_allows() -> None:
    lengths = np.array([10, 30, 40])
    # 10 + 20 + 20 are 50, one more of both 52.
    assert longest(lengths[:0], 5) == 0
    assert [longest(lengths, budget) for budget in (49, 50, 51, 52, 79, 80, 99, 0)] == [19, 20, 20, 21, 39, 40, 40, 0]


def parts_of(folder: Path) -> dict[str, Any]:
    tables = {
        "losses": [loss("retry"), loss("mask:keep=1")],
        "calls": [call(2, "keep-all", 20, status="overflow", compactions=2, tokens_estimated=21, tokens_cache_read=5,
                       tokens_cache_write=6, tokens_uncached=7),
                  call(1, "keep-all", 10), call(1, "mask:keep=1", 9, compactions=1)],
        "items": ITEMS,
        "events": EDITS,
    }  # fmt: skip
    rows: dict[str, Any] = {label: [{}, {}] for label in ("keep-all", "mask:keep=1", "retry")}
    run = made_run(folder / "run", rows, tables=tables, limits={"retry": {"budget": 500.0}})
    [text] = packed(run, ["t1"])
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(text)))
    return found


def test_a_part_has_a_transcript_s_calls_items_and_losses(tmp_path: Path) -> None:
    found = parts_of(tmp_path)
    assert found["limits"] == [[200_000, "window"], [500, "budget"]]
    assert found["calls"] == {
        "0": {"sent": [10, 20], "estimated": [0, 21], "read": [0, 5], "write": [0, 6], "uncached": [0, 7],
              "status": ["ok", "overflow"], "compacted": [0, 1]},
        "1": {"sent": [9], "estimated": [0], "read": [0], "write": [0], "uncached": [0], "status": ["ok"],
              "compacted": [1]},
    }  # fmt: skip
    assert found["items"] == [
        {"item": 0, "kind": "user", "tool": "", "tokens": 7, "first": 1, "used": [], "text": "x" * 300},
        {"item": 1, "kind": "tool_result", "tool": "read", "tokens": 8, "first": 2, "used": [3, 5], "text": "y"},
    ]  # fmt: skip
    # By policy the call that needed something, and what of.
    assert found["lost"] == {"1": [[5, 1]], "2": [[5, 1]]}


def test_edits_made_again_call_after_call_are_told_once(tmp_path: Path) -> None:
    found = parts_of(tmp_path)
    strings = found["strings"]
    told = [(one[0], one[9], one[2], strings[one[1]], strings[one[6]], strings[one[7]], strings[one[8]], one[4:6])
            for one in found["edits"]["1"]]  # fmt: skip
    # The first goes on for three calls; the same again after a pause, another text, moment, source or size is another.
    assert told == [
        (1, 3, 4, "before_call", "why 1", "", "cut", [9, 3]), (2, 2, 5, "before_call", "why 2", "", "cut", [9, 3]),
        (5, 5, 4, "before_call", "why 5", "", "cut", [9, 3]), (6, 6, 4, "before_call", "why 6", "", "short", [9, 3]),
        (7, 7, 4, "after_call", "why 7", "", "short", [9, 3]), (8, 8, 4, "after_call", "why 8", "1 2", "short", [9, 3]),
        (9, 9, 4, "after_call", "why 9", "1 2", "short", [9, 2]),
    ]  # fmt: skip
    assert len(set(strings)) == len(strings) and found["more"] == {}


@pytest.mark.parametrize(("most", "shown", "more"), [(7, 7, {}), (6, 6, {"1": 1}), (1, 1, {"1": 6})])
def test_of_too_many_edits_the_first_are_held(
    most: int, shown: int, more: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_parts, "MOST_EDITS", most)
    found = parts_of(tmp_path)
    assert (len(found["edits"]["1"]), found["more"]) == (shown, more)


@pytest.mark.parametrize(("budget", "length"), [(10**6, 300), (290, 281), (5, 200)])
def test_texts_of_a_part_are_cut_to_the_budget_but_never_below_two_hundred(
    budget: int, length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_parts, "TEXT_BUDGET", budget)
    # Beside 300 letters there is 1 of the other item, and edits have two different texts of 3 and 5.
    assert len(parts_of(tmp_path)["items"][0]["text"]) == length
