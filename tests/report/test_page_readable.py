"""Everybody can read the page: by the rules of WCAG, on screens of three widths, in light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pages import in_browser, opened

# A width changes what stands where, a scheme colours alone. Of what is drawn rules of colours say nothing.
CONTRAST = "color-contrast"
PLACES = {"rules": {CONTRAST: {"enabled": False}}}
SCREENS: tuple[tuple[int, Any, Any, dict[str, Any]], ...] = (
    (390, "dark", None, PLACES), (900, "light", None, PLACES), (1400, "light", None, {}),
    (1400, "dark", {"exclude": [["svg"]]}, {"runOnly": [CONTRAST]}),
)  # fmt: skip


@in_browser
@pytest.mark.slow
def test_axe_finds_no_violation_and_nothing_is_wider_than_the_screen(default: Path, tab: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    troubles = opened(tab, default, 390)
    tab.locator("#policy").select_option(label="token-budget:budget=40000,retain=500")
    tab.locator("#search").fill("linkedin")
    tab.locator("#filter summary").click()
    for width, scheme, where, rules in SCREENS:
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        tab.evaluate("Object.values(CHARTS).forEach((one) => one())")
        # Nothing scrolls sideways but what says that it does, once charts have the new width.
        fits = "(width) => [document.documentElement, document.body].every((one) => one.scrollWidth === width)"
        tab.wait_for_function(fits, arg=width, timeout=10_000)
        light = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (light == "rgb(255, 255, 255)") == (scheme == "light")
        found = Axe().run(tab, where, {"resultTypes": ["violations"], **rules}).response["violations"]
        assert {one["id"]: [node["html"][:200] for node in one["nodes"]] for one in found} == {}
    assert troubles == []


@in_browser
@pytest.mark.slow
def test_a_printed_page_has_no_part_over_another(default: Path, tab: Any) -> None:
    opened(tab, default, 794)
    tab.emulate_media(media="print")
    ends = tab.evaluate("""[...document.querySelectorAll("section")].filter(one => one.offsetHeight).map(one =>
        [one.getBoundingClientRect().bottom, one.lastElementChild.getBoundingClientRect().bottom,
         one.lastElementChild.scrollHeight - one.lastElementChild.clientHeight])""")
    assert ends and all(inner <= outer + 1 and hidden <= 1 for outer, inner, hidden in ends), ends
