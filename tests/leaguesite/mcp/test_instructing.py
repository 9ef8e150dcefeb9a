"""The instructor's tools: with the API key only, through the table of actions, on record (004 2.6; our choice)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from agents_registry.rate_limits.attempts import API_KEY, STRANGERS, attempts
from league_sdk.mcp.declaring import DeclaredTool
from leaguesite.mcp import mounting
from leaguesite.mcp.instructing import TOOLS
from matches.league import lifecycle
from matches.models import AuditEntry, League, Match
from tests import factories as make
from tests import wire
from tests.league_sdk.mcp.talking import handshake_body, stateless
from tests.leaguesite.mcp.test_mounting import ask, call, leave_room, post
from tests.leaguesite.mcp.test_mounting_hostile import HOSTILE
from tests.sizes import sampled

pytestmark = pytest.mark.django_db
KEY = "the-key-of-this-test"
EXPECTED = "the instructor's API key"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAGUE_API_KEY", KEY)


def by_token(client: Client, **params: Any) -> dict[str, Any]:
    return wire.ask(client, "create_schedule", {"auth_token": KEY} | params)


def by_header(client: Client, **params: Any) -> dict[str, Any]:
    body = wire.request("create_schedule", params)
    answer = client.post("/mcp", body, content_type="application/json", headers={"Authorization": f"Bearer {KEY}"})
    return answer.json()["result"]


def as_a_tool(client: Client, **params: Any) -> dict[str, Any]:
    call = {"name": "create_schedule", "arguments": {"auth_token": KEY} | params}
    return wire.ask(client, "tools/call", call)["structuredContent"]


@pytest.mark.parametrize("way", [by_token, by_header, as_a_tool])
@pytest.mark.parametrize("named", [{"league_id": "fall"}, {}], ids=["named", "the only open one"])
def test_create_schedule_closes_registration_and_shows_the_rounds(
    client: Client, way: Callable[..., dict[str, Any]], named: dict[str, str]
) -> None:
    make.league(players=3)
    answer = way(client, **named)
    assert (League.objects.get().state, League.objects.get().rounds.count()) == ("SCHEDULED", 3)
    rounds = answer.pop("rounds")
    pairs = [[sorted((one["player_A_id"], one["player_B_id"])) for one in played["matches"]] for played in rounds]
    assert pairs == [
        [["P01", "P02"]],
        [["P01", "P03"]],
        [["P02", "P03"]],
    ]
    assert [played["bye"] for played in rounds] == ["P03", "P02", "P01"]
    del answer["conversation_id"]
    assert wire.plain(answer) == {
        "protocol": "league.v2",
        "message_type": "SCHEDULE_CREATED",
        "sender": "league_manager:LM01",
        "timestamp": "<time>",
        "league_id": "fall",
        "status": "SCHEDULED",
        "total_rounds": 3,
        "total_matches": 3,
    }


def test_create_schedule_at_a_leagues_own_address(client: Client) -> None:
    make.league(players=2)
    make.open_league("other")
    answer = wire.ask(client, "create_schedule", {"auth_token": KEY}, path="/leagues/fall/mcp")
    assert (answer["league_id"], answer["total_matches"]) == ("fall", 1)


@pytest.mark.parametrize(
    ("params", "code", "field", "expected"),
    [
        ({}, "E011", "auth_token", EXPECTED),
        ({"auth_token": ""}, "E011", "auth_token", EXPECTED),
        ({"auth_token": "guess"}, "E012", "auth_token", EXPECTED),
        ({"auth_token": [KEY]}, "E012", "auth_token", EXPECTED),
        ({"auth_token": KEY, "league_id": "nowhere"}, "E014", "league_id", "a league id"),
        ({"auth_token": KEY, "league_id": 7}, "E014", "league_id", "a league id"),
        ({"auth_token": KEY, "league_id": "x" * 100}, "E014", "league_id", "a league id"),
        ({"auth_token": KEY}, "E003", "league_id", "the league to be scheduled"),
    ],
)
def test_create_schedule_is_refused_with_field_and_expectation(
    client: Client, params: dict[str, Any], code: str, field: str, expected: str
) -> None:
    make.league(players=2)
    make.open_league("other")
    data = wire.refused(client, "create_schedule", params)
    context = data["context"]
    assert (data["error_code"], context["field"], context["expected"]) == (code, field, expected)
    assert {league.state for league in League.objects.all()} == {"REGISTRATION"}
    assert KEY not in str(data)


def test_create_schedule_refuses_a_players_token(client: Client) -> None:
    made = make.league(players=2)
    assert wire.refused(client, "create_schedule", {"auth_token": made.players[0].token})["error_code"] == "E012"


def test_create_schedule_says_why_a_league_cannot_be_scheduled(client: Client) -> None:
    make.open_league("fall")
    make.player("Alone", "fall")
    data = wire.refused(client, "create_schedule", {"auth_token": KEY})
    assert data["message"] == "Fall has 1 of at least 2 players: wait until more have registered."
    make.player("Another", "fall", port=8102)
    by_token(client)
    data = wire.refused(client, "create_schedule", {"auth_token": KEY, "league_id": "fall"})
    assert data["message"] == "The schedule of Fall is made already: start the next round."


# The tools of the table ---------------------------------------------------------------------------

GOOD: dict[str, dict[str, Any]] = {
    "create_league": {"league_id": "spring", "settings": {"min_players": 2}},
    "create_schedule": {"league_id": "open"},
    "start_round": {"league_id": "fall"},
    "pause": {"league_id": "fall"},
    "resume": {"league_id": "held"},
    "freeze": {"league_id": "fall", "from_round": 3},
    "replay_match": {"league_id": "fall", "match_id": "R1M1", "reason": "the projector failed"},
}
"""Arguments with which each tool does what it is for."""
CODES = {
    "create_league": "site.open",
    "create_schedule": "league.close",
    "start_round": "league.start_round",
    "pause": "league.pause",
    "resume": "league.resume",
    "freeze": "freeze.plan",
    "replay_match": "correction.replay",
}


@pytest.fixture
def made() -> Any:
    """Three leagues: one open, one paused, and one with the first of its three rounds played."""
    make.league("open", players=2)
    make.running_league("held", players=4)
    lifecycle.pause(league_id="held")
    made = make.running_league("fall", players=4)
    make.finish_round(made)
    return made


def state() -> Any:
    """Everything that a tool of the instructor may change."""
    leagues = list(League.objects.order_by("pk").values_list("pk", "state", "paused", "freeze_from", "event_seq"))
    return leagues, list(Match.objects.order_by("pk").values_list("pk", "state", "attempt")), AuditEntry.objects.count()


def refusal(client: Client, name: str, token: str = KEY, path: str = "/mcp", **arguments: Any) -> dict[str, Any]:
    result = ask(client, "tools/call", token, path, name=name, arguments=arguments)
    assert result["isError"], result
    content: dict[str, Any] = result["structuredContent"]
    return content


def test_the_table_has_these_tools() -> None:
    assert [tool.name for tool in TOOLS] == list(GOOD)


@pytest.mark.parametrize(
    "name",
    [
        # A test below calls pause, resume and freeze.
        pytest.param(name, marks=pytest.mark.exhaustive if name in ("pause", "resume", "freeze") else ())
        for name in GOOD
    ],
)
def test_a_tool_does_what_its_button_does_and_is_on_record(client: Client, made: Any, name: str) -> None:
    answer = call(client, name, KEY, **GOOD[name])
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.account, entry.via) == (CODES[name], "", "api")
    assert entry.league_id == GOOD[name]["league_id"]
    if name != "create_schedule":
        assert (answer["message_type"], answer["action"]) == ("ACTION_DONE", CODES[name])
        assert answer["league"]["league_id"] == GOOD[name]["league_id"]


def test_a_replay_says_which_match_and_why(client: Client, made: Any) -> None:
    correction = call(client, "replay_match", KEY, **GOOD["replay_match"])["correction"]
    assert (correction["number"], correction["match_id"], correction["reason"]) == (1, "R1M1", "the projector failed")
    assert (made.match("R1M1").state, AuditEntry.objects.get().target) == ("READY", "R1M1")


def test_a_tool_answers_with_the_league_as_it_stands_now(client: Client, made: Any) -> None:
    assert call(client, "pause", KEY, league_id="fall")["league"]["paused"]
    assert call(client, "resume", KEY, league_id="fall")["done"] == "The league goes on."
    freeze = call(client, "freeze", KEY, league_id="fall", from_round=3)["freeze"]
    assert freeze == {"league_id": "fall", "from_round": 3, "frozen_after_round": None, "places_unveiled": 0}


@pytest.mark.parametrize("name", GOOD)
def test_nobody_else_changes_anything(client: Client, made: Any, name: str) -> None:
    before, token = state(), made.players[0].token
    for shown, code in (("", "E011"), ("guess", "E012"), (token, "E012"), (made.referees[0].token, "E012")):
        assert refusal(client, name, shown, **GOOD[name])["error_code"] == code
        assert refusal(client, name, "", auth_token=shown, **GOOD[name])["error_code"] == code
    assert state() == before


@pytest.mark.parametrize(
    ("name", "changes", "code", "field"),
    sampled(
        [
            ("pause", {"league_id": None}, "E003", "league_id"),
            ("pause", {"league_id": "nowhere"}, "E014", "league_id"),
            ("pause", {"league_id": ["fall"]}, "E014", "league_id"),
            ("pause", {"reason": "lunch"}, "E002", "reason"),
            ("freeze", {"from_round": None}, "E002", "from_round"),
            ("freeze", {"from_round": 10**30}, "E002", "from_round"),
            ("freeze", {"from_rounds": 3}, "E002", "from_rounds"),
            ("replay_match", {"reason": "x"}, "E002", "reason"),
            ("replay_match", {"match_id": "R9M9"}, "E002", "match_id"),
            ("replay_match", {"match_id": 7}, "E002", "match_id"),
            ("replay_match", {"kind": "void"}, "E002", "kind"),
            ("create_league", {"league_id": "a b"}, "E002", "league_id"),
            ("create_league", {"game_type": "chess"}, "E002", "game_type"),
            ("create_league", {"settings": {"min_players": -1}}, "E002", "min_players"),
            ("create_league", {"setting": {}}, "E002", "setting"),
        ]
    ),
)
def test_what_cannot_be_used_is_named_and_changes_nothing(
    client: Client, made: Any, name: str, changes: dict[str, Any], code: str, field: str
) -> None:
    before = state()
    data = refusal(client, name, **GOOD[name] | changes)
    assert (data["error_code"], data["context"]["field"]) == (code, field)
    assert state() == before


@pytest.mark.parametrize("tool", sampled(TOOLS), ids=lambda tool: tool.name)
def test_no_tool_fails_whatever_the_instructor_says(client: Client, made: Any, tool: DeclaredTool) -> None:
    for field in tool.properties.keys() - {"auth_token"}:
        for value in HOSTILE:
            # A result, good or refused; a failure would be no result.
            ask(client, "tools/call", KEY, name=tool.name, arguments=GOOD[tool.name] | {field: value})


def test_the_league_refuses_in_the_words_of_the_desk(client: Client, made: Any) -> None:
    before = state()
    assert refusal(client, "start_round", league_id="held")["message"] == "Held is paused: resume it first."
    assert refusal(client, "create_league", league_id="fall")["message"] == (
        "A league with the id fall exists already: choose another id."
    )
    assert state() == before


def test_the_address_of_a_league_names_it_and_no_other(client: Client, made: Any) -> None:
    own = "/leagues/fall/mcp"
    data = refusal(client, "pause", path=own, league_id="open")
    assert (data["context"]["field"], data["context"]["expected"]) == ("league_id", "fall")
    result = ask(client, "tools/call", KEY, own, name="pause", arguments={})
    assert result["structuredContent"]["league"]["league_id"] == "fall"


def test_a_class_behind_the_same_address_uses_up_nothing_of_the_instructor(client: Client, made: Any) -> None:
    while attempts.count_call(STRANGERS, "127.0.0.1") is None:
        pass
    assert refusal(client, "pause", "guess", league_id="fall")["error_code"] == "E009"
    assert call(client, "pause", KEY, league_id="fall")["league"]["paused"]


def test_the_instructors_host_connects_and_reads_however_often_the_class_calls(client: Client, made: Any) -> None:
    while attempts.count_call(STRANGERS, "127.0.0.1") is None:
        pass
    hello = handshake_body("initialize", protocolVersion="2025-11-25", capabilities={})
    listing, headers = stateless("tools/list")
    assert post(client, hello, "guess").status_code == 429
    assert post(client, hello, KEY).status_code == 200
    assert post(client, listing, KEY, **headers).status_code == 200


def test_the_instructor_keeps_a_session_when_others_behind_one_address_open_more(client: Client, made: Any) -> None:
    leave_room(3)
    hello = handshake_body("initialize", protocolVersion="2025-11-25", capabilities={})
    own = post(client, hello, KEY).headers["Mcp-Session-Id"]
    for _ in range(6):
        post(client, hello)
    assert post(client, handshake_body("ping"), KEY, mcp_session_id=own).status_code == 200
    mounting.server.close()


def test_a_wrong_key_in_the_header_is_counted_also_with_a_call_that_needs_none(client: Client, made: Any) -> None:
    listing, headers = stateless("tools/list")
    while attempts.refuse_secret(API_KEY, "127.0.0.1", "guess") is None:
        # The key may be one for another server, so its sender is answered like a caller without a key.
        assert post(client, listing, "guess", **headers).status_code == 200


def test_a_host_that_sends_the_token_of_an_agent_may_give_the_key_as_an_argument(client: Client, made: Any) -> None:
    assert call(client, "pause", made.players[0].token, auth_token=KEY, league_id="fall")["league"]["paused"]


def test_no_answer_repeats_the_key(client: Client, made: Any) -> None:
    assert KEY not in str(refusal(client, "pause", api_key=KEY, league_id="fall"))


def test_the_hints_say_what_a_tool_does() -> None:
    hints = {tool.name: tool.annotations for tool in TOOLS}
    assert {name for name, hint in hints.items() if hint["destructiveHint"]} == {"replay_match"}
    once = {name for name, hint in hints.items() if not hint["idempotentHint"]}
    assert once == {"create_schedule", "start_round", "replay_match"}
    assert not any(hint["readOnlyHint"] for hint in hints.values())
