"""Transcripts in object stores and behind HTTP, through fsspec: `s3://bucket/folder/`, `gs://`, `az://`, `https://`.

The objects under an address are copied into a temporary folder, under the same names, and read like any folder.
Credentials are what the store's own library finds in the environment; nothing here takes or keeps them.
Documentation: https://filesystem-spec.readthedocs.io/en/latest/usage.html
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ctxsim.errors import InputError, how_to_install, one_line
from ctxsim.readers.source.placed import copied
from ctxsim.readers.source.source import Source

STORES = {"s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "memory": "fsspec", "https": "aiohttp", "http": "aiohttp"}
"""Schemes of addresses, and the package that fsspec needs for each."""

AT_ONCE = 256
"""Number of objects that are fetched together."""

_URL = re.compile(rf"({'|'.join(STORES)})://")
_KEY = re.compile(r"(?<=\S)\?[^\s'\")]+")
"""The query string of an address in an error, which may be a key."""


def is_remote(path: str) -> bool:
    """Return whether a path is an address with a scheme of `STORES`."""
    return _URL.match(path) is not None


def remote_sources(
    address: str, wanted: Callable[[str], bool], walk: Callable[[str], Iterator[Source]]
) -> Iterator[Source]:
    """Return the sources under an address, sorted by name: copies of the `wanted` objects, as `copied` does.

    Raises InputError for an address that can't be read, and if fsspec or the store's package is missing.
    """
    parts = urlsplit(address)
    scheme = f"{parts.scheme}://"
    if parts.username or parts.password:
        raise InputError(f"{scheme}...", "names credentials: they are taken from the environment alone")
    # The query string of a signed address is a key.
    shown = address.partition("?")[0] if parts.scheme.startswith("http") else address
    store = _store(parts.scheme, shown)
    top, objects = _listed(store, address, shown)

    def put(places: Mapping[str, Path]) -> Iterator[tuple[Path, InputError]]:
        of = {path: below for below, path in places.items()}
        for path, error in _fetch(store, {path: objects[below] for path, below in of.items()}):
            yield path, _refusal(scheme + of[path], error)

    return copied(objects, wanted, put, walk, scheme, top)


def _store(scheme: str, shown: str) -> Any:
    try:
        import fsspec

        return fsspec.filesystem(scheme)
    except ImportError:
        missing = STORES[scheme]
        more = "" if missing in ("fsspec", "s3fs", "aiohttp") else f" {missing}"
        raise InputError(shown, f"needs {missing}, which is not installed: {how_to_install('remote')}{more}") from None
    # A store's library may raise any error, which is no defect of ctxsim.
    except Exception as error:
        raise _refusal(shown, error) from error


def _listed(store: Any, address: str, shown: str) -> tuple[str, dict[str, str]]:
    """Return the name of what is to be read, and the store's path of each object by its name in the copies' folder.

    Raises InputError if nothing is there, or access is denied.
    """
    scheme, _, rest = shown.partition("://")
    top = rest.strip("/")
    if not top:
        raise InputError(shown, "names no bucket or folder")
    try:
        here = address if scheme.startswith("http") else store._strip_protocol(address)
        # Behind HTTP a folder is a page of links: read only if the address ends with a slash.
        if not rest.endswith("/") and (scheme.startswith("http") or store.isfile(here)):
            found = {top: here} if store.exists(here) else {}
        else:
            found = {f"{top}/{one[len(here) :].strip('/')}": one for one in store.find(here)}
    except Exception as error:
        raise _refusal(shown, error) from error
    if not found:
        raise InputError(shown, "does not exist")
    return top, found


def _fetch(store: Any, wanted: Mapping[Path, str]) -> Iterator[tuple[Path, Exception]]:
    """Copy objects, many at once; yield path and error of those that could not be copied."""
    every = list(wanted.items())
    for start in range(0, len(every), AT_ONCE):
        some = every[start : start + AT_ONCE]
        try:
            store.get([at for _, at in some], [str(path) for path, _ in some])
        # It isn't known which one failed: each is tried separately.
        except Exception:  # noqa: BLE001
            for path, at in some:
                try:
                    store.get_file(at, str(path))
                except Exception as error:  # noqa: BLE001
                    yield path, error


def _refusal(where: str, error: BaseException) -> InputError:
    said = one_line(_KEY.sub("", str(error)), 300)
    if isinstance(error, FileNotFoundError):
        return InputError(where, "does not exist")
    if isinstance(error, ImportError):
        return InputError(where, f"needs a package that is not installed ({said}): {how_to_install('remote')}")
    return InputError(where, f"can't be read: {type(error).__name__}: {said}")
