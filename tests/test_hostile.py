"""Bad input: no traceback, no hang, no unbounded memory; every refusal is one line that says what and where."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from command_line import ctxsim
from hypothesis import given, settings
from hypothesis import strategies as st
from project import ROOT

from ctxsim.errors import CtxsimError, InputError, ReaderFailed
from ctxsim.policies import open_policy
from ctxsim.readers import read_source, sources
from ctxsim.readers.paths import NO_FILE
from ctxsim.runs.grid import expand
from ctxsim.synthesis import load_scenario, synthesize
from ctxsim.transcript import problems

LINE = json.dumps({"role": "user", "content": "x" * 500}) + "\n"


def outcome(path: Path) -> str:
    """What reading a path gives: how many transcripts, all valid, or the one-line refusal."""
    try:
        found = [transcript for source in sources(str(path)) for transcript in read_source(source)]
    except InputError as error:
        assert "\n" not in str(error) and not isinstance(error, ReaderFailed)
        return str(error)
    assert not any(problems(transcript) for transcript in found)
    return f"{len(found)} transcripts"


# sizes


@pytest.fixture
def ten_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXSIM_MAX_MB", "10")


def test_bombs_are_refused_before_they_unfold(tmp_path: Path, ten_megabytes: None) -> None:
    # With so much that can't be compressed it doesn't expand too far.
    zeros = b'{"a": "' + b"0" * 50_000_000 + os.urandom(500_000).hex().encode() + b'"}'
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(zeros, 1))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(LINE.encode() + zeros, 1))
    with ZipFile(tmp_path / "c.zip", "w", ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("inside.json", zeros)
    for name in ("a.json.gz", "b.jsonl.gz", "c.zip"):
        assert "larger than 10 MB decompressed; CTXSIM_MAX_MB" in outcome(tmp_path / name), name


# shapes


def test_deep_nesting_is_one_line(tmp_path: Path) -> None:
    for n, text in enumerate(("[" * 200_000, "[" * 200_000 + "]" * 200_000, '{"a":' * 200_000 + "1" + "}" * 200_000)):
        path = tmp_path / f"{n}.json"
        path.write_text(text)
        assert f"{n}.json" in outcome(path)
        (tmp_path / f"{n}.jsonl").write_text(LINE + text + "\n" + LINE)
        assert outcome(tmp_path / f"{n}.jsonl").endswith("transcripts")


@pytest.mark.slow
def test_tens_of_thousands_of_records(tmp_path: Path) -> None:
    with (tmp_path / "many.jsonl").open("w") as file:
        for _ in range(10_000):
            file.write('{"role":"user","content":"a"}\n{"role":"assistant","content":"b"}\n')
    assert outcome(tmp_path / "many.jsonl") == "1 transcripts"


def test_links_in_circles_and_pipes_in_folders_are_passed_by(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(LINE + json.dumps({"role": "assistant", "content": "b"}))
    (tmp_path / "around").symlink_to(tmp_path)
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    os.mkfifo(tmp_path / "pipe.json")
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(tmp_path):
        listening.bind("socket.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    done = ctxsim("transcripts", "check", ".", cwd=tmp_path)
    assert done.returncode == 0 and "1 transcript: " in done.stdout
    assert done.stderr.splitlines() == [
        "left out: around: is a link to a folder: give that folder by its own name",
        f"left out: loop.json: {NO_FILE}",
        f"left out: pipe.json: {NO_FILE}",
        f"left out: socket.json: {NO_FILE}",
        f"left out: zero.json: {NO_FILE}",
    ]
    done = ctxsim("bench", ".", "--policy", "keep-all", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0 and "5 notes" in done.stderr


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/random", "socket.json"])
def test_devices_and_sockets_are_refused_by_name(device: str, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(tmp_path):
        listening.bind("socket.json")
    done = ctxsim("transcripts", "check", device, cwd=tmp_path)
    assert done.returncode == 1 and done.stderr == f"ctxsim: {device}: {NO_FILE}\n"


def test_a_pipe_that_never_ends_is_refused(tmp_path: Path, ten_megabytes: None) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    with subprocess.Popen(["/bin/sh", "-c", f"cat /dev/zero > {fifo}"], stderr=subprocess.DEVNULL):
        assert "larger than 10 MB" in outcome(fifo)


def test_a_folder_that_nobody_may_look_into_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_text(LINE + json.dumps({"role": "assistant", "content": "b"}))
    (tmp_path / "closed").mkdir()
    real = Path.iterdir

    def iterdir(self: Path) -> Iterator[Path]:
        if self.name == "closed":
            raise PermissionError(13, "Permission denied", str(self))
        return real(self)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    done = ctxsim("transcripts", "check", str(tmp_path), cwd=tmp_path)
    assert "1 transcript: " in done.stdout
    assert (
        done.returncode == 1 and done.stderr == f"ctxsim: {tmp_path}/closed: can't be looked into: Permission denied\n"
    )


def test_bench_twice_does_not_read_its_own_results(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(LINE + json.dumps({"role": "assistant", "content": "b"}))
    told = [ctxsim("bench", ".", "--policy", "keep-all", cwd=tmp_path) for _ in range(2)]
    assert [one.returncode for one in told] == [0, 0] and told[0] == told[1] and not told[0].stderr


def test_an_archive_of_a_thousand_is_read_in_linear_time(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(1_000):
            archive.writestr(f"{number:05}.jsonl", LINE + json.dumps({"role": "assistant", "content": f"{number}"}))
    opened = 0
    real = ZipFile.__init__

    def counting(self: ZipFile, *given: object, **named: object) -> None:
        nonlocal opened
        opened += 1
        real(self, *given, **named)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ZipFile, "__init__", counting)
        assert outcome(tmp_path / "many.zip") == "1000 transcripts"
    assert opened == 1


def test_names_that_climb_out_of_an_archive_are_refused(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "up.zip", "w") as archive:
        archive.writestr("../../up.jsonl", LINE + json.dumps({"role": "assistant", "content": "b"}))
    assert outcome(tmp_path / "up.zip") == f"{tmp_path}/up.zip!../../up.jsonl: can't be copied: its name is no path"
    assert not (tmp_path.parents[1] / "up.jsonl").exists() and list(tmp_path.iterdir()) == [tmp_path / "up.zip"]


@pytest.mark.parametrize(
    "text", ["", " ", "\ufeff", "null", "0", '"a"', "[]", "{}", "[[]]", "[null]", '{"messages": 7}', "\x00" * 99, "NaN",
             '{"role": "user"}', '[{"role": "tool", "content": "x", "tool_call_id": 3}]', "<xml/>", "\n\n\n"]
)  # fmt: skip
def test_small_nonsense(tmp_path: Path, text: str) -> None:
    for name in ("a.json", "a.jsonl"):
        (tmp_path / name).write_text(text)
        assert outcome(tmp_path / name)


FOUND = Path(__file__).parent / "found"
"""Odd files that once gave, or could give, more than a line of complaint; the fuzzer starts from them."""


@pytest.mark.parametrize("file", sorted(FOUND.iterdir()), ids=lambda file: file.name)
def test_what_was_found_once_is_read_or_refused(file: Path) -> None:
    assert outcome(file)


# labels, scenarios


@settings(max_examples=100)
@given(st.text(alphabet="token-budget:=,+.@|0123456789abcxyz_/ \n\x1b", max_size=60))
def test_labels_are_opened_or_refused(label: str) -> None:
    for opening in (open_policy, expand):
        try:
            opening(label)
        except CtxsimError as error:
            assert str(error)


def test_a_scenario_that_asks_for_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxsim.synthesis.scenario.MOST_CALLS", 500)
    good = (ROOT / "scenarios" / "twenty-iterations.toml").read_text()
    for right, wrong in (
        ("turns = 1\n", "turns = -3\n"), ("turns = 1\n", 'turns = "x"\n'), ("median_chars = 6000", "median_chars = 0"),
        ("head_tokens = 1500", "head_tokens = -5"), ("turns = 1\n", "turns = 6000\n"),
    ):  # fmt: skip
        assert right in good
        (tmp_path / "s.toml").write_text(good.replace(right, wrong))
        with pytest.raises(CtxsimError, match=r"synthesis\.parameters"):
            synthesize(load_scenario(str(tmp_path / "s.toml")))
