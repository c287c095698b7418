"""Colours that everybody can tell apart and read, by name; names that fit."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from ctxsim.report.figure import new_figure
from ctxsim.report.style import COLORS, DARK_COLORS, OTHER_COLOR, colors_of, direct_labels, middle_cut, short, thinned

# Machado, Oliveira and Fernandes (2009): what red-blind and green-blind eyes see of linear RGB.
EYES = {
    "ordinary": np.eye(3),
    "green-blind": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "red-blind": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}


def linear(color: str) -> np.ndarray:
    channels = np.array([int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE 1976 L*a*b* of linear sRGB, white D65."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1, 1.089]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    """By WCAG 2."""
    low, high = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) + 0.05 for color in (one, other))
    return high / low


@pytest.mark.parametrize(("colors", "ground"), [(COLORS, "#ffffff"), (DARK_COLORS, "#15181c")])
def test_colours_are_told_apart_and_read(colors: tuple[str, ...], ground: str) -> None:
    assert len(colors) == 7 and contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert min(contrast(color, ground) for color in (*colors, *([OTHER_COLOR] if ground == "#ffffff" else []))) >= 4.5
    for eyes, seen in EYES.items():
        for one, other in combinations(colors, 2):
            assert np.linalg.norm(lab(seen @ linear(one)) - lab(seen @ linear(other))) > 17, (eyes, one, other)


TEXT = ("text", "quiet", "accent", "lost")
DRAWN = (
    "kept", "edited", "summarised", "dropped", "needed", "other", "edge", "read", "write", "uncached", "output",
    "summary",
)  # fmt: skip


@pytest.mark.parametrize("scheme", [0, 1])
def test_texts_and_lines_of_the_page_stand_out_from_their_ground(scheme: int) -> None:
    style = files("ctxsim.report").joinpath("html/page.css").read_text("utf-8")
    colours = dict(re.findall(r"--(\w+): (#\w{6})", re.findall(r":root \{.*?\}", style, re.DOTALL)[scheme]))
    assert colours["ground"] == ("#ffffff", "#15181c")[scheme]
    for least, names in ((4.5, TEXT), (3, DRAWN)):
        for ground in ("ground", "raised"):
            assert not [name for name in names if contrast(colours[name], colours[ground]) < least], ground
    # Marked words of a text, on their own grounds.
    assert min(contrast(colours["text"], colours[name]) for name in ("gone", "new")) >= 4.5


def test_of_too_many_names_the_lowest_grey_ones_go() -> None:
    own, low, middle, high = (
        (name, 5.0, at, color)
        for name, at, color in (("own", 0.0, COLORS[0]), ("low", 1.0, OTHER_COLOR), ("middle", 3.0, OTHER_COLOR),
                                ("high", 9.0, OTHER_COLOR))
    )  # fmt: skip
    every = [own, low, middle, high]
    assert thinned(every, 4) == (every, "")
    assert thinned(every, 3) == ([own, middle, high], "lines without a name: 1, see the table")
    assert thinned(every[::-1], 3)[0] == [high, middle, own]
    assert thinned(every, 2)[0] == [own, high] and thinned(every, 0)[0] == [own], "a name with its own colour stays"
    bound = ("best (bound)", 5.0, 1.5, OTHER_COLOR)
    assert thinned([*every, bound], 2)[0] == [own, bound], "so does a bound's"


def test_a_name_keeps_its_colour_and_seven_have_one() -> None:
    labels = [f"policy-{n}" for n in range(12)]
    found = colors_of(labels)
    assert list(found) == labels[:7] and sorted(found.values()) == list(range(7))
    # Alone each has the colour of its name, whoever else there is.
    alone = {label: colors_of([label])[label] for label in labels}
    assert colors_of(labels[::-1])[labels[-1]] == alone[labels[-1]]
    assert next(iter(colors_of(labels, ["policy-9"]))) == "policy-9"


def test_names_of_one_colour_take_the_next_one() -> None:
    # By their CRC-32 these three have the last colour: the first two are next.
    assert colors_of(["policy-5", "policy-14", "policy-30"]) == {"policy-5": 6, "policy-14": 0, "policy-30": 1}


def test_long_names_lose_their_middle() -> None:
    assert short("token-budget:budget=40000,retain=500") == "token-budget 40K/500"
    cut = short("json-aware+round-summary+token-approx-budget+head-tail:lines=3,bytes=4")
    assert len(cut) == 40 and cut.startswith("json-aware") and cut.endswith("3/4") and "…" in cut
    assert middle_cut("abcdefgh", 5) == "ab…gh"


def test_settings_are_told_apart_by_the_ends_of_their_keys_and_their_values() -> None:
    one, two = "pi/compaction.reserveTokens=100000", "pi/compaction.keepRecentTokens=4000"
    assert short("as-set") == "as-set" and short(f"as-set:given={one}") == "reserveTokens=100K"
    both = short(f"as-set:given={one};{two}")
    assert both == "reserveTokens=100K + keepRecentTokens=4K"
    pairs = [f"claude-code/autoCompactWindow={n};claude-code/BASH_MAX_OUTPUT_LENGTH=4000" for n in (150_000, 175_000)]
    names = [short(f"as-set:given={pair}") for pair in pairs]
    assert names == ["autoComp…ndow=150K + BASH_MAX…LENGTH=4K", "autoComp…ndow=175K + BASH_MAX…LENGTH=4K"]


def test_names_beside_lines_are_apart_and_joined_to_their_points() -> None:
    figure, axes = new_figure()
    axes.set_xscale("log")
    axes.plot([1, 10, 1000], [0, 90, 91])
    points = [("high", 1000.0, 90.0, "#000000"), ("higher", 10.0, 91.0, "#111111"), ("low", 1.0, 0.0, "#222222")]
    direct_labels(axes, points)
    figure.draw_without_rendering()
    assert {text.get_position()[0] for text in axes.texts} == {1.03}
    # The higher one can't go higher, so the high one goes lower. 91 and a margin of 5 % on both sides are the axis.
    assert [text.get_position()[1] for text in axes.texts] == pytest.approx([0.943, 0.985, 0.05 / 1.1])
    [joins] = axes.collections
    in_data = (joins.get_transform() - axes.transData).transform([line[-1] for line in joins.get_segments()])
    assert in_data.tolist() == [pytest.approx(point[1:3]) for point in points]
