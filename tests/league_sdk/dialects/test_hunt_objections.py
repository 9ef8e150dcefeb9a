"""Agents that know the method and reject fields or the id, and tools with unusual arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league_sdk.dialects.answers import Understanding, read_answer
from league_sdk.dialects.hunt import Memory, Proposal
from league_sdk.dialects.objections import PRINTED
from league_sdk.dialects.tools import LIST_TOOLS
from tests.league_sdk.dialects.test_hunt import INVITATION, UNKNOWN, good, run
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
