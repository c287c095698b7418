"""Members of zip archives, including those in Zstandard, which the standard library can't decompress.

Method 93 is Zstandard: APPNOTE.TXT 4.4.5, https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
"""

import io
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import BinaryIO, cast

from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers.source.limits import Pace, check_expansion, most_bytes, read_all, too_large
from ctxsim.readers.source.placed import copied
from ctxsim.readers.source.source import Source

ZSTANDARD = 93


def archived(path: Path, wanted: Callable[[str], bool], walk: Callable[[str], Iterator[Source]]) -> Iterator[Source]:
    """Yield the sources in a zip archive: copies of the `wanted` members, as `copied` does.

    Raises InputError for an archive that expands too much, and what `zipfile` raises for a damaged one.
    """
    with zipfile.ZipFile(path) as archive:
        check_archive(archive, str(path))

        def put(places: Mapping[str, Path]) -> Iterator[tuple[Path, InputError]]:
            pace = Pace(str(path))
            for name, copy in places.items():
                try:
                    data = member_bytes(archive, archive.getinfo(name))
                except InputError as error:
                    yield copy, error
                else:
                    pace.took(copy.write_bytes(data))

        size = sum(info.file_size for name, info in archive.NameToInfo.items() if wanted(name))
        yield from copied(archive.NameToInfo, wanted, put, walk, f"{path}!", archive=path, size=size)
        for name, times in Counter(archive.namelist()).items():
            if times > 1 and not name.endswith("/"):
                why = f"stands in the archive {times} times: only the last one is read"
                yield Source(f"{path}!{name}", refused=NotATranscript(f"{path}!{name}", why))


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
