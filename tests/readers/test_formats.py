"""The page of formats is what the readers say."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType

import corpus
import pytest
from invented import write_logs
from project import ROOT

from ctxsim.api.lists import page as page_of
from ctxsim.errors import InputError
from ctxsim.readers import ORDER, formats, read, registered_formats
from ctxsim.readers.formats import ctxsim_jsonl
from ctxsim.readers.reader import FolderReader, Reader, _files, detect, documentation
from ctxsim.readers.source import Sample


def modules() -> Iterator[ModuleType]:
    """Every module among the formats."""
    for module in walk_packages(formats.__path__, f"{formats.__name__}."):
        yield importlib.import_module(module.name)


def test_the_pages_of_formats_name_every_format() -> None:
    page = (ROOT / "docs" / "formats.md").read_text()
    for name, reader in registered_formats().items():
        assert f"`{name}`" in page, name
        assert f"`{name}`: {' '.join(reader.VERSIONS.split())}\n" in page_of("formats"), name
    example = (ctxsim_jsonl.__doc__ or "").split("\n\n")[-1]
    assert inspect.cleandoc(example) in page, "the example of our own format"


def test_every_format_says_what_it_is() -> None:
    for name, reader in registered_formats().items():
        assert name == reader.NAME
        for text in (reader.TITLE, documentation(reader), reader.VERSIONS, reader.READS, reader.NOT_READ):
            assert isinstance(text, str) and text.strip(), name
        assert documentation(reader).startswith("https://") or name == "ctxsim", name
        document = reader.__doc__ or ""
        assert "Documentation:" in document and "{" in document, f"{name} shows no example"


def test_whatever_names_itself_a_format_is_one_and_nothing_else_stands_among_them() -> None:
    found = list(modules())
    named = [module for module in found if hasattr(module, "NAME")]
    for module in named:
        assert isinstance(module, Reader), f"{module.__name__} lacks something of a format"
        assert not hasattr(module, "owns") or isinstance(module, FolderReader), module.__name__
    assert len({module.NAME for module in named}) == len(named) == len(registered_formats())
    top = {module.__name__.split(".")[3] for module in found}
    assert {module.__name__.split(".")[3] for module in named} == top, "shared parts belong to readers/assembly"


@pytest.mark.parametrize(
    ("file", "module"), [("rollout-1.jsonl", "codex"), ("claude-1.jsonl", "claude_code"), ("own.jsonl", "ctxsim_jsonl")]
)
def test_of_most_recordings_one_format_is_imported(file: str, module: str, tmp_path: Path) -> None:
    write_logs(tmp_path, count=1)
    (transcript,) = read(str(tmp_path / "chat-1.json"))
    (tmp_path / "own.jsonl").write_bytes(b"\n".join(ctxsim_jsonl.lines(transcript)))
    code = (
        "import sys\nfrom ctxsim.readers import read\n"
        f"assert list(read({str(tmp_path / file)!r}))\n"
        "print([name for name, one in sys.modules.items() if name.startswith('ctxsim.readers.formats.')\n"
        "       and hasattr(one, 'NAME')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"['ctxsim.readers.formats.{module}']\n"


def test_marks_are_names_and_every_special_format_has_some() -> None:
    """A plain tuple, for it is found in the text of the file; formats without one are asked last."""
    without = {name for name, one in registered_formats().items() if not getattr(one, "MARKS", ())}
    assert without <= set(ORDER)
    for name, one in registered_formats().items():
        assert all(isinstance(mark, str) for mark in getattr(one, "MARKS", ())), name
        assert _files()[name].marks == getattr(one, "MARKS", ()), f"MARKS of {name} can't be read from its text"


@corpus.here
@pytest.mark.corpus
def test_a_general_format_takes_no_log_of_a_special_one() -> None:
    """Special formats whose marks aren't there are asked behind the general ones, which would match many a log."""
    special = [one for name, one in registered_formats().items() if name not in ORDER]
    for source in corpus.some_sources(apart=0):
        sample = Sample(source)
        with suppress(InputError):
            if detect(sample).NAME in ORDER:
                assert [one.NAME for one in special if one.matches(sample)] == [], source.name
