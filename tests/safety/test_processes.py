"""How our processes are started, what they see of others, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from project import ROOT

from ctxsim.safety.processes import SAFE_PATH, ended, environment, exchanged, python, safe_path, without_keys

DEAF = """
import signal, time
from ctxsim.safety.processes import end_soon
for one in (signal.SIGTERM, signal.SIGINT):
    signal.signal(one, lambda *_: None)
signal.signal(signal.SIGUSR1, lambda *_: print("still here", flush=True))
end_soon(0.01)
print(flush=True)
while True:
    time.sleep(60)
"""


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_who_ignores_that_it_is_to_end_is_ended(told: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE) as process:
        assert process.stdout
        try:
            process.stdout.readline()
            process.send_signal(signal.SIGUSR1)
            assert process.stdout.readline() == b"still here\n", "another signal ends nothing"
            process.send_signal(told)
            assert process.wait(10) == 128 + told
        finally:
            process.kill()


def test_who_has_nothing_more_to_do_ends_as_ever() -> None:
    code = "from ctxsim.safety.processes import end_soon; end_soon(60)"
    assert subprocess.run([sys.executable, "-c", code], timeout=30, check=False).returncode == 0


def test_more_than_pipes_hold_is_given_and_answered_until_the_program_ends() -> None:
    data = bytes(range(256)) * 4_000
    code = f"import sys; sys.stdout.buffer.write(sys.stdin.buffer.read({len(data)})[::-1])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as it:
        assert it.stdin and it.stdout
        for pipe in (it.stdin, it.stdout):
            os.set_blocking(pipe.fileno(), False)
        assert b"".join(exchanged(it.stdin, it.stdout, data)) == data[::-1]


def test_how_a_process_ended_in_words() -> None:
    assert [ended(status) for status in (3, 1, 0, -1, -9, -99)] == [
        "ended with status 3", "ended with status 1", "ended with status 0", "was ended by SIGHUP",
        "was ended by SIGKILL", "ended with status -99",
    ]  # fmt: skip


KERNEL_TELLS = """
import ctypes, os, sys
from ctxsim.safety.processes import end_with
end_with(os.getppid())
told = ctypes.c_int()
ctypes.CDLL(None).prctl(2, ctypes.byref(told))
print(told.value)
"""
"""2 is PR_GET_PDEATHSIG of prctl(2): the signal that this process gets when its parent ends."""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere no kernel tells")
def test_a_process_is_killed_with_its_parent_and_ends_by_itself_before() -> None:
    done = subprocess.run([sys.executable, "-c", KERNEL_TELLS], stdout=subprocess.PIPE, timeout=30, check=True)
    assert int(done.stdout) == signal.SIGKILL


def test_whose_parent_has_ended_already_ends_at_once() -> None:
    code = "from ctxsim.safety.processes import end_with; end_with(-1); print('on')"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (1, b"")


ASKS = """
import os, sys, time
sys.platform = "elsewhere"
from ctxsim.safety.processes import end_with
end_with(os.getppid())
time.sleep(0.05)
print("on", flush=True)
time.sleep(60)
"""


def test_where_no_kernel_tells_a_process_asks_for_its_parent() -> None:
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {ASKS!r}])"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == b"on\n"
        parent.kill()
        # Its end closes the pipe; it would sleep a minute.
        assert parent.stdout.read() == b""


def test_a_module_is_run_without_the_current_folder_on_its_path() -> None:
    assert python("ctxsim.cli", "bench", "-") == [sys.executable, "-P", "-m", "ctxsim.cli", "bench", "-"]


def test_an_environment_has_our_search_path_and_the_current_folder_where_somebody_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, other = str(tmp_path), str(tmp_path / "other")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", here, other])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert environment()["PYTHONPATH"] == other
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["said", here]))
    assert environment()["PYTHONPATH"] == os.pathsep.join([here, other])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["said", "."]))
    assert environment()["PYTHONPATH"] == os.pathsep.join([here, other])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["said", ""]))
    assert environment()["PYTHONPATH"] == other
    # The folder that holds ctxsim is needed, whoever stands there.
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", ["", str(ROOT), other])
    assert environment()["PYTHONPATH"] == os.pathsep.join([str(ROOT), other])
    assert environment(A="1", PYTHONPATH="mine") == {**os.environ, "A": "1", "PYTHONPATH": "mine"}


def test_what_a_program_gets_holds_no_secret() -> None:
    given = {"HOME": "/h", "API_KEY": "k", "LANG": "C", "PATH": "/bin", "LC_ALL": "C", "PYTHONPATH": "/p"}
    assert without_keys(given) == {"PATH": "/bin", "PYTHONPATH": "/p", "LANG": "C", "HOME": "/h"}
    assert without_keys({"PATH": "/bin"}) == {"PATH": "/bin"}


@pytest.mark.parametrize("before", [None, "0"])
def test_a_safe_path_is_set_meanwhile(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SAFE_PATH, raising=False)
    if before is not None:
        monkeypatch.setenv(SAFE_PATH, before)
    with pytest.raises(KeyError), safe_path():
        assert os.environ["PYTHONSAFEPATH"] == "1"
        raise KeyError
    assert os.environ.get(SAFE_PATH) == before
