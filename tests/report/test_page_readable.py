"""Everybody can read the page: by the rules of WCAG, on screens of three widths, in light and dark."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from pages import in_browser, opened

from ctxsim.report.style import COLORS, DARK_COLORS

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


def luminance(color: str) -> float:
    """Relative luminance: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance."""
    shares = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_worked_by_hand() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)  # (1 + 0.05) / (0 + 0.05)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


TEXT = ("text", "quiet", "accent", "lost")
DRAWN = (
    "kept", "edited", "summarised", "dropped", "needed", "other", "edge", "read", "write", "uncached", "output",
    "summary",
)  # fmt: skip


@pytest.mark.parametrize(("scheme", "lines"), [("light", COLORS), ("dark", DARK_COLORS)])
def test_texts_and_lines_stand_out_from_their_ground(scheme: str, lines: tuple[str, ...]) -> None:
    style = files("ctxsim.report").joinpath("html/page.css").read_text("utf-8")
    light, dark = (
        dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in re.findall(r":root \{.*?\}", style, re.DOTALL)
    )
    colours = light if scheme == "light" else dark
    grounds = [colours["ground"], colours["raised"]]
    weak = {
        (name, ground): round(found, 2)
        for least, names in ((4.5, TEXT), (3, DRAWN))
        for name in names
        for ground in grounds
        if (found := contrast(colours[name], ground)) < least
    }
    assert weak == {}
    assert min(contrast(color, colours["ground"]) for color in lines) >= 3
    # Marked words of a text, on their own grounds.
    assert min(contrast(colours["text"], colours[name]) for name in ("gone", "new")) >= 4.5
