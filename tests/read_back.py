"""What tests of single formats share: files that are written, what is read of them, and what stands in that."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from ctxsim.readers import read
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import Transcript, problems

Json = dict[str, Any]


def text(value: str, **fields: Any) -> Json:
    return {"type": "text", "text": value} | fields


def write(path: Path, *lines: Any) -> Path:
    """JSON lines, or the one line of a document; a text is a line as it stands."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines))
    return path


def all_of(path: Path | str, format: str) -> list[Transcript]:
    """What is read of a path: sound transcripts, all of that format."""
    found = list(read(str(path)))
    assert [problems(one) for one in found] == [[] for _ in found]
    assert {one.format for one in found} <= {format}
    return found


def only(path: Path | str, format: str) -> Transcript:
    (found,) = all_of(path, format)
    return found


def said(transcript: Transcript) -> list[tuple[str, str]]:
    return [(item.kind, item.text) for item in transcript.items]


def called(transcript: Transcript) -> list[tuple[str, str, str]]:
    return [(item.kind, item.tool, item.text) for item in transcript.items]


def kinds(transcript: Transcript) -> list[str]:
    return [item.kind for item in transcript.items]


def left_out(transcript: Transcript) -> list[str]:
    """What its only note says that is left out."""
    (note,) = transcript.notes
    return sorted(note.removeprefix("left out: ").split(", "))


def taken(format: str, *lines: Any) -> bool:
    """Whether the module of a format takes these lines, or this document, for its own."""
    data = "\n".join(map(json.dumps, lines)).encode()
    matched = importlib.import_module(f"ctxsim.readers.formats.{format}").matches(Sample(Source("x.json", data=data)))
    assert isinstance(matched, bool)
    return matched
