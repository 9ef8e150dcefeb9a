"""How wide a name is, so that a screen can show every name whole: the filter ``breadth``."""

from __future__ import annotations

import unicodedata

from django import template

register = template.Library()

STEPS = (4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 21, 24, 28, 34, 42, 52, 64, 80, 120)
"""What the filter answers, in em; ``static/css/screen.css`` has a size for each."""
_NARROW, _BROAD = frozenset("iljtfrI.,:;'’!|()[]- "), frozenset("mwMWÆŒæœ@%—")
_VERY_BROAD = {"\ufdfd": 12.0, "\ufdfa": 4.0, "\ufdfb": 4.0}
_WIDTHS = {"Lu": 0.8, "Ll": 0.68, "Nd": 0.7, "Lo": 0.78, "Zs": 0.38, "Mn": 0.0, "Me": 0.0, "Cf": 0.0}


def width_of(text: str) -> float:
    """About how wide a text is in a bold sans-serif face, in em; rather too wide than too narrow."""
    return sum(_width(character) for character in text)


def _width(character: str) -> float:
    if character in _VERY_BROAD:
        return _VERY_BROAD[character]
    if unicodedata.east_asian_width(character) in "WF" or ord(character) > 0x1F000:
        return 1.4 if ord(character) > 0x1F000 else 1.05
    if ord(character) >= 0x10000:
        return 2.0
    if character in _BROAD:
        return 1.1
    return 0.42 if character in _NARROW else _WIDTHS.get(unicodedata.category(character), 0.9)


@register.filter
def breadth(name: object) -> int:
    """The smallest step that is not below the width of a name in em; the last one for a wider name."""
    width = width_of(str(name))
    return next((step for step in STEPS if width <= step), STEPS[-1])
