"""Graded answers: what a live model was asked at a point of a conversation, and whether it was right."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.readers.source import Source
from ctxsim.transcript import Transcript

COLUMNS = ("transcript", "call", "question", "expected", "answer", "correct")
"""The columns of a table of graded answers. Figures are also given by each other column, such as category or epoch."""

_TRUE = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class Graded(msgspec.Struct, frozen=True):
    """One answer. The request with the question held what call `call`, from 1, was sent; one past the last call, what
    the next call would be sent. `groups` are the other columns by name.
    """

    call: int
    question: str
    expected: str
    answer: str
    correct: bool
    groups: dict[str, str] = {}


class Questioned(msgspec.Struct, frozen=True):
    """A transcript with its graded answers. `condition` says how the conversation was compacted before the questions;
    `root` is the transcript's session, for intervals.
    """

    condition: str
    root: str
    transcript: Transcript
    answers: tuple[Graded, ...]


def read_table(source: Source) -> Iterator[Questioned]:
    """Yield the transcripts that a table of graded answers names, with their answers.

    The table is CSV with a header, or JSONL with an object a line. `transcript` is the path, from the table's folder,
    of a file with one transcript, or `FILE#NAME` of one among several; `correct` is true or false, 1 or 0, yes or no.
    Raises InputError that names the line and the invalid column.
    """
    found: dict[str, list[Graded]] = {}
    for line, row in _rows(source):
        missing = [name for name in COLUMNS if row.get(name) is None]
        if missing:
            raise InputError(f"{source.name}:{line}", f"has no {', '.join(missing)}; columns are {', '.join(COLUMNS)}")
        found.setdefault(str(row["transcript"]), []).append(_graded(row, f"{source.name}:{line}"))
    folder = source.path.parent if source.path else Path()
    for name, answers in found.items():
        transcript = _transcript(folder, name, source.name)
        for answer in answers:
            if not 1 <= answer.call <= len(transcript.calls) + 1:
                raise InputError(source.name, f"{name} has {len(transcript.calls)} calls, no call {answer.call}")
        yield Questioned(source.name, transcript.parent or transcript.name, transcript, tuple(answers))


def _rows(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    text = source.content().decode("utf-8-sig", "replace")
    if text.lstrip().startswith("{"):
        for record in source.records([]):
            if not isinstance(record.value, dict):
                raise InputError(f"{source.name}:{record.line}", "is no JSON object")
            yield record.line, record.value
        return
    reader = csv.DictReader(io.StringIO(text, newline=""))
    for row in reader:
        yield reader.line_num, {key: value for key, value in row.items() if key is not None}


def _graded(row: Mapping[str, Any], where: str) -> Graded:
    correct = _TRUE.get(str(row["correct"]).strip().lower())
    if correct is None:
        raise InputError(where, f"correct is {row['correct']!r}; write true or false")
    try:
        call = int(row["call"])
    except (TypeError, ValueError):
        raise InputError(where, f"call is {row['call']!r}, no number") from None
    groups = {name: str(value) for name, value in row.items() if name not in COLUMNS and value not in (None, "")}
    return Graded(call, str(row["question"]), str(row["expected"]), str(row["answer"]), correct, groups)


def _transcript(folder: Path, name: str, table: str) -> Transcript:
    file, _, part = name.partition("#")
    path = folder / file
    if not path.exists():
        raise InputError(table, f"names the transcript {name}, which is not at {path}")
    found = [one for one in read(str(path)) if not part or one.name.endswith(f"#{part}")]
    if len(found) != 1:
        raise InputError(table, f"names the transcript {name}; {path} holds {len(found)} such: write FILE#NAME of one")
    return found[0]
