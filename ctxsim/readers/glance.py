"""Looks at sources before any of them is read: their formats, and the largest requests that models accepted.

A project's sessions together show the model's window, so all of them are scanned before the first is replayed.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import PurePath

from ctxsim.errors import CtxsimError, InputError
from ctxsim.readers.reader import detect
from ctxsim.readers.source import Sample, Source, decoded

_MODEL = re.compile(rb'"model":\s*"([^"]{1,200})"')
_PROJECT = re.compile(rb'"cwd":\s*("(?:[^"\\]|\\.){1,4000}")')
_USAGE = re.compile(rb'.*"usage":\s*\{', re.DOTALL)
"""As far as the last object of this name: a log may have `"usage":null` behind it."""
_PARTS = tuple(
    re.compile(rb'"%s":\s*(\d{1,12})' % name)
    for name in (b"input_tokens", b"cache_creation_input_tokens", b"cache_read_input_tokens")
)

LOOKED_AT = 200
"""Most sources whose format is detected; of more, only every n-th."""

Accepted = dict[str, tuple[int, int]]
"""By project and model: tokens of the largest accepted request, and the number of sessions that have usage."""


def of_project(project: str, model: str) -> str:
    """Return the key of a project and a model in `Accepted`."""
    return f"{model} in {project}"


def accepted(sources: Iterable[Source]) -> Accepted:
    """Return the largest accepted requests of JSONL logs that have usage in a line, as Claude Code's do. Logs that
    can't be read are skipped: their reader reports the error.
    """
    found: Accepted = {}
    for source in sources:
        # By its name, so that one in an archive or in a commit counts as well.
        if ".jsonl" not in PurePath(source.name).suffixes:
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
        if b'"cache_read_input_tokens"' not in line or not (usage := _USAGE.match(line)):
            continue
        if not (model := _MODEL.search(line)):
            continue
        parts = (part.search(line, usage.end()) for part in _PARTS)
        tokens = sum(int(part[1]) for part in parts if part)
        largest[model[1]] = max(tokens, largest.get(model[1], 0))
    return {
        of_project(project, model.decode("utf-8", "replace")): tokens for model, tokens in largest.items() if tokens
    }


def formats_of(sources: Iterable[Source]) -> list[str]:
    """Return the names of the sources' formats, each once, in order of appearance; unknown formats are skipped."""
    all_of_them = list(sources)
    step = max(1, -(-len(all_of_them) // LOOKED_AT))
    found: dict[str, None] = {}
    for source in all_of_them[::step]:
        with suppress(CtxsimError, OSError):
            if source.path is not None:
                found[detect(Sample(source)).NAME] = None
    return list(found)
