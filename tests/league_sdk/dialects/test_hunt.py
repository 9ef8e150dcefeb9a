"""The hunt for an agent's dialect: which shape is tried next, and what is remembered (ruling, section 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from league_sdk.dialects import shapes
from league_sdk.dialects.answers import Understanding
from league_sdk.dialects.hunt import MAX_TRIES, Hunt, Memory, Proposal, other_urls

URL = "http://127.0.0.1:8101/mcp"
INVITATION = {
    "protocol": "league.v2",
    "message_type": "GAME_INVITATION",
    "sender": "referee:REF01",
    "timestamp": "2025-01-15T10:15:00Z",
    "conversation_id": "conv-1",
    "auth_token": "tok_" + "0" * 32,
    "match_id": "R1M1",
}
CALL = INVITATION | {"message_type": "CHOOSE_PARITY_CALL"}
OVER = INVITATION | {"message_type": "GAME_OVER"}
UNKNOWN = {"jsonrpc": "2.0", "id": 0, "error": {"code": -32601, "message": "Method not found"}}
Reply = tuple[int, Any]
Agent = Callable[[Proposal], Reply]


def good(body: dict[str, Any], kind: str) -> dict[str, Any]:
    """A usable answer to the request ``body``, which carries a message of type ``kind``."""
    result = {"accept": True} if kind == "GAME_INVITATION" else {"parity_choice": "odd"}
    return {"jsonrpc": "2.0", "id": body.get("id"), "result": result}


def run(
    message: dict[str, Any],
    agent: Agent,
    memory: Memory | None = None,
    **options: Any,
) -> tuple[list[Proposal], Understanding | None, Hunt]:
    """Send proposals until the agent understands one; returns what was sent, how it ended, and the hunt."""
    memory = memory if memory is not None else Memory()
    hunt = Hunt(message, url=URL, memory=memory, choice_field="parity_choice", **options)
    sent: list[Proposal] = []
    while (proposal := hunt.propose(1001 + len(sent))) is not None:
        sent.append(proposal)
        status, body = agent(proposal)
        understanding, _ = hunt.consider(proposal, status=status, body=body)
        if understanding is Understanding.ANSWERED:
            return sent, understanding, hunt
    return sent, None, hunt


def speaks(method: str, *, kind: str = "GAME_INVITATION") -> Agent:
    """An agent that knows one method only."""

    def agent(proposal: Proposal) -> Reply:
        return (200, good(proposal.body, kind)) if proposal.body.get("method") == method else (200, UNKNOWN)

    return agent


def with_tools(tools: list[dict[str, Any]], understands: Callable[[Proposal], bool], kind: str) -> Agent:
    """An agent with these tools that understands some requests only."""

    def agent(proposal: Proposal) -> Reply:
        if proposal.method == "tools/list":
            return 200, {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}
        return (200, good(proposal.body, kind)) if understands(proposal) else (200, UNKNOWN)

    return agent


def test_a_hunt_starts_with_the_canonical_shape_if_nothing_is_known() -> None:
    sent, end, hunt = run(INVITATION, speaks("handle_game_invitation"))
    assert [one.body for one in sent] == [
        {"jsonrpc": "2.0", "method": "handle_game_invitation", "params": INVITATION, "id": 1001}
    ]
    assert (end, hunt.notes) == (Understanding.ANSWERED, ())


@pytest.mark.parametrize(
    ("method", "shape"),
    [
        ("GAME_INVITATION", "message_type"),
        ("handle_message", "handle_message"),
        ("tools/call", "tools_call"),
        ("protocol/message", "protocol_message"),
        ("league.handle", "league_handle"),
        ("GAME_INVITE", "legacy"),
        ("mcp_message", "mcp_message"),
    ],
)
def test_a_hunt_finds_and_remembers_each_method(method: str, shape: str) -> None:
    memory = Memory()
    sent, end, hunt = run(INVITATION, speaks(method), memory)
    assert (end, memory.spoken) == (Understanding.ANSWERED, {"GAME_INVITATION": shape})
    assert len(hunt.notes) == len([one for one in sent if one.method != "tools/list"]) - 1
    again, _, hunt = run(INVITATION, speaks(method), memory)
    assert ([one.shape for one in again], hunt.notes) == ([shape], ())


def test_a_hunt_finds_another_method_for_one_message_only() -> None:
    memory = Memory()
    invited, _, _ = run(INVITATION, speaks("handle_game_invitation"), memory)
    proposals, end, _ = run(CALL, speaks("parity_choose", kind="CHOOSE_PARITY_CALL"), memory)
    assert [one.method for one in invited] == ["handle_game_invitation"]
    assert [one.method for one in proposals] == ["choose_parity", "parity_choose"]
    assert memory.spoken == {"GAME_INVITATION": "canonical", "CHOOSE_PARITY_CALL": "parity_choose"}
    assert end is Understanding.ANSWERED


def test_a_hunt_sends_no_request_twice() -> None:
    sent, end, _ = run(CALL, lambda _: (200, UNKNOWN))
    bodies = [{key: value for key, value in one.body.items() if key != "id"} for one in sent]
    assert end is None
    assert all(body not in bodies[:index] for index, body in enumerate(bodies))
    assert len(sent) <= MAX_TRIES


@pytest.mark.parametrize("dialect", list(shapes.SHAPES))
def test_a_hunt_first_tries_the_shape_of_the_registration(dialect: str) -> None:
    sent, _, _ = run(INVITATION, lambda _: (200, good({}, "GAME_INVITATION")), Memory(dialect=dialect))
    own = dict.fromkeys(shapes.OF_TOOLS, "tools/list")
    own |= {"tools_guess": "tools/call receive_game_invitation", "methods_guess": "receive_game_invitation"}
    first = own.get(dialect, shapes.SHAPES[dialect].method("GAME_INVITATION"))
    assert sent[0].method == first


def test_a_hunt_tries_last_the_shapes_that_were_not_understood() -> None:
    memory = Memory()
    run(INVITATION, lambda _: (200, UNKNOWN), memory)
    sent, _, _ = run(INVITATION, speaks("handle_game_invitation"), memory)
    assert [one.method for one in sent] == ["handle_game_invitation"]
    memory = Memory(refused={"GAME_INVITATION": {"canonical"}})
    sent, _, _ = run(INVITATION, speaks("handle_game_invitation"), memory)
    assert (sent[0].shape, sent[-1].shape) == ("message_type", "canonical")


def test_a_hunt_finds_the_agents_tools_by_their_names() -> None:
    schemas = {
        "receive_game_invitation": {"properties": {"match_id": {}, "sender": {}}},
        "my_parity_pick": {"properties": {"message": {}}},
        "receive_game_over": {},
    }
    tools = [{"name": name, "inputSchema": schema} for name, schema in schemas.items()]

    def called(message: dict[str, Any]) -> tuple[list[str], Any]:
        own = [f"tools/call {name}" for name in schemas]
        sent, _, _ = run(message, with_tools(tools, lambda one: one.method in own, message["message_type"]), memory)
        return [one.method for one in sent], sent[-1].body["params"]["arguments"]

    memory = Memory()
    methods, arguments = called(INVITATION)
    assert (methods[-1], arguments) == (
        "tools/call receive_game_invitation",
        {"match_id": "R1M1", "sender": "referee:REF01"},
    )
    assert called(CALL) == (["tools/call my_parity_pick"], {"message": CALL})
    assert called(OVER)[0] == ["tools/call receive_game_over"]


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ({"name": "join_match", "description": "Accept or decline an invitation to a game."}, "GAME_INVITATION"),
        ({"name": "pick_a_side", "description": "Choose even or odd for a match."}, "CHOOSE_PARITY_CALL"),
        ({"name": "match_finished", "description": "Told when a game is over and how it ended."}, "GAME_OVER"),
        ({"name": "take_turn", "description": "Play one move."}, "GAME_MOVE_CALL"),
    ],
)
def test_a_hunt_finds_a_tool_by_name_and_description(tool: dict[str, Any], kind: str) -> None:
    """The agent's other tools are not called for the message."""
    others = [{"name": "health", "description": "Whether this agent is well."}, {"name": "get_player_state"}]

    agent = with_tools([*others, tool], lambda one: one.method == f"tools/call {tool['name']}", kind)
    sent, end, _ = run(INVITATION | {"message_type": kind}, agent)
    assert (end, sent[-1].method) == (Understanding.ANSWERED, f"tools/call {tool['name']}")
    called = {one.method for one in sent}
    assert called.isdisjoint(f"tools/call {other['name']}" for other in others)


def test_a_hunt_ignores_tools_with_very_long_names() -> None:
    endless = {"name": "game_invitation_" + "x" * 5000, "description": "Accept an invitation."}
    sent, _end, _ = run(INVITATION, with_tools([endless], lambda _: False, "GAME_INVITATION"))
    assert [len(one.method) for one in sent if len(one.method) > 100] == []


def test_a_hunt_also_calls_tool_names_as_methods() -> None:
    called = "join_a_game"
    agent = with_tools([{"name": called}], lambda one: one.body.get("method") == called, "GAME_INVITATION")
    memory = Memory()
    sent, end, _ = run(INVITATION, agent, memory)
    assert (end, sent[-1].body["params"], memory.spoken) == (
        Understanding.ANSWERED,
        INVITATION,
        {"GAME_INVITATION": "tools_methods"},
    )


def test_a_hunt_finds_agents_that_mix_two_vocabularies() -> None:
    """The agent wants GAME_INVITE, a name of 002, and CHOOSE_PARITY_CALL, a name of 004, both in protocol/message."""

    def agent(proposal: Proposal) -> Reply:
        inside = proposal.body.get("params", {}).get("message", {}).get("message_type")
        known = proposal.method == "protocol/message" and inside in ("GAME_INVITE", "CHOOSE_PARITY_CALL")
        return (200, good(proposal.body, INVITED.get(inside, "CHOOSE_PARITY_CALL"))) if known else (200, UNKNOWN)

    memory = Memory(dialect="tools_call")
    run(INVITATION, agent, memory)
    sent, end, _ = run(CALL, agent, memory)
    assert (end, [one.shape for one in sent]) == (
        Understanding.ANSWERED,
        ["protocol_message", "protocol_canonical"],
    )


INVITED = {"GAME_INVITE": "GAME_INVITATION"}


@pytest.mark.parametrize("path", ["/mcp/", "/", ""])
@pytest.mark.parametrize("status", [307, 404])
def test_a_hunt_finds_the_right_path_of_an_agent(path: str, status: int) -> None:
    memory = Memory()
    right_url = f"http://127.0.0.1:8101{path or '/'}"

    def agent(proposal: Proposal) -> Reply:
        if proposal.url != right_url:
            return status, {"detail": "Not Found"}
        return 200, good(proposal.body, "GAME_INVITATION")

    sent, end, _ = run(INVITATION, agent, memory)
    assert (end, memory.url, sent[-1].method) == (Understanding.ANSWERED, right_url, "handle_game_invitation")
    sent, _, _ = run(INVITATION, agent, memory)
    assert [one.url for one in sent] == [right_url]


def test_a_hunt_returns_to_the_given_address_if_no_path_is_right() -> None:
    sent, end, _ = run(INVITATION, lambda _: (404, {"detail": "Not Found"}))
    assert end is None
    assert [one.url for one in sent[: len(other_urls(URL)) + 1]] == [URL, *other_urls(URL)]
    assert {one.url for one in sent[len(other_urls(URL)) + 1 :]} == {URL}


def test_a_hunt_tries_no_other_path_behind_a_gateway() -> None:
    sent, end, _ = run(INVITATION, lambda _: (404, {"detail": "Not Found"}), Memory(behind_gateway=True))
    assert end is None
    assert {one.url for one in sent} == {URL}


def test_an_impatient_hunt_sends_one_request() -> None:
    sent, _, _ = run(OVER, lambda _: (200, UNKNOWN), patient=False)
    assert [one.method for one in sent] == ["notify_match_result"]


@pytest.mark.parametrize("name", list(shapes.SHAPES))
def test_every_shape_but_data_envelope_carries_the_whole_message(name: str) -> None:
    body = shapes.SHAPES[name].wrap(CALL, 1001)
    carried: dict[str, Any] = {}

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                carried.setdefault(key, item)
                collect(item)

    collect(body)
    legacy = name in ("legacy", "legacy_flat", "protocol_message", "handle_legacy")
    expected = CALL | ({"message_type": "MOVE_REQUEST"} if legacy else {})
    expected |= {shapes.MOVES_HANDLE: {"message_type": "REQUEST_MOVE"}}.get(name, {})
    if name == "data_envelope":
        # This shape is for agents that refuse other fields.
        assert body["data"] == {"match_id": "M-10001"}
        return
    assert {key: carried.get(key) for key in CALL} == expected
    assert ("id" in body) is (name not in ("flat", "legacy_flat"))
    if "id" in body:
        assert body["id"] == 1001


def test_the_legacy_shape_has_the_envelope_and_type_names_of_002() -> None:
    body = shapes.SHAPES["legacy_flat"].wrap(INVITATION, 1)
    assert (body["type"], body["protocol"], body["sender"]) == ("GAME_INVITE", "league.v2", "referee:REF01")
    assert body["payload"] == {"match_id": "R1M1", "auth_token": INVITATION["auth_token"]}
    assert body["correlation_id"] == "conv-1"
    assert len(body["message_id"]) == 36


def test_a_hunt_takes_204_for_a_body_without_an_id_as_not_understood() -> None:
    """A JSON-RPC server takes such a body for a notification."""
    seen: list[Understanding] = []
    hunt = Hunt(CALL, url=URL, memory=Memory(dialect="flat"), choice_field="parity_choice")
    for status in (204, 202):
        proposal = hunt.propose(1)
        assert proposal is not None
        seen.append(hunt.consider(proposal, status=status, body=None)[0])
    assert seen == [Understanding.NOT_UNDERSTOOD, Understanding.RECEIPT]


def test_an_impatient_hunt_blames_no_shape_for_a_redirect() -> None:
    memory = Memory()
    hunt = Hunt(OVER, url=URL, memory=memory, patient=False)
    proposal = hunt.propose(1)
    assert proposal is not None
    hunt.consider(proposal, status=307, body=None)
    assert memory.refused == {}
