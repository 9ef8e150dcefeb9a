"""What a check says: texts with facts, in English and in other languages, stored and read again."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.sentences import MAX_DEPTH, Sentence, expectation, ours, read, say

GERMAN = {"It said: {said}.": "Er sagte: {said}.", "no answer": "keine Antwort", "{why}. Try again.": "{why}. Nochmal."}


def german(text: str) -> str:
    return GERMAN.get(text, text)


def test_a_sentence_is_filled_with_its_facts() -> None:
    assert str(say("It said: {said}, {n} times.", said="no", n=2)) == "It said: no, 2 times."
    assert str(say("no facts")) == "no facts"
    assert str(say("{unknown} stays")) == "{unknown} stays"


def test_texts_are_translated_and_facts_are_not() -> None:
    assert say("It said: {said}.", said="no answer").in_words(german) == "Er sagte: no answer."
    assert say("It said: {said}.", said=say("no answer")).in_words(german) == "Er sagte: keine Antwort."
    assert list(say("It said: {said}.", said="{said}").pieces(german)) == [
        ("Er sagte: ", False), ("{said}", True), (".", False),
    ]  # fmt: skip


def test_what_begins_a_sentence_gets_a_capital_unless_it_is_a_name_or_a_fact() -> None:
    assert str(say("{why}. Try again.", why=say("no answer in time"))) == "No answer in time. Try again."
    assert str(say("{why}. Try again.", why=note(Code.NOT_IN_TIME))) == "No answer in time. Try again."
    assert str(say("{why}.", why=say("parity_choice was wrong"))) == "parity_choice was wrong."
    assert str(say("{why} won.", why="player")) == "player won."
    assert str(say("It said: {why}.", why=say("no answer"))) == "It said: no answer."


def test_a_note_in_a_sentence_is_translated_as_a_note() -> None:
    words = say("In the reply the {note}.", note=note(Code.ID, seen="'x'", expected=7))
    assert str(words) == "In the reply the id was 'x', expected 7."
    assert words.in_words(lambda text: "%(seen)s!" if text == Code.ID.sentence else text) == "In the reply the 'x'!."


def test_quotations_are_cleaned_wherever_they_stand() -> None:
    words = say("{a} {b} {c} {d}", a="x", b=say("{x}", x="x"), c=note(Code.ID, seen="x", expected=7), d=5)
    assert str(words.cleaned(lambda text: text.replace("x", "y"))) == "y y id was y, expected 7 5"


def test_facts_without_a_placeholder_are_left_out() -> None:
    assert say("{a}", a=1, b="secret").used() == say("{a}", a=1)


def test_what_is_stored_is_read_again() -> None:
    words = say("{a} {b} {c} {d}", a="x", b=say("{x}", x="y"), c=note(Code.ID, seen="x", expected=7), d=5)
    found = read(words.to_json())
    assert found is not None
    assert (str(found), found.in_words(german)) == (str(words), words.in_words(german))


def nested(depth: int) -> dict[str, Any]:
    return {"text": "{x}", "facts": {"x": nested(depth - 1) if depth else "x"}}


@pytest.mark.parametrize("stored", [None, "It did.", [], {}, {"text": 7}, {"facts": {}}])
def test_a_stored_value_that_is_not_a_sentence_is_read_as_none(stored: object) -> None:
    assert read(stored) is None


@pytest.mark.parametrize(
    "stored",
    [{"text": "x", "facts": 7}, {"text": "x", "facts": {"a": {"text": {}}}}, nested(3 * MAX_DEPTH), {"text": "{0.x}"}],
)
def test_a_hostile_stored_sentence_is_read_without_an_error(stored: dict[str, Any]) -> None:
    found = read(stored)
    assert found is not None
    assert isinstance(found.in_words(german), str)


def test_the_valid_values_of_a_field_may_include_null() -> None:
    assert expectation("a list") == Sentence("a list")
    assert str(expectation("a list or null")) == "a list or null"
    assert expectation("a list or null").facts == {"expected": Sentence("a list")}


def test_values_and_names_of_fields_are_facts() -> None:
    assert expectation("even, odd") == say("{values}", values="even, odd")
    assert expectation("next_match or matches_played").facts == {"first": "next_match", "second": "matches_played"}


def test_only_known_texts_are_ours() -> None:
    assert ours("no", ("no", "yes")) == Sentence("no")
    assert ours("maybe", ("no", "yes")) == "maybe"
