"""Linux's Landlock: keeps files from this process and its children, if the system allows it no root of its own.

It needs no privileges, and can't be undone. Sockets of services in the file system stay reachable.
Rule: landlock(7), the system calls of include/uapi/linux/landlock.h.
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from ctxsim.live.own_root import DEVICES, NO_NEW_RIGHTS, SETTINGS, SYSTEM, give_up_rights

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION, _BENEATH = 1, 1
_EXECUTE, _WRITE, _READ, _READ_FOLDER = 1, 2, 4, 8
_OF_FILES = _EXECUTE | _WRITE | _READ
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All access rights to files, as bits, by the first version of Landlock's interface that has them."""
_SIGNALS_AND_SOCKETS, _FROM = 0b11, 6
"""Flags that forbid abstract sockets and signals to the outside, and the first version that has them."""


def restrict(work: str, readable: Iterable[str]) -> bool:
    """Let this thread and what it starts read only programs and these paths, and write only `work`.

    Call it before any thread is started. Returns False if the system has no Landlock or refuses it; the process keeps
    its rights then.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    if version < 1:
        return False
    rights = _RIGHTS[max(first for first in _RIGHTS if first <= version)]
    wanted = struct.pack("QQQ", rights, 0, _SIGNALS_AND_SOCKETS if version >= _FROM else 0)
    size = len(wanted) if version >= _FROM else 8
    rules = libc.syscall(_CREATE, wanted, ctypes.c_size_t(size), ctypes.c_uint32(0))
    if rules < 0:
        return False
    reading = _EXECUTE | _READ | _READ_FOLDER
    allowed = dict.fromkeys((*SYSTEM, *SETTINGS, *readable, "/proc"), reading)
    allowed |= {f"/dev/{name}": _READ | _WRITE for name in DEVICES} | {work: rights}
    try:
        for path, what in allowed.items():
            _allow(libc, rules, path, what & rights)
        restricted = partial(libc.syscall, _RESTRICT, rules, ctypes.c_uint32(0))
        refused = restricted()
        if refused and ctypes.get_errno() == errno.EPERM:
            # Who doesn't administer the system may be restricted only if no program can gain rights any more.
            libc.prctl(NO_NEW_RIGHTS, 1, 0, 0, 0)
            refused = restricted()
    finally:
        os.close(rules)
    if not refused:
        give_up_rights(libc)
    return not refused


def _allow(libc: ctypes.CDLL, rules: int, path: str, what: int) -> None:
    """Add a rule for a path and everything below it, if the path exists and may be opened."""
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rule = struct.pack("=Qi", what if Path(path).is_dir() else what & _OF_FILES, handle)
            libc.syscall(_ADD, rules, _BENEATH, rule, ctypes.c_uint32(0))
        finally:
            os.close(handle)
