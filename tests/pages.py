"""The page of a run in a real browser, and as text."""

from __future__ import annotations

import base64
import re
import shutil
import zlib
from pathlib import Path
from typing import Any

import pytest
from made_runs import call_row

from ctxsim.results.columns import CallRow, ItemRow

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

in_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium here: apt-get install chromium")


def opened(tab: Any, path: Path, width: int = 1280, address: str = "") -> list[str]:
    """Load the page anew in the tab, and return what it will complain about or ask the network for."""
    tab.goto("about:blank")
    as_shown(tab, width)
    troubles: list[str] = []
    tab.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else troubles.append(request.url),
    )
    tab.goto(path.resolve().as_uri() + address)
    ready(tab)
    return troubles


def as_shown(tab: Any, width: int) -> None:
    """Show what the tab has as a light screen of this width does."""
    tab.bring_to_front()
    tab.set_viewport_size({"width": width, "height": 900})
    tab.emulate_media(media="screen", color_scheme="light", reduced_motion="no-preference")


def ready(tab: Any) -> None:
    """Wait until the page shows its first transcript."""
    tab.locator("html[data-ready=yes]").wait_for(state="attached", timeout=30_000)


def unfold(tab: Any) -> None:
    """Open all folds of the call that is looked at."""
    tab.evaluate("""() => { for (let fold; (fold = document.querySelector("#sides .fold")); ) fold.click(); }""")


def parts(text: str) -> list[str]:
    """What the page holds of each transcript, as JSON."""
    packed = re.findall(r'<script type="text/plain" id="part-\d+">([A-Za-z0-9+/=]*)</script>', text)
    return [zlib.decompress(base64.b64decode(one)).decode() for one in packed]


def words_of(path: Path) -> str:
    """All that a page says, what is packed in it too."""
    text = path.read_text()
    return " ".join([text, *parts(text)])


ITEMS = [
    ItemRow("t1", 0, "user", "", 0, 1, 7, "", "x" * 300), ItemRow("t1", 1, "tool_result", "read", 1, 2, 8, "3 5", "y")
]  # fmt: skip


def call(number: int, policy: str, sent: int, **given: Any) -> CallRow:
    """A call of the transcript of these items."""
    known = {"tokens_cache_read": 0, "tokens_cache_write": 0, "tokens_uncached": 0, "status": "ok", "tokens_sent": sent}
    return call_row(**{**known, "transcript": "t1", "policy": policy, "call": number, **given})
