"""Does kept mean recalled? Compares graded answers of a live model with what its requests still held.

    python -m evidence.recall PATH... [--policy LABEL] [--worst N]

PATH: tables of graded answers (CSV or JSONL with the columns transcript, call, question, expected, answer, correct), or
folders of trials. `--policy`: the policy whose requests are searched for answers; by default the recorded requests.
"""

from __future__ import annotations

import argparse
import sys

from ctxsim.errors import InputError
from evidence.recall.lines import LEGEND, recall_lines
from evidence.recall.predicted import RECORDED, predict, read_questions


def main() -> int:
    """Print what was found; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evidence.recall")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--policy", default=RECORDED)
    parser.add_argument("--worst", type=int, default=5)
    given = parser.parse_args()
    left_out: list[str] = []
    errors: list[str] = []
    found = []
    for path in given.paths:
        try:
            found += [one for asked in read_questions(path, left_out) for one in predict(asked, given.policy)]
        except InputError as error:
            errors.append(str(error))
    for line in recall_lines(found, given.worst):
        print(line)
    if found:
        print(LEGEND)
    elif not errors:
        errors.append("no graded answers there: a table, or a folder with fixtures.json and trials.jsonl")
    for line in [*(f"left out: {one}" for one in left_out), *errors]:
        print(line, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
