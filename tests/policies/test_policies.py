"""Each policy by hand: what its source says, on conversations small enough to do in the head."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import call_rows, conversation, run

from ctxsim.policies import Overflow, open_policy
from ctxsim.policies.head_tail import head_tail, marker
from ctxsim.policies.keep_all import KeepAll
from ctxsim.policies.mask import PREFIX
from ctxsim.policies.token_budget import MARKER
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.provider import RateLimit
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Item, Media, Sizes, Usage
from ctxsim.view import View


def len_of(item: Item) -> int:
    return len(item.text)


def results(sent: Sent) -> list[str]:
    return [item.text for item in sent.view.results]


LONG = "word " * 200  # 1,000 characters, about 200 tokens


class TestTokenBudget:
    def test_acts_after_the_call_that_exceeded_it_and_spares_the_newest_message(self) -> None:
        # Input tokens: call 2 has one long result (over 150), so after call 2 there is only the newest: nothing to do.
        # Call 3 has two; after it the first is cut, so call 4 shows the cut.
        sent = run(conversation(LONG, LONG, LONG), "token-budget:budget=150,retain=20")
        assert results(sent[2]) == [LONG, LONG]
        assert results(sent[3]) == [LONG[:20] + MARKER, LONG, LONG]
        assert [one.compactions for one in sent] == [0, 0, 1, 1]

    def test_says_what_seed_001_says(self) -> None:
        sent = run(conversation(LONG, LONG, LONG), "token-budget:budget=150,retain=20")
        tokens = sent[2].tokens_sent
        assert sent[2].said == (
            f"Note: Compacted 1 old tool result(s) — input tokens ({tokens:,}) exceeded budget (150)",
        )

    def test_is_idempotent(self) -> None:
        sent = run(conversation(*[LONG] * 6), "token-budget:budget=10,retain=600")
        assert all(text.count(MARKER) <= 1 for one in sent for text in results(one))
        edited = [edit.before.place for one in sent for _, edit in one.edits if edit.before]
        assert len(edited) == len(set(edited)), "a result was cut twice"

    def test_equal_to_the_budget_is_not_over_it(self) -> None:
        tokens = run(conversation(LONG, LONG), "keep-all")[2].tokens_sent
        assert not run(conversation(LONG, LONG), f"token-budget:budget={tokens},retain=5")[2].edits
        assert run(conversation(LONG, LONG), f"token-budget:budget={tokens - 1},retain=5")[2].edits

    def test_short_results_and_images_are_left_alone(self) -> None:
        assembly = Assembly("images")
        assembly.user("Look.")
        for text, media in (("short", ()), (LONG, (Media("image", 900),)), (LONG, ()), (LONG, ()), ("last", ())):
            assembly.response([Part("tool_call", "{}", "view")])
            assembly.result(text, media=media)
        assembly.response([Part("assistant", "Done.")])
        sent = run(assembly.transcript(), "token-budget:budget=10,retain=30")
        assert results(sent[5]) == ["short", LONG, LONG[:30] + MARKER, LONG, "last"]

    def test_parallel_results_are_one_message(self) -> None:
        assembly = Assembly("parallel")
        assembly.user("Go.")
        for _ in range(2):
            assembly.response([Part("tool_call", "{}", "a", "x"), Part("tool_call", "{}", "b", "y")])
            assembly.result(LONG, "y")
            assembly.result(LONG, "x")
        assembly.response([Part("tool_call", "{}", "a", "z")])
        assembly.result("last", "z")
        assembly.response([Part("assistant", "Done.")])
        sent = run(assembly.transcript(), "token-budget:budget=10,retain=3")
        # After call 2 the newest message holds both results of call 1; after call 3 it holds both of call 2.
        cut = LONG[:3] + MARKER
        assert results(sent[2]) == [LONG, LONG, LONG, LONG]
        assert results(sent[3]) == [cut, cut, LONG, LONG, "last"]

    def test_zero_disables(self) -> None:
        assert not any(one.edits for one in run(conversation(LONG, LONG, LONG), "token-budget:budget=0,retain=0"))

    def test_a_failed_call_reports_no_usage(self) -> None:
        sent = run(conversation(LONG, LONG, LONG), "token-budget:budget=10,retain=5", window=100)
        assert [one.status for one in sent] == ["ok", "overflow", "overflow", "overflow"]
        assert not any(one.edits for one in sent[1:])


class TestHeadTail:
    def test_results_are_cut_as_they_join_by_document_003s_limits(self) -> None:
        long = "\n".join(map(str, range(300)))
        assert [one.text for one in run(conversation(long), "head-tail")[-1].view.results] == [
            head_tail(long, 128, 10_240)
        ]

    def test_1000_lines_by_seed_003s_own_test(self) -> None:
        # Document 003, TestTruncateOutput_PreservesStartAndEnd: 1000 lines in, under 260 out; ends and marker kept.
        rows = [f"row {n}" for n in range(1000)]
        cut = head_tail("\n".join(rows), 128, 10_240)
        assert len(cut.split("\n")) < 260
        assert cut.startswith("row 0\n") and cut.endswith("\nrow 999")
        assert "[... omitted 744 of 1000 lines ...]" in cut  # 1000 - 128 - 128

    @given(st.text(st.sampled_from("a é\n漢\ud800"), max_size=400), st.integers(1, 5), st.integers(60, 200))
    def test_limits_always_hold(self, text: str, lines: int, limit: int) -> None:
        cut = head_tail(text, lines, limit)
        assert len(cut.encode("utf-8", "surrogatepass")) <= limit
        if cut != text:
            total = text.count("\n") + 1
            assert "lines ...]" in cut
            head, _, tail = cut.partition("\n[... omitted ")
            assert text.startswith(head) and text.endswith(tail.partition("lines ...]\n")[2])
            assert len(head.split("\n")) <= lines or total <= 2 * lines

    @given(st.integers(0, 60))
    def test_limit_smaller_than_the_marker(self, limit: int) -> None:
        assert len(head_tail("a\n" * 500, 2, limit).encode()) <= max(limit, 0)
        if limit < len(marker(500, 500)):
            assert head_tail("\n".join("a" * 500), 2, limit) == marker(500, 500)[:limit]


def test_max_result_chars_cuts_at_ingestion() -> None:
    sent = run(conversation(LONG, "short"), "max-result-chars:chars=12")
    assert results(sent[1]) == [LONG[:12]]
    assert results(sent[2]) == [LONG[:12], "short"]
    assert sent[1].edits[0][0] == "on_tool_result"
    row = call_rows(conversation(LONG, "short"), "max-result-chars:chars=12")[1]
    assert row.compactions == 0 and row.items_edited == 1


def test_max_messages_orphans_a_result() -> None:
    # Messages at call 3: task, call, result, call, result. n=4 drops the task; at call 4 (7 messages) n=4 drops task,
    # call and result 1: four are left and begin with a call. n=3 at call 2 keeps all; at call 3 it leaves result, call,
    # result.
    sent = run(conversation("a", "b", "c"), "max-messages:n=3")
    assert [one.status for one in sent] == ["ok", "ok", "invalid_pairs", "invalid_pairs"]
    assert "result 2 has no call" in sent[2].verdict.reason


def test_truncate_after_use_shows_each_result_whole_exactly_once() -> None:
    sent = run(conversation(LONG, LONG, LONG), "truncate-after-use:retain=10")
    cut = LONG[:10] + MARKER
    assert [results(one) for one in sent] == [[], [LONG], [cut, LONG], [cut, cut, LONG]]


def test_fifo_drops_whole_exchanges_until_the_estimate_fits() -> None:
    # chars/4, ceil: task "Do the task." 3; each exchange: tool call "tool" + "{}" = 1 + 1, result 1000/4 = 250: 252.
    # Call 3: 3 + 2 * 252 = 507. Budget 507 fits; 506 drops the first exchange. Call 4: 759 → both old ones for 300.
    assert [len(results(one)) for one in run(conversation(LONG, LONG, LONG), "fifo:budget=507")] == [0, 1, 2, 2]
    assert [len(results(one)) for one in run(conversation(LONG, LONG, LONG), "fifo:budget=506")] == [0, 1, 1, 1]
    last = run(conversation(LONG, LONG, LONG), "fifo:budget=300")[3]
    assert [item.kind for item in last.view] == ["user", "tool_call", "tool_result"]
    assert last.status == "ok"


def test_fifo_never_drops_the_newest_exchange() -> None:
    last = run(conversation(LONG, LONG), "fifo:budget=1")[2]
    assert [item.place for item in last.view] == [0, 3, 4]


def test_mask_replaces_by_one_line_in_batches() -> None:
    text = "one\ntwo\nthree"
    sent = run(conversation(text, text, text, text), "mask:keep=1")
    line = PREFIX + "(3 lines omitted)"
    assert [results(one) for one in sent] == [[], [text], [line, text], [line, line, text], [line, line, line, text]]
    # Batches of two: call 3 has one old result, not enough; call 4 has two.
    batched = run(conversation(text, text, text, text), "mask:keep=1,batch=2")
    assert [results(one) for one in batched][2:] == [[text, text], [line, line, text], [line, line, text, text]]


def test_drop_all_is_head_task_and_newest_exchange() -> None:
    last = run(conversation("a", "b", "c"), "drop-all")[-1]
    assert [item.place for item in last.view] == [0, 5, 6]
    assert last.status == "ok"


def test_retry_drops_the_oldest_pair_only_when_refused() -> None:
    tokens = [one.tokens_sent for one in run(conversation(LONG, LONG, LONG), "keep-all")]
    sent = run(conversation(LONG, LONG, LONG), "retry:attempts=10", window=tokens[2])
    # Call 4 is refused; the task goes first (too little), then exchange 1: two more attempts.
    assert [one.attempts for one in sent] == [1, 1, 1, 3]
    assert sent[3].status == "ok"
    assert [item.place for item in sent[3].view] == [3, 4, 5, 6]
    once = run(conversation(LONG, LONG, LONG), "retry:attempts=1", window=tokens[2])
    assert (once[3].attempts, once[3].status) == (2, "overflow")


def test_retry_does_not_react_to_a_rate_limit() -> None:

    sent = run(conversation(LONG), "retry", rate_limit=RateLimit(tokens_per_minute=50))
    assert sent[1].status == "rate_limited" and sent[1].attempts == 1


def test_summary_keeps_head_summary_and_whole_last_exchanges() -> None:
    # keep_last=3 of 7 messages at call 4 would begin with result 2; the tail grows back to its call.
    sent = run(conversation(LONG, LONG, LONG), "summary:at=0.5,keep_last=3", window=1_100)
    # Estimates (see fifo): call 3 507 ≤ 550, call 4 759 > 550.
    assert [one.summary_calls for one in sent] == [0, 0, 0, 1]
    kinds = [(item.kind, item.place) for item in sent[3].view]
    assert kinds == [("summary", -1), ("tool_call", 3), ("tool_result", 4), ("tool_call", 5), ("tool_result", 6)]
    assert sent[3].view[0].sources == (0, 1, 2)
    assert "Do the task." in sent[3].view[0].text


WORDY = "word " * 400


def test_sticky_clears_count_once() -> None:
    sent = run(conversation(*[WORDY] * 12), "clear-tool-uses:trigger=2500,keep=2,clear_at_least=1000")
    cleared = [edit.before.place for one in sent for _, edit in one.edits if edit.before]
    assert len(cleared) == len(set(cleared)) > 4


@pytest.mark.parametrize("label", ["drop-all", "retry", "summary", "mask", "token-budget", "max-messages:n=1"])
def test_a_conversation_that_begins_with_a_response(label: str) -> None:
    assembly = Assembly("resumed")
    assembly.response([Part("assistant", "Where were we?")])
    assembly.user("There.")
    assembly.response([Part("assistant", "Right.")])
    assert len(run(assembly.transcript(), label, window=1)) == 2


def test_what_a_policy_leaves_alone_stays_as_it_was() -> None:
    assembly = Assembly("plain")
    assembly.user("Do it.")
    item = assembly.items[0]
    view = View(Sizes(len_of)).grow([item])
    plain = KeepAll()
    assert plain.on_tool_result(item) is item
    assert plain.before_call(view) is view
    assert plain.after_call(view, Usage(1)) is view
    assert plain.on_overflow(view, Overflow("too large", 9)) is None


def test_a_chain_says_the_limits_of_all_its_links() -> None:
    assert open_policy("fifo:budget=50+mask:keep=3").limits() == {"budget": 50}
    assert open_policy("keep-all").limits() == {}
