"""The import of ctxsim: it loads nothing, and hands on what is public."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ctxsim


def fresh(code: str) -> str:
    """What a new Python prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_loads_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); import ctxsim; new = set(sys.modules) - before\n"
        "print(sorted(name for name in new if name.partition('.')[0] not in sys.stdlib_module_names))"
    )
    assert fresh(code) == "['ctxsim']"


def test_what_is_public_is_there() -> None:
    assert set(ctxsim.__all__) <= set(dir(ctxsim))
    for name in ctxsim.__all__:
        assert getattr(ctxsim, name).__doc__, name
    with pytest.raises(AttributeError, match="measures"):
        ctxsim.measures  # noqa: B018
