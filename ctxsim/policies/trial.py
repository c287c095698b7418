"""Opens users' code in another process first. Code that ends, hangs or changes that process is refused with a line.

`python -m ctxsim.policies.trial LABEL PARENT` opens a label as the process PARENT would, and prints the outcome.
"""

import importlib
import os
import subprocess
import sys
from collections.abc import Container
from pathlib import Path
from typing import Any

from ctxsim.errors import ContractError, LabelError, one_line
from ctxsim.plugins import labels
from ctxsim.plugins.files import files_given
from ctxsim.safety.processes import end_group, end_with, ended, environment, python

LIMIT_S = 60.0
"""Seconds that opening a label may take."""

SHARED = (
    "builtins", "hashlib", "io", "json", "math", "msgspec", "os", "pickle", "random", "re", "signal", "struct",
    "subprocess", "time",
)  # fmt: skip
"""Modules that the rest of the process uses too: users' code may not replace their functions."""

_FINE = "fine"
_SAID = "ctxsim: "

_FORKS = ("os.fork", "os.forkpty")


def tried(label: str) -> None:
    """Open a label that names a file in another process, once for each content of the file.

    Raises LabelError if that process ends, doesn't answer, forks, or has shared modules changed. Other errors are
    ignored: opening the label in this process raises them again, with their location.
    """
    if files_given() or os.name != "posix":
        return
    links = labels.chain(label)
    files = {
        f"{part.rpartition('estimator=')[2]}.py".removeprefix("messages:")
        for link in links
        for part in link.split(".py:")[:-1]
    }
    key: tuple[str | bytes, ...] = ("+".join(labels.named(link)[0] for link in links), *map(_text, sorted(files)))
    if key not in _known:
        _known[key] = _answer(label)
    if _known[key] != _FINE:
        raise LabelError(f"{label}: {_known[key]}, when it was opened in a process of its own")


_known: dict[tuple[str | bytes, ...], str] = {}


def _text(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _answer(label: str) -> str:
    with subprocess.Popen(
        python(__name__, label, str(os.getpid())), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=environment(), start_new_session=True,
    ) as running:  # fmt: skip
        try:
            said, _ = running.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"did not come back within {LIMIT_S:g} s"
        finally:
            end_group(running.pid)
    last = said.decode("utf-8", "replace").strip().splitlines()[-1:]
    if last and last[0].startswith(_SAID):
        return last[0].removeprefix(_SAID)
    return f"its process {ended(running.returncode)} without an answer"


class Watch:
    """The functions of shared modules, which must stay the same in a process that runs users' code."""

    def __init__(self) -> None:
        modules = map(importlib.import_module, SHARED)
        self._before = [(one, {name: value for name, value in vars(one).items() if callable(value)}) for one in modules]

    def changed(self) -> str:
        """Return, in words, which shared module or function of it has been replaced; '' for none."""
        for name, (module, functions) in zip(SHARED, self._before, strict=True):
            if sys.modules.get(name) is not module:
                return f"replaced the module {name}, which others use too"
            for function, before in functions.items():
                if vars(module).get(function) is not before:
                    return f"replaced {name}.{function}, which others use too"
        return ""


def refuse(events: Container[str], what: str) -> None:
    """Raise ContractError at these audit events, from now on in this process. `what` is the event in the message."""

    def hook(event: str, arguments: Any) -> None:
        if event in events:
            raise ContractError(f"{what} ({event}); a policy may only look at the view")

    sys.addaudithook(hook)


def refuse_copies() -> None:
    """Forbid forks of this process from now on: parent and child would both go on with its work."""
    refuse(_FORKS, "starts a copy of its process")


def main() -> None:
    """Open the label, and write the outcome as the last line of standard output."""
    label, parent = sys.argv[1:]
    end_with(int(parent))
    # Output of users' code goes to standard error; only `said` reaches the parent.
    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from ctxsim.policies import opened_here

    watch = Watch()
    refuse_copies()
    wrong = ""
    try:
        opened_here(label)
    except ContractError as error:
        wrong = one_line(str(error))
    # Users' code may raise anything. The parent meets the same error and reports it.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        wrong = one_line(str(error)) if any(fork in str(error) for fork in _FORKS) else ""
    said.write(f"\n{_SAID}{wrong or watch.changed() or _FINE}\n")
    said.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
