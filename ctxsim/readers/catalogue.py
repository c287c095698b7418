"""The table of formats in docs/formats.md, from what each reader says of itself."""

from __future__ import annotations

from ctxsim.readers import formats

INTRODUCTION = """# Transcript formats

Formats are found by their content, never by the file's name: point `ctxsim` at the folder where your agent keeps its
sessions. `ctxsim transcripts check PATH` says what was found, what was left out, and why. Files may be compressed
(`.gz`, `.zst`) or stand in a `.zip`; `-` reads standard input. This page is written by `ctxsim transcripts formats`.

Left out of every format: what was never sent to the model (display texts, file snapshots, telemetry). Mended and noted
everywhere: tool calls without a result (a synthetic result stands for it), results without a call (left out), torn last
lines, glued records. A history that the agent itself compacted is rebuilt where the file still has it; the calls after
the compaction are not compared with recorded usage.

"""


def markdown() -> str:
    """Return the page: one row per format, then links and examples' place."""
    lines = ["| format | name | versions | read | not read |", "|---|---|---|---|---|"]
    for name, reader in formats().items():
        cells = (f"[{reader.TITLE}]({reader.DOCS})", f"`{name}`", reader.VERSIONS, reader.READS, reader.NOT_READ)
        lines.append("| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |")
    lines += ["", "Each reader's file in `ctxsim/readers/` begins with a short example in invented data.", ""]
    return INTRODUCTION + "\n".join(lines)
