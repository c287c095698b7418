"""A root file system for a driven agent: programs to read, its own folder to write, and nothing else of this machine.

It has no home, no sockets of services, and no other process in /proc. For Linux; its namespaces need no privileges.
"""

import ctypes
import os
import shutil
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix")
"""Folders of programs and libraries; those that don't exist are skipped."""

SETTINGS = tuple(f"/etc/{name}" for name in (
    "alternatives", "ca-certificates", "fonts", "group", "host.conf", "hosts", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "passwd", "pki", "protocols", "services", "ssl",
))  # fmt: skip
"""The files and folders of /etc that any program may read."""

DEVICES = ("null", "zero", "full", "random", "urandom")
_PROGRAMS = ("bin", "shims", ".bin")

_BIND, _RECURSIVE, _PRIVATE, _DETACHED = 0x1000, 0x4000, 0x40000, 2
_NO_SETUID, _NO_DEVICES = 2, 4
_MOUNT_SETATTR, _HERE, _AT_RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 1
_DROP_BOUNDING, NO_NEW_RIGHTS, _CAPABILITIES = 24, 38, 64


def readable(path: str, command: Sequence[str]) -> list[str]:
    """Return the paths that an agent must read to run: this Python, ctxsim, and the programs on its search path.

    The user's home and the folders that contain it are left out, but not single files in them.
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
    """Make a new root, in which `work` is at `inside` and can be written, and continue in it.

    For the first process of new user, mount and process namespaces. Returns False if the system doesn't allow it; only
    this process sees what was mounted by then. Rule: pivot_root(2), mount_setattr(2).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        _mount(libc, None, "/", None, _RECURSIVE | _PRIVATE)
        root = Path(work, "root")
        root.mkdir()
        _mount(libc, "tmpfs", str(root), "tmpfs", _NO_SETUID | _NO_DEVICES)
        # Links come last, since their targets may lie in folders that are shown.
        for path in sorted({*SYSTEM, *SETTINGS, *readable}, key=lambda path: (Path(path).is_symlink(), path)):
            _show(libc, path, root)
        for name in DEVICES:
            _bind(libc, f"/dev/{name}", root / "dev" / name)
        for name in ("tmp", "dev/shm", "dev/pts", "proc", "old"):
            (root / name).mkdir(exist_ok=True)
        _bind(libc, work, Path(f"{root}{inside}"))
        _mount(libc, "proc", f"{root}/proc", "proc", _NO_SETUID | _NO_DEVICES)
        # The root has its own pseudo-terminals, in which agents run commands.
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
    """Keep programs that this process starts from mounting anything or reading other processes, even as root."""
    for number in range(_CAPABILITIES):
        libc.prctl(_DROP_BOUNDING, number, 0, 0, 0)
    libc.prctl(NO_NEW_RIGHTS, 1, 0, 0, 0)


def _show(libc: ctypes.CDLL, path: str, root: Path) -> None:
    """Make a path readable below the new root, unless it doesn't exist or is there already, inside another path."""
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
