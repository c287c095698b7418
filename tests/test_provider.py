"""What the mock LLM enforces: pairs, the window, the bucket; and what it answers when asked for a summary."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from samples import conversation, run
from strategies import transcripts

from ctxsim.policies import open_policy
from ctxsim.provider import Provider
from ctxsim.provider.pairs import PairCheck
from ctxsim.provider.rate_limit import Bucket, smallest_quota
from ctxsim.provider.summaries import EMPTY, MODES
from ctxsim.provider.wire import request_body
from ctxsim.replay import replay
from ctxsim.tokenizers import open_tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Transcript
from ctxsim.view import View


def test_bucket_by_hand() -> None:
    # 60 tokens per minute: 1 a second. Full at 60; 50 taken at 0 s leaves 10. At 20 s it holds 30: 40 more need 10 s.
    bucket = Bucket(60)
    assert bucket.wait_s(50, 0) == 0
    bucket.take(50, 0)
    assert bucket.wait_s(40, 20) == 10
    bucket.take(40, 30)
    # At 30 s it is empty; at 90 s full again, not fuller.
    assert bucket.wait_s(60, 200) == 0
    bucket.take(60, 200)
    assert bucket.wait_s(1, 200) == 1
    assert bucket.wait_s(61, 10_000) is None


@given(st.lists(st.tuples(st.integers(0, 100), st.floats(0, 50)), max_size=30))
def test_bucket_never_gives_more_than_flowed_in(requests: list[tuple[int, float]]) -> None:
    bucket = Bucket(60)
    now = taken = 0.0
    for need, pause in requests:
        now += pause
        waited = bucket.wait_s(need, now)
        if waited is not None:
            now += waited
            bucket.take(need, now)
            taken += need
            assert taken <= 60 + now + 1e-6


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5_000)), min_size=1, max_size=12))
def test_smallest_quota_is_the_smallest(requests: list[tuple[int, int]]) -> None:
    now, timed = 0.0, []
    for pause, need in requests:
        now += pause
        timed.append((now, need))

    def waits(quota: int) -> bool:
        bucket = Bucket(quota)
        for at_s, need in timed:
            if (bucket.wait_s(need, at_s) or 0.0) > 1e-9 or bucket.wait_s(need, at_s) is None:
                return True
            bucket.take(need, at_s)
        return False

    quota = smallest_quota(timed)
    assert not waits(quota)
    assert quota == 1 or waits(quota - 1)


def test_documented_waits() -> None:
    # Bucket of 50,000 a minute, 40 s apart: 45,231 at call 6 leaves 4,769; 33,333 flow in; 53,000 never fit.
    bucket = Bucket(50_000)
    for number, tokens in enumerate([2_000, 4_900, 12_000, 12_105, 28_000, 45_231]):
        assert bucket.wait_s(tokens, 40 * number) == 0
        bucket.take(tokens, 40 * number)
    assert bucket.wait_s(53_000, 240) is None


def test_pairs() -> None:
    # items: 0 task | 1 call, 2 result | 3 call, 4 result | 5 answer
    items = conversation("one", "two").items
    view = View(lambda item: 0)
    for item in items[:5]:
        view = view.grow(item)
    assert PairCheck().errors(view) == []
    assert "result 2 has no call" in PairCheck().errors(view.drop([1], "r"))[0]
    assert "call 3 (tool) is not answered" in PairCheck().errors(view.drop([4], "r"))[0]
    assert "call 1 (tool) is not answered" in PairCheck().errors(view.insert("note", 2, "between"))[0]
    assert PairCheck().errors(view.insert("note", 3, "after an exchange")) == []


@settings(max_examples=150, deadline=None)
@given(transcripts(), st.data())
def test_checking_what_changed_is_checking_it_whole(transcript: Transcript, data: st.DataObject) -> None:
    check = PairCheck()
    view, changed_from = View(lambda item: 0), 0
    for item in transcript.items:
        view = view.grow(item)
        if data.draw(st.booleans()):
            drop = data.draw(st.sets(st.sampled_from([item.place for item in view]), max_size=2)) if len(view) else ()
            view = view.drop(drop, "r")
            changed_from = min([changed_from, *(edit.position for edit in view.edits)])
            view = view.settled()
            assert check.errors(view, changed_from) == PairCheck().errors(view)
            changed_from = len(view)


@settings(max_examples=40, deadline=None)
@given(transcripts())
def test_replay_says_from_where_on_a_request_changed(transcript: Transcript) -> None:
    check = PairCheck()
    for sent in replay(transcript, open_policy("max-messages:n=3"), Provider(), Counter(open_tokenizer())):
        assert check.errors(sent.view, sent.changed_from) == PairCheck().errors(sent.view)
        assert (sent.row.status == "invalid_pairs") == bool(PairCheck().errors(sent.view))


def test_keep_all_is_always_valid() -> None:
    assert {sent.row.status for sent in run(conversation("a", "b"), "keep-all")} == {"ok"}


def test_window_counts_reserved_output() -> None:
    transcript = conversation("word " * 50)
    tokens = [sent.row.tokens_sent for sent in run(transcript, "keep-all")]
    exact = run(transcript, "keep-all", window=tokens[1] + 10, reserved_output=10)
    assert [sent.row.status for sent in exact] == ["ok", "ok"]
    over = run(transcript, "keep-all", window=tokens[1] + 9, reserved_output=10)
    assert [sent.row.status for sent in over] == ["ok", "overflow"]
    assert f"{tokens[1]:,} + 10 reserved for output tokens exceed the window of {tokens[1] + 9:,}" in over[1].row.reason


def test_extractive_summary_keeps_identifiers_and_fits() -> None:
    counter = Counter(open_tokenizer())
    filler = "nothing to see here at all\n" * 200
    transcript = conversation(
        filler + "contact ana.abel@velora.example about REF-482913\n" + filler, "src/core/x_17.py failed"
    )
    text = MODES["extractive"](transcript.items, 80, counter.text)
    assert counter.text(text) <= 80
    assert "Do the task." in text and "ana.abel@velora.example" in text and "src/core/x_17.py" in text
    assert MODES["empty"](transcript.items, 80, counter.text) == EMPTY


@settings(max_examples=30, deadline=None)
@given(transcripts(), st.integers(1, 200))
def test_extractive_summary_never_exceeds_its_room(transcript: Transcript, room: int) -> None:
    counter = Counter(open_tokenizer())
    text = MODES["extractive"](transcript.items, room, counter.text)
    # Lines are counted one by one with their line feed; joined they may tokenize to a little less, hardly to more.
    assert counter.text(text) <= room + 2 or text == EMPTY


def test_summary_requests_are_billed_and_can_overflow() -> None:
    transcript = conversation("word " * 300, "word " * 300, "x")
    label = "summary:at=0.3,keep_last=2,max_tokens=50"
    roomy = run(transcript, label, window=1_500)
    billed = [sent.row for sent in roomy if sent.row.summary_calls]
    assert billed and all(row.tokens_summary_in > 300 and 0 < row.tokens_summary_out <= 52 for row in billed)
    tight = run(transcript, label, window=330)[2].row
    assert tight.summary_calls == 1 and tight.tokens_summary_in > 330 and tight.tokens_summary_out == 0


def test_request_bodies() -> None:
    sent = run(conversation("one", "two", system="Be brief."), "summary:at=0.00001,keep_last=2")[-1]
    anthropic = request_body(list(sent.view), conversation("one", "two", system="Be brief.").head, "anthropic")
    assert anthropic["system"] == "Be brief."
    assert [message["role"] for message in anthropic["messages"]] == ["user", "assistant", "user"]
    assert anthropic["messages"][1]["content"][0] == {"type": "tool_use", "id": "c1", "name": "tool", "input": {}}
    assert anthropic["messages"][2]["content"][0]["tool_use_id"] == "c1"
    openai = request_body(list(sent.view), conversation("one", "two", system="Be brief.").head, "openai")
    assert [message["role"] for message in openai["messages"]] == ["system", "user", "assistant", "tool"]
    assert openai["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": "two"}
