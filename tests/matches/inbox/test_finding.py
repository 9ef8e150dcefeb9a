"""What a call at an agent's address found: an agent, nobody, a router's page or another program."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from league_sdk.protocol.calls import CallFailed, NotReached, Reply
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.inbox import Way
from league_sdk.protocol.notes import Code, note
from league_sdk.transport.failures import out_of_time
from matches.inbox.finding import FirstCall, found_by

HTML = {"content-type": "text/html; charset=utf-8"}
REFUSED = NotReached(
    f"no connection: {os.strerror(errno.ECONNREFUSED)}", connected=False, detail=note(Code.NOBODY_LISTENS)
)


@pytest.mark.parametrize(
    ("outcome", "found"),
    [
        (Reply(200, {"jsonrpc": "2.0", "id": 1, "result": {}}, "", 0.1), ""),
        # An agent that does not know pings, and agents that leave parts of JSON-RPC out.
        (Reply(200, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "?"}}, "", 0.1), ""),
        (Reply(200, {"id": None, "error": "unknown"}, "", 0.1), ""),
        (Reply(200, {"message_type": "PONG"}, "", 0.1), ""),
        (Reply(200, [{"jsonrpc": "2.0", "id": 1, "result": {}}], "", 0.1), ""),
        # Another program with an API of its own.
        (Reply(404, {"detail": "Not Found"}, "", 0.1), "JSON that is no JSON-RPC reply (HTTP 404)"),
        (Reply(200, {"id": 7, "name": "printer"}, "", 0.1), "JSON that is no JSON-RPC reply (HTTP 200)"),
        (Reply(200, [], "", 0.1), "JSON that is no JSON-RPC reply (HTTP 200)"),
        (Reply(200, None, "not JSON", 0.1, HTML), "a web page is at its address (HTTP 200)"),
        (Reply(400, None, "not JSON", 0.1), "a program that does not speak JSON (HTTP 400)"),
        (Reply(200, "hello", "", 0.1), "a program that does not speak JSON (HTTP 200)"),
        (REFUSED, "nobody listens at its address"),
        (out_of_time(Cause.CONNECT, 2), "no connection in time, as behind a router or a firewall"),
        (out_of_time(Cause.DEADLINE, 2), "no answer in time"),
        (out_of_time(Cause.NAME_LOOKUP, 2), "the name server of the address gave no answer"),
        # The call went over the agent's own line.
        (Reply(200, {}, "", 0.1, way=Way.INBOX), None),
        (NotReached("was not connected", connected=False, way=Way.INBOX), None),
        # The site's own machine is to blame.
        (NotReached("too many files", connected=False, cause=Cause.LEAGUE), None),
    ],
)
def test_the_outcome_of_a_call_says_what_is_at_the_address(outcome: Reply | CallFailed, found: str | None) -> None:
    finding = found_by(outcome)
    assert (None if finding is None else str(finding)) == found


def test_an_agent_that_was_not_called_in_json_rpc_need_not_answer_in_it() -> None:
    assert found_by(Reply(404, {"error": "POST to /mcp"}, "", 0.1), rpc=False) == ""


class Answers:
    """A caller whose calls end with these outcomes, one after the other."""

    def __init__(self, *outcomes: Reply | CallFailed) -> None:
        self._outcomes = list(outcomes)

    async def post(self, url: str, message: Any, *, limit_s: float, headers: Any = None) -> Reply:
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, CallFailed):
            raise outcome
        return outcome

    async def delete(self, url: str, headers: Any, *, limit_s: float) -> None:
        """Do nothing: there is no session."""

    def under_same_policy(self, agent_type: str) -> Answers:
        return self

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


async def test_only_the_first_call_of_a_check_tells_what_is_at_the_address() -> None:
    page, reply = (
        Reply(200, None, "not JSON", 0.1, HTML),
        Reply(200, {"jsonrpc": "2.0", "id": 1, "result": {}}, "", 0.1),
    )
    for first, found in ((page, "a web page is at its address (HTTP 200)"), (reply, "")):
        caller = FirstCall(Answers(first, page, reply))
        assert caller.found is None
        for _ in range(3):
            await caller.post("http://127.0.0.1:8101/mcp", {}, limit_s=1)
            assert str(caller.found) == found
    refused = FirstCall(Answers(REFUSED))
    with pytest.raises(NotReached):
        await refused.post("http://127.0.0.1:8101/mcp", {}, limit_s=1)
    assert str(refused.found) == "nobody listens at its address"
