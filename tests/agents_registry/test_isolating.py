"""Names with characters that would change the direction of the words around them (Unicode bidirectional text).

An *isolate* is a text between U+2068 and a closing U+2069, whose direction does not affect its neighbours.
"""

from __future__ import annotations

import pytest
from django.utils import translation

from agents_registry.isolating import cut, isolated, plain

HEBREW = "ליגה"
HOSTILE = {  # by name: what is left of it
    "Fall": "Fall",
    "Fall\u2069: 0": "Fall: 0",
    "\u2066\u2067\u2068Fall": "Fall",
    "\u202eFall\u202c": "Fall",
    "\u202a\u202b\u202dFall": "Fall",
    "Fall\nor\r\nnot\u2029at\x85all": "Fall or not at all",
    "a" * 70: "a" * 70,
    "<b>&": "<b>&",
}


@pytest.mark.parametrize(("name", "inside"), HOSTILE.items())
def test_a_name_cannot_leave_its_isolate(name: str, inside: str) -> None:
    with translation.override("he"):
        assert isolated(name) == f"\u2068{inside}\u2069"
    with translation.override("en"):
        assert isolated(name) == inside


@pytest.mark.parametrize("name", [HEBREW, f"Fall {HEBREW}", "עברית", "فريق", "\U0001e900"])
def test_a_name_from_right_to_left_is_isolated_in_english_too(name: str) -> None:
    assert isolated(name) == f"\u2068{name}\u2069"


def test_an_empty_name_stays_empty() -> None:
    with translation.override("he"):
        assert [isolated(one) for one in ("", "\u2069", "\u202e")] == ["", "", ""]


def test_a_plain_sentence_has_no_isolates() -> None:
    with translation.override("he"):
        assert plain(f"{isolated('Fall')}: {isolated(HEBREW)}.") == f"Fall: {HEBREW}."


@pytest.mark.parametrize("limit", range(12))
def test_a_sentence_that_is_cut_leaves_no_isolate_open(limit: int) -> None:
    shown = cut("a \u2068b c\u2069 d \u2068e\u2069", limit)
    assert shown.count("\u2068") == shown.count("\u2069")
    assert plain(shown) == plain("a \u2068b c\u2069 d \u2068e\u2069"[:limit])
