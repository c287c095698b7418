"""The policy contract, checked on any policy: what must hold so that its numbers mean something."""

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.errors import ContractError
from ctxsim.policies import Spec
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.ledger.request import Request
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Item, Transcript


def violations(spec: Spec, transcripts: Iterable[Transcript], provider: Provider) -> Iterator[str]:
    """Yield how a policy breaks the contract on these transcripts; nothing if it keeps it.

    Checked: same input, same rows, edits and messages, whatever was replayed before and whatever the state of Python's
    and numpy's random number generators; recorded items keep their order, kind and pairing, only their text may change;
    no recorded item is invented or sent before its time; synthetic items name recorded sources; every item that left or
    changed is in the audit trail; the running totals are the sums; the policy doesn't change the head, window or
    estimator that it sees.

    Not checked, as one process can't show it: decisions by the order of a set of texts, which PYTHONHASHSEED changes.
    """
    counter = provider.counter()
    replayed: list[tuple[Transcript, list[int]]] = []
    with _dice(1):
        for transcript in transcripts:
            prints: list[int] = []
            try:
                yield from _replayed(spec, transcript, provider, counter, prints)
                replayed.append((transcript, prints))
            except ContractError as error:
                yield f"{transcript.name}: {error}"
    # In reverse order: what a policy remembers of one transcript must not affect the next.
    with _dice(2):
        for transcript, known in reversed(replayed):
            if call := _differs(spec, transcript, provider, counter, known):
                yield (
                    f"{spec.label} on {transcript.name}, call {call}: a second replay gave another result; "
                    "is it deterministic?"
                )


@contextmanager
def _dice(seed: int) -> Iterator[None]:
    kept, numpy_kept = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(kept)
        np.random.set_state(numpy_kept)


def _differs(
    spec: Spec, transcript: Transcript, provider: Provider, counter: Counter, known: Sequence[int]
) -> int | None:
    """The first call, from 1, at which another replay differs; None if none does."""
    call = 0
    try:
        for call, (sent, before) in enumerate(zip(replay(transcript, spec, provider, counter), known, strict=True), 1):
            if _print_of(sent) != before:
                return call
    except ContractError:
        return call + 1
    return None


def _print_of(sent: Sent) -> int:
    """A fingerprint of all results of a call, for use within this process. Cheap: strings cache their hash."""
    counted = (sent.tokens_sent, sent.tokens_estimated, sent.attempts)
    return hash((sent.verdict, counted, sent.bill, tuple(sent.view), sent.edits, sent.said))


def _replayed(
    spec: Spec, transcript: Transcript, provider: Provider, counter: Counter, prints: list[int]
) -> Iterator[str]:
    """Replay once and yield every violation; each call's fingerprint is added to `prints`."""
    touched: set[int] = set()
    replayed = replay(transcript, spec, provider, counter)
    for sent in replayed:
        prints.append(_print_of(sent))
        where = f"{spec.label} on {transcript.name}, call {sent.call}"
        call, sees = transcript.calls[sent.call - 1], replayed.moments.sees
        touched |= {item.place for _, edit in sent.edits if (item := edit.before or edit.after) is not None}
        for problem in _problems(list(sent.view), transcript, call.start, touched):
            yield f"{where}: {problem}"
        head = call.head or transcript.head
        tokens = Request(Frames(provider, counter), head).become(sent.view)
        if tokens != sent.tokens_sent:
            yield f"{where}: tokens_sent is {sent.tokens_sent}, its items add up to {tokens}"
        if sent.view.size != sum(map(spec.estimator.item, sent.view)):
            yield f"{where}: the running estimate is not the sum of its items"
        if (sees.head, sees.window, sees.estimator) != (head, provider.window, spec.estimator):
            yield f"{where}: it set another head, window or estimator; what a policy sees isn't its to change"


def _problems(items: list[Item], transcript: Transcript, start: int, touched: set[int]) -> Iterator[str]:
    recorded = [item for item in items if not item.synthetic]
    places = [item.place for item in recorded]
    if places != sorted(set(places)):
        yield "recorded items are out of order or doubled"
    for item in recorded:
        if item.place >= start:
            yield f"item {item.place} is sent before it was recorded"
        elif item != (original := transcript.items[item.place]):
            if item.with_text(original.text) != original:
                yield f"more than the text of item {item.place} was changed"
            if item.place not in touched:
                yield f"item {item.place} changed without an edit in the audit trail"
    for item in items:
        if item.synthetic and any(source >= start for source in item.sources):
            yield f"synthetic item {item.place} names sources that don't exist"
    missing = set(range(start)) - set(places) - touched
    if any(transcript.items[place].kind != "reasoning" for place in missing):
        yield f"items {sorted(missing)[:5]} left without an edit in the audit trail"
