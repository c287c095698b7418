"""Recorded compactions: what is kept, lost, got again, asked again and paid, on a session worked out by hand."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import msgspec
import pytest
from command_line import ctxsim
from compacted import MODEL, SUMMARY, long_session, look, session
from corpus import FOLDER, here, recorded

from ctxsim.answers.compactions import score, score_summary
from ctxsim.answers.compactions.cuts import controls, session_of
from ctxsim.answers.compactions.dollars import paid
from ctxsim.answers.compactions.later import kind_of_atom
from ctxsim.answers.compactions.policies_beside import FITTED, fitted, tokens_of
from ctxsim.answers.compactions.repeated_calls import asked_again, looked_at
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.formats import ctxsim_jsonl
from ctxsim.results.compactions import CompactionRow
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.transcript import Head, Transcript, Usage


def row_of(transcript: Transcript) -> CompactionRow:
    (row,) = score(transcript, beside=False).compactions
    return row


def test_needs_are_kept_lost_or_got_again() -> None:
    row = row_of(session())
    assert (row.needed_strict, row.kept_strict) == (2, 1)
    assert (row.needed_carried, row.kept_carried) == (3, 1)
    assert (row.used_again, row.used_again_kept) == (1, 0)
    needs = {
        (one.found, one.atom): one.kept for one in score(session(), beside=False).needs if one.detector == "strict"
    }
    assert needs == {
        ("needed", "ord-77881"): True,
        ("needed", "zz99887"): False,
        ("carried", "ord-77881"): True,
        ("carried", "zz99887"): False,
        ("carried", "abc12345"): False,
        ("again", "kk55443"): False,
    }


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
    made.compacted("auto", [SUMMARY], ())
    look(made, 2, {"file_path": "src/other.py"}, "token abc12345 too")
    made.response([Part("assistant", "It is abc12345.")])
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


def test_a_repeated_call_has_the_same_arguments_or_looks_into_the_same_file() -> None:
    transcript = session()
    row = row_of(transcript)
    # Call 4 repeats call 1 exactly, call 5 looks into the file of call 2 elsewhere.
    assert (row.reread_calls, row.reread_exact) == (2, 1)
    again = asked_again(transcript, Provider().counter())
    assert [(one.call, one.exact) for one in again] == [(4, True), (5, False), (6, True)]
    assert row.reread_tokens == sum(one.tokens_call + one.tokens_result for one in again[:2]) > 0


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


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ('{"file_path": "src/a.py", "offset": 3}', "src/a.py"),
        ('{"path": "C:\\\\a.py"}', "C:\\a.py"),
        ('{"command": "cat src/a.py"}', None),
        ('{"file_path": "src/a.py", "old_string": "x"}', None),
        ('{"file_path": "src/a.py", "edit": {"old": "x"}}', None),
        ('["src/a.py"]', None),
        ("no json", None),
    ],
)
def test_a_look_is_a_call_whose_only_text_is_a_path(arguments: str, path: str | None) -> None:
    assert looked_at(arguments) == path


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


def test_it_pays_for_itself_by_reading_less() -> None:
    prices = Prices(input=3.0, output=15.0, cache_write=3.75, cache_read=0.3)
    provider = Provider(cache="anthropic", prices=prices)
    # Read 100,000 at 0.30 and write 4,000 at 15: 0.03 + 0.06. 20,000 written at 3.75, not read at 0.30: 0.069.
    # Each later call reads 80,000 less: 0.024. (0.09 + 0.069) / 0.024 = 6.625.
    found = paid(provider, 100_000, 20_000, 4_000, 20_000)
    assert found is not None
    assert (found.summary_usd, found.cache_usd, found.calls) == (0.09, 0.069, 6.62)
    assert paid(provider, 20_000, 30_000, 1, 1).calls is None  # type: ignore[union-attr]
    assert paid(Provider(), 100_000, 20_000, 4_000, 20_000) is None


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


def test_controls_have_no_compaction_near_them() -> None:
    found = session_of(long_session())
    (cut,) = found.cuts()
    drawn = controls(found, cut)
    calls = [one.call for one in drawn]
    # Ten calls after each and before lies none, with twenty calls behind: 40 to 51.
    assert calls and set(calls) <= {*range(40, 52)}
    assert calls == [one.call for one in controls(found, cut)]
    for one in drawn:
        assert one.items[-1].text == found.transcript.items[one.at - 1].text


def test_policies_are_fitted_to_leave_no_more_tokens() -> None:
    (cut,) = session_of(long_session()).cuts()
    counter = cut.provider.counter()
    whole = tokens_of(cut.before, counter)
    for name in ("fifo", "max-messages", "summary"):
        left = fitted(FITTED[name], cut.before, whole // 4, Head(), cut.provider, counter)
        # Not a token more than allowed, and not far less: half of it at least.
        assert whole // 8 < left.tokens <= whole // 4, name


def test_beside_it_the_bound_keeps_all_and_controls_are_scored_too() -> None:
    scored = score(long_session())
    at_compaction = {one.name: one for one in scored.beside if one.at == "compaction"}
    assert {"recorded", "clairvoyant", *FITTED} <= set(at_compaction)
    known = at_compaction["clairvoyant"]
    # Calls 30 to 33 use what calls 26 to 29 listed.
    assert known.needed_strict == 4
    fitting = [one for one in at_compaction.values() if one.tokens_left <= one.tokens_allowed]
    assert known.kept_strict == max(one.kept_strict for one in fitting) > 0
    assert any(one.at == "control" for one in scored.beside)


def test_a_saved_summary_is_scored_against_its_history() -> None:
    found = score_summary("All about zz99887 and ABC12345.", session())
    assert found.call == 4
    assert found.needed == {"identifiers": 2, "quotations": 0, "identifiers, own repeats too": 3}
    assert found.kept == {"identifiers": 1, "quotations": 0, "identifiers, own repeats too": 2}
    assert found.lost == (("id", "ord-77881"),)
    # abc12345, ord-77881, zz99887, kk55443 and the two paths came before.
    assert (found.identifiers, found.identifiers_kept) == (6, 2)
    with pytest.raises(ValueError, match="no history before call 9"):
        score_summary("x", session(), 9)


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
