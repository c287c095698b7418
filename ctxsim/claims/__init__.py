"""Claims: every number that the documents state, measured on the scenarios or on recorded transcripts."""

from __future__ import annotations

from collections.abc import Iterator

from ctxsim.claims import issue_249, three_layers, three_layers_outcome, three_triggers, token_budget
from ctxsim.claims.claim import CLAIMS, Claim, Finding
from ctxsim.claims.evidence import Evidence

__all__ = ["CLAIMS", "Claim", "Evidence", "Finding", "check", "markdown"]

DOCUMENTS = (token_budget, issue_249, three_layers, three_layers_outcome, three_triggers)
"""Where the claims are: each file registers its own."""

NEEDS_RECORDINGS = Finding("-", "not measurable offline", "needs recorded transcripts: ctxsim claims PATHS")


def check(evidence: Evidence) -> Iterator[tuple[Claim, Finding]]:
    """Measure every claim, in the order of the documents."""
    for claim in sorted(CLAIMS, key=lambda one: one.seed):
        yield claim, NEEDS_RECORDINGS if claim.recorded and not evidence.recorded else claim.measure(evidence)


def markdown(found: list[tuple[Claim, Finding]]) -> str:
    """Return the claims as a Markdown table."""
    lines = ["| seed | where | says | measured how | got | verdict |", "|---|---|---|---|---|---|"]
    for claim, finding in found:
        verdict = f"**{finding.verdict}**" + (f": {finding.on}" if finding.on else "")
        cells = (claim.seed, claim.where, claim.says, claim.how, finding.got, verdict)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
