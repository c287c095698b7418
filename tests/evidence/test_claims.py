"""The page of claims is current, and what it says about whole systems holds."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import corpus
import pytest
from command_line import evidence as evidence_of
from invented import write_logs
from project import ROOT

from evidence.claims import CLAIMS, TITLES, Evidence, check, markdown
from evidence.claims.claim import Verdict
from evidence.claims.criteria import criteria


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    """Every replay of a scenario is done once for all tests of a worker."""
    return Evidence()


def test_the_nine_criteria(evidence: Evidence) -> None:
    found = list(criteria(evidence))
    assert len(found) == 9
    # chars/4 isn't within 10 %, and ten kept messages are more than 5K tokens: as docs/claims.md says.
    assert [one.name for one in found if not one.met] == ["Token accuracy", "Compaction effectiveness"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "label",
    [
        "three-layer",
        "json-aware+round-summary+token-approx-budget",
        "three-triggers",
        "three-triggers:reducer=summarizing,estimator=tool-chars",
        "token-budget",
    ],
)
def test_fifty_turns_pass_under_each_system(label: str, evidence: Evidence) -> None:
    rows = evidence.calls("fifty-turns", label)
    assert evidence.turn("fifty-turns", len(rows)) == 50
    assert {row.status for row in rows} == {"ok"}


def test_the_commands_of_a_checkout_answer(tmp_path: Path, evidence: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("evidence.claims", "evidence.claims.criteria"):
        monkeypatch.setattr(f"{module}.Evidence", lambda recorded=(): evidence)
    write_logs(tmp_path / "logs", count=1)
    claims = evidence_of("claims", "--document", "000", cwd=tmp_path)
    assert claims.returncode == 0 and "\n000  " in f"\n{claims.stdout}", claims.stderr
    assert " claims: " in claims.stdout.splitlines()[-1] and "reproduced" in claims.stdout
    page = evidence_of("claims", "--document", "000", "--page", cwd=tmp_path).stdout
    assert "- document 000: " in page and "\n| 000 | " in page and "\n| 001 | " not in page
    met = evidence_of("claims", "--criteria", cwd=tmp_path).stdout
    assert met.count("met  ") >= 9 and "not met  Token accuracy" in met
    none = evidence_of("claims", "--document", "009", cwd=tmp_path)
    assert none.returncode == 2 and "invalid choice" in none.stderr
    table = evidence_of("chars_per_token", "logs", cwd=tmp_path).stdout
    assert table.startswith("| kind | texts | characters | o200k_base | ")


PAGE = ROOT / "evidence" / "claims" / "measured.md"


def stated() -> list[str]:
    return [line for line in PAGE.read_text().splitlines() if line.startswith("| 00")]


def test_the_page_tells_the_tables_verdicts() -> None:
    page = (ROOT / "docs" / "claims.md").read_text()
    for document in TITLES:
        rows = [line for line in stated() if line.startswith(f"| {document} |")]
        counts = [sum(f"**{verdict}**" in row for row in rows) for verdict in get_args(Verdict)]
        reproduced, refuted, depends, unmeasured = counts
        told = f" | {reproduced} | {depends} | {refuted} | {unmeasured} |"
        assert any(line.startswith(f"| {document} |") and line.endswith(told) for line in page.splitlines()), document
    assert f"their {len(CLAIMS)} numbers and rules" in " ".join(page.split())


@pytest.mark.slow
def test_the_page_of_claims_is_current(evidence: Evidence) -> None:
    """Every claim that needs no recordings, measured again."""
    found = list(check(evidence))
    assert len(found) == len(CLAIMS) == len(stated())
    page = markdown(found).splitlines()
    measured = [line for line in page if line.startswith("| 00")]
    rest = {line for line in page if not line.startswith("| 00")}
    assert len(rest) > 5 and rest <= set(PAGE.read_text().splitlines()), "the list of documents, the table's head"
    for (claim, _), line, row in zip(found, measured, stated(), strict=True):
        if not claim.recorded:
            assert line == row, "run: python -m evidence.claims ../shared/transcripts --page"


@corpus.here
@pytest.mark.corpus
@pytest.mark.slow
def test_claims_about_recordings_are_current() -> None:
    evidence = Evidence(list(corpus.recorded()))
    rows = dict(zip([claim.says for claim in sorted(CLAIMS, key=lambda one: one.document)], stated(), strict=True))
    for claim in CLAIMS:
        if claim.recorded:
            finding = claim.measure(evidence)
            assert finding.got in rows[claim.says] and f"**{finding.verdict}**" in rows[claim.says]
