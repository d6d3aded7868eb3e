"""The colours of the style sheet: readable, distinct, and each with one meaning."""

from __future__ import annotations

import math
import re
from importlib.resources import files
from itertools import combinations

import pytest

STYLE = (files("shadowtime.report") / "assets" / "base.css").read_text("utf-8")
BLOCKS = re.findall(r"\{\n  color-scheme: (light|dark);(.*?)\n\}", STYLE, re.DOTALL)
THEMES = {
    f"{theme}-{k}": dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", body))
    for k, (theme, body) in enumerate(BLOCKS)
}
FAMILIES = {
    "policies": [f"p{i}" for i in range(12)],
    "users": [f"u{i}" for i in range(7)],
    "resources": [f"r{i}" for i in range(6)],
    "reasons": [
        f"reason-{name}" for name in ("recorded", "head", "reserved", "backfilled", "preempting")
    ],
}


def linear(colour: str) -> list[float]:
    values = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, relative luminance."""
    found = [
        0.2126 * red + 0.7152 * green + 0.0722 * blue
        for red, green, blue in (linear(one), linear(other))
    ]
    return (max(found) + 0.05) / (min(found) + 0.05)


def perceived(colour: str) -> tuple[float, float, float]:
    """OKLab: distances in it are about as large as they look."""
    red, green, blue = linear(colour)
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    middle = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    return (
        0.2104542553 * long + 0.793617785 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.428592205 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.808675766 * short,
    )


def test_the_measure_is_the_published_one():
    """Black on white is 21:1, and grey 767676 is the lightest that passes on white."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


def test_dark_is_the_same_by_setting_and_by_switch():
    assert [theme for theme, _ in BLOCKS] == ["light", "dark", "dark"]
    assert THEMES["dark-1"] == THEMES["dark-2"]
    assert THEMES["light-0"].keys() == THEMES["dark-1"].keys()


@pytest.mark.parametrize("theme", THEMES)
def test_text_has_a_contrast_of_four_and_a_half(theme):
    known = THEMES[theme]
    pairs = [
        (ink, ground)
        for ink in ("text", "muted", "accent", "better", "worse", "fair")
        for ground in ("bg", "panel", "card", "tint")
    ]
    pairs += [("h-low" if step < 5 else "h-high", f"h{step}") for step in range(9) if step != 5]
    pairs += [
        ("h-low" if step < 4 else "h-high", f"{side}-{step}")
        for side in ("gain", "loss")
        for step in range(1, 5)
    ]
    low = {pair: contrast(known[pair[0]], known[pair[1]]) for pair in pairs}
    low["white", "h5"] = contrast("#ffffff", known["h5"])
    assert {pair: found for pair, found in low.items() if found < 4.5} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_lines_and_borders_of_controls_have_a_contrast_of_three(theme):
    known = THEMES[theme]
    names = [*FAMILIES["policies"], *FAMILIES["resources"], "edge"]
    low = {
        (name, ground): contrast(known[name], known[ground])
        for name in names
        for ground in ("bg", "panel")
    }
    assert {pair: found for pair, found in low.items() if found < 3} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_no_colour_means_two_things(theme):
    """Policies, users, resources and reasons share no colour, and similar colours are far apart."""
    known = THEMES[theme]
    everything = [known[name] for names in FAMILIES.values() for name in names]
    assert len(set(everything)) == len(everything)
    for names in FAMILIES.values():
        for one, other in combinations(names, 2):
            gap = math.dist(perceived(known[one]), perceived(known[other]))
            assert gap > 0.075, (theme, one, other, gap)
