"""Files and network held from a program on macOS: `sandbox-exec`, which is there, though Apple names no successor."""

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

PROGRAM = "sandbox-exec"

_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper", "/dev/tty")


def there() -> bool:
    """Return whether this system has it."""
    return sys.platform == "darwin" and shutil.which(PROGRAM) is not None


def held(command: Sequence[str], work: str, readable: Iterable[str]) -> list[str]:
    """Return the command that runs another one so that it reads programs and these paths, writes `work` alone, and
    reaches this machine alone. Rule: sandbox-exec(1); what a later line says goes before an earlier one.
    """
    paths = " ".join(f"(subpath {_quoted(path)})" for path in (work, *readable))
    devices = " ".join(f"(literal {_quoted(path)})" for path in _DEVICES)
    profile = (
        "(version 1) (allow default)"
        ' (deny file-read* (subpath "/Users") (subpath "/Volumes") (subpath "/private"))'
        " (allow file-read-metadata)"
        ' (allow file-read* (subpath "/private/etc") (subpath "/private/var/db") (subpath "/private/var/select"))'
        f" (allow file-read* {paths})"
        f" (deny file-write*) (allow file-write* (subpath {_quoted(work)}) {devices})"
        ' (deny network*) (allow network* (local ip "localhost:*") (remote ip "localhost:*"))'
    )
    return [PROGRAM, "-p", profile, *command]


def _quoted(path: str) -> str:
    """A path as the profile's language writes it, links followed: rules are of what a link leads to."""
    return json.dumps(str(Path(path).resolve()), ensure_ascii=False)
