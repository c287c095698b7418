"""The estimator contract, checked on anybody's estimator: what must hold for policies to decide by it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from ctxsim.counting.estimators.estimator import Estimator, Reported, answered
from ctxsim.errors import ContractError
from ctxsim.transcript import Item, Transcript, Usage

TEXTS = (
    "", " ", "a", "word " * 500, "x" * 20_000, "\n\n\n", "日本語のテキスト", "é👩‍👩‍👧\u200b", "\ud800 alone",
    '{"a": [1]}',
)  # fmt: skip
"""What tool results hold at their edges: nothing, one long run, other scripts, half of a surrogate pair."""

MORE = 1_000
"""Tokens by which the larger of two requests is larger."""


Question = tuple[str, str, tuple[Any, ...]]
"""How to call a question in a sentence, the method that answers it, and the arguments."""


def violations(create: Callable[[], Estimator], transcripts: Iterable[Transcript]) -> Iterator[str]:
    """Return how an estimator breaks the contract on these transcripts; nothing if it keeps it.

    `create` gives a fresh object. Checked: answers are whole numbers, 0 or more; the same ones on the second time, from
    a fresh object, and in any order; inputs stay as they were; an item is the sum of its texts and media, unless the
    class has a docstring to say what else it is; a request doesn't shrink when only `size` grows.
    """
    try:
        yield from _answers([(f"text {text[:20]!r}", "text", (text,)) for text in TEXTS], create)
        for transcript in transcripts:
            items = [_of_item(transcript, item) for item in transcript.items]
            yield from _answers([(f"{transcript.name}, the head", "head", (transcript.head,)), *items], create)
            yield from _sums(create(), transcript)
            yield from _requests(create, transcript)
    except ContractError as error:
        yield str(error)


def _of_item(transcript: Transcript, item: Item) -> Question:
    return f"{transcript.name}, item {item.place} ({item.kind})", "item", (item,)


def _asked(question: Question, estimator: Estimator) -> int:
    what, method, arguments = question
    return answered(what, lambda: getattr(estimator, method)(*arguments))


def _answers(questions: Sequence[Question], create: Callable[[], Estimator]) -> Iterator[str]:
    """Ask one object twice and a fresh one backwards: the same answers."""
    one, other = create(), create()
    first = [_asked(question, one) for question in questions]
    second = [_asked(question, one) for question in questions]
    backwards = [_asked(question, other) for question in reversed(questions)][::-1]
    for (what, *_), a, b, c in zip(questions, first, second, backwards, strict=True):
        if not a == b == c:
            told = f"{a}, then {b}, and {c} from a fresh object"
            yield f"{what}: {told}; is it deterministic, and does it remember what was asked before?"


def _sums(estimator: Estimator, transcript: Transcript) -> Iterator[str]:
    """An item that isn't the sum of its texts, unexplained: a reader of tables couldn't know why."""
    cls = type(estimator)
    # What begins with the signature was written by `dataclass`, not by a person.
    said = vars(cls).get("__doc__") or ""
    if said and not said.startswith(f"{cls.__name__}("):
        return
    for item in transcript.items:
        question = _of_item(transcript, item)
        answer, summed = _asked(question, estimator), Estimator.item(estimator, item)
        if answer != summed:
            told = f"{answer}, but its texts add up to {summed}"
            yield f"{question[0]}: {told}; say in the class's docstring what else counts"
            return


def _requests(create: Callable[[], Estimator], transcript: Transcript) -> Iterator[str]:
    """Every call's request, before any usage and after one; each also with a larger size."""
    estimator = create()
    each = (_asked(_of_item(transcript, item), estimator) for item in transcript.items)
    sizes = list(accumulate(each, initial=0))
    questions = []
    for number, call in enumerate(transcript.calls, 1):
        size, items, head = sizes[call.start], transcript.items[: call.start], call.head or transcript.head
        for reported in (Reported(), _reported(transcript, number, size)):
            what = f"{transcript.name}, request of call {number}"
            before = msgspec.structs.replace(reported, outputs=dict(reported.outputs))
            asked = [(what, "request", (head, size + more, items, reported)) for more in (0, MORE)]
            small, large = (_asked(one, estimator) for one in asked)
            if large < small:
                yield f"{what}: {small} tokens at size {size}, but {large} at {size + MORE}; more must not count less"
            if reported != before:
                yield f"{what}: changed what was reported to it"
                return
            questions.append(asked[0])
    yield from _answers(questions, create)


def _reported(transcript: Transcript, number: int, size: int) -> Reported:
    """What a provider could have said by this call: 50 tokens per response, and a request of 100 over its size."""
    spoken = [transcript.items[call.start : call.end] for call in transcript.calls[: number - 1]]
    outputs = {items[0].message: 50 for items in spoken if items}
    return Reported(Usage(input_tokens=size + 100, output_tokens=50), size, outputs)
