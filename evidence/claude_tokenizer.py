"""Claude's vocabularies, taken from ctok, and how far our counts agree with its counts.

    pip install --ignore-requires-python ctok==1.3.0
    python -m evidence.claude_tokenizer [FOLDER...] [--rates] [--write]

`--write` replaces the package's vocabularies with those of the installed ctok. With FOLDER, both count its recordings'
texts; each row has texts, equal counts and the difference of all tokens. `--rates` prints the tokens of each vocabulary
per token of o200k_base instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import click

import ctxsim.counting.tokenizers
from ctxsim.counting.tokenizers import CLAUDE, DEFAULT, available, open_tokenizer
from ctxsim.counting.tokenizers.claude_engine import BEGIN, CAPS, END, SHIFT, ClaudeTokenizer
from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources

VERSIONS = dict(zip(CLAUDE, ("4.6", "4.8"), strict=True))
"""For each vocabulary, a version of Claude that uses it."""

MOST = 100_000
"""Most characters of a text: ctok counts 330,000 a second."""


def vocabulary(name: str) -> dict[str, list[str]]:
    """Return a vocabulary of ctok: pieces with our marks, and hexadecimal bytes that are a piece."""
    from ctok.constants import BOW_G, CAPS_G, EOW_G, SHIFT_G
    from ctok.main import _family, _model

    model = _model(_family(VERSIONS[name]))
    marks = str.maketrans(dict(zip((BOW_G, EOW_G, SHIFT_G, CAPS_G), (BEGIN, END, SHIFT, CAPS), strict=True)))
    pieces = sorted(piece.translate(marks) for piece in model.vocab)
    whole = {piece.encode().hex() for piece in pieces if len(piece) == 1}
    return {"pieces": pieces, "bytes": sorted(model.bytes.tokens - whole)}


def texts(folders: Iterable[str]) -> list[str]:
    """Return the distinct texts of the recordings in these folders, cut to `MOST` characters."""
    found: dict[str, None] = {}
    for source in sources(*folders):
        try:
            for transcript in read_source(source):
                found.update((text[:MOST], None) for item in transcript.items for text in item.texts if text)
        except InputError as error:
            click.echo(str(error), err=True)
    return list(found)


def line(name: str, counted: list[str]) -> str:
    """Return the row of the table for a vocabulary. A text stands between two lines, so that nothing else frames it."""
    from ctok import token_count

    framed = [f"x\n{text}\nx" for text in counted]
    frame = token_count("x", VERSIONS[name]) - 1
    theirs = [token_count(text, VERSIONS[name]) - frame for text in framed]
    ours = ClaudeTokenizer(name).count_many(framed)
    equal = sum(map(int.__eq__, ours, theirs))
    return f"| {name} | {len(framed):,} | {equal:,} | {sum(ours) / sum(theirs) - 1:+.4%} |"


@click.command()
@click.argument("folders", nargs=-1)
@click.option("--rates", is_flag=True, help="Print the tokens of each vocabulary per token of o200k_base.")
@click.option("--write", is_flag=True, help="Replace the vocabularies of the package.")
def main(folders: tuple[str, ...], rates: bool, write: bool) -> None:
    """Compare counts with ctok's on the recordings in FOLDERS."""
    for name in CLAUDE if write else ():
        path = Path(ctxsim.counting.tokenizers.__file__).with_name(f"{name}.json")
        path.write_text(
            json.dumps(vocabulary(name), ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
        )
    if rates:
        counted = texts(folders)
        own = {name: sum(open_tokenizer(name).count_many(counted)) for name in available() if ":" not in name}
        for name, tokens in own.items():
            click.echo(f"{name} = {tokens / own[DEFAULT]:.3f}")
    elif folders:
        click.echo("| vocabulary | texts | equal | all tokens |\n|---|--:|--:|--:|")
        counted = texts(folders)
        for name in CLAUDE:
            click.echo(line(name, counted))


if __name__ == "__main__":
    main()
