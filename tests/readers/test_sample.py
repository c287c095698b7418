"""What a format is recognised by: the beginning of a source, decoded once."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ctxsim.errors import InputError
from ctxsim.readers.source import Record, Sample, Source


def sample(data: bytes | str) -> Sample:
    return Sample(Source("x", data=data if isinstance(data, bytes) else data.encode()))


def lines(*values: Any) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


@pytest.mark.parametrize(("data", "columns"), [
    (b"a,b,c\n1,2,3\n", ("a", "b", "c")), (b"\xef\xbb\xbfa,b,c", ("a", "b", "c")),
    (b'"a, too",b,c\n', ("a, too", "b", "c")),
    # Two columns are too few; each has a name of its own that can be printed, and is text.
    (b"a,b\n1,2\n", ()), (b"a,,c\n", ()), (b"a,b\x07,c\n", ()), (b"a,b\xff,c\n", ()), (b"", ()), (b"\na,b,c\n", ()),
    # JSON and comments begin otherwise.
    (b'{"a": 1, "b": 2, "c": 3}\n', ()), (b" [1, 2, 3]\n", ()), (b"// a, b, c\n", ()),
])  # fmt: skip
def test_columns_of_a_table(data: bytes, columns: tuple[str, ...]) -> None:
    assert sample(data).columns == columns


@pytest.mark.parametrize(("data", "jsonl", "records"), [
    (lines({"a": 1}), False, [{"a": 1}]), (lines({"a": 1}, {"b": 2}), True, [{"a": 1}, {"b": 2}]),
    ('{"a": 1} {"b": 2}', True, [{"a": 1}, {"b": 2}]), ('{"a":\n1}\n', False, [{"a": 1}]), ("", False, []),
    ("plain text\nmore\n", False, []), ("7", False, []), ("7\n8\n", True, [7, 8]),
    # What isn't JSON is no record; a first line that isn't none makes none.
    (lines({"a": 1}) + "torn{\n" + lines(3), True, [{"a": 1}, 3]),
    ("a,b,c\n1,2,3\n", False, []),
    # Of a torn first line only the end is left; a document over lines has no whole object behind such an end.
    ('b", "c": 5, "d": 6}\n' + lines({"a": 1}), True, [{"a": 1}]), ("so, then, what}}\n{}\n{}\n", True, [{}, {}]),
    ('{"role": "user"}}\n{}\n', True, [{}]), ('b, c, "d"}\n[1]\n', False, []),
    ('[{"a": 1}\n,{}]\n', False, [[{"a": 1}, {}]]), ('[\n{"a": 1}\n]', False, [[{"a": 1}]]),
    # JSON with comments is an agent's settings.
    ('{ /* mine */ "model": {"maxSessionTurns": 9}, // so\n}\n', False, []),
])  # fmt: skip
def test_lines_or_a_document(data: str, jsonl: bool, records: list[Any]) -> None:
    found = sample(data)
    assert (found.jsonl, found.records, found.first) == (jsonl, records, records[0] if records else None)
    assert found.document == (records[0] if records and not jsonl else None)


def test_a_document_of_one_line_is_decoded_once_to_know_that_it_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    found = sample(lines({"a": 1}))
    kept = found.source.open
    monkeypatch.setattr(found.source, "open", lambda: opened.append(1) or kept())
    assert not found.columns
    opened.clear()
    assert (found.jsonl, opened) == (False, [1])


def test_what_is_cut_is_no_document() -> None:
    with pytest.raises(InputError, match="x: is not complete JSON"):
        _ = sample('{"a":\n1').document


def test_of_many_records_the_first_forty_are_looked_at_and_a_megabyte_of_them() -> None:
    assert sample(lines(*range(50))).records == list(range(40))
    # 600,000 characters each: of the third nothing is needed.
    assert [one[0] for one in sample(lines(*(f"{n}" * 600_000 for n in range(5)))).records] == ["0", "1"]
    assert sample(lines(1) + f"{'no ' * 400_000}\n" * 2 + lines(2)).records == [1], "a megabyte of anything"
    exactly = [" " * ((1 << 19) - 2)] * 3
    assert sample(lines(*exactly)).records == exactly, "up to the last byte of a megabyte"


@pytest.mark.parametrize(("value", "marks"), [
    # Four deep, lists not counted; of a list the first three.
    ({"a": {"b": {"c": {"d": {"e": 1}}}}}, {"a", "b", "c", "d"}),
    ([[{"a": [{"b": 1}, {"c": 1}, {"d": 1}, {"e": 1}]}]], {"a", "b", "c", "d"}),
    ({"type": "one", "x": {"type": "two"}, "y": {"type": 3}}, {"type", "x", "y", "type=one", "type=two"}),
    # Of messages the tags that their texts begin with.
    ([{"content": "<returncode>0</returncode><more>"}, {"content": " <no>"}, {"content": 5}, 7],
     {"content", "<returncode>"}),
    ({"messages": [{"content": "<returncode>"}]}, {"messages", "content"}),
])  # fmt: skip
def test_names_that_stand_near_the_beginning(value: Any, marks: set[str]) -> None:
    assert sample(json.dumps(value)).marks == marks


def test_names_of_lines_of_columns_and_of_members(tmp_path: Path) -> None:
    assert sample(lines({"a": 1}, {"b": 2})).marks == {"a", "b"}
    assert sample("a,b,c\n1,2,3\n").marks == {"a", "b", "c"}
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("in/a.json", "{}")
        archive.writestr("b.txt", "")
    packed = Sample(Source("x.zip", path))
    assert packed.members == ("in/a.json", "b.txt") and packed.marks == {"in/a.json", "b.txt"}
    assert (packed.records, packed.document, packed.jsonl) == ([], None, False)
    assert sample("{}").members == ()
    broken = Sample(Source("y.zip", data=path.read_bytes()[:60]))
    with pytest.raises(InputError, match=r"y\.zip: is a damaged zip archive"):
        _ = broken.members


def test_all_values_with_their_places() -> None:
    notes: list[str] = []
    assert list(sample("a,b,c\n1,2,3\n4,5,6\n").all(notes)) == [
        Record(1, {"a": "1", "b": "2", "c": "3"}, "x row 1"), Record(2, {"a": "4", "b": "5", "c": "6"}, "x row 2")
    ]  # fmt: skip
    assert list(sample(lines(1) + "torn{\n" + lines(3)).all(notes)) == [Record(1, 1, "x:1"), Record(3, 3, "x:3")]
    assert list(sample('{"a":\n1}').all(notes)) == [Record(1, {"a": 1}, "x")]
    (note,) = notes
    assert note.startswith("line 2 skipped, not JSON: ")


def test_a_folder_has_no_beginning(tmp_path: Path) -> None:
    found = Sample(Source("x", tmp_path))
    assert (found.folder, found.start, found.columns, found.members) == (tmp_path, b"", (), ())
    assert sample("x" * 5_000).start == b"x" * 4_096 and sample("x").folder is None


def test_bad_lines_are_noted_up_to_five() -> None:
    for bad, more in ((5, []), (6, ["1 more lines skipped, not JSON"]), (7, ["2 more lines skipped, not JSON"])):
        notes: list[str] = []
        source = Source("x", data=("torn{\n" * bad + lines(1)).encode())
        assert list(source.records(notes)) == [Record(bad + 1, 1, f"x:{bad + 1}")]
        assert [note.partition(" skipped")[0] for note in notes[:5]] == [f"line {n}" for n in range(1, 6)]
        assert notes[5:] == more
    with pytest.raises(InputError, match=r"^x:2: is not JSON: "):
        list(Source("x", data=b"// a comment\ntorn{\n\n").records([]))


def test_lines_end_at_line_feeds_alone() -> None:
    source = Source("x", data=b"\xef\xbb\xbf1\r\n\n  2\x0b\xe2\x80\xa8  \n// no\n\xef\xbb\xbf3")
    assert list(source.lines()) == [(1, b"1"), (3, b"2\x0b\xe2\x80\xa8"), (5, b"\xef\xbb\xbf3")]
    assert source.content() == b"\xef\xbb\xbf1\r\n\n  2\x0b\xe2\x80\xa8  \n// no\n\xef\xbb\xbf3"
    assert Source("a\nb\udc80").name == "a?b?"
