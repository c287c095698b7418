"""What a policy in a user's own code costs: the same rule built in, as a function, and as a program in a pipe.

    python -m evidence.pipe [CALLS]

prints milliseconds per call in Markdown, on a generated conversation of CALLS calls (default 300) and on one of twice
as many. A cost that grows faster than the conversation shows as a larger number in the last column.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.policies.foreign import process
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Transcript
from evidence.rounds import seconds

ROUNDS = 3
EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
RESULT = "a line of some tool's output, with a number: 12345\n" * 40  # 2,000 characters

RULES = {
    "mask": (
        "mask:keep=10",
        f"messages:{EXAMPLES}/messages.py:mask:keep=10",
        f"pipe:'{sys.executable}' {EXAMPLES}/mask.py 10",
    ),
    "fifo": ("fifo:budget=40000", f"pipe:node {EXAMPLES}/fifo.ts 40000"),
    "max-result-chars": ("max-result-chars:chars=500", f"pipe:sh {EXAMPLES}/cut.sh 500"),
}


def conversation(calls: int) -> Transcript:
    """Return a task and `calls` calls, each with a result of its own."""
    assembly = Assembly("long")
    assembly.user("Do the task.")
    for number in range(calls):
        assembly.response([Part("tool_call", f'{{"n": {number}}}', "tool", f"c{number}")])
        assembly.result(f"{number}\n{RESULT}", f"c{number}")
    return assembly.transcript()


def main() -> None:
    """Print the table."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    provider = Provider(window=1 << 40)
    short, long = conversation(calls), conversation(2 * calls)
    counter = Counter(open_tokenizer())

    def per_call(transcript: Transcript, label: str) -> float:
        spec = open_policy(label)
        list(replay(transcript, spec, provider, counter))  # the program has started, every text is counted
        took = seconds(lambda: list(replay(transcript, spec, provider, counter)), ROUNDS)
        return 1000 * took / len(transcript.calls)

    print(
        f"| rule | who decides | ms per call, {calls} calls | x built in | ms per call, {2 * calls} calls |\n|---|---|--:|--:|--:|"
    )
    for rule, labels in RULES.items():
        built_in = 0.0
        for label in labels:
            who = label.partition(":")[0] if label.startswith(("pipe", "messages")) else "built in"
            runner = label.partition(":")[2].split()[0].strip("'")
            if who == "pipe" and not shutil.which(runner):
                print(f"| {rule} | {who}: no {runner} here | | | |")
                continue
            took = per_call(short, label)
            built_in = built_in or took
            shown = f"{who}, {Path(runner).name}" if who == "pipe" else who
            print(f"| {rule} | {shown} | {took:.2f} | {took / built_in:.1f} | {per_call(long, label):.2f} |")
    process.end_all()


if __name__ == "__main__":
    main()
