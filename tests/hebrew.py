"""Finds texts that have no Hebrew translation: those of a check's clauses, and those in its sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django.utils import translation

from league_sdk.protocol.sentences import Sentence

SAME = frozenset(("player:{id}.", 'protocol: "league.v2".', "Content-Type: application/json.", "application/json.", ""))
"""Texts that are code, and so the same in every language."""
_WORD = re.compile(r"[a-z]{2}")
_CODE = re.compile(r"\{\w+\}|\b\w*_\w*\b")


def without_hebrew(texts: Iterable[str]) -> list[str]:
    """The texts that have words but no Hebrew translation."""
    with translation.override("he"):
        return [
            text
            for text in dict.fromkeys(texts)
            if text not in SAME and _WORD.search(_CODE.sub(" ", text)) and translation.gettext(text) == text
        ]


def texts_of(fact: Any) -> list[str]:
    """The texts of a sentence, and of the sentences in it."""
    if not isinstance(fact, Sentence):
        return []
    return [fact.text, *(text for inner in fact.facts.values() for text in texts_of(inner))]
