"""The table of formats in docs/formats.md, from what each reader says of itself."""

import inspect

from ctxsim.readers.formats import ctxsim_jsonl
from ctxsim.readers.reader import documentation, registered_formats

INTRODUCTION = """# Transcript formats

ctxsim recognises a format by a file's content, not by its name. Give it the folder where your agent keeps its sessions.
`ctxsim transcripts check PATH` says what was found, what was left out, and why. `ctxsim list formats NAME` says which
parts of a format are read and which aren't. `ctxsim list formats --format md` writes this page.

Files may be compressed (`.gz`, `.zst`) or lie in a `.zip`. A database holds many sessions; each becomes a transcript
named `FILE#ID`. A database can be read while its program runs, because ctxsim writes nothing into its folder. If the
database's write-ahead log has no index, ctxsim first copies the database to the temporary folder.

A path can also have one of these forms:

- `@found`: the sessions that agents keep on this machine; `ctxsim transcripts find` lists them without reading them
- `git:REPOSITORY[@REF][:FOLDER]`: the files of a commit, read without a checkout, with the longest version of a session
- `s3://BUCKET/FOLDER/`, `gs://`, `az://`, `https://`: stored objects, copied to the temporary folder first; this needs
  the extra `remote`
- `column:NAME:PATH`: tables that hold conversations in the column NAME
- `reader:NAME:PATH`: files to be read as the format NAME
- `reader:FILE.py:PATH`: files to be read by your own reader
- `@FILE`: a file that lists paths, one on each line
- `-`: standard input
- `*`, `?` and `[` in a path: a pattern

Tables are Parquet files. A CSV file is read only if the path names the file itself.

In every format, ctxsim leaves out display texts, file snapshots and telemetry, because the model was never sent them.
It repairs four defects and notes each repair:

- A tool call without a result gets a synthetic result.
- A result without a call is left out.
- An incomplete last line is dropped.
- Records that share a line are separated.

If the agent compacted its history, the whole history is kept ([as-sent.md](as-sent.md)).

Each line below has the format's documentation, its name in ctxsim, and the versions that ctxsim reads.

"""


def markdown() -> str:
    """Return the page: one line per format, examples' place, and our own format."""
    lines = []
    for name, reader in registered_formats().items():
        line = f"- [{reader.TITLE}]({documentation(reader)}), `{name}`: {reader.VERSIONS}"
        lines.append(" ".join(line.split()))
    lines += ["", "Each reader in `ctxsim/readers/formats/` begins with a short invented example of its format.", ""]
    _, about, example = (inspect.getdoc(ctxsim_jsonl) or "").split("\n\n", 2)
    about = about.partition(". ")[2]
    lines += [f"## {ctxsim_jsonl.TITLE}", "", about, "", "```json", inspect.cleandoc(example), "```", ""]
    return INTRODUCTION + "\n".join(lines)
