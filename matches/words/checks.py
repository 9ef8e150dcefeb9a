"""The sentences of a check's report in the reader's language; the SDK writes them in English, as a text with facts."""

from __future__ import annotations

import re
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from league_sdk.protocol import sentences
from league_sdk.protocol.sentences import Sentence

_NUMBER = re.compile(r"[\d.]*")


def fixed(text: str) -> SafeString:
    """A text without facts, such as the title of a clause, as HTML.

    Args:
        text: in English; shown as it is if there is no translation, as for a text that another version has stored.
    """
    translated = gettext(text) if text else ""
    return format_html("<bdi>{}</bdi>" if text and translated == text else "{}", translated)


def sentence(words: Sentence) -> SafeString:
    """A sentence as HTML; facts, which may be an agent's words, are set apart from it."""
    return format_html_join(
        "",
        "{}",
        (
            (format_html("<bdi>{}</bdi>", piece) if is_fact and not _NUMBER.fullmatch(piece) else piece,)
            for piece, is_fact in words.pieces(gettext)
        ),
    )


def stored(part: Any, name: str) -> SafeString:
    """A sentence of a report or of one of its clauses, as HTML.

    Args:
        part: the report or the clause, as stored; an earlier version has stored its English only.
        name: the name of the sentence, such as ``why``.
    """
    words = sentences.read(part.get(f"{name}_words"))
    return sentence(words) if words is not None else fixed(str(part.get(name) or ""))


def expected(text: str) -> SafeString:
    """The valid values of a field of a message, as HTML."""
    words = sentences.expectation(text)
    return sentence(words) if words.facts else fixed(text)
