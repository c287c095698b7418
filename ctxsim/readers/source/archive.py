"""Members of zip archives, including those in Zstandard, which the standard library can't decompress.

Method 93 is Zstandard: APPNOTE.TXT 4.4.5, https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
"""

import io
import struct
import threading
import zipfile
import zlib
from collections.abc import KeysView
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, cast

from ctxsim.errors import InputError
from ctxsim.readers.source.limits import check_expansion, most_bytes, read_all, too_large

ZSTANDARD = 93


def members(path: Path) -> list[str]:
    """Return the names of a zip archive's members, in sorted order.

    Raises InputError for an archive that expands too much, and what `zipfile` raises for a damaged one.
    """
    archive = _archive(path, _state(path))
    check_archive(archive, str(path))
    return sorted(info.filename for info in archive.infolist() if not info.is_dir())


def member(path: Path, name: str) -> bytes:
    """Return a member of the archive at a path, decompressed."""
    with _ONE_AT_A_TIME:
        archive = _archive(path, _state(path))
        return member_bytes(archive, archive.getinfo(name))


def listing(path: Path) -> KeysView[str]:
    """Return the names of all members of the archive at a path, which is kept open."""
    return _archive(path, _state(path)).NameToInfo.keys()


def _state(path: Path) -> tuple[int, int, int]:
    now = path.stat()
    return now.st_ino, now.st_size, now.st_mtime_ns


_ONE_AT_A_TIME = threading.Lock()
"""An open archive has one file position, which the threads of a cluster's worker would share."""


@lru_cache(maxsize=1)
def _archive(path: Path, state: tuple[int, int, int]) -> zipfile.ZipFile:
    """Return an open archive. The last one is kept, so that its list of members is read once, not for each of them."""
    return zipfile.ZipFile(path)


def member_bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a member, decompressed. Raises InputError if it is damaged, encrypted or compressed in an unknown way."""
    where = f"{archive.filename or 'archive'}!{info.filename}"
    try:
        if info.file_size > most_bytes():
            raise too_large(where)
        if info.compress_type == ZSTANDARD:
            return _zstandard(archive, info)
        # The size that an archive states for a member may be false.
        with archive.open(info) as stream:
            return read_all(cast(BinaryIO, stream), where)
    except (RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error) as error:
        raise InputError(where, f"can't be decompressed: {error}") from error


def check_archive(archive: zipfile.ZipFile, name: str) -> None:
    """Raise InputError if the members, by the sizes that the archive states, expand to more than recordings do."""
    assert archive.fp is not None
    check_expansion(sum(info.file_size for info in archive.infolist()), archive.fp.seek(0, io.SEEK_END), name)


def _zstandard(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    import pyarrow

    # The member's bytes in the archive: read as if they were stored, and without a checksum of their own.
    kept = copy(info)
    kept.compress_type, kept.file_size, kept.CRC = zipfile.ZIP_STORED, info.compress_size, cast(int, None)
    # Inspect starts a new frame every 200 MiB; pyarrow goes on through all of them.
    with archive.open(kept) as compressed, pyarrow.input_stream(compressed, compression="zstd") as stream:
        data: bytes = stream.read(info.file_size + 1)
    if zlib.crc32(data) != info.CRC:
        raise zipfile.BadZipFile("wrong checksum")
    return data
