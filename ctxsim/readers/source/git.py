"""Sessions in a git repository on this machine, read from its objects without a checkout.

Documentation: https://git-scm.com/docs/git-cat-file#_batch_output, https://git-scm.com/docs/git-ls-tree
"""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from ctxsim.errors import InputError
from ctxsim.readers.source.limits import Pace, most_bytes, too_large
from ctxsim.readers.source.placed import copied
from ctxsim.readers.source.source import Source

GIT = "git:"

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


_FILE = re.compile(rb"\d+ blob (\w+) +(\S+)\t([^\0]+)\0")
"""A file in a listing: the name of its content, the size of that, and its path."""


def git_sources(path: str, wanted: Callable[[str], bool], walk: Callable[[str], Iterator[Source]]) -> Iterator[Source]:
    """Yield the sources of `git:REPOSITORY[@REF][:FOLDER]`: copies of the `wanted` files, as `copied` does.

    Of several files of a session, only the longest. Raises InputError if there is no such repository, ref or folder.
    """
    repository, ref, folder = _parts(path)
    tree = _run(repository, path, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{tree}}").strip()
    shown = f"{GIT}{repository}@{ref}:"
    listed = _FILE.findall(_run(repository, path, "ls-tree", "-r", "-z", "--long", tree.decode()))
    files = {os.fsdecode(file): (blob.decode(), length) for blob, length, file in listed}
    inside = [file for file in files if not folder or file == folder or file.startswith(f"{folder}/")]
    if not inside:
        raise InputError(path, "has no files")
    sizes = {file: files[file][1] for file in inside if wanted(file)}
    if missing := [file for file, length in sizes.items() if not length.isdigit()]:
        raise InputError(path, f"{missing[0]} is not among the repository's objects: a partial clone? fetch it first")
    blobs: dict[Path | None, str] = {}

    def put(places: Mapping[str, Path]) -> Iterator[tuple[Path, InputError]]:
        pace, objects = Pace(path), None
        with ExitStack() as running:
            for file, copy in places.items():
                if objects is None:
                    objects = running.enter_context(_git(repository, "cat-file", "--batch"))
                    running.callback(objects.kill)
                try:
                    data = _content(objects, files[file][0], shown + file)
                except InputError as error:
                    # Git has more to say, or exits in the middle of a damaged object.
                    running.close()
                    objects = None
                    yield copy, error
                else:
                    pace.took(copy.write_bytes(data))
                    blobs[copy] = files[file][0]

    # Readers look for names of recordings beside the folder too.
    names = {*inside, *filter(wanted, files)}
    found: list[tuple[str, int, Source]] = []
    for source in copied(names, sizes.__contains__, put, walk, shown, folder, size=sum(map(int, sizes.values()))):
        key, length = source.name, 0
        if source.path in blobs:
            # A file that can't be read is refused when it is read.
            key = blobs[source.path]
            with suppress(InputError):
                data = source.content()
                key, length = _session(data[:_START_BYTES]) or key, len(data)
        found.append((key, length, source))
    longest: dict[str, tuple[int, Source]] = {}
    for key, length, source in found:
        if key not in longest or length > longest[key][0]:
            longest[key] = length, source
    yield from (source for key, _, source in found if longest[key][1] is source)


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


def _content(objects: subprocess.Popen[bytes], blob: str, name: str) -> bytes:
    """Return an object's bytes from `git cat-file`. Raises InputError if it is too large, damaged, or missing."""
    assert objects.stdin and objects.stdout
    objects.stdin.write(f"{blob}\n".encode())
    objects.stdin.flush()
    head = objects.stdout.readline().split()
    if len(head) != 3:
        raise InputError(name, f"is not among the repository's objects: {b' '.join(head).decode()}")
    size = int(head[2])
    if size > most_bytes():
        raise too_large(name)
    data = objects.stdout.read(size)
    # A line end stands behind the object.
    if len(data) < size or not objects.stdout.read(1):
        raise InputError(name, "is a damaged object of the repository")
    return data
