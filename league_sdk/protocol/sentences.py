"""What a check says: an English text with placeholders, and the facts that fill them (our choice).

A report has every sentence in English, and beside it the text and its facts: so a page can translate the text and leave
the facts, many of which are the agent's own words, as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from league_sdk.protocol import notes
from league_sdk.protocol.notes import Note, Voices

MAX_DEPTH = 6
"""How deeply nested sentences are read; ours have three levels."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_BEGINS = re.compile(r"\{(\w+)\}(?! [a-z])")
_WORD = re.compile(r"[a-z]+[ ,:;.]")
_TWO_NAMES = re.compile(r"[a-z]+_[a-z_]+ or [a-z]+_[a-z_]+")
_VALUES = re.compile(r"[\w.]+(, [\w.]+)*")
_OR_NULL = " or null"
_NUMBER = re.compile(r"[\d.]*")


def _(text: str) -> str:
    """Mark a text for the translators."""
    return text


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text and what is put into it.

    Attributes:
        text: in English, with placeholders such as ``{said}``; written by us, never by an agent.
        facts: by the name of the placeholder: another sentence, a note, or a word, number or quotation as it is.
    """

    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The sentence in English."""
        return self.in_words(str)

    def in_words(self, translate: Callable[[str], str], voices: Voices | None = None) -> str:
        """The sentence in another language.

        Args:
            translate: translates a text.
            voices: how facts that are not translated are shown in it; unchanged by default.
        """
        quote = str if voices is None else voices.quote
        pieces = self.pieces(translate, voices)
        return "".join(quote(piece) if is_fact and not _NUMBER.fullmatch(piece) else piece for piece, is_fact in pieces)

    def pieces(self, translate: Callable[[str], str], voices: Voices | None = None) -> Iterator[tuple[str, bool]]:
        """The pieces of the sentence in another language, each with whether it is a fact that is not translated.

        A sentence or note that begins this one gets a capital letter, unless a lower-case word follows it, as in
        ``{expected} or null``, or its first word is a name such as ``auth_token`` or ``P01``.

        Args:
            translate: translates a text.
            voices: how words of others are shown in a note.
        """
        begins = _BEGINS.match(self.text)
        for number, piece in enumerate(_PLACEHOLDER.split(translate(self.text) if self.text else "")):
            if number % 2 == 0:
                found = [(piece, False)] if piece else []
            elif piece not in self.facts:
                found = [(f"{{{piece}}}", False)]
            else:
                found = list(_pieces(self.facts[piece], translate, voices))
                if begins and number == 1 and piece == begins[1] and not isinstance(self.facts[piece], str):
                    found[:1] = [_with_capital(*one) for one in found[:1]]
            yield from found

    def used(self) -> Sentence:
        """The sentence without facts that have no placeholder in its text."""
        names = _PLACEHOLDER.findall(self.text)
        return Sentence(self.text, {name: fact for name, fact in self.facts.items() if name in names})

    def cleaned(self, clean: Callable[[str], str]) -> Sentence:
        """The sentence with every quotation cleaned.

        Args:
            clean: takes a text that may be an agent's, and returns what may be shown of it.
        """
        return Sentence(self.text, {name: _cleaned(fact, clean) for name, fact in self.facts.items()})

    def to_json(self) -> dict[str, Any]:
        """What a report stores, and :func:`read` reads."""
        return {"text": self.text, "facts": {name: _json(fact) for name, fact in self.facts.items()}}


def say(text: str, /, **facts: Sentence | Note | str | int | None) -> Sentence:
    """Make a sentence.

    Args:
        text: marked for the translators.
        facts: what is put in place of its placeholders.
    """
    return Sentence(text, facts)


def ours(text: str, known: Collection[str]) -> Sentence | str:
    """A text that may be one of ours, as a sentence that is translated; any other stays a fact.

    Args:
        text: the text of an error message.
        known: the texts that are marked for the translators.
    """
    return Sentence(text) if text in known else text


def expectation(expected: str) -> Sentence:
    """The valid values of a field, as :class:`~league_sdk.protocol.schemas.Problem` has them, as a sentence."""
    if _TWO_NAMES.fullmatch(expected):
        first, _or, second = expected.split()
        return say(_("{first} or {second}"), first=first, second=second)
    if expected.endswith(_OR_NULL):
        return say(_("{expected} or null"), expected=expectation(expected.removesuffix(_OR_NULL)))
    if _VALUES.fullmatch(expected):
        return say("{values}", values=expected)
    return Sentence(expected)


def read(value: object, depth: int = 0) -> Sentence | None:
    """Read a sentence from a report; None if there is none, as in reports of earlier versions.

    Args:
        value: the JSON of a sentence.
        depth: the number of sentences around it.
    """
    if not isinstance(value, Mapping) or not isinstance(text := value.get("text"), str) or depth > MAX_DEPTH:
        return None
    facts = value.get("facts")
    items = facts.items() if isinstance(facts, Mapping) else ()
    return Sentence(text, {str(name): _read_fact(fact, depth + 1) for name, fact in items})


def _read_fact(value: object, depth: int) -> Sentence | Note | str:
    if isinstance(value, Mapping):
        return read(value, depth) or notes.read(value)
    return str(value)


def _pieces(fact: object, translate: Callable[[str], str], voices: Voices | None) -> Iterator[tuple[str, bool]]:
    if isinstance(fact, Sentence):
        return fact.pieces(translate, voices)
    if isinstance(fact, Note):
        return iter([(fact.sentence(translate, voices=voices), False)])
    return iter([(str(fact), True)])


def _with_capital(text: str, is_fact: bool) -> tuple[str, bool]:
    return (text[:1].upper() + text[1:] if not is_fact and _WORD.match(text) else text), is_fact


def _cleaned(fact: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(fact, Sentence):
        return fact.cleaned(clean)
    if isinstance(fact, Note):
        return Note(fact.code, {name: _cleaned(value, clean) for name, value in fact.args.items()})
    return fact if isinstance(fact, int) else clean(str(fact))


def _json(fact: Any) -> Any:
    if isinstance(fact, Sentence | Note):
        return fact.to_json()
    return fact if isinstance(fact, int) else str(fact)
