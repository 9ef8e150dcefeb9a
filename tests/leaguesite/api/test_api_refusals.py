"""What the HTTP API refuses: one shape, a sentence that says why or what to do, the field that is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from matches.models import League
from tests import factories as make
from tests.leaguesite.script import ACTIONS, READS, Script
from tests.sizes import sampled

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", [*ACTIONS, "/referees/REF01/trust"])
@pytest.mark.parametrize("key", ["wrong", *(pytest.param(key, marks=pytest.mark.exhaustive) for key in ("", "kéy"))])
def test_an_action_without_the_key_is_401_and_changes_nothing(api_key: str, path: str, key: str) -> None:
    make.league()
    before = list(League.objects.values())
    refusal = Script(key).post(path, {"league_id": "new"})
    sentence = "Send the instructor's API key: Authorization: Bearer <key>."
    assert refusal == (401, {"error": sentence, "field": None})
    assert list(League.objects.values()) == before


@pytest.mark.parametrize("path", [*(path for path in READS if path != "/leagues"), "/leagues/fall/matches/R1M1"])
def test_reading_an_unknown_league_is_404(public: Script, path: str) -> None:
    assert public.get(path) == (404, {"error": "There is no league fall.", "field": None})


@pytest.mark.parametrize("path", ACTIONS[1:])
def test_an_action_on_an_unknown_league_is_404(script: Script, path: str) -> None:
    assert script.post(path) == (404, {"error": "There is no league fall.", "field": None})


@pytest.mark.parametrize("name", ["%00", "%F0%9F%8E%B2", "x" * 500])
def test_leagues_and_matches_with_strange_names_are_404(public: Script, name: str) -> None:
    make.league()
    assert [public.get(f"/leagues/{name}")[0], public.get(f"/leagues/fall/matches/{name}")[0]] == [404, 404]


def test_reading_releasing_or_cancelling_an_unknown_match_is_404(script: Script) -> None:
    make.running_league()
    missing = (404, {"error": "fall has no match R9M9.", "field": None})
    assert script.get("/leagues/fall/matches/R9M9") == missing
    assert script.post("/leagues/fall/matches/R9M9/release") == missing
    assert script.post("/leagues/fall/matches/R9M9/cancel") == missing


@pytest.mark.parametrize(
    ("path", "sentence"),
    sampled(
        [
            ("/close", "The schedule of Fall is made already: start the next round."),
            ("/start", "Round 1 is still running (2 matches open): wait until it has ended."),
            ("/rounds/start", "Round 1 is still running (2 matches open): wait until it has ended."),
            ("/resume", "Fall is not paused."),
            ("/matches/R1M1/release", "R1M1 is not held: there is nothing to release."),
            (
                "/matches/R2M1/cancel",
                "R2M1 is not open: only a match without a result, in a round that has begun, can be cancelled.",
            ),
        ],
        every=2,
    ),
)
def test_an_action_that_is_impossible_now_is_409_and_says_why(script: Script, path: str, sentence: str) -> None:
    make.running_league()
    assert script.post(f"/leagues/fall{path}") == (409, {"error": sentence, "field": None})


@pytest.mark.parametrize(
    ("path", "body", "sentence", "field"),
    [
        ("/leagues", {"league_id": "a b"}, "league_id: Use letters, digits, - and _ only.", "league_id"),
        (
            "/leagues",
            {"league_id": "a", "settings": {"max_retries": -1}},
            "Setting max_retries: Input should be greater than or equal to 0 (seen: -1).",
            "max_retries",
        ),
        ("/leagues", {}, "league_id: Field required", "league_id"),
        ("/leagues", {"league_id": 5}, "league_id: Input should be a valid string", "league_id"),
        ("/leagues", {"league_id": "a", "x": 1}, "x: Extra inputs are not permitted", "x"),
        ("/leagues", {"league_id": "a", "settings": []}, "settings: Input should be a valid dictionary", "settings"),
        ("/leagues/fall/start", {"auto": True}, "auto: Extra inputs are not permitted", "auto"),
    ],
)
def test_a_body_with_a_wrong_field_is_422_and_names_the_field(
    script: Script, path: str, body: Any, sentence: str, field: str
) -> None:
    assert script.post(path, body) == (422, {"error": sentence, "field": field})


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
@pytest.mark.parametrize("where", ["league_id", "display_name", "settings"])
def test_text_that_no_database_takes_is_422(script: Script, text: str, where: str) -> None:
    value = {"registration_code": text} if where == "settings" else text
    status, answer = script.post("/leagues", {"league_id": "fall", "display_name": "Fall"} | {where: value})
    assert (status, League.objects.count()) == (422, 0)
    assert answer["field"] == {"settings": "registration_code"}.get(where, where)


def test_a_body_that_is_not_json_is_400(script: Script) -> None:
    answer = Client().post(
        "/api/leagues", "{", content_type="application/json", headers={"Authorization": "Bearer key-of-the-tests"}
    )
    assert answer.status_code == 400
