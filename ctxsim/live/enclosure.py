"""Linux namespaces for a run: no network but loopback, no process that outlives the run, and only the files shown.

They need no privileges.
"""

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

_NEW_MOUNTS, _NEW_USER, _NEW_PID, _NEW_NET = 0x00020000, 0x10000000, 0x20000000, 0x40000000
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41
_DEATH_SIGNAL = 1


NETWORK, FILES, SOCKETS = "network", "files", "sockets"
"""What an agent can be cut off from."""

Hold = Callable[[list[str]], list[str]]
"""Callable that takes a command and returns the command that runs it confined."""


def enclose(root: Callable[[], bool] = lambda: False) -> tuple[str, ...]:
    """Continue in new namespaces, in a child of this process. This process exits with the child's status.

    Returns what the child is cut off from: the network, and files and sockets too if `root`, called in the child, is
    True. Returns () and changes nothing if the system doesn't allow it. Call it before any thread is started.
    Rule: unshare(2), user_namespaces(7), pid_namespaces(7): when the first process of a pid namespace ends, all others
    in it are killed.
    """
    if not sys.platform.startswith("linux"):
        return ()
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_USER | _NEW_PID | _NEW_NET | _NEW_MOUNTS) != 0:
        return ()
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    child = os.fork()
    if child:
        # If the process that started this one ends, the run ends too.
        libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)
        signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        fcntl.ioctl(made, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP_AND_RUNNING))
    return (NETWORK, FILES, SOCKETS) if root() else (NETWORK,)
