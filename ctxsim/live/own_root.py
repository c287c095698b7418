"""A file system of one's own for a driven agent: programs to read, its work to write, and nothing else of this machine.

No home, no sockets of services, no other process in /proc. Linux, in namespaces that need no rights.
"""

import ctypes
import os
import shutil
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix")
"""Programs and libraries, as far as they are there."""

SETTINGS = tuple(f"/etc/{name}" for name in (
    "alternatives", "ca-certificates", "fonts", "group", "host.conf", "hosts", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "passwd", "pki", "protocols", "services", "ssl",
))  # fmt: skip
"""What of /etc any program may read."""

DEVICES = ("null", "zero", "full", "random", "urandom")
_PROGRAMS = ("bin", "shims", ".bin")

_BIND, _RECURSIVE, _PRIVATE, _DETACHED = 0x1000, 0x4000, 0x40000, 2
_NO_SETUID, _NO_DEVICES = 2, 4
_MOUNT_SETATTR, _HERE, _AT_RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 1
_DROP_BOUNDING, _NO_NEW_RIGHTS, _CAPABILITIES = 24, 38, 64


def readable(path: str, command: Sequence[str]) -> list[str]:
    """Return what an agent needs to read to be run: this Python, ctxsim, and the programs on its search path.

    Of a home folder itself, and of what holds one, nothing is named but single files.
    """
    found = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[1]]
    found += [Path(one) for one in sys.path if Path(one).is_dir()]
    programs = [Path(one) for one in path.split(os.pathsep) if Path(one).is_dir()]
    if command and (program := shutil.which(command[0], path=path)):
        programs.append(Path(program).resolve().parent)
    for folder in programs:
        found += [folder, folder.parent] if folder.name in _PROGRAMS else [folder]
    files = [Path(part) for part in command if part.startswith("/") and Path(part).is_file()]
    found += [one for file in files for one in (file, file.parent)]
    home = Path.home()
    kept = [one.absolute() for one in found if not home.is_relative_to(one.absolute()) and len(one.parts) > 1]
    return list(dict.fromkeys(map(str, kept)))


def enter(work: str, inside: str, readable: Iterable[str]) -> bool:
    """Go on in a root of one's own, in which `work` lies at `inside` and may be written.

    For the first process of new user, mount and process namespaces. Returns False where the system doesn't allow it;
    what was mounted then is seen by this process alone. Rule: pivot_root(2), mount_setattr(2).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        _mount(libc, None, "/", None, _RECURSIVE | _PRIVATE)
        root = Path(work, "root")
        root.mkdir()
        _mount(libc, "tmpfs", str(root), "tmpfs", _NO_SETUID | _NO_DEVICES)
        # What a link leads to may lie in a folder that is shown.
        for path in sorted({*SYSTEM, *SETTINGS, *readable}, key=lambda path: (Path(path).is_symlink(), path)):
            _show(libc, path, root)
        for name in DEVICES:
            _bind(libc, f"/dev/{name}", root / "dev" / name)
        for name in ("tmp", "dev/shm", "dev/pts", "proc", "old"):
            (root / name).mkdir(exist_ok=True)
        _bind(libc, work, Path(f"{root}{inside}"))
        _mount(libc, "proc", f"{root}/proc", "proc", _NO_SETUID | _NO_DEVICES)
        # Terminals of its own: agents run commands in one.
        _mount(libc, "devpts", f"{root}/dev/pts", "devpts", _NO_SETUID, b"newinstance,ptmxmode=0666")
        _done(libc.pivot_root(os.fsencode(root), os.fsencode(root / "old")))
        os.chdir("/")
        _done(libc.umount2(b"/old", _DETACHED))
    except OSError:
        return False
    Path("/old").rmdir()
    for name, to in (("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2"), ("fd", "")):
        Path("/dev", name).symlink_to(f"/proc/self/fd{to}")
    Path("/dev/ptmx").symlink_to("pts/ptmx")
    give_up_rights(libc)
    return True


def give_up_rights(libc: ctypes.CDLL) -> None:
    """Let no program that this process starts mount anything, or look into others, even if it runs as root."""
    for number in range(_CAPABILITIES):
        libc.prctl(_DROP_BOUNDING, number, 0, 0, 0)
    libc.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0)


def _show(libc: ctypes.CDLL, path: str, root: Path) -> None:
    """Let a path be read below the new root, if there is such a path; one that stands in another is there already."""
    target = Path(f"{root}{path}")
    if os.path.lexists(target) or not os.path.lexists(path):
        return
    if Path(path).is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(Path(path).readlink())
        _show(libc, os.path.realpath(path), root)
    elif Path(path).exists():
        _bind(libc, path, target)
        attributes = struct.pack("QQQQ", _READ_ONLY | _NO_SETUID, 0, 0, 0)
        _done(libc.syscall(_MOUNT_SETATTR, _HERE, os.fsencode(target), _AT_RECURSIVE, attributes, len(attributes)))


def _bind(libc: ctypes.CDLL, path: str, target: Path) -> None:
    if Path(path).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    _mount(libc, path, str(target), None, _BIND | _RECURSIVE)


def _mount(
    libc: ctypes.CDLL, source: str | None, target: str, kind: str | None, flags: int, data: bytes | None = None
) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _done(libc.mount(*words, ctypes.c_ulong(flags), data))


def _done(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), "not allowed")
