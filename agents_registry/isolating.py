"""Names in sentences: set apart by Unicode's isolates, so that neither changes the other's order of words.

Without isolates the 0 of "Fall: 0" would stand before the name in a Hebrew sentence; in an English one, a number would
stand before a Hebrew name that it follows. Isolates are invisible. They belong to texts that a person reads on a page:
what leaves as JSON, as a file or in a log goes through :func:`plain`. Templates have the filter ``isolated``, and
``<bdi>`` where a name may be an element.
"""

from __future__ import annotations

import re

from django import template
from django.utils.translation import get_language_bidi

register = template.Library()
FIRST_STRONG, END = "\u2068", "\u2069"
_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Embeddings, overrides and isolates: one that is left open, or closed too often, would reach beyond the name."""
_BREAKS = re.compile("[\x1c-\x1e\x85\u2029]|\r\n?|\n")
"""Ends of a paragraph, which end every isolate."""
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]")
"""Hebrew, Arabic and the other scripts that are written from right to left."""


def without_controls(text: str) -> str:
    """A name without the characters that would change the direction of the text beside it, even outside a ``<bdi>``."""
    return _CONTROLS.sub("", text)


@register.filter
def isolated(text: object) -> str:
    """A name or quotation for a sentence, isolated if the sentence or the text is written from right to left."""
    inside = _BREAKS.sub(" ", without_controls(str(text)))
    if not inside or not (get_language_bidi() or _RIGHT_TO_LEFT.search(inside)):
        return inside
    return f"{FIRST_STRONG}{inside}{END}"


def cut(text: str, limit: int) -> str:
    """The beginning of a sentence; an isolate in the middle of which it ends is closed."""
    begun = text[:limit]
    return begun + END * max(0, begun.count(FIRST_STRONG) - begun.count(END))


def plain(text: object) -> str:
    """A sentence without isolates, for JSON, files and logs."""
    return str(text).replace(FIRST_STRONG, "").replace(END, "")
