"""Agents that know the method and reject fields or the id, and tools with unusual arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league_sdk.dialects.answers import Understanding, read_answer
from league_sdk.dialects.hunt import PING, Hunt, Memory, Proposal
from league_sdk.dialects.objections import PRINTED
from league_sdk.dialects.tools import LIST_TOOLS
from tests.league_sdk.dialects.test_hunt import INVITATION, UNKNOWN, URL, good, run
from tests.league_sdk.dialects.test_objections import extra as extra_field

EXTENDED = INVITATION | {"opponent_id": "P02", "player_id": "P01", "deadline": "2025-01-15T10:15:05Z"}
ALLOWED = set(PRINTED["GAME_INVITATION"])


def test_a_hunt_leaves_out_fields_that_the_agent_rejected() -> None:
    def agent(proposal: Proposal) -> tuple[int, Any]:
        extra = sorted(set(proposal.body["params"]) - ALLOWED)
        detail = [extra_field(name) for name in extra]
        return (422, {"detail": detail}) if extra else (200, good(proposal.body, "GAME_INVITATION"))

    memory = Memory()
    sent, understanding, _ = run(EXTENDED, agent, memory)
    assert [proposal.shape for proposal in sent] == ["canonical", "canonical"]
    assert (understanding, set(sent[1].body["params"])) == (Understanding.ANSWERED, set(EXTENDED) & ALLOWED)
    assert len(run(EXTENDED, agent, memory)[0]) == 1


def test_a_hunt_tries_the_next_shape_if_the_agent_still_objects() -> None:
    def agent(proposal: Proposal) -> tuple[int, Any]:
        return 200, UNKNOWN | {"error": {"code": -32602, "message": "unexpected keyword argument 'protocol'"}}

    sent, understanding, _ = run(EXTENDED, agent)
    assert (understanding, [proposal.shape for proposal in sent][:3]) == (
        None,
        ["canonical", "canonical", "message_type"],
    )


def test_a_hunt_sends_a_string_id_if_the_agent_wants_one() -> None:
    def agent(proposal: Proposal) -> tuple[int, Any]:
        if isinstance(proposal.body["id"], str):
            return 200, good(proposal.body, "GAME_INVITATION")
        return 422, {
            "detail": [{"type": "string_type", "loc": ["body", "id"], "msg": "Input should be a valid string"}]
        }

    sent, understanding, _ = run(INVITATION, agent)
    assert ([proposal.body["id"] for proposal in sent], understanding) == ([1001, "1002"], Understanding.ANSWERED)


WANTS_PING = UNKNOWN | {"error": {"code": -32000, "message": "Send ping first."}}


def test_a_hunt_pings_an_agent_that_says_so_and_asks_the_same_again() -> None:
    seen: list[str] = []

    def agent(proposal: Proposal) -> tuple[int, Any]:
        seen.append(proposal.method)
        if proposal.method == PING:
            return 200, {"jsonrpc": "2.0", "id": proposal.rpc_id, "result": {"status": "pong"}}
        return 200, good(proposal.body, "GAME_INVITATION") if PING in seen else WANTS_PING

    memory = Memory()
    sent, understanding, _ = run(INVITATION, agent, memory)
    assert [(one.shape, one.method) for one in sent] == [
        ("canonical", "handle_game_invitation"),
        ("canonical", PING),
        ("canonical", "handle_game_invitation"),
    ]
    assert sent[1].body == {"jsonrpc": "2.0", "method": "ping", "id": 1002}
    assert (understanding, memory.refused) == (Understanding.ANSWERED, {})


def test_a_hunt_pings_once_at_most() -> None:
    sent, understanding, _ = run(INVITATION, lambda _: (200, WANTS_PING))
    assert (understanding, [one.method for one in sent].count(PING)) == (None, 1)
    assert [one.shape for one in sent][:4] == ["canonical"] * 3 + ["message_type"]


def pinging() -> tuple[Hunt, Proposal]:
    """A hunt whose agent has said that it wants a ping, and that ping."""
    hunt = Hunt(INVITATION, url=URL, memory=Memory(), choice_field="parity_choice")
    first = hunt.propose(1001)
    assert first is not None
    hunt.consider(first, status=200, body=WANTS_PING)
    ping = hunt.propose(1002)
    assert ping is not None
    return hunt, ping


def methods_after(hunt: Hunt) -> list[str]:
    proposals = [hunt.propose(number) for number in (1003, 1004)]
    return [one.method for one in proposals if one is not None]


def test_a_ping_that_breaks_the_connection_costs_no_shape() -> None:
    hunt, ping = pinging()
    hunt.give_up(ping)
    assert methods_after(hunt) == ["handle_game_invitation", "GAME_INVITATION"]


@pytest.mark.parametrize(
    ("name", "schema", "expected"),
    [
        (
            "process_message",
            {"payload": {"type": "string"}},
            {"payload": json.dumps(INVITATION, separators=(",", ":"))},
        ),
        ("handle_game_invitation", {"message": {"type": "object"}}, {"message": INVITATION}),
        ("handle_game_invitation", {"invitation": {"$ref": "#/x"}}, {"invitation": INVITATION}),
        ("league", {"data": {"type": "object"}}, {"data": INVITATION}),
    ],
)
def test_a_hunt_puts_the_whole_message_into_a_tools_only_argument(
    name: str, schema: dict[str, Any], expected: dict[str, Any]
) -> None:
    def agent(proposal: Proposal) -> tuple[int, Any]:
        if proposal.method == LIST_TOOLS:
            return 200, {"result": {"tools": [{"name": name, "inputSchema": {"properties": schema}}]}}
        params = proposal.body.get("params", {})
        fits = params.get("name") == name and set(params.get("arguments", {})) == set(schema)
        return (200, good(proposal.body, "GAME_INVITATION")) if fits else (200, UNKNOWN)

    sent, understanding, _ = run(INVITATION, agent)
    assert (sent[-1].body["params"]["arguments"], understanding) == (expected, Understanding.ANSWERED)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"content": [{"type": "text", "text": "even"}]}, {"choice": "even"}),
        ({"content": [{"type": "text", "text": "true"}]}, {"accept": True}),
        ({"content": [], "structuredContent": {"result": "odd"}}, {"choice": "odd"}),
        ({"content": [], "structuredContent": {"result": False}}, {"accept": False}),
        ('I say:\n```json\n{"parity_choice": "odd"}\n```', {"parity_choice": "odd"}),
    ],
)
def test_read_answer_finds_bare_values_and_json_inside_prose(result: Any, expected: dict[str, Any]) -> None:
    message = read_answer({"jsonrpc": "2.0", "id": 1, "result": result}, rpc_id=1).message
    assert {name: message[name] for name in expected} == expected
