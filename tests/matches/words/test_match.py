"""Why an attempt was lost and why a match ended, in the reader's language, also where an earlier version wrote it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import translation

from matches.events.history import Outcome
from matches.words import match

NO_SIGN = "אין סימן חיים מהשופט"
CRASHED = "שגיאה בקוד של השופט עצמו (KeyError)"


@pytest.mark.parametrize(
    ("why", "hebrew"),
    [
        ({"code": "NO_SIGN_OF_LIFE", "args": {}}, NO_SIGN),
        ("no sign of life from the referee", NO_SIGN),
        ({"code": "REFEREE_ERROR", "args": {"kind": "KeyError"}}, CRASHED),
        ("an error in the referee's own code (KeyError)", CRASHED),
        ("what a referee of another kind says", "כלשונו: “\u2068what a referee of another kind says\u2069”"),
        ("", "–"),
    ],
)
def test_the_reason_of_a_lost_attempt_is_translated_also_in_events_of_earlier_versions(why: Any, hebrew: str) -> None:
    with translation.override("he"):
        assert match.reason_lost({"why": why}) == hebrew


def outcome_with(details: dict[str, Any], *, winner: str | None = "P01", correction: int | None = None) -> Outcome:
    """A match that a referee reported as won, or as drawn."""
    return Outcome(
        match_id="R1M1",
        round_number=1,
        players=("P01", "P02"),
        status="WIN" if winner else "DRAW",
        winner=winner,
        reason="what the referee said",
        details=details,
        faults=(),
        attempt=1,
        referee_id="REF01",
        seq=1,
        at=datetime(2025, 1, 15, tzinfo=UTC),
        correction=correction,
    )


QUOTED = "כלשונו: “\u2068what the referee said\u2069”"


@pytest.mark.parametrize(
    ("details", "winner", "english", "hebrew"),
    [
        (
            {"choices": {"P01": 1, "P02": 2}, "drawn_number": 3, "sum": 6},
            "P01",
            "1 + 2 + 3 = 6 is even, and P01 stands for even.",
            "1 + 2 + 3 = 6 הוא זוגי, ו-P01 מייצג זוגי.",
        ),
        (
            {"moves": [0, 3, 1, 4, 2], "winning_cells": [[0, 0], [0, 1], [0, 2]], "choices": {"P01": [0], "P02": [3]}},
            "P01",
            "P01 has 3 in a row. Moves: 5.",
            "ל-P01 יש 3 בשורה. מהלכים: 5.",
        ),
        (
            {"moves": [0, 1], "winning_cells": []},
            None,
            "The board is full, and nobody has a row.",
            "הלוח מלא, ואין לאיש שורה.",
        ),
        ({"sum": True, "drawn_number": 3, "choices": {"P01": 1, "P02": 2}}, "P01", "what the referee said", QUOTED),
        ({"moves": "0", "winning_cells": [1]}, "P01", "what the referee said", QUOTED),
    ],
)
def test_why_a_game_ended_is_told_in_the_readers_language(
    details: dict[str, Any], winner: str | None, english: str, hebrew: str
) -> None:
    assert match.why(outcome_with(details, winner=winner)) == english
    with translation.override("he"):
        assert match.why(outcome_with(details, winner=winner)) == hebrew
    assert match.why(outcome_with(details, winner=winner, correction=1)) == "what the referee said"
