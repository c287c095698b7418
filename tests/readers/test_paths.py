"""What paths mean, file by file: links, pipes, copies, results of runs; and what is said of what is no format."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pytest

from ctxsim.errors import InputError, LabelError, NotATranscript
from ctxsim.readers import paths, read_source
from ctxsim.readers.paths import bare, sources
from ctxsim.readers.reader import detect, documentation, load_reader_module
from ctxsim.readers.source import Sample, Source

OUT = "is a link that leads out of the folder: give its file by its own name"
NO_FILE = "is a pipe, a device, a socket or a link that leads nowhere, no file"


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or f"[{path.name!r}]")
    return path


def told(folder: Path, *given: str) -> list[tuple[str, str]]:
    """The name of each source below a folder, and why it is left out."""
    found = sources(*(given or (str(folder),)))
    return [(one.name.removeprefix(f"{folder}/"), one.refused.what if one.refused else "") for one in found]


def test_files_of_a_folder_in_order_and_its_links(tmp_path: Path) -> None:
    folder, away = tmp_path / "in", put(tmp_path / "away" / "z.json")
    put(folder / "b.jsonl"), put(folder / "a" / "c.traj"), put(folder / "d.txt"), put(folder / "e.eval")
    (folder / "f.json").symlink_to(away)
    (folder / "g.json").symlink_to("a/c.traj")
    (folder / "h.json").symlink_to("gone")
    (folder / "i.txt").symlink_to("gone")
    (folder / "j").symlink_to(away.parent)
    os.mkfifo(folder / "k.json")
    assert told(folder) == [
        ("a/c.traj", ""), ("b.jsonl", ""), ("e.eval", ""), ("f.json", OUT), ("h.json", NO_FILE),
        ("j", "is a link to a folder: give that folder by its own name"), ("k.json", NO_FILE),
    ]  # fmt: skip
    # By its own name a link is as good as its file; what comes twice comes once.
    assert told(folder, str(folder / "f.json"), str(away)) == [("f.json", "")]


def test_a_folder_that_cannot_be_looked_into_is_told_as_if_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "in" / "a.json"), put(tmp_path / "in" / "closed" / "b.json")
    inside = Path.iterdir

    def iterdir(folder: Path) -> Any:
        if folder.name == "closed":
            raise PermissionError(13, "Permission denied")
        return inside(folder)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    first, closed = sources(str(tmp_path / "in"))
    assert (first.name, first.named) == (f"{tmp_path}/in/a.json", False)
    assert str(closed.refused) == f"{tmp_path}/in/closed: can't be looked into: Permission denied" and closed.named


def test_a_folder_is_walked_a_hundred_deep(tmp_path: Path) -> None:
    inner = tmp_path
    for depth in range(101):
        inner /= "d"
        inner.mkdir()
        (inner / "a.jsonl").write_text(f"{depth}")
    found = list(sources(str(tmp_path)))
    assert [one.refused is None for one in found] == [True] * 100 + [False]
    assert "d: is more than 100 folders deep" in str(found[-1].refused)


def test_of_files_that_hold_the_same_one_counts(tmp_path: Path) -> None:
    for name, text in (("a.json", "[1]"), ("b.json", "[2]"), ("c.jsonl", "[1]"), ("d.json", "[1]"), ("e.traj", "[1]"),
                       ("e2.eval", "[1]"), ("e3.eval", "[1]"), ("f.json", "[33]")):  # fmt: skip
        put(tmp_path / name, text)
    same = f"holds the same as {tmp_path}/a.json, and counts once"
    assert told(tmp_path) == [
        ("a.json", ""), ("b.json", ""), ("c.jsonl", same), ("d.json", same), ("e.traj", ""),
        ("e2.eval", ""), ("e3.eval", ""), ("f.json", ""),
    ]  # fmt: skip
    named = [str(tmp_path / name) for name in ("a.json", "d.json", "a.json")]
    assert told(tmp_path, *named) == [("a.json", ""), ("d.json", "")], "whoever names both means both"


def test_a_log_and_its_compressed_copy_count_once(tmp_path: Path) -> None:
    text = b'{"a": 1}\n' * 9
    for name, data in (("a.jsonl", text), ("b.jsonl", text + b"\n"), ("c.jsonl", b"[1]")):
        (tmp_path / name).write_bytes(data)
    for name, data in (("a.jsonl.gz", text), ("b.jsonl.gz", text), ("d.jsonl.gz", b"[2]")):
        (tmp_path / name).write_bytes(gzip.compress(data))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(b"[1]")[:-4])
    for name, data in (("a.jsonl.zst", text), ("d.jsonl.zst", b"[2]")):
        (tmp_path / name).write_bytes(pyarrow.compress(data, "zstd", asbytes=True))
    same = f"holds the same as {tmp_path}/a.jsonl, and counts once"
    assert told(tmp_path) == [
        ("a.jsonl", ""), ("a.jsonl.gz", same), ("a.jsonl.zst", same), ("b.jsonl", ""), ("b.jsonl.gz", same),
        ("c.jsonl", ""), ("c.jsonl.gz", ""), ("d.jsonl.gz", ""),
        ("d.jsonl.zst", f"holds the same as {tmp_path}/d.jsonl.gz, and counts once"),
    ]  # fmt: skip


def test_results_of_a_run_are_no_recordings(tmp_path: Path) -> None:
    put(tmp_path / "run" / "run.json", "{}"), put(tmp_path / "run" / "summary.parquet")
    put(tmp_path / "run" / "x.json")
    put(tmp_path / "run" / "parts" / "y.parquet"), put(tmp_path / "run" / "a" / "b" / "z.parquet")
    put(tmp_path / "other" / "run.json", "{}"), put(tmp_path / "other" / "v.parquet")
    recordings = ["other/run.json", "other/v.parquet", "run/a/b/z.parquet", "run/x.json"]
    assert [name for name, _ in told(tmp_path)] == recordings
    (tmp_path / "run" / "x.json").unlink(), (tmp_path / "run" / "a" / "b" / "z.parquet").unlink()
    with pytest.raises(InputError, match="is a finished run, which ctxsim report shows"):
        told(tmp_path / "run")


def test_a_path_may_mean_a_million_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert paths.MOST_FILES == 1_000_000
    monkeypatch.setattr(paths, "MOST_FILES", 2)
    for number in range(3):
        put(tmp_path / f"{number}.json", f"[{number}]")
    assert told(tmp_path) == [
        ("0.json", ""), ("1.json", ""), (str(tmp_path), "holds more than 2 files: the others aren't read")
    ]  # fmt: skip
    (tmp_path / "2.json").unlink()
    assert len(told(tmp_path)) == 2


def test_columns_and_readers_of_a_path(tmp_path: Path) -> None:
    file = put(tmp_path / "a.json", "{}")
    (one,) = sources(f"column:x:reader:atif:{file}")
    assert (one.name, one.column, one.reader, one.named) == (f"{file}:x", "x", "atif", True)
    # The inner one of two columns is the table's own.
    (one,) = sources(f"column:x:column:y:{tmp_path}")
    assert (one.name, one.column, one.reader, one.named) == (f"{file}:y:x", "y", "", False)
    assert bare(f"column:x:reader:atif:{file}:z") == f"{file}:z" and bare("a:b") == "a:b"
    for given in ("column:x", "column::p", "reader:atif:"):
        with pytest.raises(InputError, match="NAME:PATH"):
            list(sources(given))


def test_archives_are_their_members_and_what_is_no_file_is_said(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("b.json", "a/c.json"):
            archive.writestr(name, f'["{name}"]')
    put(tmp_path / "b.zip", "damaged")
    with zipfile.ZipFile(tmp_path / "c.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.json", " " * 1_000_001)
    found = list(sources(str(tmp_path)))
    assert [(one.name, *one.held, one.named) for one in found] == [
        (f"{tmp_path}/a.zip!{name}", tmp_path / "a.zip", name, False) for name in ("a/c.json", "b.json")
    ] + [(f"{tmp_path}/{name}.zip", tmp_path / f"{name}.zip", "", True) for name in ("b", "c")]
    assert [one.refused and one.refused.what.partition(" times")[0] for one in found] == [
        None, None, None, "expands to more than 100"
    ]  # fmt: skip
    with pytest.raises(InputError, match="is a pipe, a device"):
        list(sources("/dev/null"))
    with pytest.raises(InputError, match=r"does not exist; did you mean a\.zip"):
        list(sources(str(tmp_path / "a.zup")))
    with pytest.raises(InputError, match=r"does not exist$"):
        list(sources(str(tmp_path / "gone" / "a.zip")))


@pytest.mark.parametrize(("data", "seen"), [
    ('{"a": 1, "b": 2}', "JSON object with keys a, b; "), ("{}", "JSON object with keys (none); "), ("[5]",
    "JSON list; "),
    ('[{"role": "user", "content": "Go."},]', "JSON with comments or trailing commas; "),
    ("5\n6\n", "JSON int; "), ("text", "not JSON; "), ("a,b,c\n1,2,3\n", "a table with columns a, b, c; "),
    ("a,b,c,d,e,f,g,h,i,j,k,l,m\n" + 13 * ",1", "a table with columns a, b, c, d, e, f, g, h, i, j, k, l; "),
    ('b", "c": 5, "d": 6}\n{"a": 1}\n', "a torn first line, then JSON object with keys a; "),
    (json.dumps({str(number): number for number in range(13)}), "keys 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11; "),
])  # fmt: skip
def test_what_is_seen_in_a_file_of_no_format(data: str, seen: str) -> None:
    with pytest.raises(NotATranscript, match="is no transcript format that ctxsim knows: ") as raised:
        detect(Sample(Source("x", data=data.encode())))
    assert seen + "see: ctxsim list formats" in str(raised.value)
    with pytest.raises(NotATranscript, match="x: is empty"):
        detect(Sample(Source("x", data=b" \n ")))


def test_where_a_format_is_documented() -> None:
    def told(text: str | None) -> str:
        return documentation(SimpleNamespace(__doc__=text))  # type: ignore[arg-type]

    assert told("A format.\n\nDocumentation: https://a.org/x, https://b.org\n") == "https://a.org/x"
    assert told("Documentation:\n  https://a.org/x.y. More.") == "https://a.org/x.y"
    assert told("None.") == told(None) == ""


def test_a_module_is_a_reader_by_its_two_functions() -> None:
    def of(**held: Any) -> SimpleNamespace:
        return SimpleNamespace(**held)

    made = load_reader_module(of(matches=lambda sample: True, read=lambda source, sample: (), TITLE="Mine"), "mine")
    assert (made.NAME, made.TITLE, made.VERSIONS, made.READS, made.NOT_READ) == ("mine", "Mine", "", "", "")
    for module, why in (
        (of(), r"it has no function matches and no read\(\.\.\.\)"),
        (of(matches=lambda sample: True, read=5), r"it has no function read\(\.\.\.\)"),
        (of(matches=lambda: True, read=lambda source, sample: ()), r"its matches must take \(sample\)"),
        (of(matches=lambda sample: True, read=lambda source: ()), r"its read must take \(source, sample\)"),
    ):
        with pytest.raises(LabelError, match=f"mine is no reader: {why}"):
            load_reader_module(module, "mine")


def test_a_minus_is_what_comes_by_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"[1]")))
    assert [(one.name, one.content()) for one in sources("-")] == [("standard input", b"[1]")]


def test_a_pattern_matches_files_whatever_their_names_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["-", "@found", "column:a:b", "git:", "reader:mine.py:logs", "~"]
    for name in names:
        Path(name).mkdir()
        Path(name, "a.jsonl").write_text(name)
    assert sorted(source.content().decode() for source in sources("*")) == names
    put(Path("-", "deeper", "still", "b.jsonl"), "b")
    assert [source.content() for source in sources("**/b.jsonl")] == [b"b"]


def test_a_list_and_a_pattern_are_sources(logs: Path, tmp_path: Path) -> None:
    everything = [source.name for source in sources(str(logs))]
    assert [source.name for source in sources(f"{logs}/log*.jsonl")] == everything
    (tmp_path / "list.txt").write_text(f"{logs}/log03.jsonl\n\n{logs}/log01.jsonl\n")
    listed = [source.name for source in sources(f"@{tmp_path}/list.txt")]
    assert listed == [f"{logs}/log03.jsonl", f"{logs}/log01.jsonl"]
    # A file that somebody names must be a transcript; what lies in a folder need not.
    named = {one: [source.named for source in sources(one)] for one in (f"{logs}/log03.jsonl", str(logs))}
    assert named == {f"{logs}/log03.jsonl": [True], str(logs): [False] * len(everything)}
    # As a shell makes it of a variable without a value: the folder that one is in isn't meant.
    with pytest.raises(InputError, match="'': is no path"):
        list(sources(""))
    with pytest.raises(InputError, match="matches nothing"):
        list(sources(f"{logs}/none*.json"))
    with pytest.raises(InputError, match="no list of paths"):
        list(sources("@nothing-here"))


@pytest.mark.parametrize("line", ["reader:mine.py:a.jsonl", "column:a:reader:./mine.py:a.jsonl"])
def test_a_list_names_no_code(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    Path("list.txt").write_text(f"{line}\n")
    told = (
        f"@list.txt: may not choose code to run, as '{line}' does; to read the whole list by it: reader:FILE.py:@list"
    )
    with pytest.raises(InputError, match=told):
        list(sources("@list.txt"))
    assert not Path("ran").exists()
    with pytest.raises(LabelError, match="is no reader"):
        list(sources("reader:mine.py:@list.txt"))


@pytest.mark.parametrize("line", ["@list.txt", "reader:codex:@list.txt"])
def test_a_list_names_no_other_list(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("list.txt").write_text(line)
    with pytest.raises(InputError, match=f"@list.txt: names another list, {line}"):
        list(sources("@list.txt"))


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_text(json.dumps(chat)))
    writer.start()
    found = [transcript for source in sources(str(fifo)) for transcript in read_source(source)]
    writer.join()
    assert len(found) == 1
