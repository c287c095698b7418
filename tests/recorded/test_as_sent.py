"""The conversation as it was sent: as large as recorded, cut where the agent cut it, under the window that held."""

from __future__ import annotations

import json
from pathlib import Path

import corpus
import msgspec
import pytest
from command_line import ctxsim
from hypothesis import given
from samples import conversation
from strategies import transcripts

from ctxsim.policies import open_policy
from ctxsim.readers import sources
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.readers.glance import accepted
from ctxsim.recorded.as_sent import as_sent
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.replay import Sent, replay
from ctxsim.transcript import Compaction, Transcript, Usage, problems

WORDS = "word " * 1_000


def with_usage(transcript: Transcript, usages: list[Usage], model: str = "claude-opus-4-6") -> Transcript:
    """The same conversation, of that model, with what its provider said."""
    calls = tuple(
        msgspec.structs.replace(call, usage=usage, model=model, time_s=1_770_000_000.0 + 20 * number)
        for number, (call, usage) in enumerate(zip(transcript.calls, usages, strict=True))
    )
    head = msgspec.structs.replace(transcript.head, recorded=False)
    return msgspec.structs.replace(transcript, calls=calls, head=head)


def keep_all(one: AsSent) -> list[Sent]:
    return list(replay(one.transcript, open_policy("keep-all"), one.provider, one.provider.counter()))


def hidden_head(tokens: int = 20_000, factor: float = 1.25, **usage: int) -> Transcript:
    """Six calls, each result 1,000 tokens by o200k; the provider counts a head and its own tokens."""
    plain = conversation(*[WORDS] * 5)
    counted = [sent.tokens_sent for sent in keep_all(AsSent(plain, as_sent_provider()))]
    return with_usage(plain, [Usage(round(tokens + factor * text), **usage) for text in counted])


def as_sent_provider() -> object:
    from ctxsim.simulator.provider import Provider

    return Provider(window=1 << 40)


def test_keep_all_is_as_large_as_what_was_recorded() -> None:
    [one] = as_sent(hidden_head())
    assert one.size.how == one.provider.size == "fitted"
    assert one.transcript.head.hidden == one.size.head and abs(one.size.head - 20_000) < 100
    for sent in keep_all(one):
        assert sent.tokens_recorded and abs(sent.tokens_sent / sent.tokens_recorded - 1) < 0.005


def test_the_head_can_be_left_out_or_given() -> None:
    [none] = as_sent(hidden_head(), head="none")
    assert (none.size.how, none.transcript.head.hidden, none.provider.tokens_factor) == ("counted", 0, 1.0)
    [given] = as_sent(hidden_head(), head=7_000)
    assert (given.size.how, given.transcript.head.hidden) == ("given", 7_000)


def test_a_clearing_is_told_once_and_what_an_earlier_one_took_stays_away() -> None:
    texts = conversation(*[WORDS] * 9)
    counted = [sent.tokens_sent for sent in keep_all(AsSent(texts, as_sent_provider()))]
    # Before call 4 most goes, before call 7 almost two results of 1,003: the reader has told of that one.
    lost = [0, 0, 0, 25_000, 25_000, 25_000, 26_900, 26_900, 26_900, 26_900]
    usages = [Usage(30_000 + text - gone) for text, gone in zip(counted, lost, strict=True)]
    told = f"unlogged clearing before call 7 ({usages[5].input_tokens} to {usages[6].input_tokens} tokens)"
    parts = list(as_sent(msgspec.structs.replace(with_usage(texts, usages), notes=(told,))))
    assert [len(one.transcript.calls) for one in parts] == [3, 3, 4]
    assert [note.partition(" (")[0] for note in parts[0].transcript.notes] == [
        "unlogged clearing before call 7", "unlogged clearing before call 4",
        "segment 1 of 3: up to an unlogged clearing",
    ]  # fmt: skip
    # Of calls 4 to 6 two results and three calls are kept; of what was before nothing is.
    said = "segment 3 of 3: after an unlogged clearing, 2 old result(s) are taken to be gone, and 5 kept item(s)"
    assert parts[2].transcript.notes[0] == said


# Seven requests grow by a result of 1,003 tokens each; without its text, it has about 990 fewer. The ninth request is
# smaller: by up to 6,930 tokens, results may be what is missing; by 8,020, it is all.
@pytest.mark.parametrize(
    ("missing", "said"),
    [(1_970, "2 old result(s) are taken to be gone, and 16 kept item(s)"),
     (2_100, "3 old result(s) are taken to be gone, and 16 kept item(s)"),
     (6_930, "7 old result(s) are taken to be gone, and 16 kept item(s)"), (8_020, "nothing is taken to be left")],
)  # fmt: skip
def test_the_oldest_results_that_hold_what_is_missing_are_gone_or_all_is(missing: int, said: str) -> None:
    texts = conversation(*[WORDS] * 8)
    counted = [sent.tokens_sent for sent in keep_all(AsSent(texts, as_sent_provider()))]
    usages = [Usage(5_000 + text - (missing if call > 8 else 0)) for call, text in enumerate(counted, 1)]
    first, second = as_sent(with_usage(texts, usages, ""))
    assert (len(first.transcript.calls), len(second.transcript.calls)) == (8, 1)
    assert second.transcript.notes[0] == f"segment 2 of 2: after an unlogged clearing, {said}"
    assert abs(second.size.head - 5_000) < 1_000


def test_what_is_hidden_may_be_what_went() -> None:
    # From call 4 on 4,000 more hidden tokens, as after a compaction that attaches files; in call 6 they are gone.
    texts = conversation(*[WORDS] * 6)
    counted = [sent.tokens_sent for sent in keep_all(AsSent(texts, as_sent_provider()))]
    at = texts.calls[2].end
    hidden = [5_000, 5_000, 5_000, *[9_000 - counted[3]] * 2, *[5_000 - counted[3]] * 2]
    usages = [Usage(head + text) for head, text in zip(hidden, counted, strict=True)]
    made = msgspec.structs.replace(with_usage(texts, usages, ""), compactions=(Compaction(4, at),))
    *_, last = as_sent(made)
    assert last.transcript.notes[0] == (
        "segment 3 of 3: after an unlogged clearing, what went isn't logged, and 3 kept item(s)"
    )
    assert abs(last.size.head - 5_000) < 10


def test_a_recorded_clearing_is_no_unlogged_one() -> None:
    texts = conversation(*[WORDS] * 7)
    counted = [sent.tokens_sent for sent in keep_all(AsSent(texts, as_sent_provider()))]
    usages = [Usage(20_000 + text - (3_500 if call >= 5 else 0)) for call, text in enumerate(counted, 1)]
    results = [item.place for item in texts.items if item.kind == "tool_result"]
    cleared = tuple((5, place) for place in results[:2])
    # A task, three calls with their results, and the call whose result comes after the clearing.
    first, second = as_sent(msgspec.structs.replace(with_usage(texts, usages), cleared=cleared))
    assert first.transcript.notes == ("segment 1 of 2: up to the first recorded clearing",)
    assert second.transcript.notes == ("segment 2 of 2: 2 old result(s) cleared, and 8 kept item(s)",)


def compacted() -> Transcript:
    """Three calls, a compaction to a summary, two calls."""
    assembly = Assembly("compacted")
    assembly.user("Do it.")
    for number in range(3):
        assembly.response([Part("tool_call", "{}", "read", f"c{number}")], Usage(1_000 * number + 900))
        assembly.result(WORDS, f"c{number}")
    assembly.compacted("auto", ["We read three files."], (), 167_000, 2_000)
    assembly.user("Go on.")
    for _ in range(2):
        assembly.response([Part("assistant", "Fine.")], Usage(900))
        assembly.user("And?")
    return assembly.transcript()


def test_a_compaction_is_replayed_as_segments_or_across_with_what_was_recorded() -> None:
    first, second = as_sent(compacted())
    assert second.transcript.items[0].text == "We read three files."
    assert len(first.transcript.calls) == 3 and keep_all(second)[0].tokens_sent < 3_000
    [whole] = as_sent(compacted(), whole=True)
    views = [
        list(sent.view)
        for sent in replay(whole.transcript, open_policy("recorded"), whole.provider, whole.provider.counter())
    ]
    assert [item.kind for item in views[3]] == ["summary", "user"], "what happened: the summary, and what came after"
    assert len(keep_all(whole)[3].view) > 6, "what would have been sent without any compaction"
    assert not any(call.comparable for call in whole.transcript.calls[3:])


def test_what_a_project_had_accepted_is_told_without_reading(tmp_path: Path) -> None:
    def line(model: str, *tokens: int) -> str:
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        usage = dict(zip(names, tokens, strict=True))
        told = {"cwd": "/p", "type": "assistant", "message": {"model": model, "usage": usage}}
        return json.dumps(told, separators=(",", ":")) + "\n"

    (tmp_path / "a.jsonl").write_text(line("m", 1, 20, 300) + line("m", 1, 2, 3) + line("n", 5, 0, 0))
    (tmp_path / "b.jsonl").write_text(line("m", 4, 500, 6) + "no JSON\n")
    found = accepted(sources(str(tmp_path)))
    assert found == {"m in /p": (510, 2), "n in /p": (5, 1)}, "1 + 20 + 300 = 321, and 4 + 500 + 6 = 510"
    # Of another project's sessions nothing is told.
    made = msgspec.structs.replace(with_usage(conversation("a"), [Usage(300)] * 2, model="m"), project="/q")
    for others, among in (({}, "300 tokens were accepted in this session"), (
        {"m in /q": (510, 2)}, "510 tokens were accepted in 2 sessions of this project with this model"
    )):  # fmt: skip
        (one,) = as_sent(made, accepted=found | others)
        assert one.provider.origin.startswith(f"window 200,000 inferred: {among}")


@corpus.here
@pytest.mark.corpus
@pytest.mark.slow
def test_recordings_are_replayed_at_their_recorded_size() -> None:
    """Per format with usage: pooled tokens within 3 %, median error within 2 %, 95th percentile within 6 %."""
    found: dict[str, list[tuple[int, int]]] = {}
    for source in corpus.some_sources():
        for transcript in corpus.whole(source)[0]:
            # Some hundred calls of each format: of Claude Code's there are many times as many.
            if len(found.get(transcript.format, ())) < 600:
                for one in as_sent(transcript):
                    pairs = [(sent.tokens_sent, sent.tokens_recorded) for sent in keep_all(one)]
                    found.setdefault(transcript.format, []).extend((a, b) for a, b in pairs if b)
    assert len({name for name, pairs in found.items() if pairs}) >= 10
    for name, pairs in found.items():
        if not pairs:
            continue
        errors = sorted(abs(sent - recorded) / recorded for sent, recorded in pairs)
        pooled = sum(sent for sent, _ in pairs) / sum(recorded for _, recorded in pairs)
        assert 0.97 < pooled < 1.03, name
        # Of a handful of calls the 95th percentile is the worst one.
        assert errors[len(errors) // 2] < 0.02 and (len(errors) < 40 or errors[int(len(errors) * 0.95)] < 0.06), name


def test_what_was_cleared_and_not_logged_is_said_first(tmp_path: Path) -> None:
    texts = conversation(*[WORDS] * 7)
    counted = [sent.tokens_sent for sent in keep_all(AsSent(texts, as_sent_provider()))]
    usages = [Usage(46_000 + text if call < 5 else 36_000 + text) for call, text in enumerate(counted, 1)]
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines(with_usage(texts, usages))))
    done = ctxsim("bench", "log.jsonl", "--policy", "mask", "--out", "r", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Recorded tokens fall 1 x without a logged reason" in done.stdout
    assert "Fitted to the recording: keep-all sends" in done.stdout


@given(transcripts())
def test_whatever_was_recorded_can_be_replayed_as_it_was_sent(transcript: Transcript) -> None:
    parts = list(as_sent(transcript))
    assert [problem for one in parts for problem in problems(one.transcript)] == []
    assert sum(len(one.transcript.calls) for one in parts) == len(transcript.calls)
    assert len({one.transcript.name for one in parts}) == len(parts)
    for one in parts:
        for sent in keep_all(one):
            assert sent.tokens_sent >= 0 and sent.status in ("ok", "overflow")


def test_of_many_clearings_the_later_ones_take_everything() -> None:
    # Every second request has 3,000 tokens fewer than the one before, of results of 1,003 each: 25 clearings.
    made = conversation(*[WORDS] * 50)
    counted = [sent.tokens_sent for sent in keep_all(AsSent(made, as_sent_provider()))]
    usages = [Usage(90_000 + text - 40_000 * (call % 2)) for call, text in enumerate(counted, 1)]
    parts = list(as_sent(with_usage(made, usages, "")))
    said = [note for part in parts for note in part.transcript.notes if note.startswith("segment")]
    assert len(parts) == 26 and all("nothing is taken to be left" in note for note in said[21:])
