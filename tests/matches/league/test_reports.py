"""Reading what referees report: results of the site's referees and of students' (ruling, sections 7 and 10)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from league_sdk.protocol.errors import LeagueError
from matches.league.progress_reading import read_progress
from matches.league.reports import (
    Verdict,
    read_entries,
    read_found_at,
    read_spoken,
    read_verdict,
    whole_number,
)
from tests.sizes import examples

A, B = PLAYERS = ("P01", "P02")
BOTH_CHOICES = {"choices": {A: "even", B: "odd"}, "drawn_number": 8}
ONE_CHOICE = {"choices": {A: "even", B: None}, "drawn_number": None}


def result(winner: Any, score: Any = None, details: Any = None) -> dict[str, Any]:
    """A report's ``result``; what is None is left out."""
    fields = {"score": score, "details": details}
    return {"result": {"winner": winner} | {name: value for name, value in fields.items() if value is not None}}


def error_of(read: Any, *arguments: Any) -> tuple[str, Any, Any, Any]:
    """The code, and the fields ``field``, ``seen`` and ``expected``, of the error that a reader raises."""
    with pytest.raises(LeagueError) as caught:
        read(*arguments)
    error = caught.value
    return error.error_code, *(error.context.get(name) for name in ("field", "seen", "expected"))


# -- verdicts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "status", "winner"),
    [
        # of a referee of the site: the status says what it is
        ({"status": "WIN"} | result(A), "WIN", A),
        ({"status": "DRAW"} | result(None), "DRAW", None),
        ({"status": "TECHNICAL_LOSS"} | result(B), "TECHNICAL_LOSS", B),
        ({"status": "TECHNICAL_LOSS"} | result(None, {A: 1, B: 1}, BOTH_CHOICES), "TECHNICAL_LOSS", None),
        ({"status": "CANCELLED"} | result(None), "CANCELLED", None),
        # of a student's referee: a winner is a win, whatever the score says
        (result(A, {A: 3, B: 0}, BOTH_CHOICES), "WIN", A),
        (result(B, {A: 3, B: 0}), "WIN", B),
        (result(A, "3:0", ["even", "odd"]), "WIN", A),
        # null or "DRAW" with equal points above 0, or with both choices, is a draw; so is "DRAW" without a score
        (result(None, {A: 1, B: 1}), "DRAW", None),
        (result(None, {A: 0.5, B: 0.5}), "DRAW", None),
        (result(None, {A: 1, B: 1}, ONE_CHOICE), "DRAW", None),
        (result(None, {A: 0, B: 0}, BOTH_CHOICES), "DRAW", None),
        (result(None, None, BOTH_CHOICES), "DRAW", None),
        (result("DRAW", {A: 1, B: 1}), "DRAW", None),
        (result("DRAW", None, BOTH_CHOICES), "DRAW", None),
        (result("DRAW"), "DRAW", None),
        # the other names that the documents have for the same facts
        ({"game_result": {"winner_player_id": B, "choices": BOTH_CHOICES["choices"]}}, "WIN", B),
        ({"result": {"winner_player_id": None, "status": "DRAW"}}, "DRAW", None),
        ({"result": {"winner_id": A, "status": "technical_loss"}}, "TECHNICAL_LOSS", A),
        ({"result": {"winner": None, "choices": BOTH_CHOICES["choices"]}}, "DRAW", None),
        ({"winner": B, "result": "WIN"}, "WIN", B),
        ({"winner": "draw"}, "DRAW", None),
        (result("PLAYER_B"), "WIN", B),
        # 0:0 with a missing choice means that both were absent, whether the winner is null or "DRAW"
        (result("DRAW", {A: 0, B: 0}), "TECHNICAL_LOSS", None),
        (result(None, {A: 0, B: 0}), "TECHNICAL_LOSS", None),
        (result(None, {A: 0, B: 0}, ONE_CHOICE), "TECHNICAL_LOSS", None),
        (result(None, {A: 0, B: 0}, {"choices": {}}), "TECHNICAL_LOSS", None),
    ],
)
def test_a_result_is_read_as_the_ruling_says(params: dict[str, Any], status: str, winner: str | None) -> None:
    verdict = read_verdict(params, PLAYERS)
    assert (verdict.status, verdict.winner) == (status, winner)


WINNERS = "P01, P02, DRAW or null"
STATUSES = "CANCELLED, DRAW, TECHNICAL_LOSS, WIN"
NOBODY_WON = "equal points above 0, or both choices, or 0:0 with a missing choice"


@pytest.mark.parametrize(
    ("params", "code", "field", "seen", "expected"),
    [
        ({}, "E003", "result", "null", "an object with winner, score, details"),
        ({"result": "P01"}, "E002", "result", '"P01"', "an object"),
        ({"result": [A]}, "E002", "result", '["P01"]', "an object"),
        ({"result": {}}, "E003", "result.winner", "null", "a player_id or null"),
        (result("P99"), "E002", "result.winner", '"P99"', WINNERS),
        (result(""), "E002", "result.winner", '""', WINNERS),
        (result([A]), "E002", "result.winner", '["P01"]', WINNERS),
        (result(True), "E002", "result.winner", "true", WINNERS),
        ({"status": "VICTORY"} | result(A), "E002", "status", '"VICTORY"', STATUSES),
        ({"status": ["WIN"]} | result(A), "E002", "status", '["WIN"]', STATUSES),
        ({"status": "WIN"} | result(None), "E002", "result.winner", "null", "a player_id"),
        ({"status": "WIN"} | result("DRAW"), "E002", "result.winner", "null", "a player_id"),
        ({"status": "DRAW"} | result(A), "E002", "result.winner", '"P01"', "null"),
        ({"status": "CANCELLED"} | result(B), "E002", "result.winner", '"P02"', "null"),
        (result(None), "E002", "result.score", "null", NOBODY_WON),
        (result(None, {A: 3, B: 0}), "E002", "result.score", '{"P01": 3, "P02": 0}', NOBODY_WON),
        (result(None, {A: 3, B: 0}, ONE_CHOICE), "E002", "result.score", '{"P01": 3, "P02": 0}', NOBODY_WON),
        (result(None, {A: -1, B: -1}), "E002", "result.score", '{"P01": -1, "P02": -1}', NOBODY_WON),
        (result(None, {A: True, B: True}), "E002", "result.score", '{"P01": true, "P02": true}', NOBODY_WON),
        (result(None, {A: 1}), "E002", "result.score", '{"P01": 1}', NOBODY_WON),
        (result(None, "1:1"), "E002", "result.score", '"1:1"', NOBODY_WON),
        (result(None, None, ONE_CHOICE), "E002", "result.score", "null", NOBODY_WON),
    ],
)
def test_an_unreadable_result_is_refused_with_field_seen_and_expected(
    params: dict[str, Any], code: str, field: str, seen: str, expected: str
) -> None:
    assert error_of(read_verdict, params, PLAYERS) == (code, field, seen, expected)


def test_a_complete_report_of_a_referee_of_the_site_is_read() -> None:
    fault = {
        "player_id": B,
        "error_code": "E001",
        "message_type": "CHOOSE_PARITY_CALL",
        "tries": 4,
        "cause": "DEADLINE",
        "limit_s": 30.0,
        "detail": "",
        "sentence": "P02 did not answer",
    }
    params = {"status": "TECHNICAL_LOSS", "reason": "P02 did not answer", "faults": [fault]} | result(
        A, None, ONE_CHOICE
    )
    assert read_verdict(params, PLAYERS) == Verdict("TECHNICAL_LOSS", A, "P02 did not answer", ONE_CHOICE, [fault])


@pytest.mark.parametrize(
    ("params", "reason", "details"),
    [
        (result(A, None, BOTH_CHOICES | {"reason": "inside"}), "inside", BOTH_CHOICES),
        ({"game_result": {"winner_player_id": A, "reason": "beside"} | BOTH_CHOICES}, "beside", BOTH_CHOICES),
        ({"reason": "r" * 600} | result(A), "r" * 500, {}),
        ({"reason": 7} | result(A), "", {}),
        (result(A, None, ["even", "odd"]), "", {}),
        ({"reason": "outside"} | result(A, None, {"reason": "inside"}), "outside", {"reason": "inside"}),
    ],
)
def test_the_reason_and_the_details_of_a_result_are_read(
    params: dict[str, Any], reason: str, details: dict[str, Any]
) -> None:
    verdict = read_verdict(params, PLAYERS)
    assert (verdict.reason, verdict.details) == (reason, details)


UNKNOWN = {
    "error_code": "",
    "message_type": "",
    "tries": 0,
    "cause": "REFEREE",
    "limit_s": None,
    "detail": "",
    "sentence": "",
}


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        (None, []),
        ("E001", []),
        ({"player_id": A}, []),
        ([{"player_id": "P99", "error_code": "E001"}, "E001", None, {}, {"player_id": [A]}], []),
        (
            [{"player_id": A, "error_code": "E001" * 9, "message_type": "m" * 99, "tries": "4", "sentence": "s" * 999}],
            [
                UNKNOWN
                | {
                    "player_id": A,
                    "error_code": "E001E001",
                    "message_type": "m" * 40,
                    "tries": 1,
                    "sentence": "s" * 300,
                }
            ],
        ),
        ([{"player_id": B, "error_code": None}] * 12, [UNKNOWN | {"player_id": B, "tries": 1}] * 10),
        (
            [{"player_id": B, "cause": 7, "limit_s": "30", "detail": ["x"], "sentence": 7, "message_type": None}],
            [UNKNOWN | {"player_id": B, "tries": 1}],
        ),
        (
            [{"player_id": B, "tries": True, "limit_s": True}, {"player_id": A, "tries": -1, "limit_s": -1}],
            [UNKNOWN | {"player_id": B, "tries": 1}, UNKNOWN | {"player_id": A, "tries": 1}],
        ),
        (
            [{"player_id": B, "tries": 10**30, "limit_s": 10**30, "detail": "d" * 999}],
            [UNKNOWN | {"player_id": B, "tries": 1, "detail": "d" * 200}],
        ),
    ],
)
def test_faults_from_students_referees_are_kept_as_far_as_they_are_usable(
    faults: Any, expected: list[dict[str, Any]]
) -> None:
    lost_by_both = {"faults": faults, "status": "CANCELLED"} | result(None)
    assert read_verdict(lost_by_both, PLAYERS).faults == expected


@pytest.mark.parametrize(
    ("status", "winner", "blamed"), [("WIN", A, [B]), ("DRAW", None, []), ("TECHNICAL_LOSS", B, [A])]
)
def test_faults_of_whoever_wins_or_draws_are_dropped(status: str, winner: str | None, blamed: list[str]) -> None:
    faults = [{"player_id": player, "error_code": "E001"} for player in PLAYERS]
    verdict = read_verdict({"faults": faults, "status": status} | result(winner), PLAYERS)
    assert [fault["player_id"] for fault in verdict.faults] == blamed


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ({"cause": "HTTP_STATUS", "error_code": "E009"}, "HTTP_STATUS"),
        ({"cause": "LEAGUE"}, "LEAGUE"),
        ({"cause": "bad luck", "error_code": "E001"}, "DEADLINE"),
        ({"error_code": "E001"}, "DEADLINE"),
        ({"error_code": "E002"}, "WRONG_MESSAGE"),
        ({"error_code": "E003"}, "WRONG_MESSAGE"),
        ({"error_code": "E004"}, "ILLEGAL_MOVE"),
        ({"error_code": "E009"}, "CONNECT"),
        ({"error_code": "G002"}, "DEADLINE"),
        ({"error_code": "E777"}, "REFEREE"),
        ({}, "REFEREE"),
    ],
)
def test_every_fault_has_a_cause(fault: dict[str, Any], cause: str) -> None:
    (found,) = read_verdict({"faults": [fault | {"player_id": B}]} | result(A), PLAYERS).faults
    assert found["cause"] == cause


@pytest.mark.parametrize(
    ("winner", "reported", "unexplained"),
    [(A, [], [B]), (B, [], [A]), (None, [A], [B]), (A, [B], []), (None, [], [A, B])],
)
def test_a_loss_without_a_reported_fault_is_blamed_on_the_referee(
    winner: str | None, reported: list[str], unexplained: list[str]
) -> None:
    faults = [{"player_id": player, "error_code": "E001"} for player in reported]
    params = {"status": "TECHNICAL_LOSS", "faults": faults} | result(winner)
    causes = {fault["player_id"]: fault["cause"] for fault in read_verdict(params, PLAYERS).faults}
    assert causes == dict.fromkeys(reported, "DEADLINE") | dict.fromkeys(unexplained, "REFEREE")


@pytest.mark.parametrize(
    ("item", "cause", "why"),
    [
        ({}, "REFEREE", ""),
        ({"cause": "LEAGUE", "why": "our side"}, "LEAGUE", "our side"),
        ({"cause": "DEADLINE", "why": "x" * 999}, "REFEREE", "x" * 200),
        ({"cause": ["LEAGUE"], "why": ["x"]}, "REFEREE", ""),
        ({"why": f"tok_{'a' * 32}"}, "REFEREE", "tok_…"),
    ],
)
def test_cause_and_reason_of_a_match_that_is_handed_back_are_read(item: dict[str, Any], cause: str, why: str) -> None:
    whole = {"league_id": "fall", "match_id": "R1M1", "attempt": 1, "state": "HANDED_BACK"} | item
    (found,) = read_progress({"matches": [whole]})
    assert (found.cause, found.why) == (cause, why)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from([A, B, "DRAW", "WIN", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([A, B, "winner", "score", "details", "choices", "player_id"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("result", "status", "reason", "faults"), json_values))
    | st.fixed_dictionaries({"result": st.fixed_dictionaries({"winner": json_values, "score": json_values})})
)
def test_any_report_is_a_verdict_or_a_league_error(params: dict[str, Any]) -> None:
    try:
        verdict = read_verdict(params, PLAYERS)
    except LeagueError:
        return
    assert verdict.winner in (*PLAYERS, None)
    assert (verdict.status == "WIN") <= (verdict.winner is not None)


# -- how players speak ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, {}),
        ("canonical", {}),
        ({A: "canonical", B: None}, {}),
        ({A: {"GAME_INVITATION": "handle_message"}}, {A: {"GAME_INVITATION": "handle_message"}}),
        (
            {A: {"GAME_OVER": "flat", "GAME_DANCE": "flat"}, B: {"GAME_OVER": "sung", "GAME_ERROR": ["flat"]}},
            {A: {"GAME_OVER": "flat"}, B: {}},
        ),
    ],
)
def test_how_players_speak_is_kept_as_far_as_it_is_known(value: Any, expected: dict[str, Any]) -> None:
    assert read_spoken(value) == expected


# -- progress ---------------------------------------------------------------------------------------------

ENTRY = {"n": 0, "at": "2025-01-15T10:15:00.000000+00:00", "message_type": "GAME_INVITATION"}
ITEM: dict[str, Any] = {
    "league_id": "league_2025_even_odd",
    "match_id": "R1M1",
    "attempt": 1,
    "state": "COLLECTING_CHOICES",
    "joined": [A, B],
    "locked_in": [A],
    "view": {},
    "transcript": [ENTRY],
}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in ITEM.items() if key != name}


def picked(item: dict[str, Any]) -> dict[str, Any]:
    """What was read of one item, as far as this test sent it."""
    (read,) = read_progress({"matches": [item]})
    return {name: getattr(read, name) for name in ITEM}


def test_a_progress_report_is_read() -> None:
    assert picked(ITEM) == ITEM
    assert picked(ITEM | {"state": "HANDED_BACK", "attempt": "2"}) == ITEM | {"state": "HANDED_BACK", "attempt": 2}
    assert read_progress({"matches": []}) == []


def test_malformed_fields_of_a_progress_item_are_left_out() -> None:
    malformed = {"joined": [A, 7, None], "locked_in": "P01", "view": [1], "transcript": "none"}
    assert picked(ITEM | malformed) == ITEM | {"joined": [A], "locked_in": [], "view": {}, "transcript": []}
    assert picked({name: ITEM[name] for name in ("league_id", "match_id", "attempt", "state")}) == ITEM | {
        "joined": [],
        "locked_in": [],
        "transcript": [],
    }


STATES = "COLLECTING_CHOICES, DRAWING_NUMBER, HANDED_BACK, WAITING_FOR_PLAYERS"


@pytest.mark.parametrize(
    ("params", "code", "field", "seen", "expected"),
    [
        ({}, "E003", "matches", "null", "an array of matches"),
        ({"matches": {}}, "E002", "matches", "{}", "an array of matches"),
        ({"matches": [ITEM] * 1001}, "E002", "matches", "1001", "at most 1000 matches"),
        ({"matches": [7]}, "E002", "matches[0]", "7", "an object"),
        ({"matches": [ITEM, []]}, "E002", "matches[1]", "[]", "an object"),
        ({"matches": [without("state")]}, "E003", "matches[0].state", "null", "a match state"),
        ({"matches": [ITEM | {"state": 7}]}, "E002", "matches[0].state", "7", "a match state"),
        ({"matches": [ITEM | {"state": "FINISHED"}]}, "E002", "matches[0].state", '"FINISHED"', STATES),
        ({"matches": [ITEM | {"state": "ASSIGNED"}]}, "E002", "matches[0].state", '"ASSIGNED"', STATES),
        ({"matches": [without("league_id")]}, "E003", "matches[0].league_id", "null", "a league id"),
        ({"matches": [ITEM | {"league_id": {}}]}, "E002", "matches[0].league_id", "{}", "a league id"),
        ({"matches": [ITEM | {"match_id": ""}]}, "E003", "matches[0].match_id", '""', "a match id"),
        ({"matches": [ITEM, ITEM | {"attempt": -1}]}, "E002", "matches[1].attempt", "-1", "a whole number"),
    ],
)
def test_an_unreadable_progress_report_is_refused(
    params: dict[str, Any], code: str, field: str, seen: str, expected: str
) -> None:
    assert error_of(read_progress, params) == (code, field, seen, expected)


def test_entries_without_a_usable_number_are_left_out() -> None:
    malformed = [ENTRY | {"n": n} for n in (-1, 2**31, True, "1", None, 1.5)]
    assert read_entries([*malformed, 7, None, ENTRY, ENTRY | {"n": 1}]) == [ENTRY, ENTRY | {"n": 1}]
    assert read_entries({"n": 0}) == []


@settings(max_examples=examples(40))
@given(
    st.fixed_dictionaries({"matches": st.lists(json_values | st.fixed_dictionaries(dict.fromkeys(ITEM, json_values)))})
)
def test_any_progress_report_is_read_or_a_league_error(params: dict[str, Any]) -> None:
    try:
        read = read_progress(params)
    except LeagueError:
        return
    assert len(read) == len(params["matches"])


# -- numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "number"), [(0, 0), (7, 7), (2**31 - 1, 2**31 - 1), ("7", 7), ("0012", 12)])
def test_a_round_may_be_a_number_or_digits(value: Any, number: int) -> None:
    assert whole_number(value, field="round_id") == number


@pytest.mark.parametrize("value", [None, True, -1, 2**31, 1.0, "", "-1", "1.0", "٣", "1" * 10, [1], {}])
def test_a_value_that_is_not_a_whole_number_is_refused(value: Any) -> None:
    code, field, _, expected = error_of(lambda: whole_number(value, field="round_id"))
    assert (code, field, expected) == ("E002", "round_id", "a whole number")


def test_a_report_may_name_the_path_at_which_a_player_was_found() -> None:
    paths = {A: "/mcp/", B: "/", "P03": "/third/"}
    assert read_found_at(paths) == {A: "/mcp/", B: "/"}
    for wrong in ("http://elsewhere/", "mcp", "/a b", "/?x=1", "//elsewhere:1/\n", 7, None, "/" + "x" * 200):
        assert read_found_at({A: wrong}) == {}
    assert read_found_at("junk") == read_found_at(None) == {}
