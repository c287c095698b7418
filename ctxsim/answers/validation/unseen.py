"""Sizes of requests, predicted without the recorded usage that they are compared with.

There are three ways, from near to far: later calls of a segment from its earlier calls; the segment after a compaction
from the segment before it and from what joined again in other sessions; a session from sessions of other projects.
"""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Literal, get_args

import msgspec

from ctxsim.counting.tokenizers import tokenizer_of
from ctxsim.readers.assembly.segments import segments
from ctxsim.readers.paths import project_name
from ctxsim.recorded.as_sent import with_unlogged_clearings
from ctxsim.recorded.attached import attached_again
from ctxsim.recorded.size_fit import Request, factor_of, head_is_whole, later_calls, requests
from ctxsim.simulator.measure.columns import nearest_rank
from ctxsim.simulator.provider.priors import tokens_factor
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.transcript import Transcript

Way = Literal["later calls", "past a compaction", "another project"]


class Stretch(msgspec.Struct, frozen=True):
    """The calls of one segment that have recorded usage. `number` is the segment's, from 0. `prior` is the expected
    factor of provider tokens per counted token. `summarised`: the segment begins with a summary that the log holds.
    """

    transcript: str
    number: int
    project: str
    format: str
    model: str
    sub_agent: bool
    prior: float
    summarised: bool
    whole: bool
    requests: tuple[Request, ...]
    again: int = 0
    """Tokens of files that the agent attaches again after the segment, as far as the log shows."""


class Predicted(msgspec.Struct, frozen=True):
    """Predicted and recorded tokens of one call, or of a whole session with `call` 0."""

    way: Way
    transcript: str
    format: str
    model: str
    call: int
    tokens: float
    recorded: int

    @property
    def error(self) -> float:
        """(predicted - recorded) / recorded."""
        return (self.tokens - self.recorded) / self.recorded


def stretches(transcript: Transcript) -> Iterator[Stretch]:
    """Yield the segments of a transcript that have recorded usage."""
    provider = resolve({}, None, transcript)
    counter = provider.counter()
    cut, unlogged = with_unlogged_clearings(transcript, provider, counter)
    public = tokenizer_of(transcript.model)[1]
    factor = 1.0 if public else tokens_factor(transcript.model)
    summaries = {text for one in cut.compactions for text in one.summary}
    for number, segment in enumerate(segments(cut, unlogged)):
        if found := requests(segment, provider, counter):
            summarised = bool(segment.carried) and segment.items[0].text in summaries
            attaches = transcript.format.startswith("claude-code")
            yield Stretch(
                transcript.name, number, transcript.project, transcript.format, transcript.model,
                sub_agent=transcript.parent is not None, prior=factor, summarised=summarised,
                whole=head_is_whole(segment) and public, requests=tuple(found),
                again=attached_again(segment.items, counter, factor) if attaches else 0,
            )  # fmt: skip


def of_later_calls(found: Stretch) -> Iterator[Predicted]:
    """Yield predictions of the calls in the later half of a segment."""
    for request, tokens in later_calls(found.requests, found.prior, found.whole):
        yield _predicted("later calls", found, request.call, tokens, request.recorded, request.model)


def past_compactions(found: Sequence[Stretch]) -> Iterator[Predicted]:
    """Yield predictions of the calls after each compaction whose summary the log holds. The head is that of the
    session's first request, plus the files that the agent attaches again, plus the median of what else joined in other
    sessions of that format.
    """
    every = {(one.transcript, one.number): one for one in found}
    known = []
    for one in every.values():
        first, last = every.get((one.transcript, 0)), every.get((one.transcript, one.number - 1))
        if first and last and one.summarised and not one.whole:
            factor = factor_of(last.requests, one.prior)
            head = _head(first.requests[0], factor) + last.again
            again = one.requests[0].recorded - _size(one.requests[0], head, factor)
            known.append((one, factor, head, again))
    for one, factor, head, _ in known:
        others = [
            again for other, *_, again in known if other.transcript != one.transcript and other.format == one.format
        ]
        for request in one.requests if others else ():
            tokens = _size(request, head, factor) + median(others)
            yield _predicted("past a compaction", one, request.call, tokens, request.recorded, request.model)


def of_other_projects(found: Sequence[Stretch]) -> Iterator[Predicted]:
    """Yield a prediction of each session's tokens up to its first compaction, from the median head and factor of other
    projects' sessions of the same format and model, or of the format if no other project has the model. Clones in
    folders of one name are one project.
    """
    sessions = [one for one in found if one.number == 0 and not one.whole]
    factors = [(one, factor_of(one.requests, one.prior)) for one in sessions]
    known = [(one, factor, _head(one.requests[0], factor)) for one, factor in factors]
    for one in sessions:
        others = [
            other for other in known
            if (other[0].format, other[0].sub_agent) == (one.format, one.sub_agent)
            and project_name(other[0].project) != project_name(one.project)
        ]  # fmt: skip
        if not others:
            continue
        near = [other for other in others if other[0].model == one.model] or others
        factor, head = median(factor for _, factor, _ in near), median(head for *_, head in near)
        tokens = sum(_size(request, head, factor) for request in one.requests)
        yield _predicted("another project", one, 0, tokens, sum(request.recorded for request in one.requests))


def _head(first: Request, factor: float) -> float:
    return first.recorded - first.framing - factor * first.text


def _size(request: Request, head: float, factor: float) -> float:
    return head + factor * request.text + request.framing


def _predicted(way: Way, one: Stretch, call: int, tokens: float, recorded: int, model: str = "") -> Predicted:
    return Predicted(way, one.transcript, one.format, model or one.model, call, tokens, recorded)


class Unseen(msgspec.Struct, frozen=True):
    """Relative errors of `n` predictions (calls, or sessions): median and p95 of their sizes; `bias` is the mean."""

    way: Way
    n: int
    median: float
    p95: float
    bias: float


def unseen(found: Sequence[Predicted]) -> list[Unseen]:
    """Return the errors of each way that has predictions, in the order of `Way`."""
    rows = []
    for way in get_args(Way):
        if errors := [one.error for one in found if one.way == way]:
            sizes = sorted(map(abs, errors))
            middle, most = (round(nearest_rank(sizes, rank), 4) for rank in (50, 95))
            rows.append(Unseen(way, len(errors), middle, most, round(sum(errors) / len(errors), 4)))
    return rows


def predicted(found: Sequence[Stretch]) -> list[Predicted]:
    """Return all predictions of some transcripts' segments."""
    later = [one for stretch in found for one in of_later_calls(stretch)]
    return [*later, *past_compactions(found), *of_other_projects(found)]
