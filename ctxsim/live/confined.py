"""What confines a driven agent, without privileges: on Linux namespaces with a root of its own, or else Landlock; on
macOS `sandbox-exec`.

The root has programs to read, the agent's folder to write, and nothing else of this machine: no home, no sockets of
services, no other process in /proc.
"""

import ctypes
import errno
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

NETWORK, FILES, SOCKETS = "network", "files", "sockets"
"""What an agent can be cut off from."""

Hold = Callable[[list[str]], list[str]]
"""Callable that takes a command and returns the command that runs it confined."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix")
"""Folders of programs and libraries; those that don't exist are skipped."""

SETTINGS = tuple(f"/etc/{name}" for name in (
    "alternatives", "ca-certificates", "fonts", "group", "host.conf", "hosts", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "passwd", "pki", "protocols", "services", "ssl",
))  # fmt: skip
"""The files and folders of /etc that any program may read."""

DEVICES = ("null", "zero", "full", "random", "urandom")
_PROGRAMS = ("bin", "shims", ".bin")

_NEW_MOUNTS, _NEW_USER, _NEW_PID, _NEW_NET = 0x00020000, 0x10000000, 0x20000000, 0x40000000
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41
_DEATH_SIGNAL, _DROP_BOUNDING, _NO_NEW_RIGHTS, _CAPABILITIES = 1, 24, 38, 64

_BIND, _RECURSIVE, _PRIVATE, _DETACHED = 0x1000, 0x4000, 0x40000, 2
_NO_SETUID, _NO_DEVICES = 2, 4
_MOUNT_SETATTR, _HERE, _AT_RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 1

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION, _BENEATH = 1, 1
_EXECUTE, _WRITE, _READ, _READ_FOLDER = 1, 2, 4, 8
_OF_FILES = _EXECUTE | _WRITE | _READ
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All access rights to files, as bits, by the first version of Landlock's interface that has them."""
_SIGNALS_AND_SOCKETS, _FROM = 0b11, 6
"""Flags that forbid abstract sockets and signals to the outside, and the first version that has them."""

_SANDBOX = "sandbox-exec"
_SANDBOX_DEVICES = ("null", "zero", "random", "urandom", "dtracehelper", "tty")


def enclose(root: Callable[[], bool] = lambda: False) -> tuple[str, ...]:
    """Continue in new namespaces, in a child of this process. This process exits with the child's status.

    Returns what the child is cut off from: the network, and files and sockets too if `root`, called in the child, is
    True. Returns () and changes nothing if the system doesn't allow it. Call it before any thread is started.
    Rule: unshare(2), user_namespaces(7), pid_namespaces(7): when the first process of a pid namespace ends, all others
    in it are killed.
    """
    if not sys.platform.startswith("linux"):
        return ()
    user, group = os.getuid(), os.getgid()
    if _libc().unshare(_NEW_USER | _NEW_PID | _NEW_NET | _NEW_MOUNTS) != 0:
        return ()
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    child = os.fork()
    # If the process that started this one ends, the run ends too.
    _libc().prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if child:
        signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        fcntl.ioctl(made, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP_AND_RUNNING))
    return (NETWORK, FILES, SOCKETS) if root() else (NETWORK,)


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
    try:
        _mount(None, "/", None, _RECURSIVE | _PRIVATE)
        root = Path(work, "root")
        root.mkdir()
        _mount("tmpfs", str(root), "tmpfs", _NO_SETUID | _NO_DEVICES)
        # Links come last, since their targets may lie in folders that are shown.
        for path in sorted({*SYSTEM, *SETTINGS, *readable}, key=lambda path: (Path(path).is_symlink(), path)):
            _show(path, root)
        for name in DEVICES:
            _bind(f"/dev/{name}", root / "dev" / name)
        for name in ("tmp", "dev/shm", "dev/pts", "proc", "old"):
            (root / name).mkdir(exist_ok=True)
        _bind(work, Path(f"{root}{inside}"))
        _mount("proc", f"{root}/proc", "proc", _NO_SETUID | _NO_DEVICES)
        # The root has its own pseudo-terminals, in which agents run commands.
        _mount("devpts", f"{root}/dev/pts", "devpts", _NO_SETUID, b"newinstance,ptmxmode=0666")
        _done(_libc().pivot_root(os.fsencode(root), os.fsencode(root / "old")))
        os.chdir("/")
        _done(_libc().umount2(b"/old", _DETACHED))
    except OSError:
        return False
    Path("/old").rmdir()
    for name, to in (("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2"), ("fd", "")):
        Path("/dev", name).symlink_to(f"/proc/self/fd{to}")
    Path("/dev/ptmx").symlink_to("pts/ptmx")
    _give_up_rights()
    return True


def _show(path: str, root: Path) -> None:
    """Make a path readable below the new root, unless it doesn't exist or is there already, inside another path."""
    target = Path(f"{root}{path}")
    if os.path.lexists(target) or not os.path.lexists(path):
        return
    if Path(path).is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(Path(path).readlink())
        _show(os.path.realpath(path), root)
    elif Path(path).exists():
        _bind(path, target)
        attributes = struct.pack("QQQQ", _READ_ONLY | _NO_SETUID, 0, 0, 0)
        _done(_libc().syscall(_MOUNT_SETATTR, _HERE, os.fsencode(target), _AT_RECURSIVE, attributes, len(attributes)))


def _bind(path: str, target: Path) -> None:
    if Path(path).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    _mount(path, str(target), None, _BIND | _RECURSIVE)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: bytes | None = None) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _done(_libc().mount(*words, ctypes.c_ulong(flags), data))


def restrict(work: str, readable: Iterable[str]) -> bool:
    """Let this thread and what it starts read only programs and these paths, and write only `work`. It can't be undone,
    and leaves sockets of services in the file system reachable.

    Call it before any thread is started. Returns False if the system has no Landlock or refuses it; the process keeps
    its rights then. Rule: landlock(7), the system calls of include/uapi/linux/landlock.h.
    """
    if not sys.platform.startswith("linux"):
        return False
    call = _libc().syscall
    version = call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    if version < 1:
        return False
    rights = _RIGHTS[max(first for first in _RIGHTS if first <= version)]
    wanted = struct.pack("QQQ", rights, 0, _SIGNALS_AND_SOCKETS if version >= _FROM else 0)
    size = len(wanted) if version >= _FROM else 8
    rules = call(_CREATE, wanted, ctypes.c_size_t(size), ctypes.c_uint32(0))
    if rules < 0:
        return False
    allowed = dict.fromkeys((*SYSTEM, *SETTINGS, *readable, "/proc"), _EXECUTE | _READ | _READ_FOLDER)
    allowed |= {f"/dev/{name}": _READ | _WRITE for name in DEVICES} | {work: rights}
    try:
        for path, what in allowed.items():
            _allow(rules, path, what & rights)
        refused = call(_RESTRICT, rules, ctypes.c_uint32(0))
        if refused and ctypes.get_errno() == errno.EPERM:
            # Who doesn't administer the system may be restricted only if no program can gain rights any more.
            _libc().prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0)
            refused = call(_RESTRICT, rules, ctypes.c_uint32(0))
    finally:
        os.close(rules)
    if not refused:
        _give_up_rights()
    return not refused


def _allow(rules: int, path: str, what: int) -> None:
    """Add a rule for a path and everything below it, if the path exists and may be opened."""
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rule = struct.pack("=Qi", what if Path(path).is_dir() else what & _OF_FILES, handle)
            _libc().syscall(_ADD, rules, _BENEATH, rule, ctypes.c_uint32(0))
        finally:
            os.close(handle)


def has_sandbox() -> bool:
    """Return whether this system has `sandbox-exec` of macOS. It still ships; Apple names no successor."""
    return sys.platform == "darwin" and shutil.which(_SANDBOX) is not None


def sandboxed(command: Sequence[str], work: str, readable: Iterable[str]) -> list[str]:
    """Return the command that runs another one confined: it reads only programs and these paths, writes only `work`,
    and connects only to this machine. Rule: sandbox-exec(1); a later rule overrides an earlier one.
    """
    paths = " ".join(f"(subpath {_quoted(path)})" for path in (work, *readable))
    devices = " ".join(f'(literal "/dev/{name}")' for name in _SANDBOX_DEVICES)
    profile = (
        "(version 1) (allow default)"
        ' (deny file-read* (subpath "/Users") (subpath "/Volumes") (subpath "/private"))'
        " (allow file-read-metadata)"
        ' (allow file-read* (subpath "/private/etc") (subpath "/private/var/db") (subpath "/private/var/select"))'
        f" (allow file-read* {paths})"
        f" (deny file-write*) (allow file-write* (subpath {_quoted(work)}) {devices})"
        ' (deny network*) (allow network* (local ip "localhost:*") (remote ip "localhost:*"))'
    )
    return [_SANDBOX, "-p", profile, *command]


def _quoted(path: str) -> str:
    """Return a path in the profile's language, with links resolved, since rules apply to a link's target."""
    return json.dumps(str(Path(path).resolve()), ensure_ascii=False)


def _give_up_rights() -> None:
    """Keep programs that this process starts from mounting anything or reading other processes, even as root."""
    for number in range(_CAPABILITIES):
        _libc().prctl(_DROP_BOUNDING, number, 0, 0, 0)
    _libc().prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _done(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), "not allowed")
