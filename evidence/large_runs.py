"""What reports of large runs take: `python -m evidence.large_runs [TRANSCRIPTS ...]` prints seconds and peak memory.

A real run of small conversations under five policies is copied many times under other names, in the format in which
bench writes it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import msgspec
import pyarrow
import pyarrow.compute
import pyarrow.parquet

from ctxsim.results import TABLES, read_run
from ctxsim.results.checksums import sealed, sums
from ctxsim.results.writer import PART_ROWS
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.transcript import Transcript
from evidence.corpora import generated, write
from evidence.rounds import child

POLICIES = ("keep-all", "drop-all", "mask:keep=3", "token-budget", "head-tail")
COMMANDS = (("report",), ("report", "--only", "pictures"), ("report", "--only", "losses"))


def small(number: int) -> Transcript:
    """Return the first 12 to 31 calls of a generated conversation."""
    whole = generated(8, number)
    calls = whole.calls[: 12 + number % 20]
    return msgspec.structs.replace(whole, items=whole.items[: calls[-1].end], calls=calls)


def written(run: Path) -> list[str]:
    """Return the names of a run's tables. An optional one, such as `draws`, may be missing."""
    return [name for name in TABLES if (run / f"{name}.parquet").exists()]


def multiply(run: Path, out: Path, times: int) -> None:
    """Write a run's tables `times` times, each time under other transcript names."""
    out.mkdir()
    for name in written(run):
        table = pyarrow.parquet.read_table(run / f"{name}.parquet")
        folder = out / f"{name}.parquet"
        folder.mkdir()
        per_part = max(1, PART_ROWS // max(1, len(table)))
        for part, start in enumerate(range(0, times, per_part)):
            with pyarrow.parquet.ParquetWriter(
                folder / f"part-{part:05}.parquet", table.schema, compression="zstd"
            ) as to:
                for number in range(start, min(times, start + per_part)):
                    renamed = table
                    for column in ("transcript", "root"):
                        if column in table.column_names:
                            names = pyarrow.compute.binary_join_element_wise(f"{number:06}", table[column], "/")
                            renamed = renamed.set_column(
                                table.column_names.index(column), table.schema.field(column), names
                            )
                    to.write_table(renamed)
    (out / "run.json").write_bytes(sealed(msgspec.structs.replace(read_run(run).info, files=sums(out))))


def main() -> None:
    """Print the table."""
    sizes = [int(text) for text in sys.argv[1:]] or [1_000, 10_000, 100_000]
    print("| transcripts | rows | command | seconds | MiB at most |\n|--:|--:|---|--:|--:|")
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        logs = root / "logs"
        logs.mkdir()
        for number in range(50):
            write(logs, small(number), f"t{number:02}")
        conduct(
            Setting("logs", "Large", POLICIES, overrides={"tokenizer": "o200k_base"}), root / "run", paths=[str(logs)]
        )
        for size in sizes:
            out = root / f"run{size}"
            multiply(root / "run", out, size // 50)
            rows = sum(read_run(out).rows(name) for name in written(out))
            for command in (*((first, str(out), *rest) for first, *rest in COMMANDS), ("compare", str(out), str(out))):
                taken, _, mebibytes = child(list(command))
                named = " ".join((command[0], *(word for word in command[2:] if word != str(out))))
                print(f"| {size:,} | {rows:,} | {named} | {taken:.1f} | {mebibytes:.0f} |", flush=True)
            shutil.rmtree(out)


if __name__ == "__main__":
    main()
