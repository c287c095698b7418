"""Members of zip archives: stored, deflated, and in Zstandard frames, which the standard library can't read."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path

import pyarrow
import pytest

from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers import sources
from ctxsim.readers.source.archive import check_archive, member_bytes

DATA = b"a line of text\n" * 500


def zstandard(data: bytes) -> bytes:
    compressed: bytes = pyarrow.Codec("zstd").compress(data, asbytes=True)
    return compressed


def write_zip(path: Path, method: int, compressed: bytes, data: bytes) -> None:
    """Write an archive of one member by hand: APPNOTE.TXT 4.3.7, 4.3.12, 4.3.16."""
    name, crc = b"samples/1.json", zlib.crc32(data)
    sizes = struct.pack("<IIIHH", crc, len(compressed), len(data), len(name), 0)
    local = b"PK\x03\x04" + struct.pack("<HHHHH", 63, 0, method, 0, 33) + sizes + name
    central = b"PK\x01\x02" + struct.pack("<HHHHHH", 63, 63, 0, method, 0, 33) + sizes
    central += struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    offset = len(local) + len(compressed)
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), offset, 0)
    path.write_bytes(local + compressed + central + end)


def only_member(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return member_bytes(archive, archive.infolist()[0])


def test_an_archive_that_is_written_anew_is_read_anew(tmp_path: Path) -> None:
    for data in (DATA, DATA[:70]):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("x.json", data)
        assert [one.content() for one in sources(str(tmp_path / "a.zip"))] == [data]


def test_a_name_that_stands_in_an_archive_twice_is_told(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        for data in (b"1", b"2"):
            archive.writestr("x.json", data)
    last, refused = sources(str(tmp_path / "a.zip"))
    assert last.content() == b"2"
    with pytest.raises(NotATranscript, match=r"a\.zip!x\.json: stands in the archive 2 times: only the last"):
        refused.open()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_what_the_standard_library_reads(method: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
        archive.writestr("x", DATA)
    assert only_member(tmp_path / "a.zip") == DATA


def test_zstandard_in_one_frame_and_in_several(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.zip", 93, zstandard(DATA), DATA)
    assert only_member(tmp_path / "a.zip") == DATA
    write_zip(tmp_path / "b.zip", 93, zstandard(DATA) + zstandard(b"more"), DATA + b"more")
    assert only_member(tmp_path / "b.zip") == DATA + b"more"


def test_members_may_be_a_hundred_times_their_archive_and_not_a_byte_more(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", b"x" * 20_000)
    with zipfile.ZipFile(path) as archive:
        archive.infolist()[0].file_size = 100 * path.stat().st_size
        check_archive(archive, "a.zip")
        archive.infolist()[0].file_size += 1
        with pytest.raises(InputError, match="expands to more than 100 times its size"):
            check_archive(archive, "a.zip")


def test_damage_says_which_member(tmp_path: Path) -> None:
    write_zip(tmp_path / "cut.zip", 93, zstandard(DATA)[:-9], DATA)
    with pytest.raises(InputError, match=r"cut.zip!samples/1.json: can't be decompressed: "):
        only_member(tmp_path / "cut.zip")
    write_zip(tmp_path / "other.zip", 93, zstandard(b"other"), DATA)
    with pytest.raises(InputError, match="wrong checksum"):
        only_member(tmp_path / "other.zip")
    write_zip(tmp_path / "unknown.zip", 98, DATA, DATA)
    with pytest.raises(InputError, match="can't be decompressed: That compression method is not supported"):
        only_member(tmp_path / "unknown.zip")
