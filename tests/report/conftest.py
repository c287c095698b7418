"""A browser, the page of the documented case, and figures instead of files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import BROWSER, as_shown, opened

from ctxsim.report import figure
from ctxsim.report.page import write_page
from ctxsim.results import read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.synthesis import load_scenario


@pytest.fixture(scope="session")
def default(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the documented case."""
    folder = tmp_path_factory.mktemp("page") / "documented-53k"
    scenario = load_scenario("documented-53k")
    conduct(Setting(scenario.name, scenario.title, scenario.policies), folder, scenario)
    return write_page(read_run(folder), folder / "report.html")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are drawn, in the place of their files."""
    found: list[Any] = []
    monkeypatch.setattr(figure, "save", lambda one, path: found.append(one) or path)
    return found


# Not for the whole session: while it is open no test beside it can run an event loop.
@pytest.fixture(scope="package")
def tab() -> Iterator[Any]:
    """A tab of a browser without network, in which each test opens a page anew."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield running.new_context(offline=True).new_page()
        running.close()


@pytest.fixture(scope="package")
def opened_once(tab: Any, default: Path) -> tuple[Any, list[str], int]:
    """Another tab with the page of the documented case, what it complains about, and the policy that it begins with."""
    other = tab.context.new_page()
    troubles = opened(other, default)
    return other, troubles, other.evaluate("state.policy")


@pytest.fixture
def documented(opened_once: tuple[Any, list[str], int]) -> Iterator[Any]:
    """That tab as it begins, for tests that leave its filter as it is. Nothing complains."""
    other, troubles, first = opened_once
    as_shown(other, 1280)
    other.evaluate("first => { scrollTo(0, 0); state.sort = null; state.policy = null; pickPolicy(first); }", first)
    yield other
    assert troubles == []
