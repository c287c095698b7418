"""How fast ctxsim is, and how its time grows: ratios of CPU seconds, the least of rounds that take turns, in one run.

    python -m evidence.speed [FOLDER] [--quick] [--check] [--rounds 5]

FOLDER: recorded transcripts; without one, generated ones. `--quick` leaves out the longest conversations, the gigabyte
and what needs free cores. `--check` exits 1 if a ratio is more than 1.5 times the committed one of the same corpus
(`evidence/ratios.toml`) by its least value in three measurements; the second and third are made only if needed.
Ratios are to the floor: reading the corpus once and counting every distinct text once with tiktoken.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import tomllib
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.runs.conduct import conduct
from ctxsim.runs.grid import expand
from ctxsim.runs.presets import DEFAULT_POLICIES
from ctxsim.runs.task import Setting
from evidence.corpora import of_megabytes, of_turns, pinned, recordings
from evidence.practice import MOST, bare_loop, recounts
from evidence.rounds import child, least_seconds, own_peak_mib

COMMITTED = Path(__file__).with_name("ratios.toml")
WORSE = 1.5
MEASUREMENTS = 3
TEN = (
    "keep-all", "drop-all", "token-budget", "truncate-after-use", "max-result-chars:chars=20000", "max-messages:n=41", "head-tail",
    "fifo:budget=40000", "mask:keep=10", "mask:keep=10,batch=20", "char-budget", "retry",
)  # fmt: skip
WORST = ("drop-all", "oracle-lossless", "oracle-lossless:aim=dollars", "fifo:budget=40000", "mask:keep=10")


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def run(folder: Path, policies: tuple[str, ...], out: Path, jobs: int = 1, **how: float) -> None:
    """Run one bench."""
    shutil.rmtree(out, ignore_errors=True)
    setting = Setting("b", "b", policies, **how)  # type: ignore[arg-type]
    conduct(setting, out, paths=[str(folder)], jobs=jobs)


def floor(folder: Path) -> None:
    """Read a folder once, and count every distinct text once with tiktoken."""
    tokenizer, seen = open_tokenizer("tiktoken:o200k_base"), set[str]()
    for transcript in recordings(folder):
        for item in transcript.items:
            for text in item.texts:
                if text not in seen:
                    seen.add(text)
                    tokenizer.count_many([text])


def ratios(folder: Path, root: Path, rounds: int, quick: bool) -> dict[str, float]:
    """Return the ratios by name, and print each as it is known."""
    found: dict[str, float] = {}

    def tell(name: str, value: float, unit: str) -> None:
        found[name] = round(value, 2)
        say(f"| {name} | {value:.2f} | {unit} |")

    out = root / "out"
    lists = {"keep-all alone": ("keep-all",), "bounds and ten policies": TEN, "the default policies": DEFAULT_POLICIES}
    works = {name: (lambda policies=policies: run(folder, policies, out)) for name, policies in lists.items()}
    plainly = {"ten, nothing fetched again": lambda: run(folder, TEN, out, refetch=0.0)}
    seconds = least_seconds({"floor": lambda: floor(folder), **works, **plainly}, rounds)
    calls = sum(len(transcript.calls) for transcript in recordings(folder))
    characters = sum(len(text) for transcript in recordings(folder) for item in transcript.items for text in item.texts)
    for name in lists:
        tell(name, seconds[name] / seconds["floor"], "of the floor")
    ten = ("bounds and ten policies", *plainly)
    closed, alone = ((seconds[name] - seconds["keep-all alone"]) / (calls * (len(TEN) - 1)) * 1e6 for name in ten)
    say(
        f"| (a further policy-call of the ten: {closed:.0f} µs, where nothing is fetched again {alone:.0f} µs; "
        f"{characters / 1e6 / seconds['the default policies']:.1f} M characters a CPU second)| | |"
    )

    whole = list(recordings(folder))
    few = [transcript for transcript in whole if len(transcript.calls) >= 20][:6]
    again = recounts(few) | {"floor of six": lambda: bare_loop(few)}
    by_hand = least_seconds({**again, "bare loop": lambda: bare_loop(whole)}, 2)
    recounted = sum(min(MOST, len(transcript.calls)) for transcript in few)
    for name in [name for name in again if name != "floor of six"]:
        say(f"| one policy on six transcripts, {name} | {by_hand[name] / recounted * 1e6:,.0f} | µs a call |")
    say(f"| twelve policies in a bare loop | {by_hand['bare loop'] / seconds['floor']:.2f} | of the floor |")

    for name, policies, turns in (
        *((policy, (policy,), 17 if quick else 167) for policy in WORST),
        *(() if quick else [("the default policies", DEFAULT_POLICIES, 167)]),
    ):
        short, long = of_turns(root / f"turns{turns}", turns), of_turns(root / f"turns{turns * 10}", turns * 10)
        took = least_seconds(
            {"short": lambda: run(short, policies, out), "long": lambda: run(long, policies, out)},  # noqa: B023
            1 if turns > 17 else 2,
        )
        tell(f"{turns * 60:,} calls, {name}", took["long"] / took["short"], "of a tenth of the calls")

    small = of_megabytes(root / "small", 1 if quick else 5)
    settings = 10 if quick else 100
    one, many = ("token-budget",), tuple(expand(f"token-budget:retain=100..4000@{settings}"))
    took = least_seconds(
        {"one": lambda: run(small, one, out), "many": lambda: run(small, many, out)}, 2 if quick else 1
    )
    tell(f"{settings} settings", took["many"] / took["one"], "of one")
    return found


def on_free_cores(root: Path) -> None:
    """Print what needs an otherwise idle machine: seconds of wall-clock time, and memory."""
    forty = of_megabytes(root / "forty", 40, 20)
    base = None
    for jobs in (1, 2, 4)[: max(1, (os.cpu_count() or 1).bit_length())]:
        took, cpu, _ = child(["bench", str(forty), "--jobs", str(jobs), "--out", str(root / "jobs"), "--force"])
        base = base or (took, cpu)
        say(f"| {jobs} jobs | {base[0] / took:.2f} | times as fast as one, for {cpu / base[1]:.2f} of its CPU |")
    for megabytes in (10, 100, 1_000):
        many = of_megabytes(root / f"mb{megabytes}", megabytes)
        command = [
            "bench",
            str(many),
            "--policy",
            "keep-all",
            "--policy",
            "mask:keep=10",
            "--out",
            str(root / "mb"),
            "--force",
        ]
        say(f"| {megabytes:,} MB of input, two policies | {child(command)[2]:.0f} | MiB at most |")
        shutil.rmtree(many)
    for title, arguments in (
        ("--help", ["--help"]),
        (
            "bench of the documented case",
            ["bench", "--scenario", "documented-53k", "--out", str(root / "documented"), "--force"],
        ),
    ):
        say(f"| ctxsim {title} | {min(child(arguments)[1] for _ in range(3)):.2f} | CPU s |")


def too_slow(found: dict[str, float], committed: dict[str, float]) -> list[str]:
    """Return a line for each ratio over WORSE times the committed one, and for each that isn't measured any more."""
    return [
        f"{name}: {found[name]:.2f}, was {ratio:.2f}"
        if name in found
        else f"{name}: was {ratio:.2f}, isn't measured any more"
        for name, ratio in committed.items()
        if name not in found or found[name] > WORSE * ratio
    ]


def slow_each_time(measured: Iterator[dict[str, float]], committed: dict[str, float]) -> list[str]:
    """Return what is too slow by its least ratio of all measurements. They end as soon as nothing is too slow.

    Other programs slow down memory accesses more than arithmetic, but only for a minute; the effect of our code stays.
    """
    least: dict[str, float] = {}
    slow: list[str] = []
    for found in measured:
        least = {name: min(ratio, least.get(name, ratio)) for name, ratio in found.items()}
        slow = too_slow(least, committed)
        if not slow:
            break
    return slow


def main() -> int:
    """Print the table; return 1 if it is checked and something is too slow, 2 if it can't be checked."""
    parser = ArgumentParser()
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    if asked.check and not asked.quick:
        parser.error("--check is of the ratios that --quick measures: give both")
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        folder = asked.folder or of_megabytes(root / "corpus", 1 if asked.quick else 10)
        corpus = "generated" if asked.folder is None else "recorded"
        if asked.check and asked.folder and not pinned(asked.folder):
            say(f"{asked.folder}: other files than those that the committed ratios are of (evidence/corpus.tsv)")
            return 2

        def measured() -> Iterator[dict[str, float]]:
            for number in range(MEASUREMENTS):
                say(f"{os.cpu_count()} cores; least CPU seconds of {asked.rounds} rounds\n")
                say("| what | ratio | |\n|---|--:|---|")
                (place := root / str(number)).mkdir()
                yield ratios(folder, place, asked.rounds, asked.quick)

        committed = tomllib.loads(COMMITTED.read_text(encoding="utf-8"))[corpus] if asked.check else {}
        slow = slow_each_time(measured(), committed)
        if not asked.quick:
            on_free_cores(root)
        say(f"\n(this process used {own_peak_mib():.0f} MiB)")
    for line in slow:
        say(f"too slow ({COMMITTED.name}, [{corpus}]): {line}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
