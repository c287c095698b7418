"""What `--redact all` replaces beside the usual: addresses and names of machines, and phone numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import ctxsim

from ctxsim.safety.redaction.people import with_network


def replaced(text: str) -> str:
    return with_network(text, lambda original, kind: f"<{kind}>")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from 203.0.113.77 port 22", "from <IP address> port 22"),
        ("inet6 2001:db8:1:2:3:4:5:6 up", "inet6 <IP address> up"),
        ("call +49 170 1234567 or (555) 010-9999", "call <phone number> or <phone number>"),
        ("https://build.acme-intern.de/job", "https://<host name>/job"),
        ("ssh bob@crate7:~/x", "ssh bob@<host name>:~/x"),
        ("ping nas.local", "ping <host name>"),
        ("127.0.0.1 0.0.0.0 v1.2.3.4 version 1.22.333.4444", "127.0.0.1 0.0.0.0 v1.2.3.4 version 1.22.333.4444"),
        (
            "at 169.254.1.1 and ::1, not 999.1.1.1, 224.0.0.1 or 255.255.255.255",
            "at <IP address> and ::1, not 999.1.1.1, 224.0.0.1 or 255.255.255.255",
        ),
        (
            "https://bob@build.acme.de/x https://api.github.com www.w3.org",
            "https://bob@<host name>/x https://api.github.com www.w3.org",
        ),
        ("https://example.com https://github.com/x 2026-01-02 12:30:45", None),
        ("lines 100-200-30 at settings.local.json a.py:12:7, 0x1f, threading.local", None),
    ],
)
def test_what_is_somebodys_is_replaced(text: str, expected: str | None) -> None:
    assert replaced(text) == (text if expected is None else expected)


def test_all_is_by_choice_and_the_last_line_says_which(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "log in to 203.0.113.77"}, {"role": "assistant", "content": "done"}]
    (tmp_path / "a.json").write_text(json.dumps(messages))
    for more, left, told in ((("--redact",), True, "nothing was found"), (("--redact", "all"), False, "1 IP address")):
        done = ctxsim("transcripts", "convert", "a.json", *more, cwd=tmp_path)
        assert done.returncode == 0 and ("203.0.113.77" in done.stdout) == left
        assert done.stderr.splitlines()[-1].startswith(f"redacted: {told}") and "not looked for: " in done.stderr
