"""What redaction finds in recordings, and how many identifiers it changes.

    python -m evidence.redacted FOLDER [--show]

prints the number of items, findings by kind, and the number of identifiers changed by findings other than those of an
issuer's form. `--show` prints the findings, to judge which are false: at most one in 10,000 items may be.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections import Counter

from ctxsim.errors import CtxsimError
from ctxsim.readers import read_source, sources
from ctxsim.safety.redaction.keys import FORMS, likely_keys
from ctxsim.simulator.references.identifiers import spelled

ISSUERS = {form.issuer for form in FORMS}


def main() -> int:
    """Print the counts; return 1 if there are more findings by context than one in 10,000 items."""
    parser = ArgumentParser(prog="python -m evidence.redacted")
    parser.add_argument("folder")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    items, identifiers, changed = 0, 0, 0
    kinds: Counter[str] = Counter()
    for source in sources(given.folder):
        try:
            transcripts = list(read_source(source))
        except CtxsimError:
            continue
        for transcript in transcripts:
            items += len(transcript.items)
            for text in dict.fromkeys(item.text for item in transcript.items):
                atoms = spelled(text)
                identifiers += len(atoms)
                for found in likely_keys(text):
                    value = text[found.start : found.end]
                    kinds[found.issuer] += 1
                    changed += 0 if found.issuer in ISSUERS else sum(value in atom for atom in atoms)
                    if given.show:
                        print(f"{found.issuer}: {text[max(0, found.start - 40) : found.end]!r}")
    print(
        f"{items:,} items; found: {', '.join(f'{count:,} {kind}' for kind, count in kinds.most_common()) or 'nothing'}"
    )
    print(f"{changed:,} of {identifiers:,} identifiers are changed by what no issuer's form told")
    return int(sum(count for kind, count in kinds.items() if kind not in ISSUERS) * 10_000 > items)


if __name__ == "__main__":
    sys.exit(main())
