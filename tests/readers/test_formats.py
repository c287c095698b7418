"""The page of formats is what the readers say."""

from __future__ import annotations

from project import ROOT

from ctxsim.readers import registered_formats
from ctxsim.readers.catalogue import markdown
from ctxsim.readers.reader import FolderReader, Reader, modules


def test_the_page_of_formats_is_current() -> None:
    page = (ROOT / "docs" / "formats.md").read_text()
    assert page == markdown(), "run: ctxsim transcripts formats > docs/formats.md"


def test_every_format_says_what_it_is() -> None:
    for name, reader in registered_formats().items():
        assert name == reader.NAME
        for text in (reader.TITLE, reader.DOCS, reader.VERSIONS, reader.READS, reader.NOT_READ):
            assert isinstance(text, str) and text.strip(), name
        assert reader.DOCS.startswith("https://") or name == "ctxsim", name
        document = reader.__doc__ or ""
        assert "Documentation:" in document and "{" in document, f"{name} shows no example"


def test_whatever_names_itself_a_format_is_one_and_nothing_else_stands_among_them() -> None:
    named = [module for module in modules() if hasattr(module, "NAME")]
    for module in named:
        assert isinstance(module, Reader), f"{module.__name__} lacks something of a format"
        assert not hasattr(module, "owns") or isinstance(module, FolderReader), module.__name__
    assert len({module.NAME for module in named}) == len(named) == len(registered_formats())
    top = {module.__name__.split(".")[3] for module in modules()}
    assert {module.__name__.split(".")[3] for module in named} == top, "shared parts belong to readers/assembly"
