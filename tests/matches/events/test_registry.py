"""The table of events has every kind, and no other module writes the name of a kind as a plain string."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path
from typing import Any

import pytest
from django.utils import translation

from league_sdk.ledger.kinds import CORRECTIONS, EventKind
from matches.events import history
from matches.events.registry import EVENTS, LISTED, PUBLIC, check, feed_data
from matches.words.events import happened

ROOT = Path(__file__).resolve().parents[3]
DESK_ONLY = {
    *(EventKind.ROLE_GIVEN, EventKind.ROLE_TAKEN, EventKind.START_PLANNED, EventKind.START_CALLED_OFF),
    *(EventKind.START_FAILED, EventKind.GATEWAY_CHANGED, EventKind.CROWD_LET_IN),
}
AMBIGUOUS = {"paused", "frozen", "unveiled", "left_out", "corrected", "notice", "round_completed", "league_completed"}
"""Kinds that are also names of columns, of parts of a page, or of clauses of the conformance check."""


def strings(path: Path) -> set[str]:
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    return {token.string.strip("\"'") for token in tokens if token.type == tokenize.STRING}


def test_every_kind_has_a_row_and_only_the_desk_reads_those_without_words() -> None:
    assert set(EVENTS) == set(EventKind)
    assert set(EventKind) - set(PUBLIC) == DESK_ONLY
    assert set(PUBLIC) - set(LISTED) == {
        EventKind.SETTINGS_CHANGED,
        EventKind.ROUND_OPENED,
        EventKind.MATCH_FINISHED,
    }


def test_every_function_that_changes_a_moment_belongs_to_a_kind() -> None:
    functions = {one for one in vars(history).values() if getattr(one, "__module__", "") == history.__name__}
    folds = {one for one in functions if not isinstance(one, type) and not one.__name__.startswith("_")}
    assert {one.fold for one in EVENTS.values()} - {None} == folds


@pytest.mark.parametrize("kind", EventKind)
def test_the_feed_gives_only_fields_of_the_kind_and_no_field_is_both_public_and_private(kind: EventKind) -> None:
    row = EVENTS[kind]
    assert set(row.feed_fields or ()) <= {*kind.public, *row.private}
    assert not set(kind.public) & set(row.private)


@pytest.mark.parametrize("kind", [kind for kind in PUBLIC if kind not in CORRECTIONS])
def test_every_public_kind_but_corrections_has_a_hebrew_sentence_with_its_fields(kind: EventKind) -> None:
    data: dict[str, Any] = dict.fromkeys((*kind.public, *EVENTS[kind].private), "3") | {"winner_id": None}
    data |= {"details": {}, "champion": {"display_name": "Ada"}, "champions": [], "status": "DRAW"}
    with translation.override("he"):
        text = happened(kind, data)
    assert "%(" not in text
    assert any("א" <= letter <= "ת" for letter in text)


def test_a_kind_without_words_is_shown_by_its_name() -> None:
    assert happened("role_given", {"user": "ada", "role": "instructor"}) == "role_given"
    assert happened("of_a_later_version", {}) == "of_a_later_version"


def test_the_feed_has_the_cause_of_a_lost_attempt_and_not_the_reason_in_words() -> None:
    data = {"match_id": "R1M1", "attempt": 1, "referee_id": "REF01", "cause": "REFEREE", "why": "http://10.0.0.7 fell"}
    check(EventKind.ATTEMPT_LOST, data)
    assert feed_data(EventKind.ATTEMPT_LOST, data) == {name: data[name] for name in data if name != "why"}


@pytest.mark.parametrize("data", [{"round": 1}, {"round_id": "1"}, {"round_id": 1, "why": ""}])
def test_a_field_that_the_kind_does_not_have_or_of_another_type_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="round_started: "):
        check(EventKind.ROUND_STARTED, data)


def test_no_kind_is_a_bare_string_in_the_product() -> None:
    kinds = {kind.value for kind in EventKind} - AMBIGUOUS
    named = [
        (str(path.relative_to(ROOT)), kind)
        for package in ("agents_registry", "league_sdk", "leaguesite", "matches")
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "kinds.py"
        for kind in sorted(strings(path) & kinds)
    ]
    assert named == []
