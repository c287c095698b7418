"""Checks that an estimator, built in or a user's, keeps the contract on which policies rely."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import Any

import msgspec

from ctxsim.counting.estimators.estimator import Estimator, Reported, answered
from ctxsim.errors import ContractError
from ctxsim.transcript import Transcript, Usage

TEXTS = (
    "", " ", "a", "word " * 500, "x" * 20_000, "\n\n\n", "日本語のテキスト", "é👩‍👩‍👧\u200b", "\ud800 alone",
    '{"a": [1]}',
)  # fmt: skip
"""Edge cases of tool results: no text, one long run, other scripts, half of a surrogate pair."""

MORE = 1_000
"""Tokens by which the larger of two requests is larger."""


Question = tuple[str, str, tuple[Any, ...]]
"""One estimate to check: its name in messages, the estimator's method, and the method's arguments."""


def violations(create: Callable[[], Estimator], transcripts: Iterable[Transcript]) -> Iterator[str]:
    """Yield a line for each way in which an estimator breaks the contract on these transcripts.

    `create` returns a fresh object. Checked: estimates are whole numbers of at least 0; they are equal when repeated,
    from a fresh object and in reverse order; none takes too long; `Reported` isn't changed; a request doesn't shrink
    when only `size` grows.
    """
    try:
        yield from _answers([(f"text {text[:20]!r}", "text", (text,)) for text in TEXTS], create)
        for transcript in transcripts:
            name = transcript.name
            items = [(f"{name}, item {item.place} ({item.kind})", "item", (item,)) for item in transcript.items]
            messages = [list(its) for _, its in groupby(transcript.items, key=lambda item: item.message)]
            whole = (f"{name}, its messages", "messages", (messages, transcript.head.system))
            yield from _answers([(f"{name}, the head", "head", (transcript.head,)), *items, whole], create)
            yield from _requests(create, transcript)
    except ContractError as error:
        yield str(error)


def _asked(question: Question, estimator: Estimator) -> int:
    what, method, arguments = question
    return answered(what, lambda: getattr(estimator, method)(*arguments))


def _answers(questions: Sequence[Question], create: Callable[[], Estimator]) -> Iterator[str]:
    """Yield the estimates that differ between two passes of one object and a reversed pass of a fresh one."""
    one, other = create(), create()
    first = [_asked(question, one) for question in questions]
    second = [_asked(question, one) for question in questions]
    backwards = [_asked(question, other) for question in reversed(questions)][::-1]
    for (what, *_), a, b, c in zip(questions, first, second, backwards, strict=True):
        if not a == b == c:
            told = f"{a}, then {b}, and {c} from a fresh object"
            yield f"{what}: {told}; is it deterministic, and does it remember what was asked before?"


def _requests(create: Callable[[], Estimator], transcript: Transcript) -> Iterator[str]:
    """Check each call's request, without reported usage and with one, and each also with a larger size."""
    estimator = create()
    sizes = list(accumulate(map(estimator.item, transcript.items), initial=0))
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
    """Return a plausible report before this call: 50 output tokens per response, and an input of `size` + 100."""
    spoken = [transcript.items[call.start : call.end] for call in transcript.calls[: number - 1]]
    outputs = {items[0].message: 50 for items in spoken if items}
    return Reported(Usage(input_tokens=size + 100, output_tokens=50), size, outputs)
