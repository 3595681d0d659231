"""Tests of the style sheets of `mase.render.templates`: texts on every shade of every palette can be read."""

import re
from itertools import product

import pytest

from mase.render.templates import resource

AA = 4.5
SHEET = "".join(resource("mase.render", name) for name in ("style.css", "palettes.css", "page.css", "choices.css"))
SHADES = [float(value) for value in re.findall(r"\[[a-l]\]\{--k:([\d.]+)\}", SHEET)]
PAGES = {"light": ((253, 252, 250), (29, 29, 32)), "dark": ((21, 22, 26), (232, 230, 225))}


def palettes(scheme):
    """Return the colours of all palettes as triples."""
    prefix = "--dark-" if scheme == "dark" else "--"
    found = re.findall(rf"[{{;]{prefix}(?:for|against|plain):(\d+ \d+ \d+)", SHEET)
    return {tuple(map(int, one.split())) for one in found}


def luminance(colour):
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (part / 255 for part in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mixed(colour, share, below):
    return tuple(share * c + (1 - share) * b for c, b in zip(colour, below, strict=True))


@pytest.mark.parametrize("scheme", PAGES)
def test_words_on_every_shade_can_be_read(scheme):
    paper, ink = PAGES[scheme]
    assert "#{:02x}{:02x}{:02x}".format(*paper) in SHEET
    assert "#{:02x}{:02x}{:02x}".format(*ink) in SHEET
    used = palettes(scheme)
    assert len(SHADES) == 12
    assert len(used) >= 7
    for colour, share in product(used, SHADES):
        assert contrast(mixed(colour, share, paper), ink) >= AA, (colour, share)


@pytest.mark.parametrize("scheme", PAGES)
def test_pale_text_can_be_read(scheme):
    paper, ink = PAGES[scheme]
    shares = [int(share) / 100 for share in re.findall(r"color-mix\(in srgb,currentColor (\d+)%", SHEET)]
    assert shares
    for share in shares:
        assert contrast(mixed(ink, share, paper), paper) >= AA
