"""What a calibration is fitted to: every text of some transcripts, and every request as it was sent."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import PurePath

import msgspec
import numpy as np

from ctxsim.counting.estimators.classes import FEATURES, features
from ctxsim.counting.tokenizers import Tokenizer
from ctxsim.counting.tokenizers.counter import Counter, counted
from ctxsim.readers.assembly.segments import segments
from ctxsim.readers.paths import project_name
from ctxsim.recorded.as_sent import with_unlogged_clearings
from ctxsim.recorded.chars_fit import Series, series_of
from ctxsim.recorded.content import content_kind
from ctxsim.recorded.size_fit import Array
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.transcript import Item, Transcript


class Sized(msgspec.Struct, frozen=True):
    """One text with its group, or the logged conversation of one request, without its head: its transcript's number,
    characters, tokens as counted (or, of a request, what was recorded beyond the fitted head), and class features.
    """

    transcript: int
    chars: int
    tokens: float
    features: tuple[int, ...]
    group: str = ""


class Sample(msgspec.Struct, frozen=True):
    """Texts (each once), requests as counted, and the calls that have recorded usage to compare with.

    `projects` is the number of each transcript's project: a fit holds out whole projects.
    """

    texts: list[Sized]
    prompts: list[Sized]
    series: list[Series]
    transcripts: int
    projects: tuple[int, ...] = ()


def collect(transcripts: Iterable[Transcript], tokenizer: Tokenizer | None, by: str) -> Sample:
    """Return the sample of some transcripts; `by` groups texts by content `kind`, by `tool`, or by `model`.

    Without a tokenizer, each model's own one is used.
    """
    sample = Sample([], [], [], 0)
    projects: dict[str, int] = {}
    of: list[int] = []
    for number, transcript in enumerate(transcripts):
        project = project_name(transcript.project) or str(PurePath(transcript.name).parent)
        of.append(projects.setdefault(project, len(projects)))
        counter = counted(transcript, tokenizer)
        for item, text in texts_of(transcript):
            group = _group(item, text, transcript, by)
            sample.texts.append(Sized(number, len(text), counter.text(text), features(text), group))
        measure = _measuring(counter)
        provider = resolve({}, None, transcript)
        for segment in segments(*with_unlogged_clearings(transcript, provider, provider.counter(counter))):
            sums = np.cumsum([np.zeros(2 + len(FEATURES)), *map(measure, segment.items)], axis=0)
            sizes = [sums[call.start] for call in segment.calls]
            for chars, tokens, *rest in sizes:
                sample.prompts.append(Sized(number, int(chars), float(tokens), tuple(map(int, rest))))
            sample.series.extend(series_of(segment, number, sizes))
    return msgspec.structs.replace(sample, transcripts=len(of), projects=tuple(of))


def texts_of(transcript: Transcript) -> Iterator[tuple[Item, str]]:
    """Yield every text of a transcript with its item, but for empty ones and reasoning."""
    for item in transcript.items:
        if item.kind != "reasoning":
            yield from ((item, text) for text in item.texts if text)


def _group(item: Item, text: str, transcript: Transcript, by: str) -> str:
    if by == "kind":
        return content_kind(text)
    if by == "model":
        return transcript.model or "unknown"
    return item.tool if item.kind == "tool_result" and item.tool else f"({item.kind})"


def _measuring(counter: Counter) -> Callable[[Item], Array]:
    """Callback for an item's characters, tokens and features. Reasoning is 0, as it mostly isn't sent again."""

    @cache
    def of(text: str) -> Array:
        return np.array([len(text), counter.text(text), *features(text)], dtype=float)

    def measure(item: Item) -> Array:
        nothing = np.zeros(2 + len(FEATURES))
        return nothing if item.kind == "reasoning" else sum(map(of, filter(None, item.texts)), nothing)

    return measure
