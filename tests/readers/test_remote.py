"""Transcripts in object stores: the results are those of the same files on disk, but for their labels."""

from __future__ import annotations

import functools
import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from command_line import ctxsim, process
from invented import claude_session

from ctxsim.errors import InputError, how_to_install
from ctxsim.readers import read, read_source, sources
from ctxsim.readers.source.placed import Copies
from ctxsim.readers.source.remote import _refusal

POLICIES = ("--policy", "keep-all", "--policy", "mask:keep=1")


@pytest.fixture(scope="module")
def kept(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sessions with a sub-agent, files packed and in an archive, one that is none, and neighbours of other kinds."""
    folder = tmp_path_factory.mktemp("remote") / "bucket" / "team" / "kept"
    (folder / "main" / "subagents").mkdir(parents=True)
    (folder / "main.jsonl.gz").write_bytes(gzip.compress(claude_session("main", "a", "b").encode(), mtime=0))
    (folder / "main" / "subagents" / "agent-x.jsonl").write_text(claude_session("main", "c", agent="x"))
    (folder / "broken.json").write_text('{"what": "is this"')
    (folder / "README.txt").write_text("no transcript")
    for number in range(4):
        shutil.copy(logs / f"log{number:02}.jsonl", folder)
    with zipfile.ZipFile(folder / "more.zip", "w") as archive:
        archive.write(logs / "log05.jsonl", "deep/log05.jsonl")
    return folder


@pytest.fixture(scope="module")
def store(kept: Path) -> Iterator[dict[str, str]]:
    """An S3 server on this machine with everything under `bucket`: the environment that leads to it."""
    pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    bucket = kept.parents[1]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    at = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _put(f"{at}/bucket", b"", time.monotonic() + 60)
        for file in sorted(bucket.rglob("*")):
            if file.is_file():
                _put(f"{at}/bucket/{file.relative_to(bucket).as_posix()}", file.read_bytes())
        # A name that would lead out of the folder of copies.
        _put(f"{at}/bucket/team/kept/%2E%2E/%2E%2E/out.jsonl", b"{}")
        yield {
            "AWS_ENDPOINT_URL": at, "AWS_ACCESS_KEY_ID": "invented", "AWS_SECRET_ACCESS_KEY": "invented",
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip
    finally:
        server.kill()
        server.wait()


def _put(url: str, data: bytes, until: float = 0.0) -> None:
    while True:
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url, data, {"Content-Type": "application/octet-stream"}, method="PUT")
            ):
                return
        except urllib.error.URLError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


@pytest.mark.slow
def test_a_bucket_gives_the_bytes_of_the_folder(
    kept: Path, store: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "s3://bucket/team/kept/"
    for name, value in store.items():
        monkeypatch.setenv(name, value)
    more = (*POLICIES, "--text", "redacted", "--out")
    there = ctxsim("bench", url, *more, "there", cwd=tmp_path)
    here = ctxsim("bench", str(kept), *more, "here", cwd=tmp_path)
    # The broken file, and there the name that is no path.
    assert (there.returncode, here.returncode) == (1, 1), there.stderr + here.stderr
    label = b"s3://bucket/team/kept"
    for file in (tmp_path / "here").glob("*.csv"):
        assert (tmp_path / "there" / file.name).read_bytes() == file.read_bytes().replace(bytes(kept), label)
    found, local = (json.loads((tmp_path / one / "run.json").read_bytes()) for one in ("there", "here"))
    told = json.loads(json.dumps(local["inputs"]).replace(str(kept), label.decode()))
    assert [one for one in found["inputs"] if "out.jsonl" not in one["name"]] == told
    assert [one["error"] for one in found["inputs"] if "out.jsonl" in one["name"]] == [
        "s3://bucket/team/kept/../../out.jsonl: can't be copied: its name is no path"
    ]
    assert (found["name"], found["title"]) == ("kept", f"Recorded transcripts in {url}")


@pytest.mark.slow
def test_what_a_bucket_refuses_is_one_line(
    store: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in store.items():
        monkeypatch.setenv(name, value)
    for url, said in (
        ("s3://bucket/nothing/", "s3://bucket/nothing/: does not exist"),
        ("s3://nobody/", "s3://nobody/: "),
        ("s3://key:secret@bucket/", "s3://...: names credentials: they are taken from the environment alone"),
    ):
        done = ctxsim("bench", url, cwd=tmp_path)
        assert done.returncode == 1 and said in done.stderr and "secret" not in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1


class Quiet(SimpleHTTPRequestHandler):
    """It would write its log where the command writes."""

    def log_message(self, *words: object) -> None:
        pass


@pytest.mark.slow
def test_a_file_behind_http(kept: Path, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    handler = functools.partial(Quiet, directory=str(kept))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        at = f"http://127.0.0.1:{server.server_port}"
        for name, lines in (("main.jsonl.gz", 1), ("main.jsonl.gz?key=secret", 1), ("", 8)):
            done = ctxsim("transcripts", "check", f"{at}/{name}", "--format", "csv", cwd=tmp_path)
            assert "secret" not in done.stdout and len(done.stdout.splitlines()) >= lines, done.stdout + done.stderr
            assert f"{at}/main.jsonl.gz" in done.stdout
        gone = ctxsim("transcripts", "check", f"{at}/gone.jsonl", cwd=tmp_path)
        server.shutdown()
    assert gone.stderr == f"ctxsim: {at}/gone.jsonl: does not exist\n"


def test_memory_is_a_store_too(kept: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe({f"/kept/{file.relative_to(kept)}": file.read_bytes() for file in kept.rglob("*") if file.is_file()})
    try:
        found = list(sources("memory://kept"))
        here = [one.name.replace(str(kept), "memory://kept") for one in sources(str(kept))]
        assert [one.name for one in found] == here and len(found) == 8
        assert found[-1].name == "memory://kept/more.zip!deep/log05.jsonl"
        agent = next(one for source in found if "subagents" in source.name for one in read_source(source))
        assert agent.parent == "memory://kept/main.jsonl.gz"
        copy = found[0].path
        assert copy is not None and copy.is_file()
        # What no reader reads isn't copied.
        assert (copy.parent / "README.txt").read_bytes() == b""
        with pytest.raises(InputError, match=r"^memory://kept/broken\.json: is not complete JSON: "):
            list(read_source(found[0]))
        del found
        assert not copy.exists()
        one = next(read("reader:claude-code:memory://kept/main.jsonl.gz"))
        assert one.name == "memory://kept/main.jsonl.gz"
    finally:
        memory.rm("/kept", recursive=True)


def test_an_object_that_can_not_be_copied_is_refused_and_the_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.pipe({f"/half/{name}.jsonl": claude_session(name, "a").encode() for name in ("one", "two")})
    copy = type(memory).get_file

    def get_file(store: Any, at: str, *more: Any, **others: Any) -> Any:
        if "one" in at:
            raise PermissionError(13, "forbidden")
        return copy(store, at, *more, **others)

    monkeypatch.setattr(type(memory), "get_file", get_file)
    try:
        one, two = sources("memory://half")
        said = "memory://half/one.jsonl: can't be read: PermissionError: [Errno 13] forbidden"
        assert (one.name, str(one.refused), one.named) == ("memory://half/one.jsonl", said, True)
        assert two.refused is None and [made.name for made in read_source(two)] == ["memory://half/two.jsonl"]
    finally:
        memory.rm("/half", recursive=True)


def test_copies_that_somebody_has_deleted_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", told.append)
    copies = Copies()
    shutil.rmtree(copies.name)
    del copies
    assert not told


def test_the_key_of_a_signed_address_is_in_no_line() -> None:
    error = ValueError("403, message='Forbidden', url='https://a.org/x/?key=secret&a=b' (why?)")
    said = "ValueError: 403, message='Forbidden', url='https://a.org/x/' (why?)"
    assert str(_refusal("https://a.org/x/", error)) == f"https://a.org/x/: can't be read: {said}"
    # Of 301 characters, one too many is counted.
    assert str(_refusal("s3://a/b", ValueError("x" * 301))).endswith(f": {'x' * 300} ... (1 characters more)")


def test_without_the_extra_the_line_names_it(tmp_path: Path) -> None:
    blocked = tmp_path / "fsspec.py"
    blocked.write_text("raise ImportError('not here')\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = process("bench", "gs://bucket/logs/", cwd=tmp_path, PYTHONPATH=paths)
    assert done.returncode == 1
    assert done.stderr == (
        f"ctxsim: gs://bucket/logs/: needs gcsfs, which is not installed: {how_to_install('remote')} gcsfs\n"
    )
