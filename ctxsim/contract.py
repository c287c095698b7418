"""The policy contract, checked on anybody's policy: what must hold for its numbers to mean something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ctxsim.errors import ContractError
from ctxsim.policies import Spec
from ctxsim.provider import MockLLM, Provider
from ctxsim.replay import replay
from ctxsim.tally import events
from ctxsim.tokenizers import open_tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Item, Transcript


def violations(spec: Spec, transcripts: Iterable[Transcript], provider: Provider) -> Iterator[str]:
    """Return how a policy breaks the contract on these transcripts; nothing if it keeps it.

    Checked: same input, same rows and edits; recorded items keep their order, kind and pairing, only their text may
    change; no recorded item is invented or sent before its time; synthetic items name recorded sources; every item
    that left or changed is in the audit trail; the running totals are the sums.
    """
    for transcript in transcripts:
        try:
            first = _run(spec, transcript, provider)
            if first != _run(spec, transcript, provider):
                yield f"{spec.label} on {transcript.name}: a second replay gave another result; is it deterministic?"
            yield from _view_violations(spec, transcript, provider)
        except ContractError as error:
            yield f"{transcript.name}: {error}"


def _run(spec: Spec, transcript: Transcript, provider: Provider) -> list[object]:
    counter = Counter(open_tokenizer(provider.tokenizer))
    return [
        (sent.row, list(sent.view), list(events(sent, counter))) for sent in replay(transcript, spec, provider, counter)
    ]


def _view_violations(spec: Spec, transcript: Transcript, provider: Provider) -> Iterator[str]:
    counter = Counter(open_tokenizer(provider.tokenizer))
    touched: set[int] = set()
    for sent in replay(transcript, spec, provider, counter):
        where = f"{spec.label} on {transcript.name}, call {sent.call}"
        start = transcript.calls[sent.call - 1].start
        touched |= {item.place for _, edit in sent.edits if (item := edit.before or edit.after) is not None}
        for problem in _problems(list(sent.view), transcript, start, touched):
            yield f"{where}: {problem}"
        tokens = (
            MockLLM(provider, counter, transcript.calls[sent.call - 1].head or transcript.head).render(sent.view).total
        )
        if tokens != sent.row.tokens_sent:
            yield f"{where}: tokens_sent is {sent.row.tokens_sent}, its items add up to {tokens}"
        if sent.view.size != sum(map(spec.estimator.item, sent.view)):
            yield f"{where}: the running estimate is not the sum of its items"


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
        if item.synthetic and any(not 0 <= source < start and source >= 0 for source in item.sources):
            yield f"synthetic item {item.place} names sources that don't exist"
    missing = set(range(start)) - set(places) - touched
    if any(transcript.items[place].kind != "reasoning" for place in missing):
        yield f"items {sorted(missing)[:5]} left without an edit in the audit trail"
