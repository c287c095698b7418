# ruff: noqa: E501
"""A hundred kinds of invented secrets, planted in recordings of three formats: which are left in what ctxsim writes."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pandas
import pytest
from command_line import ctxsim
from pages import words_of

LETTERS = "Q7wErTy9uIoPaSdFgHjKlZxCvBnM4q2WeRtYuIoPaSdFgHjKlZxCvBnM5Q7wErTy9uIoPzXcV"
HEX = "3f9a07c1d25be8846a1fc09e7d53b2643f9a07c1d25be8846a1fc09e7d53b264"
WORD = "tR7kW2pLq9Xz"
"""All invented. Prefixes are put before them at run time: no file of the project looks like a key."""

PREFIXES = (
    ("sk-", "ant-api03-"), ("sk-", "proj-"), ("AI", "za"), ("gh", "p_"), ("github_", "pat_"), ("gl", "pat-"), ("AK", "IA"),
    ("xo", "xb-"), ("xa", "pp-"), ("sk_", "live_"), ("rk_", "test_"), ("wh", "sec_"), ("np", "m_"), ("pypi-", "AgE"),
    ("S", "G."), ("x", "ai-"), ("g", "sk_"), ("pp", "lx-"), ("r", "8_"), ("dop", "_v1_"), ("da", "pi"), ("dp", ".pt."),
    ("gl", "sa_"), ("hv", "s."), ("lin", "_api_"), ("NR", "AK-"), ("nt", "n_"), ("pscale", "_tkn_"), ("PM", "AK-"),
    ("pn", "u_"), ("pu", "l-"), ("rubygems", "_"), ("shp", "at_"), ("sq0", "atp-"), ("sntry", "u_"), ("xkey", "sib-"),
    ("tf", "p_"), ("AT", "ATT3"), ("LT", "AI"), ("ops", "_eyJ"), ("tskey-", "auth-"), ("sb", "p_"), ("dckr", "_pat_"),
    ("GOC", "SPX-"), ("ya", "29."), ("sha", "256~"), ("fo", "1_"), ("EZ", "AK"), ("shippo_", "live_"), ("h", "f_"),
)  # fmt: skip
OF_HEX = {"da", "dop", "pu", "rubygems", "shp", "sntry", "sb", "shippo_"}


def of_form(first: str, rest: str) -> str:
    if first == "AK":
        return first + rest + "QWERTYUIOPASDFGH"
    if first == "h":
        return first + rest + "".join(filter(str.isalpha, LETTERS))[:36]
    return first + rest + (HEX if first in OF_HEX else LETTERS[:35] if first == "AI" else LETTERS)


KEY = of_form("gh", "p_")[:40]
KINDS: dict[str, tuple[str, str]] = {f"{a}{b}": (f"using {of_form(a, b)} now", of_form(a, b)) for a, b in PREFIXES}
"""What is planted, and what must not be left of it."""

for name, text in {
    "env password": "DB_PASSWORD={}", "yaml password": "password: {}", "json password": '{{"password": "{}"}}',
    "escaped json": '{{\\"db_password\\": \\"{}\\"}}', "python": "passwd = '{}'", "annotated": 'pwd: str = "{}"',
    "toml secret": 'client_secret = "{}"', "api key": "API_KEY={}", "x-api-key": "X-Api-Key: {}",
    "header": "Authorization: Bearer {}", "header in code": '"Authorization": "token {}"', "bearer": "-H 'bearer {}'",
    "cookie": "Cookie: sid={}; theme=dark", "set-cookie": "Set-Cookie: session={}; Path=/", "auth token": "auth_token: {}",
    "npmrc": "//registry.example/:_authToken={}", "postgres": "postgres://bob:{}@db.local/app",
    "https": "https://bob:{}@git.local/x.git", "amqp": "amqp://u:{}@mq:5672", "mysql -p": "mysql -u root -p{} app",
    "sshpass": "sshpass -p {} ssh host", "curl -u": "curl -u bob:{} https://x.local", "--password": "tool --password {} run",
    "--token": "tool --token={} run", "redis": "redis-cli -h x -a {} ping", "netrc": "machine x.local login bob password {}",
    "sql": "CREATE USER b IDENTIFIED BY '{}'", "query": "https://x.local/cb?access_token={}&n=1",
    "signature": "https://x.local/f?sv=1&sig={}&n=1", "account key": "AccountName=a;AccountKey={};", "xml": "<password>{}</password>",
    "prose": "the password is {}", "docker": "docker login -u bob -p {} reg.local", "passphrase": "passphrase: '{}'",
    "aws secret": "aws_secret_access_key = {}", "private key": "private_key='{}'", "credential": "credentials: {}",
    "slack hook": "https://hooks.slack.com/services/T02/B03/{}", "discord hook": "https://discord.com/api/webhooks/12/{}",
    "requirepass": "requirepass {}",
}.items():  # fmt: skip
    value = WORD if len(name) % 2 else f"{WORD}{HEX[:16]}"
    if name in ("slack hook", "discord hook", "signature", "account key"):
        value = LETTERS[:32]
    KINDS[name] = (text.format(value), value)

# In an address its `=` is encoded.
KINDS["encoded signature"] = (f"https://x.local/f?sv=1&sig={LETTERS[:42]}%3D", LETTERS[:42])

PEM = f"-----BEGIN {'private key'.upper()}-----\n{LETTERS[:64]}\n-----END {'private key'.upper()}-----"
KINDS |= {
    "pem": (PEM, LETTERS[:64]), "base64": (base64.b64encode(f"key={KEY}".encode()).decode(), ""),
    "url encoded": (quote(f"postgres://bob:{WORD}x@db/app", safe=""), WORD), "broken": (f"{KEY[:22]}\n{KEY[22:]}", KEY[:20]),
    "broken in code": (f'k = "{KEY[:22]}" +\n    "{KEY[22:]}"', KEY[22:]), "basic": (
        f"Authorization: Basic {base64.b64encode(b'bob:' + WORD.encode()).decode()}", base64.b64encode(b"bob:" + WORD.encode()).decode()
    ), "jwt": (f"ey{'J'}hbGciOiJI.ey{'J'}zdWIiOiIx.{LETTERS[:40]}", LETTERS[:40]),
    "a word as a password": ("password: Sunflower", "Sunflower"), "in prose": (f"my pin for it: {WORD[:6]}", WORD[:6]),
    "reversed": (KEY[::-1], KEY[::-1]),
}  # fmt: skip
KINDS["base64"] = (KINDS["base64"][0], KINDS["base64"][0])

SURVIVE = {"a word as a password", "in prose", "reversed"}
"""Which kinds are left, in whatever output: the line at the end of a command names them."""


def chat(texts: list[str]) -> tuple[str, bytes]:
    """A chat of OpenAI's shape, with the texts in results of a tool."""
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "look"}]
    for number, text in enumerate(texts):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": f"c{number}", "content": text}]  # fmt: skip
    return "chat.json", json.dumps([*messages, {"role": "assistant", "content": "done"}]).encode()


def codex(texts: list[str]) -> tuple[str, bytes]:
    """A rollout of Codex."""
    lines = [{"type": "session_meta", "payload": {"id": "1", "cwd": "/x", "timestamp": "2026-01-01T00:00:00Z"}},
             {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]}}]  # fmt: skip
    for number, text in enumerate(texts):
        call = {"type": "function_call", "name": "read", "arguments": "{}", "call_id": f"c{number}"}
        lines += [{"type": "response_item", "payload": call},
                  {"type": "response_item", "payload": {"type": "function_call_output", "call_id": f"c{number}", "output": text}}]  # fmt: skip
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    lines.append({"type": "response_item", "payload": said})
    stamped = [{"timestamp": "2026-01-01T00:00:00Z", **line} for line in lines]
    return "rollout.jsonl", "\n".join(map(json.dumps, stamped)).encode()


def messages(texts: list[str]) -> tuple[str, bytes]:
    """A conversation of Anthropic's shape."""
    turns: list[object] = [{"role": "user", "content": "look"}]
    for number, text in enumerate(texts):
        use = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {}}
        turns += [{"role": "assistant", "content": [use]},
                  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{number}", "content": text}]}]  # fmt: skip
    turns.append({"role": "assistant", "content": [{"type": "text", "text": "done"}]})
    return "messages.json", json.dumps({"system": "s", "messages": turns}).encode()


def left_in(said: str) -> set[str]:
    """The kinds whose value is in a text, as it is or as JSON has it."""
    plain = said.replace("\\n", "\n").replace('\\"', '"')
    return {name for name, (_, value) in KINDS.items() if value in said or value in plain}


def test_there_are_a_hundred_kinds() -> None:
    assert len(KINDS) == 101


@pytest.mark.parametrize("form", [chat, codex, messages])
def test_what_is_left_is_named(form: Callable[[list[str]], tuple[str, bytes]], tmp_path: Path) -> None:
    name, data = form([text for text, _ in KINDS.values()])
    (tmp_path / name).write_bytes(data)
    assert left_in(data.decode()) >= set(KINDS) - {"broken in code", "json password", "escaped json"}
    made = ctxsim("transcripts", "convert", name, "--redact", "--out", "shared.jsonl", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert left_in((tmp_path / "shared.jsonl").read_text()) == SURVIVE
    says_what_is_left(made.stderr)


def says_what_is_left(told: str) -> None:
    last = next(line for line in reversed(told.splitlines()) if "not looked for: " in line)
    assert "passwords that are words, secrets in prose" in last and "GitHub" in last and "cookie" in last


def test_what_is_left_in_a_run_is_named(tmp_path: Path) -> None:
    name, data = messages([text for text, _ in KINDS.values()])
    (tmp_path / name).write_bytes(data)
    ran = ctxsim("bench", name, "--policy", "mask:keep=1", "--out", "out", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    page = ctxsim("report", "out", cwd=tmp_path)
    tables = " ".join(
        "\n".join(map(str, frame.to_numpy().ravel())) for frame in map(pandas.read_parquet, (tmp_path / "out").glob("*.parquet"))
    )  # fmt: skip
    described = (tmp_path / "out" / "run.json").read_text() + ran.stdout + ran.stderr + page.stderr
    for said in (tables, words_of(tmp_path / "out" / "report.html"), (tmp_path / "out" / "report.html").read_text()):
        assert left_in(said) <= SURVIVE
    assert not left_in(described)
    says_what_is_left(ran.stderr)
