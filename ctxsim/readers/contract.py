"""Checks any reader against the reader contract: its transcripts can be replayed, and they are complete."""

from collections import Counter as Frequencies
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ctxsim.errors import CtxsimError, InputError, ReaderFailed, TooLong, told
from ctxsim.plugins.limit import limited
from ctxsim.readers.paths import sources
from ctxsim.readers.reader import FolderReader, Reader, load_reader, registered_formats, transcripts_of
from ctxsim.readers.source import Sample, Source
from ctxsim.readers.source.values import json_document, strings
from ctxsim.transcript import Transcript, problems

SAID = frozenset(
    {"text", "content", "thinking", "reasoning", "arguments", "input", "output", "result", "stdout", "message"}
)
"""JSON keys under which formats keep message texts, tool arguments and tool results."""

USED = ("input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "promptTokenCount")
"""JSON keys under which formats keep the prompt tokens that a provider counted."""

SHORTEST = 24
"""The fewest characters of a text that is looked for in the transcripts."""


def examined(file: str, paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return a reader's violations of the contract on some recordings, and remarks on it.

    Checked: `matches` is true; reading twice gives the same and changes no file; there are calls; calls, items and
    pairs are in order; tool calls' ids differ; every text under a key of `SAID` is in an item or the head; usage is
    read; a cut file, and other JSON, raise nothing but CtxsimError; nothing takes too long. Remarks name other formats
    that match. Raises InputError if there is nothing to read, LabelError for a file that is no reader.
    """
    reader = load_reader(file)
    found: list[str] = []
    known: list[str] = []
    given = list(sources(*paths))
    if not given:
        raise InputError(file, "name a recording to check it on, as in: ctxsim check reader mine.py session.jsonl")
    for source in given:
        found += [f"{source.name}: {line}" for line in _examined(reader, source)]
        others = [name for name, one in registered_formats().items() if one is not reader and _matches(one, source)]
        if others:
            known.append(f"{source.name}: {', '.join(others)} would read it as well: reader:{file}:PATH says which")
    return found, known


def _matches(reader: Reader, source: Source) -> bool:
    with suppress(CtxsimError):
        return _recognised(reader, source)
    return False


def _recognised(reader: Reader, source: Source) -> bool:
    sample = Sample(source)
    if sample.folder and isinstance(reader, FolderReader):
        return reader.owns(sample.folder)
    return reader.matches(sample)


def _examined(reader: Reader, source: Source) -> Iterator[str]:
    file = source.path if source.path and source.path.is_file() else None
    before = file.read_bytes() if file else b""
    try:
        with limited():
            known = _recognised(reader, source)
            first, second = (list(transcripts_of(reader, source, Sample(source))) for _ in range(2))
    except CtxsimError as error:
        yield f"can't be read: {error}"
        return
    except TooLong as error:
        yield f"reading it twice {error}"
        return
    # A user's reader may raise any error: it is reported in one line.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        yield f"raised {told(error)}"
        return
    if not known:
        yield "`matches` doesn't recognise it"
    if first != second:
        yield "a second reading gives something else"
    if file and file.read_bytes() != before:
        yield "reading changed the file"
    if not any(one.calls for one in first):
        yield "gives no call"
    for transcript in first:
        ids = Frequencies(item.call_id for item in transcript.items if item.kind == "tool_call" and item.call_id)
        repeated = [f"{count} tool calls have the id {name}" for name, count in ids.items() if count > 1]
        for line in (*problems(transcript), *repeated):
            yield f"{transcript.name}: {line}"
    yield from _lost(before, first)
    yield from _hurt(reader, source, before)


def _lost(data: bytes, transcripts: list[Transcript]) -> Iterator[str]:
    """Yield a line for texts and for usage that the file holds and no transcript has."""
    values: list[Any] = []
    try:
        values.append(json_document(data, ""))
    except InputError:
        # A file that isn't JSON at all holds no texts to look for.
        with suppress(InputError):
            values += (record.value for record in Source("", data=data).records([]))
    parts = [part for one in transcripts for part in (one.head.texts, *(item.texts for item in one.items))]
    held = dict.fromkeys(text for part in parts for text in part)
    # Most texts equal a whole text in `held`: the substring search for the others is slow.
    texts = "\n".join(held)
    lost = Frequencies[str]()
    for key, text in (pair for value in values for pair in strings(value)):
        if key in SAID and len(text) >= SHORTEST and text not in held and text not in texts:
            lost[key] += len(text)
    for key, characters in lost.most_common(5):
        yield f'{characters:,} characters under "{key}" are in no item and no head'
    calls = (call for one in transcripts for call in (*one.calls, *one.beside))
    if any(name.encode() in data for name in USED) and not any(call.usage for call in calls):
        yield "the file holds usage, and no call has any"


def _hurt(reader: Reader, source: Source, data: bytes) -> Iterator[str]:
    """Yield a line for a cut file, and for other JSON, on which the reader raises anything but CtxsimError."""
    other = b'{"a": [1, {"b": null}]}\n'
    for what, hurt in (("a file cut in its middle", data[: len(data) // 2]), ("other JSON", other)):
        broken = Source(source.name, Path(source.name), data=hurt)
        try:
            sample = Sample(broken)
            with limited():
                if reader.matches(sample):
                    list(transcripts_of(reader, broken, sample))
        except (ReaderFailed, TooLong) as error:
            yield f"{what}: {error}"
        except CtxsimError:
            continue
        # A user's reader, as above.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            yield f"{what} raises {told(error)}"
