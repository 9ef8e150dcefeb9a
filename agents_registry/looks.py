"""What names look like: two names of one look are taken for each other (Unicode's UTS 39, section 4). No database.

The letters come from the package ``confusable-homoglyphs``, which holds Unicode's list of confusables, read as data.
Decision 16 says what a look is good for, and what it does not see.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

MAX_LOOK_CHARS = 200
"""A look may be longer than its name, as "m" is looked at as "rn"; what is beyond does not count."""
MOST_OTHERS = 5
"""So many of those that look like one are named."""
NOTHING = " "
"""The look of a name without anything to see; no other name has it, and it is not empty, which is "not known"."""

_INVISIBLE = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
"""Unicode's Default_Ignorable_Code_Point: shown as nothing."""
_BLANKS = "\u2800\u3000"
"""Letters and spaces that are shown as a space; normalising turns the other spaces into one."""
_DROPPED = {point: None for first, last in _INVISIBLE for point in range(first, last + 1)}
_DROPPED_OR_BLANK: dict[int, str | None] = _DROPPED | {ord(letter): " " for letter in _BLANKS}
_MARK = "\u200e"
"""What the data puts around letters that are written from right to left."""
_DOTTED_TWICE = re.compile("(?<=[ij])\u0307+")
"""A dot above a letter that has one."""


@lru_cache(maxsize=20_000)
def looks(name: str) -> frozenset[str]:
    """What a name looks like, as texts: two names look alike when they have one of them in common.

    Invisible characters do not matter, nor marks that are written twice, nor how many spaces there are. Capitals do not
    matter either, in two ways: "AIice" looks like "Alice" because of its capital, "ALICE" in spite of them.

    Args:
        name: as it is shown.

    Returns:
        One text or two, each of at most ``MAX_LOOK_CHARS`` characters; they are for comparing and not for showing.
    """
    text = unicodedata.normalize("NFKC", name).translate(_DROPPED_OR_BLANK)
    return frozenset((_finished(_alike_as_one(text)), _finished(text)))


def _finished(text: str) -> str:
    small = _alike_as_one(text.casefold().translate(_DROPPED_OR_BLANK)).casefold()
    small = _DOTTED_TWICE.sub("", _each_mark_once(small)).replace("vv", "w")
    return " ".join(small.split())[:MAX_LOOK_CHARS].strip() or NOTHING


def alike(items: Iterable[T], names: Callable[[T], Sequence[str]]) -> list[tuple[T, list[T]]]:
    """Of some things those that look like others, each with these, in one pass over all.

    Args:
        items: in the order in which they are returned.
        names: of a thing: what it is called first, then what else it is shown as. Two of the same first name are
            copies (ruling, section 8) and no mistake.

    Returns:
        Those that look like at least one other, with one of each other name, at most ``MOST_OTHERS``.
    """
    given = [(item, names(item)) for item in items]
    by_look: dict[str, dict[str, T]] = defaultdict(dict)
    for item, called in given:
        for one in _looks_of_all(called):
            by_look[one].setdefault(called[0], item)
    found = []
    for item, called in given:
        others: dict[str, T] = {}
        for one in _looks_of_all(called):
            # One more than are named: its own name may be among them.
            for other in islice(by_look[one], MOST_OTHERS + 1):
                if other != called[0]:
                    others.setdefault(other, by_look[one][other])
        if others:
            found.append((item, list(others.values())[:MOST_OTHERS]))
    return found


def _looks_of_all(names: Sequence[str]) -> list[str]:
    return sorted({one for name in names for one in looks(name)})


def _alike_as_one(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFD", decomposed.translate(_prototypes()))


def _each_mark_once(text: str) -> str:
    """A mark above another of the same kind covers it."""
    kept: list[str] = []
    for letter in text:
        if not (kept and letter == kept[-1] and unicodedata.combining(letter)):
            kept.append(letter)
    return "".join(kept)


@cache
def _prototypes() -> dict[int, str]:
    """Of each letter that looks like another: what stands for all that look like it.

    The data has each pair both ways. Unicode's list leads every letter to one text, its prototype, so what belongs
    together is a star: the prototype in the middle, the only one that may have several letters ("rn" for "m").
    """
    near: dict[str, set[str]] = defaultdict(set)
    raw = files("confusable_homoglyphs").joinpath("confusables.json").read_text(encoding="utf-8")
    for one, others in json.loads(raw).items():
        for other in others:
            pair = _plain(one), _plain(other["c"])
            if pair[0] != pair[1]:
                near[pair[0]].add(pair[1])
                near[pair[1]].add(pair[0])
    found = {}
    for letter, others in near.items():
        middle = max((letter, *others), key=lambda text: (len(text) > 1, len(near[text]), text.isascii(), text))
        if len(letter) == 1 and letter != middle:
            found[ord(letter)] = middle
    return found


def _plain(text: str) -> str:
    return text.replace(_MARK, "") or text
