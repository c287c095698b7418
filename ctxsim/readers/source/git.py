"""Sessions in a git repository on this machine, read from its objects without a checkout.

Documentation: https://git-scm.com/docs/git-cat-file#_batch_output, https://git-scm.com/docs/git-ls-tree
"""

import atexit
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers.source.limits import most_bytes, too_large
from ctxsim.readers.source.source import Source

GIT = "git:"

AS_FILES = (".zip", ".db", ".vscdb")
"""Endings of files that are read in place, and so not from a commit."""

ANSWER_S = 120.0
"""Most seconds that one git command may take."""

ANSWER_BYTES = 20_000_000
"""Most bytes that it may print. The entry of one file has about a hundred."""

_START_BYTES = 1 << 16
_IDS = (
    re.compile(rb'"sessionI[dD]"\s*:\s*"([^"]+)"'),
    re.compile(rb'"session_id"\s*:\s*"([^"]+)"'),
    re.compile(rb'"type"\s*:\s*"session_meta".{0,200}?"id"\s*:\s*"([^"]+)"'),
    re.compile(rb'"type"\s*:\s*"session"\s*,.{0,200}?"id"\s*:\s*"([^"]+)"'),
)
_AGENT = re.compile(rb'"agentId"\s*:\s*"([^"]+)"')


@dataclass(eq=False)
class GitSource(Source):
    """A file of a commit, in a repository on this machine. Worker processes open the repository again."""

    _: KW_ONLY
    repository: Path
    blob: str
    tree: str = ""

    def _listing(self) -> frozenset[str]:
        return _files(self.repository, self.tree)

    def kept(self) -> bytes:
        """Return the file's bytes, compressed if they are."""
        return _content(self.repository, self.blob, self.name)


@lru_cache(maxsize=8)
def _files(repository: Path, tree: str) -> frozenset[str]:
    """The files of a commit. They are asked for once: a log may name any number of sub-agents, which may have files."""
    listed = _run(repository, tree, "ls-tree", "-r", "-z", "--name-only", tree)
    return frozenset(listed.decode("utf-8", "replace").split("\0"))


def git_sources(path: str, endings: tuple[str, ...]) -> Iterator[Source]:
    """Yield the files with some endings that `git:REPOSITORY[@REF][:FOLDER]` stands for, in the order of their paths.

    Of several versions of a session, only the longest, and none of a run's own files. Raises InputError if there is no
    such repository, ref or folder.
    """
    repository, ref, folder = _parts(path)
    tree = _run(repository, path, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{tree}}").strip()
    shown = f"{GIT}{repository}@{ref}"
    # Each content is read once, under its first name: a tree can name it any number of times.
    first: dict[str, tuple[str, int]] = {}
    lines = _run(repository, path, "ls-tree", "-r", "-z", "--long", tree.decode()).split(b"\0")
    entries = [(name.decode("utf-8", "replace"), head) for head, _, name in (line.partition(b"\t") for line in lines)]
    names = {PurePosixPath(file) for file, _ in entries}
    names |= {file.parent for file in names}
    runs = {file.parent for file in names if file.name == "run.json" and file.with_name("summary.parquet") in names}
    left_out = False
    for file, head in entries:
        inside = not folder or file == folder or file.startswith(f"{folder}/")
        if inside and file.endswith(endings) and head.split()[1:2] == [b"blob"]:
            above = PurePosixPath(file).parents[: 2 if file.endswith(".parquet") else 1]
            if file.endswith((".parquet", "run.json")) and runs.intersection(above):
                left_out = True
                continue
            _, _, blob, length = head.decode().split()
            if not length.isdecimal():
                raise InputError(path, f"{file} is not among the repository's objects: a partial clone? fetch it first")
            first.setdefault(blob, (file, int(length)))
    if not first:
        a_run = "is a finished run, which ctxsim report shows; name the recordings"
        raise InputError(path, a_run if left_out else f"has no files with the endings {', '.join(endings)}")
    longest: dict[str, tuple[int, str, Source]] = {}
    for blob, (file, size) in first.items():
        name, where = f"{shown}:{file}", repository.resolve()
        key, source = blob, GitSource(name, member=file, repository=where, blob=blob, tree=tree.decode())
        if file.endswith(AS_FILES):
            source.refused = NotATranscript(source.name, f"{', '.join(AS_FILES)} are read only from checkouts")
        # A file that can't be read is refused when it is read.
        elif size <= most_bytes():
            with suppress(InputError):
                data = source.content()
                key, size = _session(data[:_START_BYTES]) or blob, len(data)
        if key not in longest or size > longest[key][0]:
            longest[key] = size, file, source
    yield from (source for _, _, source in sorted(longest.values(), key=lambda one: one[1]))


def _session(start: bytes) -> str:
    """Return the key of a file's session: its id, its sub-agent's id, lines or document; '' if the file has no id."""
    found = next((match[1] for pattern in _IDS if (match := pattern.search(start))), b"")
    # Documents that describe a session have its id too, but are no versions of it.
    line = start.lstrip().partition(b"\n")[0]
    agent = _AGENT.search(line)
    kind = b"lines" if line.rstrip().endswith(b"}") and b"\n" in start.strip() else b"document"
    return b" ".join((found, agent[1] if agent else b"", kind)).decode("utf-8", "replace") if found else ""


def _parts(path: str) -> tuple[Path, str, str]:
    """Return repository, ref and folder. A repository's own name may hold an @ or a colon."""
    rest = path.removeprefix(GIT)
    ends = [len(rest), *(match.start() for match in re.finditer("[@:]", rest))]
    for end in sorted(ends, reverse=True):
        repository, after = Path(rest[:end] or "."), rest[end:]
        if repository.is_dir():
            ref, _, folder = after[1:].partition(":") if after.startswith("@") else ("", "", after[1:])
            return repository, ref or "HEAD", folder.strip("/")
    raise InputError(path, "is no repository on this machine: git:REPOSITORY[@REF][:FOLDER]")


_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "safe.bareRepository=explicit")
"""Override the repository's own configuration, which may be a stranger's: git runs programs that it names."""


def _git(repository: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start git in a repository; in a bare one only if the path itself is that repository.

    All protocols are off: a missing object is never fetched, by whatever helper the repository names.
    """
    bare = not (repository / ".git").exists() and (repository / "HEAD").is_file() and (repository / "objects").is_dir()
    command = ["git", *_SAFE, *([f"--git-dir={repository}"] if bare else ["-C", str(repository)]), *arguments]
    offline = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=os.environ | offline, process_group=0)


def _run(repository: Path, path: str, *arguments: str) -> bytes:
    try:
        process = _git(repository, *arguments)
    except OSError as error:
        raise InputError(path, f"needs git, which can't be run: {error.strerror or error}") from error
    # Git would wait for a pipe in the repository, and a few nested trees can name files without end.
    late = threading.Timer(ANSWER_S, os.killpg, (process.pid, signal.SIGKILL))
    with process:
        assert process.stdout and process.stderr
        try:
            late.start()
            found = process.stdout.read(ANSWER_BYTES + 1)
            if len(found) > ANSWER_BYTES:
                raise InputError(path, f"has more than {ANSWER_BYTES / 1e6:.0f} MB of names of files")
            errors = process.stderr.read()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            late.cancel()
    if process.returncode == -signal.SIGKILL:
        raise InputError(path, f"can't be read by git: no answer within {ANSWER_S:.0f} s")
    if process.returncode:
        said = errors.decode("utf-8", "replace").strip() or "there is no such ref"
        raise InputError(path, f"can't be read by git: {said}")
    return found


_ASKED: dict[tuple[Path, int], subprocess.Popen[bytes]] = {}
"""Running `git cat-file --batch`, by repository and process id: a forked worker must not share its parent's pipe."""


@atexit.register
def _end_asked() -> None:
    for (_, process), objects in _ASKED.items():
        if process == os.getpid():
            with objects:
                objects.kill()


def _content(repository: Path, blob: str, name: str) -> bytes:
    """Return an object's bytes. Raises InputError if it is too large, damaged, or missing."""
    key = repository, os.getpid()
    if key not in _ASKED:
        _ASKED[key] = _git(repository, "cat-file", "--batch")
    objects = _ASKED[key]
    assert objects.stdin and objects.stdout
    objects.stdin.write(f"{blob}\n".encode())
    objects.stdin.flush()
    head = objects.stdout.readline().split()
    if len(head) != 3:
        raise InputError(name, f"is not among the repository's objects: {b' '.join(head).decode()}")
    try:
        size = int(head[2])
        if size > most_bytes():
            raise too_large(name)
        data = objects.stdout.read(size)
        # A line end stands behind the object.
        if len(data) < size or not objects.stdout.read(1):
            raise InputError(name, "is a damaged object of the repository")
        return data
    except BaseException:
        # Git has more to say, or exits in the middle of a damaged object.
        objects.kill()
        with _ASKED.pop(key):
            raise
