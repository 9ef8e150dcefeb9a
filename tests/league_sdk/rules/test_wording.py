"""The sentences of a game in the languages into which its package translates them."""

from __future__ import annotations

import pytest

from league_sdk.rules import wording

TRANSLATIONS = [
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
def test_a_sentence_is_translated_as_a_game_says(text: str, expected: str | None) -> None:
    assert wording.translated(text, TRANSLATIONS, "[{}]".format) == expected


def test_a_long_text_is_compared_with_patterns_of_several_parts() -> None:
    translations = [{"%(a)s%(b)s%(c)s!": "x"}]
    # If the time grew with the number of ways to divide the text, this would run into the time limit of a test.
    assert wording.translated("a" * 499, translations) is None
    assert wording.translated("a b" * 10_000, translations) is None


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
