"""Read an answer by its meaning if its fields have no names that we know: a yes or no, a move. No I/O.

Agents name and wrap their answers as they like. A value under a name that speaks of the answer comes before all others.
If two values that could be the answer then differ, neither counts (section 1 of the ruling: never a silent guess).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from league_sdk.protocol import rpc
from league_sdk.protocol.errors import NotJson

PARITIES = ("even", "odd")
MAX_DEPTH = 6
MAX_PARTS = 200
"""How many values of an answer are looked at; objects and lists count, too."""
MAX_TEXT_CHARS = 4000
"""A longer text is not searched for JSON."""
_MAX_KEY_CHARS = 60
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", re.ASCII)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CHOICE_WORDS = _set(
    """choice choices choose chosen chose chooses move moves pick picks picked select selected selection decide decision
    answer guess bet call play played parity side vote option action cell column"""
)
_ACCEPT_WORDS = _set(
    """accept accepts accepted acceptance join joins joined joining agree agreed ready confirm confirmed confirmation
    participate participates participating participation attend attending playing available"""
)
_OTHERS_WORDS = _set(
    """opponent opponents other others enemy rival last previous prev past history valid allowed available options
    legal possible expected example examples default not never next drawn result winner number of time ms id count
    type kind name title at date timestamp deadline required reason"""
)
"""Words in the name of a field that is not about this answer of this player."""
_YES = _set("yes y true accept accepted accepting join joined joining ready ok okay agreed confirmed")
_NO = _set("no n false reject rejected refuse refused decline declined declining unavailable")


def parity(value: Any) -> str | None:
    """``even`` or ``odd`` in any case, with white space, quotes, ``.`` or ``!`` around it; None for anything else."""
    if not isinstance(value, str) or len(value) > 20:
        return None
    word = value.strip(" \t\r\n.!\"'").lower()
    return word if word in PARITIES else None


def words_of(name: str) -> frozenset[str]:
    """The words in a name, lower case: ``myChoice``, ``my-choice`` and ``MY_CHOICE`` are ``my`` and ``choice``."""
    return frozenset(word.lower() for word in _WORDS.findall(name[:_MAX_KEY_CHARS]))


def find_choice(message: Mapping[str, Any], *, of_parity: bool) -> Any:
    """The one value in a message that can be a move, or None.

    Args:
        of_parity: the move is even or odd; else it is a number or text under a name that says so.
    """
    # A list of numbers may be a place on a board: none of them is the move.
    leaves = [(words, value) for words, value in _leaves(message, lists=of_parity) if not words & _OTHERS_WORDS]
    named = [value for words, value in leaves if words & _CHOICE_WORDS]
    if not of_parity:
        return _only(value for value in named if isinstance(value, (int, str)) and not isinstance(value, bool))
    named_choice = _only(filter(None, map(parity, named)))
    return named_choice if named_choice is not None else _only(filter(None, (parity(value) for _, value in leaves)))


def find_acceptance(message: Mapping[str, Any]) -> bool | None:
    """Whether a message says under some name that the invitation is accepted; None if it does not, or says both."""
    others = _OTHERS_WORDS - {"available"}
    leaves = [(words, value) for words, value in _leaves(message) if not words & others]
    answers = {answer for words, value in leaves if words & _ACCEPT_WORDS and (answer := _yes_or_no(value)) is not None}
    return answers.pop() if len(answers) == 1 else None


def _only(values: Iterator[Any]) -> Any:
    """The value that all of them are, or None if they differ or there is none."""
    distinct: list[Any] = []
    for value in values:
        if not any(type(value) is type(one) and value == one for one in distinct):
            distinct.append(value)
    return distinct[0] if len(distinct) == 1 else None


def _yes_or_no(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) and len(value) <= 20 else None
    return True if word in _YES else False if word in _NO else None


def _leaves(value: Any, *, lists: bool = True) -> Iterator[tuple[frozenset[str], Any]]:
    """Values of a message down to a limit, also in JSON that stands in a text; each with the words of its field's name.

    A field's name counts together with those around it if they say whose it is (``opponent: {choice: …}``).
    """
    left = MAX_PARTS
    waiting: list[tuple[frozenset[str], Any, int]] = [(frozenset(), value, 0)]
    while waiting and left > 0:
        words, one, depth = waiting.pop(0)
        left -= 1
        one = json_in(one)
        if isinstance(one, Mapping) and depth < MAX_DEPTH:
            around = words & _OTHERS_WORDS
            for name, inner in list(one.items())[:MAX_PARTS]:
                own = words_of(str(name))
                # {"choice": {"value": "odd"}} is a choice by the name around it.
                plain = not own & (_CHOICE_WORDS | _ACCEPT_WORDS)
                waiting.append((around | own | (words if plain else frozenset()), inner, depth + 1))
        elif isinstance(one, list) and lists and depth < MAX_DEPTH:
            waiting += [(words, inner, depth + 1) for inner in one[:MAX_PARTS]]
        elif not isinstance(one, (Mapping, list)):
            yield words, one


def json_in(text: Any) -> Any:
    """The object or list that a text holds, or the value itself."""
    if isinstance(text, str) and len(text) <= MAX_TEXT_CHARS and text.lstrip()[:1] in ("{", "["):
        with suppress(NotJson):
            return rpc.loads(text.encode())
    return text
