"""What every tool answers is what its schema says: nothing missing, nothing more."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft7Validator, Draft202012Validator, ValidationError

from league_sdk.protocol import schemas
from leaguesite.mcp.answers import SCHEMAS
from leaguesite.mcp.tools import TOOLS
from matches.league import freeze, lifecycle
from matches.models import Check, CheckState
from tests import factories as make
from tests import wire
from tests.leaguesite.mcp.schema_checks import assert_fits
from tests.leaguesite.mcp.test_checking import CLAUSE
from tests.leaguesite.mcp.test_mounting import ADA, ask, call
from tests.sizes import sampled

pytestmark = pytest.mark.django_db
STEP = {
    "message_type": "GAME_INVITATION", "sent": {}, "came": {}, "elapsed_ms": 3, "http_status": 200, "problem": "",
    "problem_words": "", "move": None,
}  # fmt: skip
KEY = "the-key-of-this-test"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAGUE_API_KEY", KEY)


@pytest.fixture
def seen(client: Client) -> dict[str, Any]:
    """For each tool, an answer that it really gave; every answer was validated strictly against its schema."""
    made = make.running_league(players=3)
    make.finish_round(made)
    make.league("open", players=2)
    player, referee = made.players[0].token, made.referees[0].token
    answers: dict[str, Any] = {}

    def say(name: str, token: str = "", **arguments: Any) -> Any:
        answer = call(client, name, token, **arguments)
        assert_fits(name, answer, strict=True)
        answers[name] = answer
        return answer

    say("register_player", **ADA | {"league_id": "open"})
    say("register_player", player_meta=ADA | {"protocol_version": "league.v2"}, league_id="open")
    say("register_player", display_name="Late", contact_endpoint="http://127.0.0.1:8177/mcp", league_id="fall")
    say("register_referee", display_name="Judge", contact_endpoint="http://127.0.0.1:8018/mcp")
    lifecycle.start_round(league_id="fall")
    match = made.match("R2M1")
    say("report_progress", referee, matches=[make.progress_item(match)])
    for _ in range(2):
        say("report_match_result", referee, league_id="fall", **_reported(match))
    for query in ("STANDINGS", "SCHEDULE", "NEXT_MATCH", "PLAYER_STATS", "GAMES"):
        say("league_query", player, query_type=f"GET_{query}")
    for name in ("get_standings", "get_schedule"):
        say(name, player)
        assert say(name, player, limit=1)["next_cursor"]
    for name in ("get_next_match", "get_player_stats"):
        say(name, player)
        say(name, player_id="P02", league_id="fall")
    for name in ("get_games", "list_games", "list_leagues", "ping", "list_tools"):
        say(name)
    say("next_message", player, wait_s=0, responses=[{"id": 7}])
    say("submit_response", player, response={"id": 7, "result": {}})
    params = {"name": "play", "arguments": {"wait_s": 0}, "capabilities": {"elicitation": {}}}
    answers["play"] = ask(client, "tools/call", player, **params)["structuredContent"]
    assert_fits("play", answers["play"], strict=True)
    _check(say, player)
    say("create_league", KEY, league_id="spring")
    say("create_schedule", KEY, league_id="open")
    for name in ("pause", "resume"):
        say(name, KEY, league_id="fall")
    say("start_round", KEY, league_id="open")
    say("freeze", KEY, league_id="fall", from_round=3)
    say("replay_match", KEY, league_id="fall", match_id="R1M1", reason="the projector failed")
    return answers


def _reported(match: Any) -> dict[str, Any]:
    fields = make.result_fields(match, match.player_a.code)
    return {name: value for name, value in fields.items() if name not in ("auth_token", "league_id")}


def _check(say: Any, token: str) -> None:
    check_id = say("check_agent", token)["check_id"]
    Check.objects.update(state=CheckState.RUNNING, report={"clauses": [CLAUSE]})
    say("check_agent", token, check_id=check_id)
    practice_id = say("practice_match", token)["practice_id"]
    Check.practices.update(report={"steps": [STEP], "view": {}})
    say("practice_match", token, practice_id=practice_id)


def test_every_tool_answers_as_its_schema_says(seen: dict[str, Any]) -> None:
    assert set(seen) == {tool.name for tool in TOOLS} == set(SCHEMAS)


def test_get_standings_answers_with_the_message_that_players_are_sent(seen: dict[str, Any]) -> None:
    table = seen["get_standings"]
    assert schemas.problems("LEAGUE_STANDINGS_UPDATE", table) == []
    assert (table["message_type"], table["round_id"]) == ("LEAGUE_STANDINGS_UPDATE", 2)


def test_answers_fit_before_the_first_round_and_while_the_board_is_frozen(client: Client) -> None:
    make.open_league("new")
    early = call(client, "get_standings", league_id="new")
    assert_fits("get_standings", early, strict=True)
    assert early["round_id"] is None
    made = make.league("iced", players=4)
    freeze.plan(league_id="iced", from_round=1)
    lifecycle.start_league(league_id="iced")
    for name in ("get_standings", "get_schedule", "get_next_match", "get_player_stats"):
        answer = call(client, name, made.players[0].token)
        assert_fits(name, answer, strict=True)
        assert answer["frozen_after_round"] == 0


def test_every_refusal_fits_the_schema_of_its_tool(client: Client) -> None:
    made = make.league(players=2)
    for tool in TOOLS:
        for token in ("", "tok_of_nobody", made.players[0].token):
            result = ask(client, "tools/call", token, name=tool.name, arguments={"league_id": "nowhere"})
            assert_fits(tool.name, result["structuredContent"])


def test_every_schema_refuses_other_answers() -> None:
    for name in SCHEMAS:
        for wrong in ({}, {"message_type": "LEAGUE_ERROR"}, {"status": 7}):
            with pytest.raises(ValidationError):
                assert_fits(name, wrong)


@pytest.mark.parametrize("tool", sampled(TOOLS), ids=lambda tool: tool.name)
def test_validators_of_other_languages_can_use_a_schema(tool: Any) -> None:
    schema = copy.deepcopy(dict(tool.output_schema))
    Draft202012Validator.check_schema(schema)
    Draft7Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert not {"$id", "$schema"} & set(schema)
    assert '"x-' not in str(schema)


def test_the_list_of_tools_is_small_enough_for_hosts(client: Client) -> None:
    assert len(wire.post(client, wire.request("tools/list", {})).content) < 150_000
