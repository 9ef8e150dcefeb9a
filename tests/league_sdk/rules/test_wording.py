"""What a game says, in the languages that it has brought along."""

from __future__ import annotations

import time

import pytest

from league_sdk.rules import wording

BROUGHT = [
    {"%(player)s reached %(total)s.": "%(player)s הגיע ל־%(total)s", "%(a)s, %(a)s": "%(a)s"},
    {"Done": "די 100%s"},
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P01 reached 10", "[P01] הגיע ל־[10]"),
        ("P01 reached 10.", "[P01] הגיע ל־[10]."),
        ("P01 reached two words", None),
        ("x, x", "[x]"),
        ("x, y", None),
        ("Done", "די 100%s"),
        ("Something else", None),
        ("P01 reached %(total)s", None),
    ],
)
def test_a_sentence_is_told_as_the_game_has_brought_it(text: str, expected: str | None) -> None:
    assert wording.translated(text, BROUGHT, "[{}]".format) == expected


def test_no_text_takes_long_to_read() -> None:
    translations = [{"%(a)s%(b)s%(c)s!": "x"}]
    begun = time.process_time()
    assert wording.translated("a" * 499, translations) is None
    assert wording.translated("a b" * 10_000, translations) is None
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    ("translations", "usable"),
    [
        ({}, True),
        ({"he": {"%(player)s won": "%(player)s ניצח"}}, True),
        ({"he": {"%(player)s won": "%(winner)s ניצח"}}, False),
        ({"he": {"won": 7}}, False),
        ({"he": ["won"]}, False),
        (None, False),
    ],
)
def test_translations_have_no_placeholders_of_their_own(translations: object, usable: bool) -> None:
    assert wording.is_usable(translations) is usable
