"""Each claim of the documents that ctxsim comes from, measured on its scenarios and on recorded transcripts.

    python -m evidence.claims [PATH...] [--document N] [--criteria] [--page]

Verdicts: reproduced, refuted, depends (on what), not measurable offline (why). `--criteria` prints document 003's nine
success criteria instead, `--page` the page evidence/claims/measured.md.
"""

from __future__ import annotations

import argparse
from collections import Counter

import ctxsim
from evidence.claims import TITLES, Evidence, check, markdown
from evidence.claims.criteria import criteria


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m evidence.claims")
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--document", action="append", choices=list(TITLES))
    parser.add_argument("--criteria", action="store_true")
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.criteria:
        for one in criteria():
            print(f"{'met    ' if one.met else 'not met'}  {one.name} ({one.metric})\n         {one.got}")
        return
    found = list(check(Evidence(ctxsim.read(*given.paths)), given.document or tuple(TITLES)))
    if given.page:
        print(markdown(found), end="")
        return
    for claim, finding in found:
        print(f"{claim.document}  {claim.says}\n     {claim.how}: {finding.got}")
        print(f"     {finding.verdict}{f': {finding.on}' if finding.on else ''}")
    counts = Counter(finding.verdict for _, finding in found)
    print(f"\n{len(found)} claims: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))


if __name__ == "__main__":
    main()
