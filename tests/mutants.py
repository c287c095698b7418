"""Files made wrong on purpose: from small seeds, files, folders and archives with odd values.

`attacked` says what became of reading one: read, refused in a line, or a finding. Seeded: the same number, the same
mutants.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import signal
import traceback
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ctxsim.answers.validation.accuracy import observe
from ctxsim.answers.validation.validation import compare
from ctxsim.api.survey import check
from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.errors import CtxsimError, ReaderFailed
from ctxsim.policies import open_policies
from ctxsim.readers import SUFFIXES, read_source, sources
from ctxsim.readers.reader import owner
from ctxsim.recorded.as_sent import as_sent
from ctxsim.recorded.sample import collect
from ctxsim.runs.transcript_rows import rows_of
from ctxsim.transcript import Transcript, problems

HANG_S: float = 10
LONGEST_LINE = 2_000
LARGEST_SEED = 30_000
"""Bytes: a seed is small, so that a change of one value matters and thousands of them are tried."""

STRANGE: list[Any] = [
    None, True, False, 0, -1, 2**63, 2**70, -(2**70), 1e308, -5_000_000, 0.5, "", "\x00", "\ud800", "1", "user", "tool",
    "assistant", "1e400", "9999-12-31T23:59:59Z", "+275760-09-13", 253402300800000, 1.7e18, [], {}, [[]], [{}], [None],
    {"": None}, {"role": 7}, "a" * 99, "a\x1b]52;c;aGk=\x07b\n" * 60,
]  # fmt: skip
SAID = [b"a.b.c=", b"[[", b"]]", b"=", b"\n", b'"""', b"1e999", b"-1", b"nan", b"inf", b"9" * 30, b"{}", b"+", b"|",
        b"..", b"@", b"pipe:", b":", b",", b"\\u", b"1979-05-27", b"true", b'""', b"[]", b"'"]  # fmt: skip
"""What means something in TOML, YAML or a label."""
RAW = [b"1e400", b"-1e400", b"9" * 5000, b"NaN", b"[" * 3000, b"null", b'"\\ud800"', b"\xff", b"\n", b"{}", b'"']
POLICIES = ("keep-all", "mask:keep=1", "token-budget:budget=300,retain=20", "oracle-lossless", "head-tail+summary")


TOKENIZER = open_tokenizer("o200k_base")
ESTIMATOR = open_estimator("chars:ratio=4")


class Seed(NamedTuple):
    """Small files by their name: one, or those of a folder or an archive. `archive`: the suffix of that, or ''."""

    name: str
    files: dict[str, bytes]
    archive: str = ""


class Outcome(NamedTuple):
    """`kind` is read, refused, exception, hang or long; `what` says more."""

    kind: str
    what: str


def shortened(value: Any) -> Any:
    """A document small enough to be a seed: few elements, short texts."""
    if isinstance(value, dict):
        return {key: shortened(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shortened(one) for one in value[:8]]
    return value[:60] if isinstance(value, str) else value


def short_file(data: bytes) -> bytes:
    """A file's documents made short, as far as they are JSON."""
    try:
        return json.dumps(shortened(json.loads(data))).encode()
    except (ValueError, RecursionError):
        pass
    try:
        return b"\n".join(
            json.dumps(shortened(json.loads(line))).encode() for line in data.split(b"\n")[:14] if line.strip()
        )
    except (ValueError, RecursionError):
        return data


def seeds(folder: Path, per_folder: int = 6) -> Iterator[Seed]:
    """Seeds from recordings: of each folder the smallest few, those that are folders as a whole, some in archives."""
    taken: dict[Path, int] = {}
    owned = [path for path in sorted(folder.rglob("*")) if path.is_dir() and owner(path)]
    for path in owned:
        files = [file for file in sorted(path.rglob("*")) if file.is_file()]
        if taken.setdefault(path.parent, 0) < per_folder and len(files) <= 40:
            taken[path.parent] += 1
            made = {file.relative_to(path).as_posix(): short_file(file.read_bytes()) for file in files}
            if sum(map(len, made.values())) <= 4 * LARGEST_SEED:
                yield Seed(path.name, made)
    inside = {file for path in owned for file in path.rglob("*")}
    plain = [file for file in folder.rglob("*") if file.is_file() and file not in inside]
    for file in sorted(plain, key=lambda file: (file.stat().st_size, file.as_posix())):
        wanted = file.suffix in (*SUFFIXES, ".yaml", ".log", ".txt")
        if not wanted or taken.setdefault(file.parent, 0) >= per_folder:
            continue
        data = file.read_bytes()
        if file.suffix in (".eval", ".zip"):
            data = data if len(data) < 4 * LARGEST_SEED else b""
        else:
            data = short_file(gzip.decompress(data) if file.suffix == ".gz" else data)[:LARGEST_SEED]
        if data:
            taken[file.parent] += 1
            name = file.name.removesuffix(".gz")
            yield Seed(name, {name: data})
            if taken[file.parent] == 1 and file.suffix in (".json", ".jsonl"):
                yield Seed(f"{name} in an archive", {name: data}, ".zip")
                yield Seed(f"{name} compressed", {name: data}, ".gz")


def mutant(seed: Seed, chance: random.Random) -> Seed:
    """The same with one to four changes in one of its files, or with a file missing."""
    files = dict(seed.files)
    name = chance.choice(sorted(files))
    if len(files) > 1 and chance.random() < 0.06:
        del files[name]
    else:
        files[name] = changed(files[name], chance)
    return Seed(seed.name, files, seed.archive)


def changed(data: bytes, chance: random.Random) -> bytes:
    """The same with one to four changes of its values, its lines or its bytes."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 4))):
        data = _value_changed(data, chance) if chance.random() < 0.75 else _bytes_changed(data, chance)
    return data


def _value_changed(data: bytes, chance: random.Random) -> bytes:
    """One value of one JSON document changed, where bytes alone would mostly break the syntax."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    try:
        changed = json.dumps(_changed(json.loads(lines[at]), chance)).encode()
    except (ValueError, RecursionError):
        return _bytes_changed(data, chance) if b"\0" in data else _line_changed(lines, at, chance)
    if b"12345678987654321" in changed:
        changed = changed.replace(b"12345678987654321", chance.choice(RAW))
    if chance.random() < 0.1:
        lines.insert(at, lines[at])
    lines[at] = changed
    return b"\n".join(lines)


def _changed(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict) and value and chance.random() < 0.92:
        key = chance.choice(list(value))
        if chance.random() < 0.08:
            return {name: one for name, one in value.items() if name != key}
        return {**value, key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.92:
        at = chance.randrange(len(value))
        if chance.random() < 0.1:
            return chance.choice([value[:at] + value[at + 1 :], [*value, value[at]], value[::-1]])
        return [*value[:at], _changed(value[at], chance), *value[at + 1 :]]
    return chance.choice([*STRANGE, 12345678987654321])


def _line_changed(lines: list[bytes], at: int, chance: random.Random) -> bytes:
    """One line of TOML, YAML or a label changed: its value, some of its letters, or its place."""
    line, place = lines[at], chance.randrange(len(lines[at]) + 1)
    lines[at] = chance.choice([
        line.partition(b"=")[0] + b"= " + chance.choice([*SAID, *RAW]),
        line[:place] + chance.choice(SAID) + line[place:], line[:place] + line[place + chance.randrange(1, 9) :], b"",
        line + b"\n" + line, chance.choice(lines),
    ])  # fmt: skip
    return b"\n".join(lines)


def _bytes_changed(data: bytes, chance: random.Random) -> bytes:
    at, size = chance.randrange(len(data) + 1), chance.randrange(1, 40)
    piece = data[at : at + size]
    return chance.choice([
        data[:at] + chance.randbytes(3) + data[at + 3 :],
        data[:at] + data[at + size :],
        data[:at] + piece + piece + data[at + size :],
        data[:at] + chance.choice(RAW) + data[at:],
        data[:at],
    ])  # fmt: skip


def write(made: Seed, folder: Path) -> Path:
    """Write a seed anew into an empty folder and return the path to read."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    if made.archive == ".zip":
        with zipfile.ZipFile(folder / "a.zip", "w") as archive:
            for name, data in made.files.items():
                archive.writestr(name, data)
        return folder / "a.zip"
    if made.archive == ".gz":
        ((name, data),) = made.files.items()
        (folder / f"{name}.gz").write_bytes(gzip.compress(data, 1))
        return folder / f"{name}.gz"
    single = len(made.files) == 1 and made.name in made.files
    root = folder if single else folder / made.name
    for name, data in made.files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root / made.name if single else root


def attacked(read: Callable[[], Iterable[str]]) -> Outcome:
    """Call what reads something and gives lines, one that begins with `!` being a mistake; say what it came to."""
    try:
        with _bounded():
            lines = list(read())
    except _Hang:
        return Outcome("hang", f"more than {HANG_S} s")
    except ReaderFailed as error:
        return Outcome("exception", str(error))
    except CtxsimError as error:
        return Outcome("long", str(error)[:300]) if _long(str(error)) else Outcome("refused", str(error))
    # Whatever it is, it is what is looked for.
    except Exception as error:  # noqa: BLE001
        return Outcome("exception", "".join(traceback.format_exception(error))[-1500:])
    if failed := [line for line in lines if line.startswith("!")]:
        return Outcome("exception", failed[0])
    if long := [line for line in lines if _long(line)]:
        return Outcome("long", long[0][:300])
    return Outcome("read", "")


def recording(path: Path, deep: bool) -> Iterator[str]:
    """Read a path as recordings, and if `deep` replay what was read: the lines that are said of them."""
    found: list[Transcript] = []
    yield from _read(path, found)
    if deep:
        for transcript in found:
            yield from _replayed(transcript)


def _read(path: Path, found: list[Transcript]) -> Iterator[str]:
    every = list(sources(str(path)))
    single = len(every) == 1
    for source in every:
        try:
            for transcript in read_source(source):
                yield from transcript.notes
                yield from (f"! {one}" for one in problems(transcript)[:1])
                found.append(transcript)
        except ReaderFailed:
            raise
        except CtxsimError as error:
            if single:
                raise
            yield str(error)


def _replayed(transcript: Transcript) -> Iterator[str]:
    check(transcript, TOKENIZER)
    compare(transcript)
    collect([transcript], TOKENIZER, "tool")
    observe([transcript], TOKENIZER, [ESTIMATOR])
    for one in as_sent(transcript):
        if one.transcript.calls:
            failed: list[str] = []
            rows = rows_of(one, list(open_policies(POLICIES)), failed)
            yield from (f"! {line}" for line in failed)
            costs = rows.tables["calls"].column("cost_usd").drop_null().to_pylist()
            if any(not 0 <= cost < 1e12 for cost in costs):
                yield "! a call costs what no call can"


def _long(text: str) -> bool:
    return "\n" in text or len(text) > LONGEST_LINE


class _Hang(BaseException):
    pass


@contextmanager
def _bounded() -> Iterator[None]:
    def ring(number: int, frame: Any) -> None:
        raise _Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, HANG_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
