"""`sandbox-exec` of macOS, which keeps files and network from a program. It still ships; Apple names no successor."""

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

PROGRAM = "sandbox-exec"

_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper", "/dev/tty")


def there() -> bool:
    """Return whether this system has `sandbox-exec`."""
    return sys.platform == "darwin" and shutil.which(PROGRAM) is not None


def held(command: Sequence[str], work: str, readable: Iterable[str]) -> list[str]:
    """Return the command that runs another one confined: it reads only programs and these paths, writes only `work`,
    and connects only to this machine. Rule: sandbox-exec(1); a later rule overrides an earlier one.
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
    """Return a path in the profile's language, with links resolved, since rules apply to a link's target."""
    return json.dumps(str(Path(path).resolve()), ensure_ascii=False)
