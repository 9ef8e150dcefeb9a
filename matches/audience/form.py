"""The last results of a player as letters: the tag ``{% form_letters %}``. A table of thirty players has 150."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

register = template.Library()


@register.simple_tag
def form_letters(letters: Iterable[str], between: str = "") -> SafeString:
    """Letters of results (W, D, L, T, C), each with its word as a tooltip.

    Args:
        between: stands after each letter.
    """
    language = get_language()
    return SafeString("".join(_drawn(letter, language) + between for letter in letters))


@lru_cache(maxsize=64)
def _drawn(letter: str, _language: str | None) -> str:
    return render_to_string("leagues/form_letter.html", {"letter": letter}).strip()
