"""Codex rollouts since 0.147: a record of each response's usage, and rollouts that go on others without a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from read_back import Json, only, write

from ctxsim.transcript import Transcript

FIRST, SECOND, THIRD = (f"019d0000-0000-7000-8000-00000000000{number}" for number in (1, 2, 3))
"""Ids that begin with the milliseconds of 19 March 2026."""


def line(ordinal: int, kind: str, minute: int = 0, **payload: Any) -> Json:
    time = f"2026-03-19T09:{minute:02}:00.000Z"
    return {"timestamp": time, "ordinal": ordinal, "type": kind, "payload": payload}


def said(ordinal: int, role: str, text: str, minute: int = 0) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return line(ordinal, "response_item", minute, type="message", role=role, content=content)


def used(input: int, output: int = 10) -> Json:
    return {"input_tokens": input, "output_tokens": output, "total_tokens": input + output}


def record(ordinal: int, response: str, input: int, minute: int = 0) -> Json:
    return line(ordinal, "token_usage_record", minute, response_id=response, usage=used(input))


def count(ordinal: int, input: int, total: int, minute: int = 0) -> Json:
    info = {"total_token_usage": used(total), "last_token_usage": used(input), "model_context_window": 258_400}
    return line(ordinal, "event_msg", minute, type="token_count", info=info)


def head(ordinal: int = 0, minute: int = 0, id: str = FIRST, **more: Any) -> Json:
    return line(ordinal, "session_meta", minute, id=id, cli_version="0.171.0", **more)


def goes_on(rollout: str, end: int) -> Json:
    return {"thread_id": rollout, "end_ordinal_exclusive": end, "end_byte_offset": 1}


def put(folder: Path, rollout: str, *lines: Json) -> Transcript:
    folder.mkdir(parents=True, exist_ok=True)
    return only(write(folder / f"rollout-2026-03-19T09-00-00-{rollout}.jsonl", *lines), "codex-rollout")


def prompts(transcript: Transcript) -> list[int | None]:
    return [call.usage and call.usage.input_tokens for call in transcript.calls]


def beside(transcript: Transcript) -> list[tuple[bool, int | None]]:
    """Whether each response beside the conversation is a summary, and its prompt."""
    return [(call.end > 0, call.usage and call.usage.input_tokens) for call in transcript.beside]


def test_a_response_with_a_record_and_a_count_is_used_once(tmp_path: Path) -> None:
    # The third response was cut off: its record stands alone. The last one has a count alone, as older versions write.
    read_back = put(
        tmp_path, FIRST, head(), said(1, "user", "Go."), said(2, "assistant", "One."), record(3, "r1", 900),
        count(4, 900, 900), said(5, "user", "On."), said(6, "assistant", "Two."), record(7, "r2", 950),
        record(8, "r2", 950), record(9, "r3", 980), count(10, 950, 1850), said(11, "user", "And?"),
        said(12, "assistant", "Three."), count(13, 990, 3820),
    )  # fmt: skip
    assert prompts(read_back) == [900, 950, 990] and beside(read_back) == [(False, 980)]
    assert [call.window for call in read_back.calls] == [272_000] * 3


def test_a_compaction_is_paid_by_its_record_which_no_count_tells(tmp_path: Path) -> None:
    stated = {"response_id": "c1", "usage": used(960)}
    cut = line(5, "compacted", message="", replacement_history=[{"type": "compaction", "encrypted_content": "x"}],
               compaction_response_id="c1", latest_token_usage_record=stated)  # fmt: skip
    read_back = put(
        tmp_path, FIRST, head(), said(1, "user", "Go."), said(2, "assistant", "One."), record(3, "r1", 900),
        count(4, 900, 900), record(5, "c1", 960), cut, said(6, "user", "On."),
        said(7, "assistant", "Two."), record(8, "r2", 150), count(9, 150, 1050),
    )  # fmt: skip
    assert prompts(read_back) == [900, 150] and beside(read_back) == [(True, 960)]
    # 960 and 10.
    assert [(one.call, one.tokens_before) for one in read_back.compactions] == [(2, 970)]


def test_another_agents_words_are_an_input_and_what_a_tool_showed_the_user_is_none(tmp_path: Path) -> None:
    shown = {**said(3, "assistant", "Shown."), "metadata": {"delivered_assistant_message": "complete"}}
    read_back = put(
        tmp_path, FIRST, head(), line(1, "inter_agent_communication", author="/root", content="Look."),
        said(2, "assistant", "One."), shown, record(4, "r1", 900),
    )  # fmt: skip
    assert [(item.kind, item.text) for item in read_back.items] == [("user", "Look."), ("assistant", "One.")]
    assert prompts(read_back) == [900]


PARENT = [
    head(), said(1, "user", "Go."), said(2, "assistant", "One."), record(3, "r1", 900), count(4, 900, 900),
    said(5, "user", "Wrong."), said(6, "assistant", "Two."), record(7, "r2", 950), count(8, 950, 1850),
]  # fmt: skip


def test_a_thread_that_was_reverted_begins_with_what_was_kept_of_it(tmp_path: Path) -> None:
    day = tmp_path / "2026" / "03" / "19"
    assert prompts(put(day, FIRST, *PARENT)) == [900, 950]
    # The count is that of the kept response, told once more.
    own = [head(5, 5, history_base=goes_on(FIRST, 5)), count(6, 900, 900, 5), said(7, "user", "Right.", 5),
           said(8, "assistant", "Three.", 5), record(9, "r3", 960, 5), count(10, 960, 1860, 5)]  # fmt: skip
    read_back = put(day, f"{FIRST}_{SECOND}", *own)
    assert [item.text for item in read_back.items] == ["Go.", "One.", "Right.", "Three."]
    assert prompts(read_back) == [960] and read_back.carried == 2 and not read_back.beside
    assert "begins with 1 response(s) copied from another session, where they are counted" in read_back.notes
    # A fork, on the next day, of what was reverted.
    fork = [head(9, 9, THIRD, history_base=goes_on(SECOND, 9), forked_from_id=FIRST), said(10, "user", "Else.", 9),
            said(11, "assistant", "Four.", 9), record(12, "r4", 970, 9)]  # fmt: skip
    read_back = put(tmp_path / "2026" / "03" / "20", THIRD, *fork)
    assert [item.text for item in read_back.items] == ["Go.", "One.", "Right.", "Three.", "Else.", "Four."]
    assert prompts(read_back) == [970] and read_back.carried == 4 and read_back.calls[0].comparable


@pytest.mark.parametrize("place", ["other", "2026/03/21", "2026/03/19"])
def test_a_rollout_that_is_not_there_is_named_and_requests_do_not_compare(tmp_path: Path, place: str) -> None:
    put(tmp_path / "2026" / "03" / "1x", FIRST, *PARENT)
    if place.endswith("19"):
        # The file is there, but empty: a worker on another machine has only its name.
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / f"rollout-2026-03-19T09-00-00-{FIRST}.jsonl").touch()
    own = [head(5, 5, SECOND, history_base=goes_on(FIRST, 5)), said(6, "user", "Right.", 5),
           said(7, "assistant", "Three.", 5), record(8, "r3", 960, 5)]  # fmt: skip
    read_back = put(tmp_path / place, SECOND, *own)
    assert prompts(read_back) == [960] and not read_back.calls[0].comparable
    assert f"the history before the first line is in rollout {FIRST}, which isn't here" in read_back.notes


def test_a_whole_rollout_that_another_goes_on_is_there(tmp_path: Path) -> None:
    put(tmp_path, FIRST, *PARENT)
    own = [head(9, 5, SECOND, history_base=goes_on(FIRST, 9)), said(10, "user", "On.", 5),
           said(11, "assistant", "Three.", 5), record(12, "r3", 990, 5)]  # fmt: skip
    read_back = put(tmp_path, SECOND, *own)
    assert read_back.calls[0].comparable and not any("which isn't here" in note for note in read_back.notes)


def test_rollouts_that_go_on_each_other_end(tmp_path: Path) -> None:
    put(tmp_path, FIRST, head(history_base=goes_on(SECOND, 9)), *PARENT[1:])
    read_back = put(tmp_path, SECOND, head(0, 5, SECOND, history_base=goes_on(FIRST, 9)),
                    said(10, "assistant", "Three.", 5), record(11, "r3", 960, 5))  # fmt: skip
    assert [item.text for item in read_back.items] == ["Go.", "One.", "Wrong.", "Two.", "Three."]


def test_many_rollouts_that_go_on_each_other_are_read_without_recursion(tmp_path: Path) -> None:
    # Each of 600 has a header and one response, and goes on the one before it.
    ids = [f"019d0000-0000-7000-8000-{number:012}" for number in range(600)]
    for number, (id, base) in enumerate(zip(ids, [None, *ids], strict=False)):
        more = {"history_base": goes_on(base, 2 * number)} if base else {}
        own = head(2 * number, 5, id, **more), said(2 * number + 1, "assistant", f"{number}.", 5)
        file = write(tmp_path / f"rollout-2026-03-19T09-00-00-{id}.jsonl", *own)
    read_back = only(file, "codex-rollout")
    assert [item.text for item in read_back.items] == [f"{number}." for number in range(600)]


@pytest.mark.parametrize("first", [5, "5"])
def test_what_a_sub_agent_was_given_ends_at_the_ordinal_that_its_header_names(tmp_path: Path, first: Any) -> None:
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": FIRST, "depth": 1}}}
    own = [head(0, 5, SECOND, source=spawned, subagent_history_start_ordinal=first), said(1, "user", "Go.", 5),
           said(2, "assistant", "One.", 5), count(3, 900, 900, 5), said(5, "user", "Look.", 5),
           said(6, "assistant", "Seen.", 5), record(7, "r3", 400, 5), count(8, 400, 400, 5)]  # fmt: skip
    read_back = put(tmp_path, SECOND, *own)
    assert prompts(read_back) == [400] and read_back.carried == 2
    assert [item.text for item in read_back.items] == ["Go.", "One.", "Look.", "Seen."]


def test_an_ordinal_of_too_many_digits_is_read(tmp_path: Path) -> None:
    read_back = put(tmp_path, SECOND, head(0, 5, SECOND, subagent_history_start_ordinal="9" * 5_000),
                    said(1, "assistant", "Seen.", 5))  # fmt: skip
    assert [item.text for item in read_back.items] == ["Seen."]


def test_a_fork_may_begin_with_a_count_of_the_other_session(tmp_path: Path) -> None:
    # As an older version writes it, without records.
    own = [head(0, 0, SECOND, forked_from_id=FIRST), count(1, 900, 900), said(2, "user", "Look.", 1),
           said(3, "assistant", "One.", 2), count(4, 400, 1300, 2), said(5, "user", "On.", 3),
           said(6, "assistant", "Two.", 4), count(7, 500, 1800, 4)]  # fmt: skip
    read_back = put(tmp_path, SECOND, *own)
    assert prompts(read_back) == [400, 500] and not read_back.beside
