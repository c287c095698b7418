"""How many modules of the package a replay under keep-all loads, for a scenario and for a recording.

python -m evidence.loaded
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

MOST = {"scenario": 70, "recording": 90}
"""The most modules that each should load."""

CHAT = '{"messages": [{"role": "user", "content": "Any mail?"}, {"role": "assistant", "content": "Two."}]}\n'
COUNT = (
    "import sys, ctxsim; ctxsim.replay(sys.argv[1], 'keep-all');"
    "print(sum(name.split('.')[0] == 'ctxsim' for name in sys.modules))"
)


def loaded(what: str) -> int:
    """Return the number of modules after `ctxsim.replay(what)` in a process of its own."""
    done = subprocess.run([sys.executable, "-c", COUNT, what], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def counts() -> dict[str, int]:
    """Return both numbers."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "chat.jsonl")
        log.write_text(CHAT, encoding="utf-8")
        return {"scenario": loaded("documented-53k"), "recording": loaded(str(log))}


if __name__ == "__main__":
    for what, number in counts().items():
        print(f"{what}: {number} modules, at most {MOST[what]} wanted")
