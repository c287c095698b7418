"""The time limit of users' code, as a variable sets it."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ctxsim.errors import InputError, TooLong
from ctxsim.plugins.limit import DEFAULT_S, VARIABLE, limit_s, limited


@pytest.mark.parametrize(("text", "seconds"), [("0.5", 0.5), ("30", 30.0), ("999999999", 999_999_999.0)])
def test_a_positive_number_of_seconds_is_the_limit(text: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    assert limit_s() == seconds


@pytest.mark.parametrize("text", ["0", "-1", "1e9", "inf", "nan", "soon", ""])
def test_anything_else_is_no_limit(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InputError, match=f"is '{text}', not a number of seconds"):
        limit_s()


def test_the_limit_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert limit_s() == DEFAULT_S == 60.0


def test_a_block_that_takes_too_long_is_ended_and_another_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0.2")
    before, began = signal.getsignal(signal.SIGALRM), time.monotonic()
    for _ in range(2):
        with pytest.raises(TooLong, match=rf"took longer than 0\.2 s; {VARIABLE} sets the limit"), limited():
            time.sleep(9)
    assert time.monotonic() - began < 5
    with limited():
        time.sleep(0.01)
    assert signal.getsignal(signal.SIGALRM) == before and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_block_within_a_limited_one_leaves_it_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0.2")
    with pytest.raises(TooLong), limited():
        with limited():
            pass
        time.sleep(9)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_another_thread_has_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0.01")

    def patient() -> str:
        with limited():
            time.sleep(0.1)
        return "done"

    with ThreadPoolExecutor(1) as other:
        assert other.submit(patient).result() == "done"
