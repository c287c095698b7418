"""What sources show before any is read: which formats they have, and how large requests were that models accepted.

A project's sessions show together which window they had, so all of them are looked at before the first is replayed.
"""

import re
from collections.abc import Iterable
from contextlib import suppress

from ctxsim.errors import CtxsimError, InputError
from ctxsim.readers.reader import detect
from ctxsim.readers.source import Sample, Source, decoded

_MODEL = re.compile(rb'"model":"([^"]{1,200})"')
_PROJECT = re.compile(rb'"cwd":("(?:[^"\\]|\\.){1,4000}")')
_PARTS = tuple(
    re.compile(rb'"%s":(\d{1,12})' % name)
    for name in (b"input_tokens", b"cache_creation_input_tokens", b"cache_read_input_tokens")
)

LOOKED_AT = 200
"""Of more sources than these every n-th is looked at."""

Accepted = dict[str, tuple[int, int]]
"""By project and model, the tokens of the largest request that was accepted, and how many sessions had any."""


def of_project(project: str, model: str) -> str:
    """Return the key of a project and a model."""
    return f"{model} in {project}"


def accepted(sources: Iterable[Source]) -> Accepted:
    """Return what the logs state that hold a JSON value with usage per line, as Claude Code's do; what can't be read is
    left to the reader, who says why.
    """
    found: Accepted = {}
    for source in sources:
        if source.path is None or ".jsonl" not in source.path.suffixes or source.member is not None:
            continue
        with suppress(InputError):
            for key, tokens in _of_session(source).items():
                most, sessions = found.get(key, (0, 0))
                found[key] = max(most, tokens), sessions + 1
    return found


def _of_session(source: Source) -> dict[str, int]:
    largest: dict[bytes, int] = {}
    project = ""
    for _, line in source.lines():
        if not project and (told := _PROJECT.search(line)):
            project = decoded(told[1].decode("utf-8", "replace")) or ""
        at = line.rfind(b'"usage":{')
        if at < 0 or b'"cache_read_input_tokens"' not in line or not (model := _MODEL.search(line)):
            continue
        parts = (part.search(line, at) for part in _PARTS)
        tokens = sum(int(part[1]) for part in parts if part)
        largest[model[1]] = max(tokens, largest.get(model[1], 0))
    return {
        of_project(project, model.decode("utf-8", "replace")): tokens for model, tokens in largest.items() if tokens
    }


def formats_of(sources: Iterable[Source]) -> list[str]:
    """Return the names of the formats of sources, each once, in order of appearance; what is none has none."""
    all_of_them = list(sources)
    step = max(1, -(-len(all_of_them) // LOOKED_AT))
    found: dict[str, None] = {}
    for source in all_of_them[::step]:
        with suppress(CtxsimError, OSError):
            if source.path is not None:
                found[detect(Sample(source)).NAME] = None
    return list(found)
