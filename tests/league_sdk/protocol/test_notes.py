"""Notes: sentences with arguments, read back from JSON and from the sentences that earlier versions wrote."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.protocol.notes import FREE, WHOLE, Code, Note, in_words, note, public, read, told

TEXT = "it's (a) [b|c] %(d)s"
"""May stand in what a note quotes."""


def with_every_argument(code: Code) -> Note:
    return Note(code, {name: TEXT if name in code.quotes or name == FREE else "a.b" for name in code.names})


@pytest.mark.parametrize("code", Code, ids=lambda code: code.name)
def test_every_note_is_read_back_and_quotes_nothing_to_the_public(code: Code) -> None:
    full = with_every_argument(code)
    assert read(full.to_json()) == full
    assert code.quotes - {WHOLE} <= code.names
    # As an earlier version wrote it: perhaps under another code with the same words.
    old = read(str(full))
    assert (isinstance(old, Note), str(old)) == (True, str(full))
    for said in (full, old):
        shown = in_words(public(said.to_json() if isinstance(said, Note) else said))
        assert TEXT not in shown or FREE in code.names
    assert full.public is None or not set(full.public.args) & code.quotes


@pytest.mark.parametrize(
    ("said", "sentence", "everybody"),
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
def test_a_note_in_words(said: Note, sentence: str, everybody: str | None) -> None:
    assert (str(said), said.public and str(said.public)) == (sentence, everybody)


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
def test_anything_else_stays_a_text(value: Any) -> None:
    assert (read(value), public(value), in_words(value)) == (str(value), str(value), str(value))


def test_an_entry_is_told_in_sentences() -> None:
    notes = [note(Code.LIST).to_json(), "the message was nested", 5]
    entry = {"n": 1, "problem": note(Code.CLOSED).to_json(), "notes": notes}
    said = ["a list around the reply", "the message was nested", "5"]
    assert told(entry) == {"n": 1, "problem": "the connection was closed without an answer", "notes": said}
    assert told(entry, str.upper)["notes"] == [said[0].upper(), said[1].upper(), "5"]
    assert told({"n": 2, "notes": None}) == {"n": 2, "notes": None}
