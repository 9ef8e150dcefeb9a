"""Notes as sentences on a page; the sentences of a game that came as a package are translated by that package."""

from __future__ import annotations

from django.utils.translation import get_language

from agents_registry import words
from agents_registry.isolating import isolated
from league_sdk.protocol.notes import Voices
from league_sdk.rules import wording
from league_sdk.rules.registry import games


def in_its_words(text: str) -> str:
    """A sentence of a game in the game's own translation into the reader's language; quoted if there is none."""
    language = (get_language() or "").partition("-")[0]
    found = wording.translated(text, (game.translations.get(language, {}) for game in games().values()), isolated)
    return words.in_other_words(text) if found is None else found


VOICES = Voices(quote=isolated, other=in_its_words)


def sentence_of(value: object) -> str:
    """A note as a sentence, without a full stop, as :func:`agents_registry.words.sentence_of`."""
    return words.sentence_of(value, VOICES)
