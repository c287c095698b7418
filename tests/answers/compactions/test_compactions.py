"""Recorded compactions: what is kept, lost, got again, asked again and paid, on a session worked out by hand."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import msgspec
import pytest
from command_line import ctxsim
from compacted import MODEL, SUMMARY, look, session
from corpus import FOLDER, here, recorded

from ctxsim.answers.compactions.cuts import session_of
from ctxsim.answers.compactions.later import kind_of_atom
from ctxsim.answers.compactions.study import score
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.formats import ctxsim_jsonl
from ctxsim.results.compactions import CompactionRow
from ctxsim.transcript import Transcript, Usage


def row_of(transcript: Transcript) -> CompactionRow:
    (row,) = score(transcript, beside=False).compactions
    return row


def test_what_was_lost_comes_again_by_its_call_or_in_any_result_and_so_does_what_was_kept() -> None:
    def came_again(transcript: Transcript) -> tuple[int | None, ...]:
        one = row_of(transcript)
        return one.lost_used, one.lost_fetched, one.lost_shown, one.kept_used, one.kept_fetched, one.kept_shown

    # Call 4 uses ord-77881 (kept), zz99887 and abc12345 (lost) at once; the file comes again too late for that. Call 5
    # looks into gamma.py again, which had brought kk55443, so that call 6 has it again.
    assert came_again(session()) == (3, 1, 1, 1, 0, 0)
    # Places 1 and 2 stay: of what is left, kk55443 alone is lost.
    assert came_again(session(kept=(1, 2))) == (1, 1, 1, 3, 0, 0)
    assert came_again(session("kk55443")) == (3, 0, 0, 1, 1, 1)
    assert came_again(session(summary="")) == (None,) * 6


def test_what_another_call_shows_was_shown_and_not_fetched() -> None:
    made = Assembly("hand")
    made.user("Do the task.")
    look(made, 1, {"file_path": "src/alpha.py"}, "token abc12345")
    # What was used before is neither lost nor kept.
    made.response([Part("assistant", "I see abc12345.")])
    made.compacted("auto", [SUMMARY], ())
    look(made, 2, {"file_path": "src/other.py"}, "token abc12345 too")
    made.response([Part("assistant", "It is abc12345.")])
    # What is used again counts once.
    made.response([Part("assistant", "As I said, abc12345.")])
    one = row_of(made.transcript())
    assert (one.lost_used, one.lost_fetched, one.lost_shown) == (1, 0, 1)


def test_what_is_kept_as_it_was_counts_as_kept() -> None:
    # Place 1 is the first tool call, place 2 its result: abc12345, ord-77881 and zz99887 stay.
    row = row_of(session(kept=(1, 2)))
    assert (row.items_kept, row.kept_strict, row.kept_carried) == (2, 2, 3)


def test_a_summary_that_the_log_does_not_hold_is_unknown_not_empty() -> None:
    row = row_of(session(summary=""))
    assert (row.needed_strict, row.kept_strict, row.kept_carried, row.tokens_summary) == (2, None, None, None)
    assert all(one.kept is None for one in score(session(summary=""), beside=False).needs)


def test_asking_again_costs_what_a_request_of_that_size_costs() -> None:
    def usd(times: int) -> float:
        made = session()
        calls = [
            msgspec.structs.replace(call, model=MODEL, usage=Usage(times * call.usage.input_tokens, 20, 0))
            for call in made.calls
            if call.usage
        ]
        found = row_of(msgspec.structs.replace(made, calls=tuple(calls))).reread_usd
        assert found is not None
        return found

    # Behind the compaction 4,000 and 240,000 tokens.
    assert 1.5 < usd(60) / usd(1) < 2


def test_sizes_are_as_recorded() -> None:
    row = row_of(session())
    # 9,500 as the log says; the next request had 4,000 and read none of it from a cache.
    assert (row.tokens_before, row.tokens_after, row.tokens_rewritten) == (9_500, 4_000, 4_000)
    assert row.share == round(9_500 / row.window, 4)
    assert (row.call, row.calls_after, row.started_by) == (4, 3, "auto")
    made = session()
    calls = [msgspec.structs.replace(call, window=10_000 * n) for n, call in enumerate(made.calls, 1)]
    row = row_of(msgspec.structs.replace(made, calls=tuple(calls)))
    # The third call's: the last one before it.
    assert (row.window, row.share) == (30_000, round(9_500 / 30_000, 4))
    # Of the request behind it 1,500 of 4,000 were read.
    usage = msgspec.structs.replace(made.calls[3].usage, cache_read_tokens=1_500)
    calls = [*made.calls[:3], msgspec.structs.replace(made.calls[3], usage=usage), *made.calls[4:]]
    assert row_of(msgspec.structs.replace(made, calls=tuple(calls))).tokens_rewritten == 2_500


def test_what_a_compaction_cost_is_unknown_where_a_size_is() -> None:
    def row(usage: bool) -> CompactionRow:
        made = session()
        calls = [msgspec.structs.replace(one, model=MODEL, usage=one.usage if usage else None) for one in made.calls]
        return row_of(msgspec.structs.replace(made, calls=tuple(calls)))

    # No call read from the cache: 9,500 at 3 dollars per million, and the summary at 15.
    assert row(True).cost_summary_usd == round((9_500 * 3 + (row(True).tokens_summary or 0) * 15) / 1e6, 6)
    assert (row(False).tokens_before, row(False).tokens_after, row(False).cost_summary_usd) == (9_500, None, None)


@pytest.mark.parametrize(
    ("atom", "kind"),
    [
        ("src/a.py", "path"), ("https://a.example/b", "address"), ("me@a.example", "address"), ("2026/01/02", "number"),
        ("12345", "number"), ("ord-77881", "id"), ("parse_args", "name"),
    ],
)  # fmt: skip
def test_kinds(atom: str, kind: str) -> None:
    assert kind_of_atom("strict", atom) == kind


def test_a_cut_lasts_up_to_the_next_one_or_the_end() -> None:
    (cut,) = session_of(session()).cuts()
    assert (cut.compaction.call, cut.last) == (4, 6)
    # One that no call follows lasts no call: 4 to 3.
    made = Assembly("ends so")
    made.user("Do the task.")
    for number in range(1, 4):
        look(made, number, {"n": number}, f"result {number}")
    made.compacted("auto", [SUMMARY])
    (cut,) = session_of(made.transcript()).cuts()
    assert (cut.compaction.call, cut.last) == (4, 3)
    assert [item.text for item in cut.after] == [SUMMARY]


def test_the_command_writes_tables_and_scores_a_summary(tmp_path: Path) -> None:
    (tmp_path / "hand.jsonl").write_bytes(b"".join(ctxsim_jsonl.lines(session())))
    done = ctxsim("compactions", "hand.jsonl", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 recorded compaction in 1 transcript" in done.stdout
    lines = (tmp_path / "out" / "compactions.csv").read_text().splitlines()
    assert lines[0].split(",") == list(CompactionRow.__struct_fields__)
    assert len(lines) == 2
    assert (tmp_path / "out" / "compactions-needs.parquet").exists()
    (tmp_path / "mine.txt").write_text("ord-77881")
    done = ctxsim("compactions", "score", "mine.txt", "hand.jsonl", cwd=tmp_path)
    assert "  identifiers: 1 of 2 that later calls used are kept" in done.stdout
    assert "id: zz99887" in done.stdout
    done = ctxsim("compactions", "score", "mine.txt", "hand.jsonl", "--call", "99", cwd=tmp_path)
    assert done.returncode == 1 and "hand.jsonl: there is no history before call 99" in done.stderr
    (tmp_path / "two").mkdir()
    for name in ("a", "b"):
        (tmp_path / "two" / f"{name}.jsonl").write_bytes((tmp_path / "hand.jsonl").read_bytes() + b"\n" * (name == "b"))
    done = ctxsim("compactions", "score", "mine.txt", "two", cwd=tmp_path)
    assert done.returncode == 1 and "two: holds 2 sessions" in done.stderr


@here
@pytest.mark.slow
def test_recorded_compactions_are_all_read() -> None:
    # Six of 18 sessions; one of them compacted twice. Their summaries are in the log.
    rows = [
        row
        for transcript in islice(recorded(FOLDER / "claude-code-compacted"), 6)
        for row in score(transcript, beside=False).compactions
    ]
    assert len(rows) == 7
    assert len({row.root for row in rows}) == 6
    assert all(row.tokens_summary and 1_500 < row.tokens_summary < 8_000 for row in rows)
    assert all(row.share and 0.4 < row.share < 0.9 for row in rows)
    assert sum(row.kept_carried or 0 for row in rows) < sum(row.needed_carried for row in rows)
    assert msgspec.structs.asdict(rows[0])["agent"] == "claude-code"
