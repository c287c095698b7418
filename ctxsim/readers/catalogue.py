"""The table of formats in docs/formats.md, from what each reader says of itself."""

from __future__ import annotations

import inspect

from ctxsim.readers.formats import ctxsim_jsonl
from ctxsim.readers.reader import registered_formats

INTRODUCTION = """# Transcript formats

ctxsim finds a format by a file's content, not by its name. Give it the folder where your agent keeps its sessions.
`ctxsim transcripts check PATH` says what was found, what was left out, and why. `ctxsim list formats NAME` says what is
read of a format and what is not. `ctxsim list formats --format md` writes this page.

Files may be compressed (`.gz`, `.zst`) or in a `.zip`. A database holds many sessions; each is a transcript named
`FILE#ID`. It can be read while its program runs: nothing is written into its folder. A database whose log has no index
is copied to the temporary folder first.

A path can also be:

- `@found`: the sessions that agents keep on this machine; `ctxsim transcripts find` lists them unread
- `git:REPOSITORY[@REF][:FOLDER]`: files of a commit, read without a checkout: the longest version of each session
- `s3://BUCKET/FOLDER/`, `gs://`, `az://`, `https://`: objects, with the extra `remote`; copied to the temporary folder
- `column:NAME:PATH`: tables whose conversations are in that column
- `reader:NAME:PATH`, `reader:FILE.py:PATH`: a path read as that format, or by your own reader
- `@FILE`, `-`, `*?[`: a list of paths, one a line; standard input; a pattern

Tables are Parquet. A CSV file is read only if it is named.

No format's display texts, file snapshots or telemetry are read, because the model was never sent them. Four defects are
mended and noted: a tool call without a result gets a synthetic one, a result without a call is left out, a torn last
line is dropped, and glued records are parted. A history that the agent compacted is kept whole
([as-sent.md](as-sent.md)).

"""


def markdown() -> str:
    """Return the page: one line per format, examples' place, and our own format."""
    lines = []
    for name, reader in registered_formats().items():
        line = f"- [{reader.TITLE}]({reader.DOCS}), `{name}`: {reader.VERSIONS}"
        lines.append(" ".join(line.split()))
    lines += ["", "Each format's file in `ctxsim/readers/formats/` begins with a short example in invented data.", ""]
    _, about, example = (inspect.getdoc(ctxsim_jsonl) or "").split("\n\n", 2)
    about = about.partition(". ")[2]
    lines += [f"## {ctxsim_jsonl.TITLE}", "", about, "", "```json", inspect.cleandoc(example), "```", ""]
    return INTRODUCTION + "\n".join(lines)
