"""Pieces of tables and lists that occur again and again: the tags ``form_letters``, ``gained`` and ``side``.

Each is rendered once for what it shows in a language. A board of thirty players has 150 letters, 30 changes of place,
and 50 names beside results in every push.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

register = template.Library()

MAX_KEPT_SIDES = 4096


@register.simple_tag
def form_letters(letters: Iterable[str], between: str = "") -> SafeString:
    """Letters of results (W, D, L, T, C), each with its word as a tooltip.

    Args:
        between: stands after each letter.
    """
    language = get_language()
    return SafeString("".join(_letter(letter, language) + between for letter in letters))


@lru_cache(maxsize=64)
def _letter(letter: str, _language: str | None) -> str:
    return render_to_string("leagues/form_letter.html", {"letter": letter}).strip()


@register.simple_tag
def gained(delta: int) -> SafeString:
    """The places that a player gained, or lost if negative; nothing for 0."""
    return SafeString(_gained(delta, get_language()) if delta else "")


@lru_cache(maxsize=512)
def _gained(delta: int, _language: str | None) -> str:
    return render_to_string("leagues/table_delta.html", {"delta": delta})


class _Side(NamedTuple):
    """What the line of a match shows of one of its players; None for ``joined`` where that is not shown."""

    player_id: str
    display_name: str
    url: str
    won: bool
    joined: bool | None
    locked_in: bool


@register.simple_tag
def side(player: Any, winner: str | None, marks: bool) -> SafeString:
    """A player in the line of a match.

    Args:
        player: has ``player_id``, ``display_name``, ``url``, ``joined`` and ``locked_in``.
        winner: the id of the winner of the match.
        marks: whether it shows if the player has joined and locked in.
    """
    won = winner is not None and winner == player.player_id
    joined = player.joined if marks else None
    shown = _Side(player.player_id, player.display_name, player.url, won, joined, marks and player.locked_in)
    return SafeString(_side(shown, get_language()))


@lru_cache(maxsize=MAX_KEPT_SIDES)
def _side(shown: _Side, _language: str | None) -> str:
    return render_to_string("leagues/side_player.html", {"p": shown})
