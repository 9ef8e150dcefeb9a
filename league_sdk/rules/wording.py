"""The sentences of games in other languages: a package that adds a game may bring translations (docs/games.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

MAX_CHARS = 500
"""Longer texts are not translated, unless the caller allows it."""
_NAME = re.compile(r"%\((\w+)\)[sd]")
WORD = r"[\w.:+/–-]{1,40}"
"""A regular expression for what may fill a place of a sentence: one word, so that no text takes long to match."""


def places(sentence: str) -> frozenset[str]:
    """The names of the places of a sentence, such as ``player`` of ``%(player)s won``."""
    return frozenset(_NAME.findall(sentence))


def is_usable(translations: object) -> bool:
    """Whether these are sentences by language, and no translation has a place that its English sentence lacks."""
    return isinstance(translations, Mapping) and all(
        isinstance(english, str) and isinstance(translation, str) and places(translation) <= places(english)
        for sentences in translations.values()
        for english, translation in (sentences.items() if isinstance(sentences, Mapping) else [(None, None)])
    )


def translated(
    text: str,
    translations: Iterable[Mapping[str, str]],
    quote: Callable[[str], str] = str,
    *,
    filling: str = WORD,
    max_chars: float = MAX_CHARS,
) -> str | None:
    """A sentence of a game in another language; None if no game has a translation of it.

    Args:
        text: in English, with or without a full stop; the translation ends in the same way.
        translations: for each game, its English sentences with places, and their translations.
        quote: turns the word that fills a place into its form in the translation, for example with marks around it
            that isolate its direction of writing.
        filling: a regular expression for what may fill a place.
        max_chars: longer texts are not translated.
    """
    stem = text.rstrip(".")
    if len(stem) > max_chars:
        return None
    for sentences in translations:
        for english, translation in sentences.items():
            match = _pattern(english.rstrip("."), filling).fullmatch(stem)
            if match is not None:
                values = {name: quote(value) for name, value in match.groupdict().items()}
                parts = _NAME.split(translation.rstrip("."))
                parts[1::2] = [values[name] for name in parts[1::2]]
                return "".join(parts) + "." * text.endswith(".")
    return None


@lru_cache(maxsize=1000)
def _pattern(english: str, filling: str) -> re.Pattern[str]:
    seen: set[str] = set()
    pieces = []
    for number, piece in enumerate(_NAME.split(english)):
        if number % 2 == 0:
            pieces.append(re.escape(piece))
        else:
            pieces.append(f"(?P={piece})" if piece in seen else f"(?P<{piece}>{filling})")
            seen.add(piece)
    return re.compile("".join(pieces))
