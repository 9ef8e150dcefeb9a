"""The sentence about a fault is stored in English, and can be translated where it is shown."""

from __future__ import annotations

import pytest

from league_sdk.protocol.faults import SENTENCES, Cause, describe
from league_sdk.protocol.notes import Code, Note, in_words, note, read

# Without the causes for which no player is blamed.
OF_PLAYERS = [cause for cause in SENTENCES if cause not in (Cause.REFEREE, Cause.LEAGUE)]
DETAILS = [note(Code.NOBODY_LISTENS), note(Code.NOT_WANTED, sentence="cell 3 is taken", seen="3"), "its own words"]


@pytest.mark.parametrize("detail", DETAILS, ids=str)
@pytest.mark.parametrize("cause", OF_PLAYERS)
def test_a_fault_is_read_back_with_what_was_seen(cause: Cause, detail: Note | str) -> None:
    fault = {"cause": cause, "player_id": "P02", "message_type": "GAME_INVITATION", "tries": 4, "limit_s": 2.5}
    words = describe({**fault, "detail": str(detail)})
    assert (isinstance(read(words), Note), in_words(words)) == (True, words)
    translated: list[str] = []

    def translate(sentence: str) -> str:
        translated.append(sentence)
        return sentence

    assert in_words(words, translate) == words
    # A detail that is a note is translated, and so is the game's sentence inside it.
    sentences = [detail.code.sentence] if isinstance(detail, Note) else []
    # A fault with an HTTP status quotes no answer.
    sentences += ["cell %(cell)s is taken"] if "cell 3" in str(detail) and cause is not Cause.HTTP_STATUS else []
    assert set(sentences) <= set(translated)


def test_nested_sentences_are_read_to_a_limited_depth() -> None:
    text = str(note(Code.RESULT_NOT_TAKEN, sentence="")) * 5_000 + "x"
    # Each of these sentences contains the next; to read them all would exceed the recursion limit.
    assert isinstance(read(text), Note)
    assert in_words(text) == text
