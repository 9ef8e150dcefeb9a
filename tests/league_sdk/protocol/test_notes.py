"""Notes: sentences with arguments, read from JSON and from the sentences that earlier versions stored."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.protocol.notes import FREE, WHOLE_SENTENCE, Code, Note, entry_in_words, in_words, note, public, read

TEXT = "it's (a) [b|c] %(d)s"
"""A quotation with characters that are special in the sentences."""


def with_every_argument(code: Code) -> Note:
    return Note(code, {name: TEXT if name in code.quotes or name == FREE else "a.b" for name in code.names})


@pytest.mark.parametrize("code", Code, ids=lambda code: code.name)
def test_every_note_is_read_back_from_json_and_public_notes_quote_nothing(code: Code) -> None:
    full = with_every_argument(code)
    assert read(full.to_json()) == full
    assert code.quotes - {WHOLE_SENTENCE} <= code.names
    # As an earlier version stored it; it may be read as another code with the same sentence.
    old = read(str(full))
    assert (isinstance(old, Note), str(old)) == (True, str(full))
    for value in (full, old):
        shown = in_words(public(value.to_json() if isinstance(value, Note) else value))
        assert TEXT not in shown or FREE in code.names
    assert full.public is None or not set(full.public.args) & code.quotes


@pytest.mark.parametrize(
    ("value", "sentence", "everybody"),
    [
        (note(Code.ID, seen="'x'", expected=7), "id was 'x', expected 7", None),
        (note(Code.MISSING, field="accept"), "accept was missing", "accept was missing"),
        (note(Code.ASKED_AS, shape="flat"), "asked as flat: no method", "asked as flat: no method"),
        (note(Code.ERROR_IN_REPLY, said="'no'"), "it answered with the error 'no'", "it answered with an error"),
        (note(Code.ERROR_IN_REPLY), "it answered with an error", "it answered with an error"),
        (note(Code.NOT_UNDERSTOOD, request="f", status=404), "f was not understood (HTTP 404)", None),
        (note(Code.NOT_WANTED, sentence="cell 3 is taken", seen="3"), "cell 3 is taken (seen: 3)", "cell 3 is taken"),
        (note(Code.PACKED), "the answer says that it is packed, which was not asked for", None),
    ],
)
def test_a_note_becomes_a_sentence(value: Note, sentence: str, everybody: str | None) -> None:
    assert (str(value), value.public and str(value.public)) == (sentence, everybody)


@pytest.mark.parametrize(
    "value",
    [
        "what a student's referee wrote",
        {"code": "NOT_OURS", "args": {}},
        {"code": "ID", "args": {"seen": "x"}},
        {"code": "ID", "args": {"seen": ["x"], "expected": True}},
        {"code": "MISSING", "args": {"field": "more than one word"}},
        {"code": "LIST"},
        5,
    ],
)
def test_read_keeps_anything_that_is_not_a_note_as_text(value: Any) -> None:
    assert (read(value), public(value), in_words(value)) == (str(value), str(value), str(value))


def test_entry_in_words_replaces_the_notes_of_an_entry_by_sentences() -> None:
    notes = [note(Code.LIST).to_json(), "the message was nested", 5]
    entry = {"n": 1, "problem": note(Code.CLOSED).to_json(), "notes": notes}
    sentences = ["a list around the reply", "the message was nested", "5"]
    assert entry_in_words(entry) == {
        "n": 1,
        "problem": "the connection was closed without an answer",
        "notes": sentences,
    }
    assert entry_in_words(entry, str.upper)["notes"] == [sentences[0].upper(), sentences[1].upper(), "5"]
    assert entry_in_words({"n": 2, "notes": None}) == {"n": 2, "notes": None}
