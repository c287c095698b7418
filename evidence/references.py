"""What references cost, in units of counting the same texts once with the default tokenizer.

    python -m evidence.references [FOLDER]

prints ratios in Markdown: preparation, survival of one policy, and the frontier, once per transcript.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.errors import InputError
from ctxsim.policies import open_policy
from ctxsim.readers import read_source, sources
from ctxsim.simulator.measure import Basis
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.references import Survival, prepare
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Transcript
from evidence.rounds import seconds

ROUNDS = 5
POLICIES = ("keep-all", "token-budget", "mask:keep=10", "head-tail", "drop-all")


def recordings(folder: Path) -> list[Transcript]:
    """Return all transcripts of a folder that have calls."""
    found: list[Transcript] = []
    for source in sources(str(folder)):
        try:
            found += [transcript for transcript in read_source(source) if transcript.calls]
        except InputError:
            continue
    return found


def main() -> None:
    """Print the ratios."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("../shared/transcripts")
    transcripts = recordings(folder)
    tokenizer = open_tokenizer()
    provider = Provider(window=1 << 40)

    def count() -> None:
        for transcript in transcripts:
            # One batch on all cores would compare two machines, not two algorithms: one text at a time.
            for text in {text for item in transcript.items for text in item.texts}:
                tokenizer.count_many([text])

    floor = seconds(count, ROUNDS)
    print(f"{len(transcripts)} transcripts; counting each distinct text once: 1.00\n")
    print("| | x tokenizing |\n|---|--:|")
    print(
        f"| preparation, once per transcript | {seconds(lambda: [prepare(t) for t in transcripts], ROUNDS) / floor:.2f} |"
    )
    references = [prepare(transcript) for transcript in transcripts]
    for label in POLICIES:
        views = [
            list(replay(t, open_policy(label), provider, Counter(tokenizer), found))
            for t, found in zip(transcripts, references, strict=True)
        ]

        def survive(views: list[list[object]] = views) -> None:  # type: ignore[assignment]
            for found, sent in zip(references, views, strict=True):
                survival = Survival(found)
                for one in sent:
                    survival.call(one.call, one.tally.edits)  # type: ignore[attr-defined]

        print(f"| survival under {label} | {seconds(survive, ROUNDS) / floor:.2f} |")
    bases = [Basis(t, provider, Counter(tokenizer), found) for t, found in zip(transcripts, references, strict=True)]
    for basis in bases:
        basis.keep_all  # noqa: B018, a replay that the frontier isn't measured with
    frontier = seconds(lambda: [one.tokens(1.0) for basis in bases for one in basis.frontiers.values()])
    print(f"| frontier at 100 % | {frontier / floor:.2f} |")


if __name__ == "__main__":
    main()
