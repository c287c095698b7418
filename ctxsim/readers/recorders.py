"""Which formats some sources have, by a look at their beginnings: nothing is read whole."""

from collections.abc import Iterable

from ctxsim.errors import CtxsimError
from ctxsim.readers.reader import detect
from ctxsim.readers.source import Sample, Source

LOOKED_AT = 200
"""Of more sources than these every n-th is looked at."""


def formats_of(sources: Iterable[Source]) -> list[str]:
    """Return the names of the formats of sources, each once, in order of appearance; what is none has none."""
    all_of_them = list(sources)
    step = max(1, -(-len(all_of_them) // LOOKED_AT))
    found: dict[str, None] = {}
    for source in all_of_them[::step]:
        if source.path is None:
            continue
        try:
            found[detect(Sample(source)).NAME] = None
        except (CtxsimError, OSError):
            continue
    return list(found)
