"""The models of the messages and their JSON Schemas (004 chapters 4 and 8)."""

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from league_sdk.judging.match.brief import Seat
from league_sdk.protocol import schemas
from league_sdk.protocol.errors import NAMES
from league_sdk.protocol.messages import METHODS, MessageType
from tests.league_sdk.protocol.wire_messages import MESSAGES, OURS, changed, fields_with_problems

REJECTED = {
    "status": "REJECTED",
    "auth_token": None,
    "league_token": None,
    "reason": "full",
    "rejection_reason": "full",
}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {  # by name: a message type, and what differs from its sample
    "rejected player": ("LEAGUE_REGISTER_RESPONSE", REJECTED | {"player_id": None, "legacy_code": "L002"}),
    "rejected referee": ("REFEREE_REGISTER_RESPONSE", REJECTED | {"referee_id": None}),
    "query that failed": ("LEAGUE_QUERY_RESPONSE", {"success": False, "data": None, "error": {"error_code": "E005"}}),
    "league_manager without an id": ("ROUND_COMPLETED", {"sender": "league_manager"}),
    "only one of the two names of a count": ("ROUND_COMPLETED", {"matches_completed": None, "next_round_id": None}),
    "offset of zero": ("GAME_JOIN_ACK", {"timestamp": "2025-01-15T10:15:01.123456+00:00"}),
    "refusal": ("GAME_JOIN_ACK", {"accept": False}),
    "another game": (
        "GAME_OVER",
        {"game_type": "chess", "game_result": {"status": "DRAW", "winner_player_id": None, "reason": "stalemate"}},
    ),
    "no number was drawn": (
        "GAME_OVER",
        {
            "game_result": {
                "status": "TECHNICAL_LOSS",
                "winner_player_id": None,
                "drawn_number": None,
                "number_parity": None,
                "choices": {"P01": None, "P02": None},
                "reason": "both absent",
            }
        },
    ),
    "move that is a number": ("GAME_MOVE_RESPONSE", {"move_data": {"move_type": "place_mark", "choice": 0}}),
    "registration with an empty token": ("LEAGUE_REGISTER_REQUEST", {"auth_token": ""}),
    "unknown fields": ("CHOOSE_PARITY_RESPONSE", {"mood": ["good"], "choice": None}),
}


# -- which schemas there are --------------------------------------------------------------------------------


def test_every_message_has_a_model_and_a_sample() -> None:
    assert list(schemas.MODELS) == [*MessageType, *OURS]
    assert sorted(MESSAGES) == sorted(schemas.MODELS)


def test_every_request_has_its_method_and_every_answer_is_a_known_message() -> None:
    methods = {name: model.method for name, model in schemas.MODELS.items() if model.method}
    assert methods == {str(kind): method for kind, method in METHODS.items()} | {
        "START_MATCH": "start_match",
        "START_MATCHES": "start_matches",
        "REPORT_PROGRESS": "report_progress",
    }
    assert {model.answer for model in schemas.MODELS.values()} - set(schemas.MODELS) == {None}


def test_the_schema_of_an_error_accepts_every_code() -> None:
    code = schemas.json_schema("LEAGUE_ERROR")["properties"]["error_code"]["pattern"]
    assert [one for one in NAMES if not re.search(code, one)] == []


@pytest.mark.parametrize("name", schemas.MODELS)
def test_every_schema_is_valid_and_every_field_cites_a_section(name: str) -> None:
    schema = schemas.json_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert (schema["$id"], schema["title"]) == (f"urn:league.v2:{name}", name)
    parts = [schema, *schema.get("$defs", {}).values()]
    uncited = [
        path
        for part in parts
        for path, field in part["properties"].items()
        if part["title"] != "LeagueSettings"
        and not re.fullmatch(r"[A-Z].+\. \((00[0-4] .+|our choice)\)", field.get("description", ""))
    ]
    assert uncited == []
    assert {
        ref for ref in re.findall(r'"\$ref": "([^"]+)"', json.dumps(schema)) if not ref.startswith("#/$defs/")
    } == set()


def test_the_schema_of_a_seat_has_the_fields_that_a_referee_reads() -> None:
    read = {str(field.validation_alias or name) for name, field in Seat.__pydantic_fields__.items()}
    made_by_the_referee = {"role", "path_secret"}
    assert set(schemas.json_schema("START_MATCH")["$defs"]["Seat"]["properties"]) == read - made_by_the_referee


def test_the_schema_of_a_report_has_what_was_found_out_and_nothing_of_an_inbox() -> None:
    fields_of_report = set(schemas.json_schema("MATCH_RESULT_REPORT")["properties"])
    assert {"spoken", "learned", "registrations", "found_at", "proofs"} <= fields_of_report
    assert fields_of_report.isdisjoint({"inbox_key", "dials_out", "connect_grace_s"})


def test_changing_a_returned_schema_does_not_change_the_next() -> None:
    schemas.json_schema("GAME_OVER")["properties"].clear()
    assert "game_result" in schemas.json_schema("GAME_OVER")["properties"]


def test_an_unknown_message_type_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        schemas.problems("GAME_NEVER", {})
    with pytest.raises(KeyError):
        schemas.json_schema("GAME_NEVER")


# -- what conforms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MESSAGES)
def test_every_sample_conforms(name: str) -> None:
    assert schemas.problems(name, MESSAGES[name]) == []
    Draft202012Validator(schemas.json_schema(name)).validate(MESSAGES[name])


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_that_the_documents_allow_conform(name: str) -> None:
    kind, changes = VARIANTS[name]
    assert schemas.problems(kind, changed(kind, **changes)) == []
    Draft202012Validator(schemas.json_schema(kind)).validate(changed(kind, **changes))


CHAPTER_8: dict[str, str] = {  # the fields that chapters 4 and 8 show, beside the envelope
    "GAME_INVITATION": "auth_token league_id round_id match_id game_type role_in_match opponent_id",
    "GAME_JOIN_ACK": "auth_token match_id player_id arrival_timestamp accept",
    "CHOOSE_PARITY_CALL": "auth_token match_id player_id game_type context deadline",
    "CHOOSE_PARITY_RESPONSE": "auth_token match_id player_id parity_choice",
    "GAME_MOVE_CALL": "auth_token match_id player_id game_type move_request deadline",
    "GAME_MOVE_RESPONSE": "auth_token match_id player_id game_type move_data",
    "GAME_OVER": "auth_token match_id game_type game_result",
    "GAME_ERROR": "match_id error_code error_description affected_player action_required consequence",
    "MATCH_RESULT_REPORT": "auth_token league_id round_id match_id game_type result",
    "REFEREE_REGISTER_REQUEST": "referee_meta",
    "REFEREE_REGISTER_RESPONSE": "status referee_id auth_token league_id",
    "LEAGUE_REGISTER_REQUEST": "player_meta",
    "LEAGUE_REGISTER_RESPONSE": "status player_id auth_token league_id",
    "ROUND_ANNOUNCEMENT": "league_id round_id matches",
    "LEAGUE_STANDINGS_UPDATE": "league_id round_id standings",
    "ROUND_COMPLETED": "league_id round_id matches_played next_round_id",
    "LEAGUE_COMPLETED": "league_id total_rounds total_matches champion final_standings",
    "LEAGUE_QUERY": "auth_token league_id query_type",
    "LEAGUE_QUERY_RESPONSE": "query_type success data",
    "LEAGUE_ERROR": "error_code error_description context",
}
ENVELOPE = ["protocol", "message_type", "sender", "timestamp", "conversation_id"]


@pytest.mark.parametrize("name", CHAPTER_8)
def test_the_fields_shown_in_chapter_8_are_sufficient_and_required(name: str) -> None:
    names = [*ENVELOPE, *CHAPTER_8[name].split()]
    message = {field: MESSAGES[name][field] for field in names}
    assert schemas.problems(name, message) == []
    missing = {
        field: fields_with_problems(name, {key: value for key, value in message.items() if key != field})
        for field in names
    }
    # One of the two names of the same count is enough; if both are missing, the problem names the first.
    other = {"matches_played": ["matches_completed"]}
    assert missing == {field: other.get(field, [field]) for field in names}
