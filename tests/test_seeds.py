"""The systems of the seeds: acceptance criteria, defaults, contradictions; and that the page of claims is current."""

from __future__ import annotations

import json
from pathlib import Path

import corpus
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import conversation, run

from ctxsim.claims import CLAIMS, Evidence, check, markdown
from ctxsim.claims.criteria import criteria
from ctxsim.errors import InputError
from ctxsim.estimators import open_estimator
from ctxsim.instructions import LIMIT_BYTES, load_instructions, project_root, with_instructions
from ctxsim.policies import open_policy
from ctxsim.policies.char_budget import cut
from ctxsim.policies.json_aware import MARK, truncate
from ctxsim.policies.three_layer import ThreeLayer
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.tally import Sent
from ctxsim.tracker import TokenTracker
from ctxsim.transcript import Head, Transcript

ROOT = Path(__file__).parents[1]
RESULT = "x" * 400  # 100 tokens by length / 4


def texts(sent: Sent, kind: str = "tool_result") -> list[str]:
    return [item.text for item in sent.view if item.kind == kind]


def turns(count: int, results: int = 1) -> Transcript:
    """User turns, each with some tool calls and an answer."""
    assembly = Assembly("turns")
    for turn in range(count):
        assembly.user(f"Task {turn}.")
        for number in range(results):
            assembly.response([Part("tool_call", "{}", "t", f"c{turn}.{number}")])
            assembly.result(RESULT, f"c{turn}.{number}")
        assembly.response([Part("assistant", f"Answer {turn}.")])
    return assembly.transcript()


# seed 002, in the order of its acceptance criteria


class TestIssue249:
    def test_budget_uses_token_approximation(self) -> None:
        # 20 results of 400 characters: 8,000 characters are 2,667 tokens by / 3. Under a budget of 2,000 those before
        # the last 10 go; by characters 8,000 is under any budget of 9,000, so nothing does.
        sample = conversation(*[RESULT] * 20)
        assert len(texts(run(sample, "token-approx-budget:tokens=2000")[-1])) == 10
        assert len(texts(run(sample, "char-budget:chars=9000")[-1])) == 20
        assert len(texts(run(sample, "char-budget:chars=7000")[-1])) < 20

    def test_budget_adapts_to_the_window(self) -> None:
        sample = conversation(*[RESULT] * 20)
        assert len(texts(run(sample, "token-approx-budget:tokens=0", window=2_000)[-1])) == 10
        assert len(texts(run(sample, "token-approx-budget:tokens=0", window=200_000)[-1])) == 20
        assert open_policy("token-approx-budget").create()[0].tokens == 32_000  # type: ignore[attr-defined]

    def test_then_all_but_the_last_turns(self) -> None:
        sent = run(turns(20), "char-budget:chars=500,keep_tools=2,keep_turns=3")[-1]
        # Two results of 400 characters stay and are still too much, so turns 17, 18 and 19 are what is left.
        assert texts(sent, "user") == ["Task 17.", "Task 18.", "Task 19."]
        assert sent.row.status == "ok"

    def test_char_budget_cuts_on_arrival_as_javascript_does(self) -> None:
        assert cut("ab🙂c", 3) == "ab" and cut("ab🙂c", 4) == "ab🙂"
        assert texts(run(conversation("y" * 5_000), "char-budget")[-1]) == ["y" * 4_000]

    def test_arrays_show_ends_and_count(self) -> None:
        text = json.dumps([{"n": n, "note": "word " * 30} for n in range(100)])
        after = json.loads(truncate(text, 600))
        assert after[0]["n"] == 0 and after[1] == "... (98 items omitted)" and after[2]["n"] == 99

    def test_objects_keep_their_keys_and_errors_their_beginning(self) -> None:
        text = json.dumps({"id": 7, "body": "b" * 9_000, "error": "ENOENT: no such file " * 20, "tail": [1] * 900})
        after = json.loads(truncate(text, 800))
        assert list(after) == ["id", "body", "error", "tail"] and after["id"] == 7
        assert after["error"].startswith("ENOENT: no such file ENOENT") and len(after["error"]) > 300
        assert after["body"].endswith(MARK)
        assert truncate("ERROR: " + "boom " * 2_000, 100).startswith("ERROR: boom")
        assert truncate(json.dumps("s" * 500), 50) == '"' + "s" * (48 - len(MARK)) + MARK + '"'
        many = json.loads(truncate(json.dumps({f"key_{n}": n for n in range(2_000)}), 200))
        assert next(iter(many)) == "key_0" and many["..."].endswith("keys omitted")

    def test_rounds_become_one_summary(self) -> None:
        sent = run(conversation(*[RESULT] * 12), "round-summary:every=5", summaries="empty")
        kinds = [[item.kind for item in one.view] for one in sent]
        # Call 7 has six results, five of them finished: they become one entry, the newest exchange stays.
        assert kinds[6] == ["user", "summary", "tool_call", "tool_result"]
        assert [one.call for one in sent if one.row.summary_calls] == [7, 12]
        assert all(one.row.status == "ok" for one in sent)

    def test_twenty_iterations_do_not_overflow(self) -> None:
        evidence = Evidence()
        label = "json-aware+round-summary+token-approx-budget"
        rows = evidence.calls("twenty-iterations", label)
        assert len(rows) >= 20 and all(row.status == "ok" for row in rows)
        assert any(row.status == "overflow" for row in evidence.calls("twenty-iterations", "keep-all"))

    def test_estimate_of_known_inputs(self) -> None:
        estimate = open_estimator("chars:ratio=3,unit=utf16").text
        assert [estimate(text) for text in ("", "abc", "abcd", "x" * 32_000, "🙂")] == [0, 1, 2, 10_667, 1]
        assert open_policy("token-approx-budget").label.endswith("estimator=chars:ratio=3,unit=utf16")

    def test_no_regression_for_short_conversations(self) -> None:
        for label in ("char-budget", "token-approx-budget", "json-aware", "round-summary"):
            assert not any(one.edits for one in run(conversation("one", "two", "three"), label)), label


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=80) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=12), inner, max_size=6),
    max_leaves=40,
)


@settings(max_examples=300, deadline=None)
@given(values, st.integers(2, 400), st.booleans())
def test_json_in_is_json_out_within_the_limit(value: object, limit: int, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    after = truncate(text, limit)
    assert len(after) <= limit
    json.loads(after)
    assert after == text or len(text) > limit


@pytest.mark.parametrize("depth", [50, 900, 5_000, 200_000])
def test_json_nested_to_any_depth_stays_json(depth: int) -> None:
    for text in ("[" * depth + '"deep"' + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
        after = truncate(text, 300)
        assert len(after) <= min(300, max(len(text), 300))
        json.loads(after)


@given(st.text(max_size=200), st.integers(0, 60))
def test_text_that_is_no_json_keeps_its_beginning(text: str, limit: int) -> None:
    after = truncate(text, limit) if limit else ""
    assert len(after) <= limit or after == text


# seed 003


class TestThreeLayers:
    def manager(self, used: int, window: int = 1_000) -> Sent:
        """A last request of exactly `used` estimated tokens: 4 characters each."""
        sizes = [used * 4 - len("Do the task.") - 4 * 4]
        return run(conversation("x" * sizes[0]), "three-layer:lines=100000,bytes=10000000,keep_last=1", window=window)[
            -1
        ]

    def test_compaction_is_asked_for_at_exactly_70_percent(self) -> None:
        # "Do the task." 3 + call "tool" 1 and "{}" 1: 5 tokens besides the result.
        below, at = (run(conversation("x" * 4 * n), "three-layer:keep_last=1", window=1_000)[-1] for n in (694, 695))
        assert not below.row.summary_calls and below.row.tokens_estimated == 699
        assert at.row.summary_calls == 1

    def test_it_stops_at_95_percent(self) -> None:
        # Only the newest exchange is there: nothing can be summarised away but the task.
        below, at = (
            run(conversation("x" * 4 * n), "three-layer:at=1,keep_last=9", window=1_000)[-1] for n in (944, 945)
        )
        assert below.row.status != "stopped" and below.row.tokens_estimated == 949
        assert at.row.status == "stopped" and "95%" in at.row.reason

    def test_head_summary_and_the_last_ten(self) -> None:
        sent = run(conversation(*[RESULT] * 30), "three-layer", window=4_000, summaries="empty")
        compacted = next(one for one in sent if one.row.summary_calls)
        groups = compacted.view.messages()
        assert groups[0][0].kind == "summary" and len(groups) in (11, 12)
        assert all(one.row.status == "ok" for one in sent)
        assert compacted.said and "Compacted" in compacted.said[0]

    def test_every_truncation_is_in_its_log(self) -> None:
        policy = ThreeLayer(lines=2)
        item = conversation("\n".join("abcdef")).items[2]
        assert policy.on_tool_result(item).text != item.text
        assert policy.truncate_log == ["item 2: 11 to 38 characters"]
        policy.on_tool_result(conversation("short").items[2])
        assert len(policy.truncate_log) == 1

    def test_token_tracker(self) -> None:
        tracker = TokenTracker(1_000_000)
        assert (tracker.used, tracker.average, tracker.turns_left) == (0, 0.0, None)
        # 5K, then 20K more per call: 955K left are 47 calls.
        for used in (5_000, 25_000, 45_000):
            tracker.record(used, 850)
        assert (tracker.average, tracker.turns_left, tracker.percent_used) == (20_000, 47, 4.5)
        assert "45,000 / 1,000,000 (4.5% used)" in tracker.report() and "~47 calls left" in tracker.report()

    def test_the_nine_criteria(self) -> None:
        found = list(criteria())
        assert len(found) == 9
        # chars/4 isn't within 10 %, and ten kept messages are more than 5K tokens: as docs/claims.md says.
        assert [one.name for one in found if not one.met] == ["Token accuracy", "Compaction effectiveness"]


class TestInstructions:
    @pytest.fixture
    def levels(self, tmp_path: Path) -> tuple[Path, Path]:
        home, project = tmp_path / "home", tmp_path / "project"
        work = project / "a" / "b"
        for place, text in ((home / ".adk-code", "global"), (project, "project"), (work, "here")):
            place.mkdir(parents=True)
            (place / "AGENTS.md").write_text(text + "\n")
        return home, work

    @pytest.mark.parametrize("sign", [".git", ".hg", "go.mod", "package.json"])
    def test_three_levels_in_order(self, levels: tuple[Path, Path], sign: str) -> None:
        home, work = levels
        (work.parents[1] / sign).mkdir()
        assert project_root(work) == work.parents[1]
        loaded = load_instructions(work, home)
        assert loaded.merged == "global\n\nproject\n\nhere"
        assert (len(loaded.sources), loaded.bytes, loaded.truncated) == (3, 21, False)

    def test_a_file_that_is_two_levels_counts_once(self, levels: tuple[Path, Path]) -> None:
        home, work = levels
        (work / ".git").mkdir()
        assert load_instructions(work, home).merged == "global\n\nhere"

    def test_limit_in_bytes_between_characters(self, levels: tuple[Path, Path]) -> None:
        home, work = levels
        (work / "AGENTS.md").write_text("é" * LIMIT_BYTES)
        loaded = load_instructions(work, home)
        assert loaded.truncated and LIMIT_BYTES - 1 <= loaded.bytes <= LIMIT_BYTES

    def test_nothing_to_load_and_what_is_no_text(self, tmp_path: Path) -> None:
        assert load_instructions(tmp_path, tmp_path).merged == ""
        assert with_instructions(Head("s"), load_instructions(tmp_path, tmp_path)) == Head("s")
        (tmp_path / "AGENTS.md").write_bytes(b"\xff\xfe")
        with pytest.raises(InputError, match="not UTF-8"):
            load_instructions(tmp_path, tmp_path)
        with pytest.raises(InputError, match="no folder"):
            load_instructions(tmp_path / "none")

    def test_they_count_in_the_head(self, levels: tuple[Path, Path]) -> None:
        head = with_instructions(Head("You help."), load_instructions(levels[1], levels[0]))
        assert head.system == "You help.\n\nglobal\n\nhere"


# seed 004


class TestThreeTriggers:
    def test_each_trigger_with_its_own_target(self) -> None:
        # Results of 100 tokens. percentage: over 0.7 x 1,000, keep 300; tokens: over 500 + 10, keep 200.
        sample = conversation(*[RESULT] * 12)
        for only, limit, target in (("percentage", 700, 300), ("tokens", 510, 200)):
            label = f"three-triggers:only={only},window=1000,budget=500,buffer=10,target=200,estimator=chars"
            sent = run(sample, label)
            fired = next(one for one in sent if one.row.compactions)
            assert fired.row.tokens_estimated <= target + 2 < limit, only
            assert all(one.row.tokens_estimated <= limit for one in sent)

    def test_messages_over_20_and_5_reduce_to_20(self) -> None:
        sent = run(conversation(*["r"] * 30), "three-triggers")
        sizes = [len(one.view.messages()) for one in sent]
        # 1 + 2 messages per call: call 13 has 25, which is not over; call 14 would have 27.
        assert sizes[12] == 25 and sizes[13] in (20, 21) and max(sizes) == 25

    def test_its_tracking_does_not_see_results(self) -> None:
        label = "three-triggers:only=percentage,window=1000"
        assert not any(one.edits for one in run(conversation(*[RESULT * 5] * 12), label))
        assert any(one.edits for one in run(conversation(*[RESULT * 5] * 12), f"{label},estimator=tool-chars"))

    def test_only_what_came_after_the_last_summary_counts(self) -> None:
        label = "three-triggers:only=messages,messages=4,spare=2,reducer=summarizing"
        sent = run(conversation(*[RESULT] * 12), label, summaries="empty")
        made = [edit.after for one in sent for _, edit in one.edits if edit.before is None and edit.after]
        sources = [place for item in made for place in item.sources]
        assert len(made) > 2 and len(sources) == len(set(sources)), "nothing is summarised twice"
        assert sum(item.kind == "summary" for item in sent[-1].view) == len(made)

    def test_option_d_goes_by_messages_once_there_are_tools(self) -> None:
        label = "three-triggers:window=1000,estimator=chars,tools_by_messages=true"
        sent = run(conversation(*[RESULT] * 10), label.replace("estimator=chars,", "") + ",estimator=chars")
        assert not any(one.edits for one in sent)

    def test_no_orphans(self) -> None:
        for label in ("three-triggers:messages=3,spare=0", "three-triggers:messages=3,spare=0,reducer=summarizing"):
            assert all(one.row.status == "ok" for one in run(turns(8, 3), label))


# all of them


@pytest.mark.slow
@pytest.mark.parametrize(
    "label",
    [
        "three-layer",
        "json-aware+round-summary+token-approx-budget",
        "three-triggers",
        "three-triggers:reducer=summarizing,estimator=tool-chars",
        "token-budget",
    ],
)
def test_fifty_turns_pass_under_each_system(label: str) -> None:
    evidence = Evidence()
    rows = evidence.calls("fifty-turns", label)
    assert evidence.turn("fifty-turns", len(rows)) == 50
    assert {row.status for row in rows} == {"ok"}


PAGE = ROOT / "docs" / "claims.md"


def stated() -> list[str]:
    return [line for line in PAGE.read_text().splitlines() if line.startswith("| 00")]


@pytest.mark.slow
def test_the_page_of_claims_is_current() -> None:
    """Every claim that needs no recordings, measured again."""
    found = list(check(Evidence()))
    assert len(found) == len(CLAIMS) == len(stated())
    measured = markdown(found).splitlines()[2:]
    for (claim, _), line, row in zip(found, measured, stated(), strict=True):
        if not claim.recorded:
            assert line == row, "run: ctxsim claims ../shared/transcripts --format markdown"


@corpus.here
@pytest.mark.corpus
@pytest.mark.slow
def test_claims_about_recordings_are_current() -> None:
    from ctxsim.errors import InputError
    from ctxsim.readers import read_source, sources

    recorded = []
    for source in sources(str(corpus.FOLDER)):
        try:
            recorded += list(read_source(source))
        except InputError:
            continue
    evidence = Evidence(recorded)
    rows = dict(zip([claim.says for claim in sorted(CLAIMS, key=lambda one: one.seed)], stated(), strict=True))
    for claim in CLAIMS:
        if claim.recorded:
            finding = claim.measure(evidence)
            assert finding.got in rows[claim.says] and f"**{finding.verdict}**" in rows[claim.says]
