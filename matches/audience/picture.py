"""The picture of a league's end for previews of a link: a PNG, drawn here from text, without a browser.

A name is drawn only if the font can draw all of it; otherwise the player's id stands there, never a box.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont, features

from agents_registry.isolating import without_controls

SIZE = (1200, 630)
"""The size that previews of links are shown in."""
FONTS = {True: ("DejaVuSans-Bold.ttf", "arialbd.ttf"), False: ("DejaVuSans.ttf", "arial.ttf")}
"""Fonts of the system that have Hebrew, too, bold and regular; Pillow's own one has the letters of English."""
PAPER, BLOCK, INK, QUIET, ACCENT = "#ffffff", "#f3f4f6", "#14171c", "#555c68", "#1d4ed8"
MARGIN, BASE = 60, 540
STEP_WIDTH, STEP_HEIGHTS = 340, {3: 190, 2: 130, 1: 80}
MAX_MARKS = 2
"""How many combining marks one letter may have; more of them would reach into other lines."""
_RIGHT_TO_LEFT = ("R", "AL", "AN")

Font = ImageFont.FreeTypeFont


class Text(NamedTuple):
    """A text, and the text that is drawn in its place if the font lacks one of its characters."""

    wanted: str
    otherwise: str


class Place(NamedTuple):
    """A step of the podium: its height from 3 to 1, the place, and the player's name and points in words."""

    height: int
    place: str
    name: Text
    points: Text


class Shown(NamedTuple):
    """What the picture says, from top to bottom."""

    title: Text
    headline: Text
    places: Sequence[Place]
    foot: Text


class Pen(NamedTuple):
    """How a text is written."""

    size: int
    bold: bool = False
    colour: str = INK


def png(shown: Shown) -> bytes:
    """The picture as a PNG."""
    image = Image.new("RGB", SIZE, PAPER)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, SIZE[0], 12), fill=ACCENT)
    middle, width = SIZE[0] / 2, SIZE[0] - 2 * MARGIN
    _write(draw, (middle, 72), shown.title, width, Pen(46, bold=True))
    _write(draw, (middle, 124), shown.headline, width, Pen(28, colour=QUIET))
    # Second, first, third, as they stand on a podium.
    order = [place for place in (1, 0, 2) if place < len(shown.places)]
    left = (SIZE[0] - STEP_WIDTH * len(order)) / 2
    for column, index in enumerate(order):
        _step(draw, left + column * STEP_WIDTH, shown.places[index])
    _write(draw, (middle, 590), shown.foot, width, Pen(26, colour=QUIET))
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def _step(draw: ImageDraw.ImageDraw, left: float, place: Place) -> None:
    top, middle, inside = BASE - STEP_HEIGHTS[place.height], left + STEP_WIDTH / 2, STEP_WIDTH - 24
    colour = ACCENT if place.height == max(STEP_HEIGHTS) else INK
    draw.rectangle((left + 4, top, left + STEP_WIDTH - 4, BASE), fill=BLOCK)
    draw.rectangle((left + 4, top, left + STEP_WIDTH - 4, top + 4), fill=colour)
    _write(draw, (middle, (top + BASE) / 2), Text(place.place, place.place), inside, Pen(44, bold=True, colour=colour))
    _write(draw, (middle, top - 66), place.name, inside, Pen(34, bold=True))
    _write(draw, (middle, top - 26), place.points, inside, Pen(24, colour=QUIET))


def _write(draw: ImageDraw.ImageDraw, middle: tuple[float, float], text: Text, width: float, pen: Pen) -> None:
    """Write a line around a point, smaller if it is too long for the width, and cut if it still is."""
    line, font = drawable(text, bold=pen.bold), font_of(pen.size, bold=pen.bold)
    if font.getlength(line) > width:
        font = font_of(round(pen.size * 0.7), bold=pen.bold)
    while len(line) > 1 and font.getlength(line) > width:
        line = f"{line.removesuffix('…')[:-1].rstrip()}…"
    direction = None
    if _orders_letters(font):
        direction = "rtl" if is_right_to_left(line) else "ltr"
    draw.text(middle, line, font=font, fill=pen.colour, anchor="mm", direction=direction)


@lru_cache(maxsize=32)
def font_of(size: int, *, bold: bool = False) -> Font:
    """A font of a size in pixels."""
    for name in FONTS[bold]:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise TypeError("Pillow was built without FreeType")
    return font


# Which texts can be drawn -----------------------------------------------------------------------


def drawable(text: Text, *, bold: bool = False) -> str:
    """A text without controls if the font can draw all of it, else the other one."""
    clean = " ".join(without_controls(text.wanted).split())
    return clean if clean and can_draw(clean, bold=bold) else text.otherwise


def can_draw(text: str, *, bold: bool = False) -> bool:
    """Whether a text has a glyph for each character, its letters in order, and no letter with too many marks."""
    if is_right_to_left(text) and not _orders_letters(font_of(40, bold=bold)):
        return False
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character).startswith("M") else 0
        if marks > MAX_MARKS or not _has_glyph(character, bold):
            return False
    return True


def _orders_letters(font: Font) -> bool:
    """Whether a font puts letters that are written from right to left in their order."""
    return font.layout_engine == ImageFont.Layout.RAQM and bool(features.check("raqm"))


def is_right_to_left(text: str) -> bool:
    """Whether a text has letters that are written from right to left."""
    return any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text)


@lru_cache(maxsize=4096)
def _has_glyph(character: str, bold: bool) -> bool:
    if character == " ":
        return True
    # Controls, surrogates, private and unassigned characters, and separators that no font draws.
    if unicodedata.category(character)[0] in "CZ":
        return False
    return _glyph(character, bold) != _glyph("\U0010ffff", bold)


def _glyph(character: str, bold: bool) -> tuple[tuple[int, int], bytes]:
    mask = font_of(40, bold=bold).getmask(character)
    return mask.size, bytes(mask)
