"""What `python -m ctxsim` starts, and what `import ctxsim` offers."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

import ctxsim
from ctxsim import __main__ as start


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was started instead of being run."""
    found: list[str] = []
    monkeypatch.setattr("ctxsim.cli.main", lambda: found.append("commands"))
    monkeypatch.setattr("ctxsim.answers.bill.status.main", lambda: found.append("status line"))
    return found


@pytest.mark.parametrize(
    ("words", "started"),
    [([], "commands"), (["bench"], "commands"), (["statusline"], "status line"), (["statusline", "--help"], "commands"),
     (["bill", "statusline"], "commands")],
)  # fmt: skip
def test_a_status_line_alone_is_made_without_the_commands(
    words: list[str], started: str, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["ctxsim", *words])
    start.main()
    assert ran == [started]


@pytest.mark.parametrize(("version", "told"), [((3, 10, 99), True), ((3, 11), False), ((3, 12), False)])
def test_an_old_python_is_told(
    version: tuple[int, ...], told: bool, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # pyproject.toml says requires-python >= 3.11.
    monkeypatch.setattr(start, "sys", SimpleNamespace(
        version_info=version, version="3.10.99 (main)", argv=["ctxsim"], exit=sys.exit,
    ))  # fmt: skip
    if told:
        with pytest.raises(SystemExit) as ended:
            start.main()
        assert ended.value.code == "ctxsim: needs Python 3.11 or newer; this is 3.10.99" and not ran
    else:
        start.main()
        assert ran == ["commands"]


def test_importing_loads_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); import ctxsim; new = set(sys.modules) - before\n"
        "print(sorted(name for name in new if name.partition('.')[0] not in sys.stdlib_module_names))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "['ctxsim']\n"


def test_each_public_name_is_loaded_from_its_module() -> None:
    public = {name for names in ctxsim.PUBLIC.values() for name in names}
    assert public == {*ctxsim.__all__, "__version__"}
    for module, names in ctxsim.PUBLIC.items():
        for name in names:
            assert getattr(ctxsim, name) is getattr(sys.modules[module], name)
    assert {*ctxsim.__all__, "PUBLIC", "__name__"} <= set(dir(ctxsim)) and dir(ctxsim) == sorted(dir(ctxsim))
    with pytest.raises(AttributeError, match="module 'ctxsim' has no attribute 'banch'"):
        ctxsim.banch  # noqa: B018
    assert ctxsim.TYPE_CHECKING is False
