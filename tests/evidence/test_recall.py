"""Kept against recalled: reading graded answers, predicting them, and the published figures where the data is."""

from __future__ import annotations

import gzip
import json
from collections import Counter as Frequencies
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command_line import evidence
from corpus import FOLDER

from ctxsim.errors import InputError
from ctxsim.policies import open_policy, registered_policies
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.formats import ctxsim_jsonl
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Call, Item
from evidence.recall import predict, read_questions
from evidence.recall.compaction_trials import first_kept
from evidence.recall.held import Holds
from evidence.recall.lines import recall_lines
from evidence.recall.rows import Confusion, Predicted, confusion

RECALL = FOLDER.parent / "recall"
here = pytest.mark.skipif(not RECALL.is_dir(), reason="no graded answers here: a folder recall beside the recordings")


@pytest.mark.parametrize(
    ("text", "answer", "held"),
    [
        ("the token is AB-12345.", "ab-12345", True),
        ("the token is AB-123456", "ab-12345", False),
        ("path: /srv/a/b.toml", "/srv/a/b.toml", True),
        ("port 54130", "5413", False),
        ("route-1->route-2;x=y", "route-2", True),
        ("Casey owns it", "casey", True),
        ("Caseys own it", "Casey", False),
        ("sha256:abc01eef, then", "sha256:abc01eef", True),
        ("it stays in the cold store", "in the cold", True),
        ("anything", "", False),
    ],
)
def test_an_answer_is_held_whole(text: str, answer: str, held: bool) -> None:
    assert (answer in Holds([Item("user", 0, 0, text)])) is held


def test_reasoning_holds_nothing() -> None:
    assert "abc-12345" not in Holds([Item("reasoning", 0, 0, "abc-12345")])


def compacted(folder: Path) -> None:
    """Two calls, a compaction whose summary holds ord-77881 but not zz99887, a third call."""
    made = Assembly("s")
    made.user("Find them.")
    made.response([Part("tool_call", "{}", "find", "c1")])
    made.result("ord-77881 and zz99887", "c1")
    made.response([Part("assistant", "Found.")])
    made.compacted("auto", ["The order is ord-77881."])
    made.user("And then?")
    made.response([Part("assistant", "Then it is late11111.")])
    (folder / "s.jsonl").write_bytes(b"".join(ctxsim_jsonl.lines(made.transcript())))


TABLE = """transcript,call,question,expected,answer,correct,category
s.jsonl,2,order?,ord-77881,ord-77881,true,early
s.jsonl,3,order?,ord-77881,ord-77881,1,late
s.jsonl,3,other?,zz99887,unknown,no,late
s.jsonl,3,later?,late11111,unknown,false,late
s.jsonl,4,later?,late11111,none,0,late
"""


def test_a_table_of_graded_answers_is_held_against_what_each_request_held(tmp_path: Path) -> None:
    compacted(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    header, *lines = TABLE.splitlines()
    rows = [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("t.csv", "t.jsonl"):
        found = [one for asked in read_questions(str(tmp_path / name), []) for one in predict(asked)]
        # Call 3 is the first without the history: the summary has one of two. What call 3 says only call 4 is sent.
        assert [one.present for one in found] == [True, True, False, False, True]
        assert confusion(found) == Confusion(present_right=2, present_wrong=1, absent_right=0, absent_wrong=2)
        assert found[0].groups == {"category": "early"}
    (asked,) = read_questions(str(tmp_path / "t.csv"), [])
    # Had it kept everything, the third answer would have been there.
    assert [one.present for one in predict(asked, "keep-all")] == [True, True, True, False, True]


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("s.jsonl,2,q,e,a,perhaps", "t.csv:2: correct is 'perhaps'"),
        ("s.jsonl,second,q,e,a,true", "call is 'second', no number"),
        ("s.jsonl,9,q,e,a,true", "has 3 calls, no call 9"),
        ("gone.jsonl,1,q,e,a,true", "names the transcript gone.jsonl"),
        ("s.jsonl,1,q,e", "t.csv:2: has no answer, correct"),
    ],
)
def test_what_is_wrong_in_a_table_is_said(tmp_path: Path, row: str, error: str) -> None:
    compacted(tmp_path)
    (tmp_path / "t.csv").write_text(f"transcript,call,question,expected,answer,correct\n{row}\n")
    with pytest.raises(InputError, match=error.replace("(", r"\(")):
        list(read_questions(str(tmp_path / "t.csv"), []))


def trials(folder: Path) -> None:
    """One fixture as pi's messages, whose second and third message are kept, and one as items of Responses."""

    def said(text: str) -> dict[str, Any]:
        return {"role": "assistant", "content": [{"type": "text", "text": text}]}

    words = [{"type": "text", "text": "kept-00002"}]
    call = {"type": "toolCall", "id": "c1", "name": "probe", "arguments": {"n": 1}}
    messages = [
        {"role": "user", "content": "first value-00001"},
        {"role": "assistant", "content": [{"type": "text", "text": "ok"}, call]},
        {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "probe",
            "content": words,
        },
    ]
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first value-00003"}]},
        {"type": "function_call", "call_id": "c1", "name": "probe", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "gone-00004"},
    ]
    tail = [{"role": "user", "content": "go on"}, said("ready")]
    fixtures = [
        {"id": "p", "messages": messages, "sharedTail": tail},
        {"id": "n", "history": history, "sharedTail": tail},
    ]
    (folder / "fixtures.json").write_text(json.dumps(fixtures))

    def score(expected: str, correct: bool) -> dict[str, Any]:
        return {"questionId": expected, "category": "c", "expected": expected, "actual": "", "correct": correct}

    pi = {"scores": [score("value-00001", False), score("kept-00002", True)]}
    text = {"scores": [score("value-00003", True), score("gone-00004", False)]}
    lines = [
        {"fixtureId": "p", "piDefault": {"summary": "nothing", "firstKeptEntryId": "p-entry-00002"},
         "evaluations": {"pi_default": pi, "full_context": pi, "native_extension": pi}},
        {"fixtureId": "n", "trial": 2, "textSummary": {"text": "It was value-00003."},
         "evaluations": {"text_summary": text}},
    ]  # fmt: skip
    with gzip.open(folder / "trials.jsonl.gz", "wt") as stream:
        stream.write("".join(json.dumps(line) + "\n" for line in lines))


def test_trials_are_read_in_both_shapes(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    trials(tmp_path / "below")
    left_out: list[str] = []
    found = [one for asked in read_questions(str(tmp_path), left_out) for one in predict(asked)]
    assert [(one.condition, one.expected, one.present) for one in found] == [
        ("pi_default", "value-00001", False),
        ("pi_default", "kept-00002", True),
        ("full_context", "value-00001", True),
        ("full_context", "kept-00002", True),
        ("text_summary", "value-00003", True),
        ("text_summary", "gone-00004", False),
    ]
    assert len(left_out) == 1 and "2 answers after native_extension" in left_out[0]


def test_a_trial_of_another_shape_is_an_error_with_its_line(tmp_path: Path) -> None:
    trials(tmp_path)
    (tmp_path / "trials.jsonl.gz").unlink()
    (tmp_path / "trials.jsonl").write_text('{"fixtureId": "other"}\n')
    with pytest.raises(InputError, match=r"trials\.jsonl:1: is no such trial"):
        list(read_questions(str(tmp_path), []))


def test_the_command_prints_confusion_and_groups(tmp_path: Path) -> None:
    compacted(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    done = evidence("recall", "t.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "present          2       1" in done.stdout
    assert "predicted 3 of 5 (60.0%), graded 2 of 5 (40.0%)" in done.stdout
    assert "present, not given: later?: 'late11111', answered 'none'" in done.stdout
    done = evidence("recall", ".", cwd=tmp_path)
    assert done.returncode == 1 and "no graded answers there" in done.stderr


def test_an_interval_is_told_only_where_something_was_missed() -> None:
    def one(root: str, present: bool, correct: bool) -> Predicted:
        return Predicted("c", root, root, "q", "e", "a", present, correct, {})

    sure = [one(f"s{n}", True, True) for n in range(4)]
    assert any("precision 100 % (no miss in 4)" in line for line in recall_lines(sure, 0))
    # Three of six sessions are wrong: resampled, all or none may be. Fewer sessions have no interval.
    mixed = sure[:3] + [one(f"s{n}", True, False) for n in (3, 4, 5)]
    assert any("precision 50.0% (0.0%..100.0%), recall 100 %" in line for line in recall_lines(mixed, 0))
    assert any("precision 66.7%, recall 100 %" in line for line in recall_lines([*sure[:2], mixed[5]], 0))


@here
def test_the_published_figures_come_out() -> None:
    found = [one for asked in read_questions(str(RECALL), []) for one in predict(asked)]
    by_condition = {name: [one for one in found if one.condition == name] for name in ("pi_default", "text_summary")}
    assert confusion(by_condition["pi_default"]) == Confusion(288, 0, 0, 312)
    assert confusion(by_condition["text_summary"]) == Confusion(745, 11, 0, 144)
    full = confusion(one for one in found if one.condition == "full_context")
    assert (full.present_right, full.answers) == (1_500, 1_500)

    def predicted(condition: str, group: str) -> dict[str, float]:
        asked = Frequencies(one.groups[group] for one in by_condition[condition])
        present = Frequencies(one.groups[group] for one in by_condition[condition] if one.present)
        return {name: 100 * present[name] / n for name, n in asked.items()}

    # Published: nothing of epochs 0 to 4, 60 % of epoch 5, all from 6 on.
    published = {**{str(n): 0.0 for n in range(5)}, "5": 60.0, **{str(n): 100.0 for n in range(6, 10)}}
    assert predicted("pi_default", "epoch") == pytest.approx(published, abs=1.5)
    categories = {"exact_recall": 100.0, "relational_state": 100.0, "tool_history": 93.9, "distractor_resolution": 84.4}
    measured = predicted("text_summary", "category")
    # Published 35.6 %: the eleven answers that are there without being given are all in this one.
    assert measured.pop("task_continuation") == pytest.approx(35.6 + 100 * 11 / 180, abs=0.1)
    assert measured == pytest.approx(categories, abs=1.5)
    crossed = [one for one in by_condition["text_summary"] if one.present != one.correct]
    # Words that stand there for other items, not identifiers.
    assert {one.expected for one in crossed} <= {"DONE", "IN_PROGRESS", "BLOCKED", "QUEUED", "VERIFYING"}


@here
def test_pi_keeps_from_the_entry_that_was_recorded() -> None:
    """badlogic/pi-mono at 83378aad7e7, coding-agent/src/core/compaction: from the end back until 20,000 tokens by
    ceil(characters / 4), then the first message at or after that which is no tool result.
    """
    fixtures = json.loads(gzip.decompress((RECALL / "product-defaults" / "fixtures.json.gz").read_bytes()))
    lines = gzip.decompress((RECALL / "product-defaults" / "trials.jsonl.gz").read_bytes()).splitlines()
    recorded = {trial["fixtureId"]: first_kept(trial) for trial in map(json.loads, lines)}
    assert len(recorded) == 8
    for fixture in fixtures:
        messages = fixture["messages"]
        tokens, at = 0, len(messages)
        while tokens < 20_000:
            at -= 1
            tokens += -(-_characters(messages[at]) // 4)
        first = next(n for n in range(at, len(messages)) if messages[n]["role"] != "toolResult")
        assert first == recorded[fixture["id"]]


def _characters(message: dict[str, Any]) -> int:
    content = message["content"]
    if isinstance(content, str):
        return len(content)
    return sum(
        len(block["text"])
        if block["type"] == "text"
        else len(block["name"]) + len(json.dumps(block["arguments"], separators=(",", ":")))
        for block in content
    )


@here
@pytest.mark.skipif("pi" not in registered_policies(), reason="no policy pi here")
def test_the_policy_pi_keeps_from_there_too() -> None:
    found = [asked for asked in read_questions(str(RECALL), []) if asked.condition == "pi_default"]
    assert len(found) == 8
    for asked in found:
        (recorded,) = asked.transcript.compactions
        items = asked.transcript.items[: recorded.at]
        calls = (*(call for call in asked.transcript.calls if call.end <= len(items)), Call(len(items), len(items)))
        history = msgspec.structs.replace(asked.transcript, items=items, calls=calls, compactions=())
        # About 50,000 tokens: over the window less what pi reserves when the last run has ended.
        provider = Provider(window=60_000, summaries="empty")
        *_, last = replay(history, open_policy("pi"), provider, provider.counter())
        assert next(item.place for item in last.view if not item.synthetic) == recorded.kept[0]
