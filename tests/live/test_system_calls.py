"""What is asked of Linux to hold an agent in: each system call with its numbers, told to a library that does nothing.

Sources of the numbers: include/uapi/linux/landlock.h, sched.h, mount.h, prctl.h and asm-generic/unistd.h of Linux 6.12.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxsim.live import confined
from ctxsim.live.confined import DEVICES, FILES, NETWORK, SETTINGS, SOCKETS, SYSTEM, enclose, enter, readable, restrict

SYSCALLS = {
    444: "landlock_create_ruleset",
    445: "landlock_add_rule",
    446: "landlock_restrict_self",
    442: "mount_setattr",
}


class Library:
    """Records what is called, and answers by name: 0 where nothing else is said."""

    def __init__(self, answers: dict[str, int]) -> None:
        self.answers, self.calls = answers, [("", ())][:0]

    def __getattr__(self, name: str) -> Callable[..., int]:
        def called(*given: Any) -> int:
            plain = tuple(getattr(one, "value", one) for one in given)
            which, plain = (SYSCALLS[plain[0]], plain[1:]) if name == "syscall" else (name, plain)
            self.calls.append((which, plain))
            if which == "landlock_create_ruleset" and plain[0] is None:
                which = "version"
            return self.answers.get(which, 0)

        return called

    def of(self, name: str) -> list[tuple[Any, ...]]:
        return [given for one, given in self.calls if one == name]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Library]:
    def made(**answers: int) -> Library:
        one = Library(answers)
        monkeypatch.setattr(confined.ctypes, "CDLL", lambda name, use_errno: one)
        monkeypatch.setattr(confined.sys, "platform", "linux")
        return one

    return made


RIGHTS_GIVEN_UP = [(24, number, 0, 0, 0) for number in range(64)] + [(38, 1, 0, 0, 0)]
"""PR_CAPBSET_DROP for each capability, PR_SET_NO_NEW_PRIVS."""


# Landlock


@pytest.mark.parametrize(
    ("version", "rights", "scoped", "size"),
    [
        # Version 2 added REFER, 3 TRUNCATE, 5 IOCTL_DEV; 6 scopes for abstract sockets and signals.
        (1, 0x1FFF, 0, 8), (2, 0x3FFF, 0, 8), (3, 0x7FFF, 0, 8), (4, 0x7FFF, 0, 8), (5, 0xFFFF, 0, 8),
        (6, 0xFFFF, 3, 24), (7, 0xFFFF, 3, 24),
    ],
)  # fmt: skip
def test_landlock_by_version(
    version: int, rights: int, scoped: int, size: int, library: Callable[..., Library], tmp_path: Path
) -> None:
    one = library(version=version, landlock_create_ruleset=os.open(os.devnull, os.O_RDONLY))
    assert restrict(str(tmp_path), [])
    asked, made = one.of("landlock_create_ruleset")
    assert asked == (None, 0, 1) and made == (struct.pack("QQQ", rights, 0, scoped), size, 0)
    assert one.of("prctl") == RIGHTS_GIVEN_UP
    ((rules, flags),) = one.of("landlock_restrict_self")
    assert flags == 0 and [name for name, _ in one.calls].index("prctl") > 2
    with pytest.raises(OSError):
        os.fstat(rules)  # closed


def test_what_landlock_allows_of_each_path(library: Callable[..., Library], tmp_path: Path) -> None:
    one = library(version=3, landlock_create_ruleset=os.open(os.devnull, os.O_RDONLY))
    opened: dict[int, str] = {}
    found = dict[str, int]()
    real_open, real_close = os.open, os.close

    def opening(path: str, flags: int) -> int:
        assert flags == os.O_PATH | os.O_CLOEXEC
        handle = real_open(path, flags)
        opened[handle] = path
        return handle

    def closing(handle: int) -> None:
        if handle in opened:
            *_, (_, beneath, rule, flags) = one.of("landlock_add_rule")
            what, of = struct.unpack("=Qi", rule)
            assert (beneath, flags, of) == (1, 0, handle)
            found[opened.pop(handle)] = what
        real_close(handle)

    (tmp_path / "work").mkdir()
    (tmp_path / "file").write_text("x")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confined.os, "open", opening)
        patch.setattr(confined.os, "close", closing)
        assert restrict(str(tmp_path / "work"), [str(tmp_path / "file"), str(tmp_path / "none")])
    # EXECUTE 1, WRITE_FILE 2, READ_FILE 4, READ_DIR 8: folders are read, of a file no folder's right is asked for.
    assert found["/usr"] == 0b1101 == found["/proc"] and found[str(tmp_path / "file")] == 0b101
    assert found["/dev/null"] == 0b110 and found[str(tmp_path / "work")] == 0x7FFF
    allowed = {*SYSTEM, *SETTINGS, *(f"/dev/{name}" for name in DEVICES)}
    allowed |= {"/proc", str(tmp_path / "file"), str(tmp_path / "work")}
    assert set(found) == {path for path in allowed if Path(path).exists()} and not opened


@pytest.mark.parametrize("answers", [{"version": 0}, {"version": -1}, {"version": 1, "landlock_create_ruleset": -1}])
def test_without_landlock_nothing_is_changed(answers: dict[str, int], library: Callable[..., Library]) -> None:
    one = library(**answers)
    assert restrict("/work", []) is False
    assert not one.of("prctl") and not one.of("landlock_restrict_self") and not one.of("landlock_add_rule")


def test_a_restriction_that_is_refused_and_another_system(
    library: Callable[..., Library], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    handle = os.open(os.devnull, os.O_RDONLY)
    refusing = library(version=1, landlock_create_ruleset=handle, landlock_restrict_self=-1)
    ctypes.set_errno(errno.E2BIG)
    assert restrict(str(tmp_path), []) is False and not refusing.of("prctl"), "it keeps its rights"
    # Who isn't root is asked to gain none first.
    refusing.answers["landlock_create_ruleset"] = os.open(os.devnull, os.O_RDONLY)
    ctypes.set_errno(errno.EPERM)
    assert restrict(str(tmp_path), []) is False and refusing.of("prctl") == RIGHTS_GIVEN_UP[-1:]
    assert len(refusing.of("landlock_restrict_self")) == 3
    one = library(version=6)
    monkeypatch.setattr(confined.sys, "platform", "darwin")
    assert restrict("/work", []) is False and enclose() == () and not one.calls


# namespaces


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What is written into /proc/self, without being written."""
    found: dict[str, str] = {}
    monkeypatch.setattr(Path, "write_text", lambda self, text: found.update({str(self): text}))
    return found


@pytest.mark.parametrize(("rooted", "held"), [(True, (NETWORK, FILES, SOCKETS)), (False, (NETWORK,))])
def test_the_child_goes_on_in_namespaces_of_its_own(
    rooted: bool, held: tuple[str, ...], library: Callable[..., Library], written: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    one, asked = library(), []
    monkeypatch.setattr(os, "fork", lambda: 0)
    monkeypatch.setattr(confined.fcntl, "ioctl", lambda made, number, data: asked.append((number, data)))
    assert (enclose(lambda: True) if rooted else enclose()) == held
    # CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET.
    assert one.of("unshare") == [(0x00020000 | 0x10000000 | 0x20000000 | 0x40000000,)]
    user, group = os.getuid(), os.getgid()
    assert written == {
        "/proc/self/setgroups": "deny", "/proc/self/uid_map": f"{user} {user} 1",
        "/proc/self/gid_map": f"{group} {group} 1",
    }  # fmt: skip
    # PR_SET_PDEATHSIG; SIOCSIFFLAGS with IFF_UP and IFF_RUNNING for the loopback.
    assert one.of("prctl") == [(1, signal.SIGKILL)]
    assert asked == [(0x8914, struct.pack("16sH14x", b"lo", 0x41))]


@pytest.mark.parametrize(("status", "code"), [(0, 0), (7 << 8, 7), (9, 247)])
def test_the_parent_ends_as_its_child_does(
    status: int, code: int, library: Callable[..., Library], written: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, ended, sent = library(), [], []
    handlers: dict[int, Any] = {}

    def exiting(status: int) -> None:
        ended.append(status)
        raise SystemExit

    monkeypatch.setattr(os, "fork", lambda: 4711)
    monkeypatch.setattr(os, "waitpid", lambda child, options: (child, status) if options == 0 else (0, 0))
    monkeypatch.setattr(os, "_exit", exiting)
    monkeypatch.setattr(os, "kill", lambda child, number: sent.append((child, number)))
    monkeypatch.setattr(confined.signal, "signal", lambda number, handler: handlers.update({number: handler}))
    with pytest.raises(SystemExit):
        enclose()
    assert ended == [code] and one.of("prctl") == [(1, signal.SIGKILL)]
    # It takes its child along when it is told to end.
    handlers[signal.SIGTERM](signal.SIGTERM, None)
    assert sent == [(4711, signal.SIGKILL)]


def test_where_the_system_allows_no_namespaces_nothing_is_changed(
    library: Callable[..., Library], written: dict[str, str]
) -> None:
    one = library(unshare=-1)
    assert enclose(lambda: True) == () and written == {} and [name for name, _ in one.calls] == ["unshare"]


# a root of one's own


def test_what_is_mounted_below_a_new_root(library: Callable[..., Library], tmp_path: Path) -> None:
    # The last step is refused: nothing of this process changes.
    one = library(pivot_root=-1)
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "inside").mkdir()
    (tmp_path / "link").symlink_to(shown)
    work = tmp_path / "work"
    work.mkdir()
    cwd = Path.cwd()
    assert enter(str(work), "/tmp/inside", [str(shown), str(shown / "inside"), str(tmp_path / "link")]) is False
    assert Path.cwd() == cwd and not one.of("umount2") and not one.of("prctl")
    root, private, bind = f"{work}/root", 0x4000 | 0x40000, 0x1000 | 0x4000
    plain = [tuple(os.fsdecode(one) if isinstance(one, bytes) else one for one in given) for given in one.of("mount")]
    # MS_REC and MS_PRIVATE; MS_NOSUID and MS_NODEV.
    assert plain[:2] == [(None, "/", None, private, None), ("tmpfs", root, "tmpfs", 2 | 4, None)]
    bound = {given[0]: given[1:] for given in plain[2:]}
    assert bound[str(shown)] == (f"{root}{shown}", None, bind, None)
    assert bound["/usr"] == (f"{root}/usr", None, bind, None)
    assert bound[str(work)] == (
        f"{root}/tmp/inside",
        None,
        bind,
        None,
    )
    assert bound["/dev/null"] == (f"{root}/dev/null", None, bind, None) and Path(root, "dev/null").is_file()
    assert bound["proc"] == (f"{root}/proc", "proc", 2 | 4, None)
    assert bound["devpts"] == (f"{root}/dev/pts", "devpts", 2, "newinstance,ptmxmode=0666")
    assert (
        {f"/dev/{name}" for name in DEVICES} <= set(bound)
        and Path(root, "dev/shm").is_dir()
        and Path(root, "old").is_dir()
    )
    # A link stays one, and what it leads to is shown.
    assert Path(f"{root}{tmp_path}/link").readlink() == shown
    # Read-only with all below it: AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY and MOUNT_ATTR_NOSUID.
    locked = one.of("mount_setattr")
    assert (-100, os.fsencode(f"{root}/usr"), 0x8000, struct.pack("QQQQ", 1 | 2, 0, 0, 0), 32) in locked
    assert os.fsencode(f"{root}/dev/null") not in {given[1] for given in locked}
    assert one.of("pivot_root") == [(os.fsencode(root), os.fsencode(f"{root}/old"))]


def test_a_mount_that_is_refused_ends_it(library: Callable[..., Library], tmp_path: Path) -> None:
    one = library(mount=-1)
    assert enter(str(tmp_path), "/tmp/inside", []) is False
    assert [name for name, _ in one.calls] == ["mount"]


def test_what_an_agent_needs_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    for folder in ("tools/bin", "shims/shims", "plain", "mine", "home/.local/bin", "far/bin"):
        (tmp_path / folder).mkdir(parents=True)
    program = tmp_path / "far" / "bin" / "agent"
    program.write_text("")
    program.chmod(0o755)
    (tmp_path / "plain" / "agent").symlink_to(program)
    script = tmp_path / "mine" / "agent.py"
    script.write_text("")
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.setattr(confined.sys, "path", [str(home), str(tmp_path / "mine"), "/nowhere/at/all"])
    monkeypatch.setattr(confined.sys, "prefix", "/opt/venv")
    monkeypatch.setattr(confined.sys, "base_prefix", "/python")
    path = os.pathsep.join(
        str(tmp_path / one) for one in ("tools/bin", "shims/shims", "plain", "none", "home/.local/bin")
    )
    found = readable(path, ["agent", str(script), "relative.py", "/nowhere/file"])
    t = str(tmp_path)
    # With a folder of programs the one above it; no single name; of a home folder nothing, but what is in it.
    assert found == [
        "/opt/venv", "/python", str(Path(confined.__file__).parents[1]), f"{t}/mine", f"{t}/tools/bin",
        f"{t}/tools",
        f"{t}/shims/shims", f"{t}/shims", f"{t}/plain", f"{t}/home/.local/bin", f"{t}/home/.local", f"{t}/far/bin",
        f"{t}/far",
        f"{t}/mine/agent.py",
    ]  # fmt: skip
    assert readable("", []) == found[:4]
