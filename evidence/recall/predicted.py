"""Kept against recalled: whether the request held the answer, and whether the model gave it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ctxsim.policies import open_policy
from ctxsim.readers.source import Source
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Call, Item, Transcript
from evidence.recall.compaction_trials import files_in, read_trials
from evidence.recall.graded import Questioned, read_table
from evidence.recall.held import Holds
from evidence.recall.rows import Predicted

RECORDED = "recorded"


def read_questions(path: str, left_out: list[str]) -> Iterator[Questioned]:
    """Yield the transcripts with questions of a table of graded answers, or of the trials in or below a folder.

    `left_out` gets a line for each part that can't be read. Raises InputError.
    """
    place = Path(path)
    if not place.is_dir():
        yield from read_table(Source(path, place, named=True))
        return
    for folder in (place, *sorted(child for child in place.rglob("*") if child.is_dir())):
        if files := files_in(folder):
            yield from read_trials(*files, left_out)


def predict(asked: Questioned, policy: str = RECORDED) -> Iterator[Predicted]:
    """Yield the prediction for each answer, in order: from the requests that were sent if `policy` is `recorded`, else
    from those that the policy would have sent.
    """
    views = requests(asked.transcript, policy, {one.call for one in asked.answers})
    held = {call: Holds(items) for call, items in views.items()}
    for one in asked.answers:
        yield Predicted(
            condition=asked.condition,
            root=asked.root,
            transcript=asked.transcript.name,
            question=one.question,
            expected=one.expected,
            answer=one.answer,
            present=one.expected in held[one.call],
            correct=one.correct,
            groups=one.groups,
        )


def requests(transcript: Transcript, policy: str, calls: Iterable[int]) -> dict[int, tuple[Item, ...]]:
    """Return the items of requests under a policy, by call from 1; one past the last, those of the next request."""
    end = len(transcript.items)
    longer = msgspec.structs.replace(transcript, calls=(*transcript.calls, Call(end, end)))
    wanted = set(calls)
    provider = Provider(window=1 << 60)
    sent = replay(longer, open_policy(policy), provider, provider.counter())
    return {one.call: tuple(one.view) for one in sent if one.call in wanted}
