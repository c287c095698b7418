"""How fast, how large, how it grows: one table of ratios, measured in one run on this machine.

    python -m benchmarks [FOLDER | --generated MB] [--quick]

FOLDER: recorded transcripts; without one, generated ones of MB megabytes, 20 unless told. `--quick` leaves out the gigabyte and the
longest transcripts. Ratios are to the floor: reading the corpus once and counting every distinct text once with tiktoken.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

import msgspec

from ctxsim.bench import DEFAULT_POLICIES, bench
from ctxsim.bench.grid import expand
from ctxsim.bench.task import Setting
from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.synthesis import load_scenario, synthesize
from ctxsim.tokenizers import open_tokenizer
from ctxsim.transcript import Transcript

ROUNDS = 3


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the median time of some rounds."""
    taken = []
    for _ in range(rounds):
        started = perf_counter()
        work()
        taken.append(perf_counter() - started)
    return median(taken)


def generated(turns: int, seed: int) -> Transcript:
    """A coding agent's conversation of so many turns of six calls."""
    scenario = load_scenario("fifty-turns")
    made = msgspec.structs.replace(
        scenario.synthesis, seed=seed, parameters={**scenario.synthesis.parameters, "turns": turns}
    )
    return synthesize(msgspec.structs.replace(scenario, synthesis=made))


def write(folder: Path, transcript: Transcript, name: str) -> None:
    """Write a transcript in ctxsim's own format."""
    named = msgspec.structs.replace(transcript, name=name)
    (folder / f"{name}.jsonl").write_bytes(b"\n".join(lines(named)) + b"\n")


def corpus(folder: Path, megabytes: int, turns: int = 50) -> Path:
    """A folder of generated transcripts of about this size; five different ones, over and over."""
    folder.mkdir()
    base = [generated(turns, seed) for seed in range(5)]
    size = number = 0
    while size < megabytes * 1_000_000:
        write(folder, base[number % 5], f"t{number:05}")
        size += (folder / f"t{number:05}.jsonl").stat().st_size
        number += 1
    return folder


def recordings(folder: Path) -> Iterator[Transcript]:
    """Every transcript that can be read."""
    for source in sources(str(folder)):
        try:
            yield from read_source(source)
        except InputError:
            continue


def floor_of(folder: Path) -> float:
    """Read once, count every distinct text once with tiktoken."""
    tokenizer = open_tokenizer("tiktoken:o200k_base")
    tokenizer.count_many(["warm"])

    def work() -> None:
        seen: set[str] = set()
        for transcript in recordings(folder):
            for item in transcript.items:
                for text in item.texts:
                    if text not in seen:
                        seen.add(text)
                        tokenizer.count_many([text])

    return seconds(work)


def run(folder: Path, policies: tuple[str, ...], out: Path, jobs: int = 1) -> None:
    """One bench."""
    shutil.rmtree(out, ignore_errors=True)
    bench(Setting("b", "b", policies, overrides={"tokenizer": "o200k_base"}), out, paths=[str(folder)], jobs=jobs)


def by_hand(folder: Path) -> dict[str, float]:
    """One simple policy's replay as people write it: the whole history counted again at each call. Seconds by tool."""
    transcripts = [t for t in recordings(folder) if 20 <= len(t.calls) <= 60][:6]
    tokenizer = open_tokenizer("tiktoken:o200k_base")
    found = {}

    def tiktoken_again() -> None:
        for transcript in transcripts:
            for call in transcript.calls:
                sum(tokenizer.count_many([text])[0] for item in transcript.items[: call.start] for text in item.texts)

    found["tiktoken at each call"] = seconds(tiktoken_again, 1)
    try:
        from langchain_core.messages import AIMessage, HumanMessage, trim_messages

        def langchain() -> None:
            for transcript in transcripts:
                for call in transcript.calls:
                    history = [
                        (HumanMessage if item.kind in ("user", "tool_result") else AIMessage)(item.text or " ")
                        for item in transcript.items[: call.start]
                    ]
                    trim_messages(
                        history,
                        max_tokens=40_000,
                        token_counter=lambda seen: sum(tokenizer.count_many([str(m.content)])[0] for m in seen),
                        strategy="last",
                    )

        found["LangChain trim_messages, tiktoken"] = seconds(langchain, 1)
    except ImportError:
        say("(langchain-core isn't installed)")
    try:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        from litellm import token_counter

        def litellm() -> None:
            for transcript in transcripts:
                for call in transcript.calls:
                    history = [{"role": "user", "content": item.text} for item in transcript.items[: call.start]]
                    token_counter(model="gpt-4o", messages=history)

        found["litellm.token_counter"] = seconds(litellm, 1)
    except ImportError:
        say("(litellm isn't installed)")
    with tempfile.TemporaryDirectory() as place:
        few = Path(place) / "few"
        few.mkdir()
        for number, transcript in enumerate(transcripts):
            write(few, transcript, f"t{number}")
        mine = seconds(lambda: run(few, ("fifo:budget=40000",), Path(place) / "out"), 1)
        found["ctxsim, one policy, all columns"] = mine
    return found


def child(arguments: list[str]) -> tuple[float, float]:
    """Seconds and peak MiB of the largest process of a ctxsim command."""
    program = (
        "import resource, subprocess, sys, time\n"
        "s = time.perf_counter(); subprocess.run(sys.argv[1:], check=True, capture_output=True)\n"
        "print(time.perf_counter() - s, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    command = [sys.executable, "-c", program, sys.executable, "-m", "ctxsim", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    took, peak = done.stdout.split()
    return float(took), float(peak)


def main() -> None:
    """Print the table."""
    parser = ArgumentParser()
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--generated", type=int, default=20, metavar="MB")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    quick = asked.quick
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        folder = asked.folder or corpus(root / "corpus", asked.generated)
        say(f"{os.cpu_count()} cores; rounds {ROUNDS}, medians\n\n| what | ratio | |\n|---|--:|---|")
        floor = floor_of(folder)
        say(f"| floor: read once, count once with tiktoken | 1.00 | {floor:.2f} s |")
        simple = ("keep-all", "drop-all", "token-budget", "truncate-after-use", "max-result-chars:chars=20000",
                  "max-messages:n=41", "head-tail", "fifo:budget=40000", "mask:keep=10", "mask:keep=10,batch=20",
                  "char-budget", "retry")  # fmt: skip
        for title, policies in (("keep-all alone, all columns", ("keep-all",)), ("bounds and ten policies, all columns", simple),
                                ("the default policies, oracles and summaries too", DEFAULT_POLICIES)):  # fmt: skip
            taken = seconds(lambda policies=policies: run(folder, policies, root / "out"))  # type: ignore[misc]
            say(f"| bench: {title} | {taken / floor:.1f} | of the floor |")
        hand = by_hand(folder)
        mine = hand["ctxsim, one policy, all columns"]
        for title, taken in hand.items():
            say(f"| one policy on six transcripts: {title} | {taken / mine:.1f} | of ctxsim |")
        few = ("keep-all", "token-budget", "mask:keep=10,batch=20")
        for title, policies in (("three policies", few), ("default policies", DEFAULT_POLICIES)):
            base = None
            for turns in (17, 167) if quick else (17, 167, 1_667):
                one = root / f"turns{turns}"
                if not one.exists():
                    one.mkdir()
                    write(one, generated(turns, 3), "t")
                taken = seconds(lambda one=one, policies=policies: run(one, policies, root / "out"), 1)  # type: ignore[misc]
                say(f"| {turns * 6:,} calls, {title} | {taken / base if base else 1:.1f} | of a tenth of the calls |")
                base = taken
        small = corpus(root / "small", 5)
        base = None
        for count in (1, 10, 100):
            grid = expand(f"token-budget:retain=100..4000@{count}") if count > 1 else ["token-budget"]
            taken = seconds(lambda grid=grid: run(small, tuple(grid), root / "out"), 1)  # type: ignore[misc]
            base = base or taken
            say(f"| sweep of {count} settings | {taken / base:.1f} | of one |")
        base = None
        forty = corpus(root / "forty", 40, 20)
        for jobs in (1, 2, 4):
            taken = seconds(lambda jobs=jobs: run(forty, DEFAULT_POLICIES, root / "out", jobs), 1)  # type: ignore[misc]
            base = base or taken
            say(f"| {jobs} workers | {base / taken:.2f} | times as fast as one |")
        for megabytes in (10, 100) if quick else (10, 100, 1_000):
            many = corpus(root / f"mb{megabytes}", megabytes)
            _, peak = child(
                ["bench", str(many), "--policy", "keep-all", "--policy", "mask:keep=10", "--out", str(root / "out")]
            )
            say(f"| {megabytes:,} MB of input, two policies | {peak:.0f} | MiB at most |")
            shutil.rmtree(many)
        for title, arguments in (
            ("--help", ["--help"]),
            ("documented case", ["bench", "--scenario", "documented-53k", "--out", str(root / "out")]),
        ):
            taken = median(child(arguments)[0] for _ in range(3))
            say(f"| start: ctxsim {title} | {taken:.2f} | s |")
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        say(f"\n(this process used {own:.0f} MiB)")


if __name__ == "__main__":
    main()
