"""A table as LaTeX that needs no package, with its notes under it."""

import re

from ctxsim.report.sheet import Sheet, text_of

_SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


def as_latex(one: Sheet) -> str:
    """Return a table as a LaTeX `tabular`; notes follow it, a paragraph each."""
    rows = [" & ".join(_escaped(column.heading) for column in one.columns) + r" \\ \hline"]
    rows += [" & ".join(_escaped(text_of(cell)) for cell in row) + r" \\" for row in one.rows]
    columns = "".join("l" if column.left else "r" for column in one.columns)
    table = [f"\\begin{{tabular}}{{{columns}}}", r"\hline", *rows, r"\hline", r"\end{tabular}"]
    notes = [f"\n\\noindent{{\\footnotesize {_escaped(note)}}}" for note in one.notes]
    return "\n".join([*table, *notes]) + "\n"


def _escaped(text: str) -> str:
    # Two hyphens would become a dash, and a line break is none in a cell.
    text = re.sub(r"[\\~^<>|&%$#_{}]", lambda found: _SPECIAL[found[0]], " ".join(text.split()))
    return text.replace("--", "-{}-")
