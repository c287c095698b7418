"""The status line: what it tells, that it reads only what is new, and that nothing makes it fail."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from project import ROOT

from ctxsim.answers.bill import status
from ctxsim.answers.bill.status import LEAST_SEEN, _ahead, _calls, _count
from ctxsim.plugins.files import without_comments
from ctxsim.policies import Surroundings, open_policy
from ctxsim.policies.agents.config import _of_variables, of_file
from ctxsim.policies.agents.given import parameters_of
from ctxsim.policies.agents.settings_file import settings_of


def answer(number: int, tokens: int, **more: Any) -> str:
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 90, "cache_read_input_tokens": tokens - 100}
    message = {"id": f"m{number}", "model": "claude-x", "usage": usage}
    return json.dumps({"type": "assistant", "uuid": str(number), "message": message, **more}) + "\n"


def said(log: Path, tokens: int = 0, size: int = 200_000) -> dict[str, Any]:
    window: dict[str, Any] = {"context_window_size": size}
    if tokens:
        window["current_usage"] = {"input_tokens": tokens}
    return {
        "transcript_path": str(log), "model": {"id": "claude-x", "display_name": "X"},
        "cost": {"total_cost_usd": 1.5}, "context_window": window,
    }  # fmt: skip


def told(tmp_path: Path, of: Any) -> str:
    return status.line(of, tmp_path / "home", tmp_path / "cache")


def test_calls_to_a_compaction_are_as_many_as_it_took_before(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "a.jsonl"
    log.parent.mkdir()
    # 41 requests that grow by 1,000 and 3,000 in turn: two calls always fill 4,000.
    sizes = [20_000]
    for number in range(40):
        sizes.append(sizes[-1] + (1_000, 3_000)[number % 2])
    log.write_text("".join(answer(n, size) for n, size in enumerate(sizes)))
    # 200,000 - 20,000 - 13,000 = 167,000 compacts; 163,000 are used, 4,000 are left.
    assert told(tmp_path, said(log, 163_000)) == "X · 82% of 200K · 1.50 USD · compaction in about 2 calls (2 to 2)"
    # 3,500 left: two calls from a small one on, as 1,000 + 3,000; from a large one on too, as 3,000 + 1,000.
    assert told(tmp_path, said(log, 163_500)).endswith("in about 2 calls (2 to 2)")
    # 3,000 left: two calls from a small one on, one from a large one on.
    assert told(tmp_path, said(log, 164_000)).endswith("(1 to 2)")
    assert told(tmp_path, said(log, 168_000)).endswith("compaction at the next call")
    # What the log said last is used where the agent doesn't say.
    assert told(tmp_path, said(log)).startswith("X · 50% of 200K")


def test_other_sessions_of_the_project_tell_how_requests_grow(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "old.jsonl").write_text("".join(answer(n, 20_000 + 1_000 * n) for n in range(30)))
    (folder / "new.jsonl").write_text(answer(1, 20_000))
    assert "compaction in about 5 calls (5 to 5)" in told(tmp_path, said(folder / "new.jsonl", 162_000))
    assert "old.jsonl" not in (folder / "new.jsonl").read_text()
    kept = "".join(one.read_text() for one in (tmp_path / "cache").rglob("*.json"))
    assert "claude-x" not in kept


def test_it_reads_the_settings_files_that_advise_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    monkeypatch.setattr(status, "_settings", lambda path: read.append(path) or {})
    home, project = tmp_path / "home" / ".claude", tmp_path / "project"
    status.line({"workspace": {"project_dir": str(project)}}, home, tmp_path)
    files = settings_of("claude-code").files
    bases = {"user": tmp_path / "home", "project": project}
    assert read == [bases[one.scope] / one.path.removeprefix("~/") for one in files]


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("{}", {}), ('{"autoCompactWindow": 120000}', {}), ('{"autoCompactWindow": "120000"}', {}),
        ('{"autoCompactWindow": 50000}', {}), ('{"autoCompactWindow": 120000, // so\n}', {}),
        ('{"env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "120000"}}', {}),
        ('{"autoCompactWindow": 150000, "env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "50000"}}', {}),
        ('{"env": {"DISABLE_AUTO_COMPACT": "1"}}', {}), ("{}", {"DISABLE_COMPACT": "true"}),
        ('{"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}}', {}),
        ("{}", {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "99", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8000"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-sonnet-4-5-20250929"])
def test_it_compacts_where_the_policy_does(text: str, environment: dict[str, str], model: str, tmp_path: Path) -> None:
    place = tmp_path / ".claude" / "settings.json"
    place.parent.mkdir()
    place.write_text(text)
    given = [
        *(of_file(place) if json.loads(without_comments(text)) else ()),
        *_of_variables("claude-code", environment),
    ]
    said = parameters_of("claude-code", given, "2.1.330", model)
    more = "".join(f",{name}={value}" for name, value in said.items())
    (policy,) = open_policy(f"claude-code:version=2.1.330,model={model}{more}").create()
    policy.attach(Surroundings(window=200_000))
    proactive = status._proactive({"version": "2.1.330", "model": {"id": model}})
    assert status._limit(200_000, [place], environment, proactive) == (policy.threshold() or 0)


def test_a_new_session_has_no_log_yet(tmp_path: Path) -> None:
    given = said(tmp_path / "none.jsonl", 96_000)
    assert told(tmp_path, given) == told(tmp_path, given | {"transcript_path": ""}) == "X · 48% of 200K · 1.50 USD"


def test_the_agents_folder_may_be_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "logs" / "a.jsonl"
    log.parent.mkdir()
    log.write_text(answer(1, 70_000))
    given = said(log, 70_000)
    for name, window in ((".claude", 200_000), ("elsewhere", 100_000)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "settings.json").write_text(json.dumps({"autoCompactWindow": window}))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    told_by = []
    for place in ("", str(tmp_path / "elsewhere")):
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", place)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(given).encode())))
        status.main()
        told_by.append(capsys.readouterr().out.strip())
    # 200,000 - 33,000 and 100,000 - 33,000 compact.
    assert [line.endswith("compaction at the next call") for line in told_by] == [False, True], told_by
    assert told_by[0].startswith("X · 35% of 200K")


BROKEN = ["", "{", "[]", "null", '"a"', '{"model": 7}', '{"transcript_path": 7, "cost": {"total_cost_usd": "x"}}',
          '{"transcript_path": "/nowhere/at/all.jsonl"}', '{"transcript_path": "."}',
          '{"context_window": {"context_window_size": -1, "current_usage": {"input_tokens": 1e400}}}',
          '{"model": {"display_name": "\\u001b[31m\\n\\ud800"}}', "\udcff"]  # fmt: skip


@pytest.mark.parametrize("given", BROKEN)
def test_whatever_it_is_given_it_prints_a_line(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode("utf-8", "surrogateescape"))))
    status.main()
    told = capsys.readouterr()
    assert told.out.count("\n") == 1 and told.out.strip() and not told.err


@pytest.mark.parametrize("options", [[], ["-q"]])
def test_started_by_an_agent_it_ends_well(options: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ctxsim", *options, "statusline"], input=BROKEN[-2].encode(), capture_output=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == b""
    assert done.stdout.count(b"\n") == 1 and done.stdout.strip()


LINES = st.one_of(st.binary(max_size=80), st.builds(lambda n, t: answer(n, t).encode(), st.integers(0, 9),
                                                    st.integers(100, 10**7)))  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(lines=st.lists(LINES, max_size=20), cut=st.integers(0, 500))
def test_no_log_makes_it_fail(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cut: int) -> None:
    folder = tmp_path_factory.mktemp("logs")
    log = folder / "a.jsonl"
    data = b"\n".join(lines)
    log.write_bytes(data[:cut])
    told(folder, said(log))
    log.write_bytes(data)
    grown = told(folder, said(log))
    log.write_bytes(data + b"\n")
    whole = told(folder, said(log))
    # Read in pieces or at once, it is the same.
    assert whole == status.line(said(log), folder / "home", folder / "other")
    assert grown


def test_little_is_imported_for_it(tmp_path: Path) -> None:
    code = "import sys; sys.argv = ['ctxsim', 'statusline']; from ctxsim.__main__ import main; main(); print(sorted("
    code += "{'click', 'msgspec', 'numpy', 'typing', 'ctxsim.cli', 'ctxsim.readers'} & set(sys.modules)))"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-S", "-c", code], input="{}", capture_output=True, text=True,
                          env=environment)  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


@pytest.mark.parametrize(("text", "tokens"), [
    ("300k", 300_000), ("2K", 2_000), ("1500", 1_500), ("0", 0), ("k", 0), ("", 0), ("-5", 0), ("1.5k", 0), ("٣", 0),
    ("12m", 0),
])  # fmt: skip
def test_tokens_as_a_variable_has_them(text: str, tokens: int) -> None:
    assert _count(text) == tokens


@pytest.mark.parametrize(("growths", "left", "calls"), [
    # From each call on until so much has joined; from the last ones it never does.
    ([10, 20, 30, 5, 5], 30, [2, 2, 1]), ([10, 20, 30, 5, 5], 40, [3, 2, 3]), ([10, 10], 10, [1, 1]),
    ([10, 10], 11, [2]), ([5, 5], 11, []), ([], 1, []),
])  # fmt: skip
def test_a_session_tells_after_how_many_calls_it_had_grown_so_far(
    growths: list[int], left: int, calls: list[int]
) -> None:
    assert list(_calls(growths, left)) == calls


def test_what_is_left_fills_up_as_in_the_projects_sessions() -> None:
    assert _ahead(0, []) == _ahead(-1, []) == "compaction at the next call"
    # One token is left, and every call brings more.
    one = [[5] * LEAST_SEEN]
    assert _ahead(1, one) == "compaction in about 1 call (1 to 1)" and _ahead(1, [[5] * (LEAST_SEEN - 1)]) == ""
    assert _ahead(5.5, [[5] * (LEAST_SEEN + 1)]) == "compaction in about 2 calls (2 to 2)"
    assert _ahead(6, one) == "", "the last call tells of no growth by six"
    # Where the last of 101 calls alone brings something, 101 to 1 calls were left: a twentieth, half, a twentieth.
    assert _ahead(9, [[0] * 100 + [9]]) == "compaction in about 51 calls (6 to 96)"
