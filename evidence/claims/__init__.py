"""Claims: every number that the documents state, measured on the scenarios or on recorded transcripts.

If a document contradicts itself, ctxsim, or its test of the claim, follows the first statement:

- 003: all instructions found are concatenated; the first ones found count.
- 003: layer 1 cuts results to 10 KiB; to about 1 KiB.
- 003: layer 2 tracks items when they are added; after each call.
- 003: layer 3 starts at 70 %; above 70 %.
- 004: all triggers are checked in order, and `only=` names one; triggers have a priority, and later ones are a fallback.
- 002: tool messages are dropped with their calls, as providers require; without their calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from evidence.claims import (
    issue_249,
    three_layers,
    three_layers_outcome,
    three_triggers,
    three_triggers_options,
    token_budget,
)
from evidence.claims.claim import CLAIMS, Claim, Finding
from evidence.claims.evidence import Evidence

__all__ = ["CLAIMS", "Claim", "Evidence", "Finding", "check", "markdown"]

DOCUMENTS = (token_budget, issue_249, three_layers, three_layers_outcome, three_triggers, three_triggers_options)
"""The modules with the claims; each registers its own when it is imported."""

TITLES = {
    "000": "a decision record: a token budget over which old tool results are cut (`token-budget`)",
    "001": "its design note: the measured growth, the approaches considered, the diagnostics (`token-budget`)",
    "002": "an issue (249): token approximation, JSON-aware cuts and round summaries instead of characters",
    "003": "a decision record: truncation, token tracking and compaction in three layers (`three-layer`)",
    "004": "an investigation: why token tracking that sees no tool results breaks its triggers (`three-triggers`)",
}
"""What each document is. The documents are not part of this project; their statements are in the claims."""

NEEDS_RECORDINGS = Finding("-", "not measurable offline", "needs recorded transcripts: python -m evidence.claims PATHS")


def check(evidence: Evidence, documents: Collection[str] = tuple(TITLES)) -> Iterator[tuple[Claim, Finding]]:
    """Measure every claim of these documents, in their order."""
    for claim in sorted((one for one in CLAIMS if one.document in documents), key=lambda one: one.document):
        yield claim, NEEDS_RECORDINGS if claim.recorded and not evidence.recorded else claim.measure(evidence)


def markdown(found: list[tuple[Claim, Finding]]) -> str:
    """Return the list of documents and the claims as a Markdown table."""
    lines = [*(f"- document {number}: {title}" for number, title in TITLES.items()), ""]
    lines += ["| document | where | says | measured how | got | verdict |", "|---|---|---|---|---|---|"]
    for claim, finding in found:
        verdict = f"**{finding.verdict}**" + (f": {finding.on}" if finding.on else "")
        cells = (claim.document, claim.where, claim.says, claim.how, finding.got, verdict)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
