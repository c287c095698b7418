"""A rule gives the same rows whoever runs it: built in, as a function over messages, as a program in a pipe."""

from __future__ import annotations

import random
import shutil
import sys
from itertools import islice

import corpus
import msgspec
import pytest
from acting import PROVIDERS, eventful
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from project import ROOT
from strategies import transcripts

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.contract import violations
from ctxsim.transcript import Transcript

EXAMPLES = ROOT / "docs" / "examples"
MESSAGES = f"messages:{EXAMPLES / 'messages.py'}"


def program(runner: str, file: str, *arguments: object) -> str:
    """A label; the runner has to be on this machine."""
    words = " ".join([f"'{runner}'", f"'{EXAMPLES / file}'", *map(str, arguments)])
    return f"pipe:{words}"


FUNCTIONS = [
    (f"{MESSAGES}:mask:keep=1", "mask:keep=1"),
    (f"{MESSAGES}:clear:trigger=100,keep=1,lasting=False", "clear-tool-uses:trigger=100,keep=1,sticky=False"),
    (f"{MESSAGES}:summary:at=0.1,keep_last=2", "summary:at=0.1,keep_last=2,max_tokens=20"),
]
PROGRAMS = {
    "mask.py": (program(sys.executable, "mask.py", 1), "mask:keep=1", sys.executable),
    "fifo.ts": (program("node", "fifo.ts", 120), "fifo:budget=120", "node"),
    "cut.sh": (program("sh", "cut.sh", 20), "max-result-chars:chars=20", "jq"),
}


def rows(transcript: Transcript, label: str, provider: Provider) -> list[object]:
    """All that a replay shows of each call, but who gave which reason."""
    counter = Counter(open_tokenizer(provider.tokenizer))
    return [
        (
            sent.tokens_sent, sent.tokens_estimated, sent.verdict, sent.attempts, sent.changed_from,
            msgspec.structs.replace(sent.bill, cause=""),
            list(sent.view),
            [(moment, edit.before, edit.after, edit.position) for moment, edit in sent.edits],
            sent.tally.summaries, sent.tally.compactions,
        )
        for sent in replay(transcript, open_policy(label), provider, counter)
    ]  # fmt: skip


def assert_equal(transcript: Transcript, foreign: str, built_in: str) -> None:
    for provider in PROVIDERS.values():
        pairs = zip(rows(transcript, foreign, provider), rows(transcript, built_in, provider), strict=True)
        for call, (theirs, ours) in enumerate(pairs, 1):
            assert theirs == ours, f"call {call}"


@pytest.mark.parametrize(("foreign", "built_in"), FUNCTIONS, ids=[built_in for _, built_in in FUNCTIONS])
@settings(max_examples=12)
@given(transcript=st.one_of(transcripts(), st.randoms(use_true_random=False).map(eventful)))
@example(transcript=eventful(random.Random(3)))
def test_functions_are_equal_to_the_built_in_policy(foreign: str, built_in: str, transcript: Transcript) -> None:
    # Two user texts of one message are two messages in OpenAI's form; only `summary` counts messages.
    users = [item.message for item in transcript.items if item.kind == "user"]
    assume("summary" not in built_in or len(set(users)) == len(users))
    assert_equal(transcript, foreign, built_in)


@pytest.mark.parametrize("file", PROGRAMS)
@settings(max_examples=12)
@given(transcript=st.one_of(transcripts(), st.randoms(use_true_random=False).map(eventful)))
def test_programs_are_equal_to_the_built_in_policy(file: str, transcript: Transcript) -> None:
    foreign, built_in, runner = PROGRAMS[file]
    if not shutil.which(runner):
        pytest.skip(f"no {runner} here")
    assert_equal(transcript, foreign, built_in)


@pytest.mark.parametrize(("foreign", "built_in"), FUNCTIONS, ids=[built_in for _, built_in in FUNCTIONS])
def test_the_cases_are_cases(foreign: str, built_in: str) -> None:
    """Equality says nothing where nobody edits."""
    for seed in range(4):
        assert any(edits for *_, edits, _, _ in rows(eventful(random.Random(seed)), foreign, PROVIDERS["roomy"]))


@pytest.mark.parametrize("label", [label for label, _ in FUNCTIONS])
def test_they_keep_the_contract(label: str) -> None:
    for provider in PROVIDERS.values():
        assert (
            list(violations(open_policy(label), [eventful(random.Random(seed)) for seed in range(3)], provider)) == []
        )


@corpus.here
@pytest.mark.corpus
@pytest.mark.slow
def test_they_are_equal_on_recordings() -> None:
    pairs = [
        (f"{MESSAGES}:mask:keep=5", "mask:keep=5"),
        (program(sys.executable, "mask.py", 5), "mask:keep=5"),
        (program("node", "fifo.ts", 8_000), "fifo:budget=8000"),
    ]
    provider = Provider(window=60_000)
    tried = list(islice((one for one in corpus.recorded() if 5 < len(one.calls) < 80), 8))
    for transcript in tried:
        for foreign, built_in in pairs:
            assert rows(transcript, foreign, provider) == rows(transcript, built_in, provider), transcript.name
    assert len(tried) == 8
