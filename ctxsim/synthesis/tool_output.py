"""What a coding agent's tools print: source code, search hits, test logs, listings, JSON. Every line is our own."""

import random
from collections.abc import Callable

from ctxsim.synthesis.words import LAYERS, NOUNS, VERBS, digits, hexadecimal, sentence


def path(rng: random.Random) -> str:
    """Return a source path that is unlikely to occur twice."""
    return f"src/{rng.choice(LAYERS)}/{rng.choice(NOUNS)}_{rng.choice(VERBS)}_{digits(rng, 3)}.py"


def function(rng: random.Random) -> str:
    """Return a function name that is unlikely to occur twice."""
    return f"{rng.choice(VERBS)}_{rng.choice(NOUNS)}_{hexadecimal(rng, 4)}"


def _code(rng: random.Random) -> str:
    name, noun = function(rng), rng.choice(NOUNS)
    return (
        f"def {name}({noun}: {noun.title()}, *, limit: int = {digits(rng, 3)}) -> list[{noun.title()}]:\n"
        f'    """{sentence(rng)}"""\n'
        f"    if {noun}.state is None or {noun}.retries > {digits(rng, 1)}:\n"
        f'        raise {noun.title()}Error("{rng.choice(VERBS)} failed: {digits(rng, 5)}")\n'
        f"    rows = self.store.select({noun}.id, limit=limit)\n"
        f"    return [row for row in rows if row.{rng.choice(VERBS)}ed_at is not None]\n\n"
    )


def _log(rng: random.Random) -> str:
    return (
        f"2026-03-{rng.randrange(10, 29)}T{rng.randrange(10, 24)}:{rng.randrange(10, 60)}:07.{digits(rng, 3)}Z "
        f"{rng.choice(('INFO', 'INFO', 'DEBUG', 'WARNING'))} worker-{digits(rng, 2)} {rng.choice(VERBS)}ed "
        f"{rng.choice(NOUNS)} {hexadecimal(rng, 8)} in {digits(rng, 3)} ms\n"
    )


TOOLS: dict[str, Callable[[random.Random], str]] = {
    "read_file": _code,
    "search": lambda rng: f"{path(rng)}:{digits(rng, 3)}:    result = self.{function(rng)}({rng.choice(NOUNS)})\n",
    "read_log": _log,
    "list_files": lambda rng: f"-rw-r--r-- 1 app app {digits(rng, 5)} Mar {rng.randrange(10, 29)} "
                              f"09:{rng.randrange(10, 60)} {path(rng)}\n",
    "http_get": lambda rng: f'{{"id": "{hexadecimal(rng, 12)}", "kind": "{rng.choice(NOUNS)}", '
                            f'"amount": {digits(rng, 5)}, "note": "{sentence(rng)}"}},\n',
    "run_tests": lambda rng: f"tests/test_{rng.choice(NOUNS)}.py::test_{function(rng)} "
                             f"{rng.choice(('PASSED', 'PASSED', 'FAILED'))}\n",
}  # fmt: skip


def output(rng: random.Random, tool: str, chars: int) -> str:
    """Return a tool's output of exactly `chars` characters, cut at the end as a terminal would."""
    pieces: list[str] = []
    size = 0
    while size < chars:
        piece = TOOLS[tool](rng)
        pieces.append(piece)
        size += len(piece)
    return "".join(pieces)[:chars]
