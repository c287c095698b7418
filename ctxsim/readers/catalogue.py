"""The table of formats in docs/formats.md, from what each reader says of itself."""

from __future__ import annotations

import inspect

from ctxsim.readers.formats import ctxsim_jsonl
from ctxsim.readers.reader import registered_formats

INTRODUCTION = """# Transcript formats

Formats are found by content, never by a file's name: point `ctxsim` at the folder where your agent keeps its sessions.
`ctxsim transcripts check PATH` says what was found, what was left out, and why. Files may be compressed (`.gz`, `.zst`)
or stand in a `.zip`. `ctxsim list formats --format md` writes this page; `list formats NAME` also says what is read.

A database holds many sessions; each is a transcript, `FILE#ID`. Its program may run: it isn't stopped, and nothing is
written into its folder. A database with a log but without its index is copied to the temporary folder to be read.

| path | means |
|---|---|
| `@found` | the sessions that agents keep on this machine; `ctxsim transcripts find` lists them unread |
| `git:REPOSITORY[@REF][:FOLDER]` | files of a commit, read without a checkout: the longest version of each session |
| `s3://BUCKET/FOLDER/`, `gs://`, `az://`, `https://` | objects, by the extra `remote`; copied to the temporary folder |
| `column:NAME:PATH` | tables whose conversations stand in that column |
| `reader:NAME:PATH`, `reader:FILE.py:PATH` | a path read as that format, or by a reader of your own |
| `@FILE`, `-`, `*?[` | a list of paths, one a line; standard input; a pattern |

Tables are Parquet. CSV files are read if they are named, not if they lie in a folder.

Left out of every format: what was never sent to the model (display texts, file snapshots, telemetry). Mended and noted
everywhere: tool calls without a result get a synthetic one, results without a call are left out, torn last lines and
glued records are parted. A history that the agent compacted is kept whole, with the compaction
([as-sent.md](as-sent.md)).

"""


def markdown() -> str:
    """Return the page: one row per format, examples' place, and our own format."""
    lines = ["| format | name | versions | not read |", "|---|---|---|---|"]
    for name, reader in registered_formats().items():
        cells = (f"[{reader.TITLE}]({reader.DOCS})", f"`{name}`", reader.VERSIONS, reader.NOT_READ)
        lines.append("| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |")
    lines += ["", "Each format's file in `ctxsim/readers/formats/` begins with a short example in invented data.", ""]
    _, about, example = (inspect.getdoc(ctxsim_jsonl) or "").split("\n\n", 2)
    about = about.partition(". ")[2]
    lines += [f"## {ctxsim_jsonl.TITLE}", "", about, "", "```json", inspect.cleandoc(example), "```", ""]
    return INTRODUCTION + "\n".join(lines)
