"""The result of a call to a player (ruling, section 6)."""

from typing import Any

import pytest

from league_sdk.asking.call_result import CallResult
from league_sdk.protocol.faults import Cause
from league_sdk.transport.client import Broken, CallFailed, NotReached, Reply, TimedOut
from tests.league_sdk.judging.called_agent import INVITATION, P02, Agent, ask, caller_of, in_turn, meet, reply

ACCEPT = {"message_type": "GAME_JOIN_ACK", "accept": True}


@pytest.mark.parametrize(
    ("answer", "code", "message", "connected", "fault"),
    [
        (reply(200, {"jsonrpc": "2.0", "result": ACCEPT, "id": 1001}), None, ACCEPT, True, (None, "")),
        (reply(500, {"detail": "oops"}), "E009", {}, True, ("HTTP_STATUS", "HTTP 500")),
        (reply(503, None, "The body is not JSON: x."), "E009", {}, True, ("HTTP_STATUS", "HTTP 503")),
        (reply(404, None), "E002", {}, True, ("HTTP_STATUS", "HTTP 404")),
        (reply(200, None, "The body is not JSON: x."), "E002", {}, True, ("NOT_JSON", "The body is not JSON: x")),
        (
            reply(200, {"jsonrpc": "2.0", "error": {"code": -32000, "message": f"no tok_{'a' * 32}"}, "id": 1001}),
            "E002",
            {},
            True,
            ("WRONG_MESSAGE", "it answered with the error 'no tok_…'"),
        ),
        (TimedOut("no answer within 5 s", connected=True), "E001", {}, True, ("DEADLINE", "")),
        (
            TimedOut("no connection within 5 s", connected=False, cause=Cause.CONNECT),
            "E001",
            {},
            False,
            ("CONNECT", "no connection within 5 s"),
        ),
        (NotReached("no connection", connected=False), "E009", {}, False, ("CONNECT", "no connection")),
        (
            NotReached("the name of the address is not known", connected=False, cause=Cause.NAME_LOOKUP),
            "E009",
            {},
            False,
            ("NAME_LOOKUP", "the name of the address is not known"),
        ),
        (
            Broken("the connection broke off", connected=True),
            "E009",
            {},
            True,
            ("CONNECT", "the connection broke off"),
        ),
    ],
)
async def test_an_ask_returns_the_result_of_the_call(
    answer: Reply | CallFailed,
    code: str | None,
    message: dict[str, Any],
    connected: bool,
    fault: tuple[str | None, str],
) -> None:
    agent, caller = meet(in_turn(answer))
    result = await ask(caller, INVITATION)
    assert (result.error_code, result.message, result.connected) == (code, message, connected)
    assert (result.cause, str(result.detail)) == fault
    assert result.problem == "" if code is None else result.problem != ""
    sent = {"jsonrpc": "2.0", "method": "handle_game_invitation", "params": INVITATION, "id": 1001}
    assert (agent.posted[0], agent.limits[0]) == (("http://localhost:8101/mcp", sent), 5)


async def test_after_five_failures_in_a_row_a_player_is_not_called() -> None:
    down = NotReached("the name of the address is not known", connected=False, cause=Cause.NAME_LOOKUP)
    agent, caller = meet(in_turn(*[down] * 5, reply(200, {"result": ACCEPT})))
    for _ in range(5):
        await ask(caller, INVITATION)
    assert await ask(caller, INVITATION) == CallResult(
        error_code="E009",
        problem="not called: 5 failures in a row",
        connected=False,
        cause=Cause.NAME_LOOKUP,
        detail="not called any more: 5 failures in a row",
    )
    assert (await ask(caller, INVITATION, seat=P02)).message == ACCEPT
    assert [url for url, _ in agent.posted] == ["http://localhost:8101/mcp"] * 5 + ["http://localhost:8102/mcp"]


@pytest.mark.parametrize("fault", [{"cause": Cause.REFEREE}, {"cause": Cause.CONNECT, "maybe_offline": True}])
async def test_a_failure_of_our_network_does_not_open_the_circuit_breaker(fault: dict[str, Any]) -> None:
    ours = NotReached("no way out", connected=False, **fault)
    caller = caller_of(Agent(in_turn(*[ours] * 9, reply(200, {"result": ACCEPT}))), "this machine has no network")
    for _ in range(9):
        await ask(caller, INVITATION)
    assert (await ask(caller, INVITATION)).message == ACCEPT
