"""The tool ``play``: what a person is asked, what becomes of the answer, and what is refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from league_sdk.protocol.schemas import problems
from leaguesite.mcp.playing import MAX_NAME_CHARS
from tests import factories as make
from tests.league_sdk.mcp.talking import stateless
from tests.leaguesite.inbox.test_views import JSON, seat
from tests.leaguesite.serving.asgi import Answer, send
from tests.matches.agent_server import Agents
from tests.sizes import sampled

pytestmark = pytest.mark.django_db(transaction=True)
CAN_ASK = {"elicitation": {}}
HEAD = {"match_id": "R1M1", "conversation_id": "conv-1", "timestamp": "2026-01-15T10:00:00Z"}
CHOOSE = HEAD | {"message_type": "CHOOSE_PARITY_CALL", "context": {"opponent_id": "P02"}}
MOVE = HEAD | {
    "message_type": "GAME_MOVE_CALL",
    "game_type": "connect_four",
    "move_request": {"move_type": "column", "valid_options": [0, 3, 6], "context": {"state": {"board": ["x"]}}},
}
INVITED = HEAD | {"message_type": "GAME_INVITATION", "opponent_id": "P02", "game_type": "even_odd"}
OVER = HEAD | {"message_type": "GAME_OVER", "game_result": {"status": "WIN"}}


@pytest.fixture
def agents() -> Agents:
    return Agents()


def referee(headers: dict[str, str], params: dict[str, Any]) -> asyncio.Task[Answer]:
    """A referee that says something to the player, and waits for its answer."""
    body = json.dumps({"jsonrpc": "2.0", "method": "anything", "params": params, "id": 1001}).encode()
    return asyncio.create_task(send("POST", "/inbox/deliver", body, **headers))


async def ask(token: str, *, capabilities: Any = None, **more: Any) -> Answer:
    """One call of the tool ``play``, without a session."""
    params = {"name": "play", "arguments": {}} | more
    body, headers = stateless("tools/call", capabilities=CAN_ASK if capabilities is None else capabilities, **params)
    head = headers | {"content_type": JSON, "authorization": f"Bearer {token}"}
    return await send("POST", "/mcp", json.dumps(body).encode(), **head)


async def question(token: str) -> tuple[str, dict[str, Any], str]:
    """Call ``play``, which must ask one question; returns its name, its form, and the state to send back."""
    result = (await ask(token)).json["result"]
    assert result["resultType"] == "input_required"
    [(name, request)] = result["inputRequests"].items()
    return name, request["params"], result["requestState"]


def answering(name: str, state: str, **answer: Any) -> dict[str, Any]:
    return {"inputResponses": {name: answer}, "requestState": state}


@pytest.mark.parametrize(
    ("call", "options", "click", "kind", "move"),
    [
        (CHOOSE, ["even", "odd"], "odd", "CHOOSE_PARITY_RESPONSE", ("parity_choice", "odd")),
        (MOVE, ["0", "3", "6"], "3", "GAME_MOVE_RESPONSE", ("move_data", {"move_type": "column", "choice": 3})),
    ],
    ids=["parity", "generic"],
)
async def test_a_person_is_asked_for_the_move_of_a_match(
    agents: Agents, call: dict[str, Any], options: list[str], click: str, kind: str, move: tuple[str, Any]
) -> None:
    token, headers = await seat(agents)
    call_of_referee = referee(headers, call)
    name, form, state = await question(token)
    assert form["requestedSchema"]["properties"]["move"]["enum"] == options
    assert form["message"].startswith("Match R1M1")
    playing = asyncio.create_task(ask(token, **answering(name, state, action="accept", content={"move": click})))
    answer = (await call_of_referee).json["result"]
    assert (answer["message_type"], answer["match_id"], answer[move[0]]) == (kind, "R1M1", move[1])
    assert (answer["player_id"], answer["auth_token"]) == ("P01", token)
    assert problems(kind, answer) == []
    assert (await referee(headers, OVER)).json["result"] == {"status": "received"}
    content = (await playing).json["result"]["structuredContent"]
    assert [event["says"] for event in content["events"]] == [f"You chose {click}.", "The match is over."]
    assert (content["events"][1]["game_result"], content["call_again"]) == ({"status": "WIN"}, True)


async def test_an_invitation_is_accepted_while_the_person_waits(agents: Agents) -> None:
    token, headers = await seat(agents)
    invited = referee(headers, INVITED)
    playing = asyncio.create_task(ask(token))
    answer = (await invited).json["result"]
    assert (answer["message_type"], answer["accept"], problems("GAME_JOIN_ACK", answer)) == ("GAME_JOIN_ACK", True, [])
    await referee(headers, OVER)
    events = (await playing).json["result"]["structuredContent"]["events"]
    assert events[0]["says"] == "You play against P02 in R1M1."


async def test_an_answer_counts_once_and_for_its_own_player_only(agents: Agents) -> None:
    token, headers = await seat(agents)
    call_of_referee = referee(headers, CHOOSE)
    name, _form, state = await question(token)
    click = answering(name, state, action="accept", content={"move": "even"})
    rival = await agents.in_db(lambda: make.player("Rival", port=8190).token)
    stolen = await ask(rival, **click)
    assert (stolen.status, stolen.json["error"]["code"]) == (400, -32602)
    playing = asyncio.create_task(ask(token, **click))
    assert (await call_of_referee).json["result"]["parity_choice"] == "even"
    await referee(headers, OVER)
    assert not (await playing).json["result"]["isError"]
    # The state is used up: the same answer does not answer the next question.
    again = referee(headers, CHOOSE)
    replayed = await ask(token, **click)
    assert (replayed.status, replayed.json["error"]["code"]) == (400, -32602)
    assert (await question(token))[0] != name
    assert not again.done()
    again.cancel()


async def test_an_illegal_answer_is_refused_and_the_person_is_asked_again(agents: Agents) -> None:
    token, headers = await seat(agents)
    call_of_referee = referee(headers, MOVE)
    name, _form, state = await question(token)
    for content in ({"move": "1"}, {"move": 3}, {}, None):
        wrong = await ask(token, **answering(name, state, action="accept", content=content))
        assert (wrong.status, wrong.json["error"]["code"]) == (400, -32602)
        name, _form, state = await question(token)
    assert not call_of_referee.done()
    call_of_referee.cancel()


async def test_a_person_who_declines_is_asked_again_by_the_next_call(agents: Agents) -> None:
    token, headers = await seat(agents)
    call_of_referee = referee(headers, CHOOSE)
    name, _form, state = await question(token)
    content = (await ask(token, **answering(name, state, action="decline"))).json["result"]["structuredContent"]
    assert content["events"][0]["says"] == "You did not choose. Call play again, before the time for the move is over."
    assert content["call_again"]
    assert (await question(token))[0] == name
    assert not call_of_referee.done()
    call_of_referee.cancel()


async def test_a_client_that_cannot_ask_a_person_is_refused_and_takes_nothing_from_the_inbox(agents: Agents) -> None:
    token, headers = await seat(agents)
    invited = referee(headers, INVITED)
    refused = (await ask(token, capabilities={})).json["result"]
    assert refused["isError"]
    assert "elicitation" in refused["structuredContent"]["context"]["expected"]
    without_mcp = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "play",
        "params": {"protocol": "league.v2", "auth_token": token},
    }
    answer = await send("POST", "/mcp", json.dumps(without_mcp).encode(), content_type=JSON)
    assert "error" in answer.json
    assert not invited.done()
    invited.cancel()


async def test_a_tool_call_of_a_referee_is_an_unknown_method_for_a_person_who_plays(agents: Agents) -> None:
    token, headers = await seat(agents)
    body = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "choose_parity", "arguments": {}}, "id": 5}
    delivery = asyncio.create_task(send("POST", "/inbox/deliver", json.dumps(body).encode(), **headers))
    playing = asyncio.create_task(ask(token))
    assert (await delivery).json["error"]["code"] == -32601
    await referee(headers, OVER)
    assert (await playing).json["result"]["structuredContent"]["events"][-1]["message_type"] == "GAME_OVER"


@pytest.mark.parametrize(
    "options",
    sampled([None, [], "even", {"a": 1}, list(range(201))], every=2),
    ids=["none", "empty", "text", "object", "too many"],
)
async def test_a_referee_that_names_no_moves_is_told_so(agents: Agents, options: Any) -> None:
    token, headers = await seat(agents)
    call_of_referee = referee(headers, MOVE | {"move_request": {"valid_options": options}})
    playing = asyncio.create_task(ask(token))
    assert (await call_of_referee).json["error"]["code"] == -32602
    await referee(headers, OVER)
    events = (await playing).json["result"]["structuredContent"]["events"]
    assert events[0]["says"] == "The referee did not say which moves are allowed."


async def test_a_question_shows_the_beginning_of_a_referees_ids(agents: Agents) -> None:
    token, headers = await seat(agents)
    long = referee(headers, CHOOSE | {"match_id": "x" * 9000, "context": {"opponent_id": "y" * 9000}})
    _name, form, _state = await question(token)
    assert "x" * MAX_NAME_CHARS in form["message"] and "y" * MAX_NAME_CHARS in form["message"]
    assert len(form["message"]) < 200
    long.cancel()


async def test_play_may_be_called_again_after_a_referee_has_said_that_the_league_is_over(agents: Agents) -> None:
    token, headers = await seat(agents)
    completed = referee(headers, HEAD | {"message_type": "LEAGUE_COMPLETED"})
    content = (await ask(token)).json["result"]["structuredContent"]
    assert (await completed).status == 200
    assert content["call_again"]
