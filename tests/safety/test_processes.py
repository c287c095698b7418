"""How our processes end."""

from __future__ import annotations

import signal
import subprocess
import sys

from ctxsim.safety.processes import ended

DEAF = """
import signal, time
from ctxsim.safety.processes import end_soon
signal.signal(signal.SIGTERM, lambda *_: None)
end_soon(0.01)
print(flush=True)
time.sleep(60)
"""


def test_who_ignores_that_it_is_to_end_is_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        process.terminate()
        assert process.wait(30) == 128 + signal.SIGTERM


def test_how_a_process_ended_in_words() -> None:
    assert [ended(status) for status in (3, -9, -99)] == [
        "ended with status 3", "was ended by SIGKILL", "ended with status -99",
    ]  # fmt: skip
