"""Skeletons of names: names look alike if they have a skeleton in common (Unicode's UTS 39, section 4). No database.

The package ``confusable-homoglyphs`` has Unicode's list of confusable letters; only its data is used.
Decision 16 says what skeletons are for, how they differ from Unicode's, and what they do not cover. The model
``NameLook`` stores them as ``look``.
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

from agents_registry.models import MAX_SKELETON_CHARS

T = TypeVar("T")

MAX_SIMILAR = 5
"""How many similar names are listed for one name."""
INVISIBLE_NAME_SKELETON = " "
"""The skeleton of a name in which no character can be seen; no other name has it."""

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point: characters that are not shown."""
_BRAILLE_BLANK = "\u2800"
"""Is shown as a space, but is none for ``str.split``."""
_LEFT_TO_RIGHT_MARK = "\u200e"
"""The data puts it around letters that are written from right to left."""
_DOTTED_TWICE = re.compile("(?<=[ij])\u0307+")
"""A combining dot above a letter that has a dot."""
_REPEATED = re.compile(r"(.)\1+", re.DOTALL)


@lru_cache(maxsize=20_000)
def skeletons(name: str) -> frozenset[str]:
    """The skeletons of a name: one or two texts, of at most ``MAX_SKELETON_CHARS`` characters, for comparing only.

    Two names look alike if they have a skeleton in common. Invisible characters, repeated combining marks and the
    number of spaces do not matter. There is one skeleton with the capitals ("AIice" looks like "Alice" because of its
    capital I) and one without ("ALICE" looks like "Alice").
    """
    text = _without_hidden(unicodedata.normalize("NFKC", name))
    return frozenset((_finished(_as_prototypes(text)), _finished(text)))


def _without_hidden(text: str) -> str:
    return _INVISIBLE.sub("", text).replace(_BRAILLE_BLANK, " ")


def _finished(text: str) -> str:
    small = _as_prototypes(_without_hidden(text.casefold())).casefold()
    small = _DOTTED_TWICE.sub("", _REPEATED.sub(_each_mark_once, small)).replace("vv", "w")
    return " ".join(small.split())[:MAX_SKELETON_CHARS].strip() or INVISIBLE_NAME_SKELETON


def alike(items: Iterable[T], names: Callable[[T], Sequence[str]]) -> list[tuple[T, list[T]]]:
    """The items whose names look like those of others, each with at most ``MAX_SIMILAR`` others, in one pass.

    Args:
        names: the names of an item: its name, then its other displayed names. Items of the same name are copies
            (ruling, section 8) and do not count as similar.
    """
    named = [(item, names(item)[0], skeletons_of(*names(item))) for item in items]
    by_skeleton: dict[str, dict[str, T]] = defaultdict(dict)
    for item, name, item_skeletons in named:
        for skeleton in item_skeletons:
            by_skeleton[skeleton].setdefault(name, item)
    pairs = []
    for item, name, item_skeletons in named:
        others: dict[str, T] = {}
        for skeleton in item_skeletons:
            # One more than are listed: the item's own name may be among them.
            for other in islice(by_skeleton[skeleton], MAX_SIMILAR + 1):
                if other != name:
                    others.setdefault(other, by_skeleton[skeleton][other])
        if others:
            pairs.append((item, list(others.values())[:MAX_SIMILAR]))
    return pairs


def skeletons_of(*names: str) -> list[str]:
    """The skeletons of all these names, each once and in a fixed order."""
    return sorted({skeleton for name in names for skeleton in skeletons(name)})


def _as_prototypes(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFD", decomposed.translate(_prototypes()))


def _each_mark_once(repeated: re.Match[str]) -> str:
    """Two equal combining marks look like one; letters may repeat."""
    return repeated[1] if unicodedata.combining(repeated[1]) else repeated[0]


@cache
def _prototypes() -> dict[int, str]:
    """Each letter that looks like others, and the one text (its prototype) that replaces all of them.

    The data lists each pair in both directions. In Unicode's list every letter leads to one prototype, so the pairs
    form stars with the prototype in the centre; only a prototype may have several letters ("rn" for "m").
    """
    neighbours: dict[str, set[str]] = defaultdict(set)
    raw = files("confusable_homoglyphs").joinpath("confusables.json").read_text(encoding="utf-8")
    for one, others in json.loads(raw).items():
        for other in others:
            pair = _plain(one), _plain(other["c"])
            if pair[0] != pair[1]:
                neighbours[pair[0]].add(pair[1])
                neighbours[pair[1]].add(pair[0])
    prototypes = {}
    for letter, others in neighbours.items():
        texts = (letter, *others)
        prototype = max(texts, key=lambda text: (len(text) > 1, len(neighbours[text]), text.isascii(), text))
        if len(letter) == 1 and letter != prototype:
            prototypes[ord(letter)] = prototype
    return prototypes


def _plain(text: str) -> str:
    return text.replace(_LEFT_TO_RIGHT_MARK, "") or text
