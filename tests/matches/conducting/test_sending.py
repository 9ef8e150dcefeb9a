"""Messages that need more than one try until they are delivered (ruling, sections 3, 6 and 10)."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.dialects.hunt import Hunt, Memory
from league_sdk.protocol.messages import MessageType
from league_sdk.transport.client import Broken, NotReached, Reply, TimedOut
from matches.conducting import sending
from matches.conducting.outgoing import Start, Try
from matches.conducting.parcels import Parcel

URL = "http://127.0.0.1:8001/mcp"
ROUND = {"message_type": "ROUND_ANNOUNCEMENT", "round_id": 1, "matches": []}


class Down:
    """Replaces the HTTP client: unreachable for some calls, then it answers everything."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.methods: list[str] = []

    async def post(self, url: str, body: dict[str, Any], *, limit_s: float) -> Reply:
        if self.failures:
            self.failures -= 1
            raise NotReached("no connection", connected=False)
        self.methods.append(body["method"])
        return Reply(200, {"jsonrpc": "2.0", "id": body["id"], "result": {"status": "ok"}}, "", 0.0)


@pytest.mark.parametrize(("patient", "spoken"), [(True, {}), (False, {"ROUND_ANNOUNCEMENT": "message_type"})])
async def test_an_announcement_that_did_not_arrive_is_sent_again_in_the_same_dialect(
    patient: bool, spoken: dict[str, str]
) -> None:
    hunt = Hunt(ROUND, url=URL, memory=Memory(spoken=dict(spoken)), patient=patient)
    parcel, client = Parcel(7, URL, b"", 10.0, hunt), Down(1)
    with pytest.raises(NotReached):
        await sending.send_broadcast(client, parcel)  # type: ignore[arg-type]
    learned = await sending.send_broadcast(client, parcel)  # type: ignore[arg-type]
    shape, method = ("message_type", "ROUND_ANNOUNCEMENT") if spoken else ("canonical", "notify_round")
    assert (client.methods, learned) == ([method], {MessageType.ROUND_ANNOUNCEMENT: shape})


class Scripted:
    """Replaces the HTTP client: every call ends in the given way."""

    def __init__(self, end: Exception | Reply) -> None:
        self.end = end

    async def post(self, url: str, body: bytes, *, limit_s: float) -> Reply:
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


def said(**what: Any) -> Reply:
    return Reply(200, {"jsonrpc": "2.0", "id": 1, **what}, "", 0.0)


GONE = NotReached("no connection", connected=False)
CUT_OFF = Broken("the connection was closed without an answer", connected=True)
SILENT = TimedOut("no answer within 2 s", connected=True)


@pytest.mark.parametrize(
    ("end", "sent_before", "in_doubt"),
    [
        (GONE, False, False),
        # The referee that took the earlier start may be unreachable only at this moment.
        (GONE, True, True),
        (CUT_OFF, False, True),
        (SILENT, False, True),
        # The referee may have too many connections at this moment.
        (TimedOut("no connection within 2 s", connected=False), False, True),
        # A proxy may have passed the start on before it timed out.
        (Reply(504, "<html>Gateway Time-out</html>", "", 0.0), False, True),
        (Reply(200, None, "it is empty", 0.0), False, True),
        (Reply(502, {"detail": "Bad Gateway"}, "", 0.0), False, True),
        (said(result={"accepted": False}), True, False),
        (said(error={"code": -32001, "message": "…", "data": {"error_code": "E012"}}), True, False),
        (said(result={"accepted": True}), True, False),
    ],
)
async def test_a_start_is_in_doubt_until_the_referee_has_answered(
    end: Exception | Reply, sent_before: bool, in_doubt: bool
) -> None:
    start = Start(1, 1, 1, URL, (Try("", b"", 1),), 2.0, 8.0, sent_before=sent_before)
    offered = await sending.send_start(Scripted(end), start, limit_s=2.0)  # type: ignore[arg-type]
    assert offered.in_doubt == in_doubt


class Asked:
    """Replaces the HTTP client: records the headers of each call."""

    def __init__(self) -> None:
        self.headers: list[Any] = []

    async def post(self, url: str, body: bytes, *, limit_s: float, headers: Any = None) -> Reply:
        self.headers.append(headers)
        return said(result={"accepted": True})


@pytest.mark.parametrize(("bearer", "headers"), [("", None), ("tok_1", {"authorization": "Bearer tok_1"})])
async def test_requests_to_our_referees_carry_an_authorization_header(bearer: str, headers: Any) -> None:
    """The door of a referee serves the league manager first, and must recognise it before it reads the body."""
    client = Asked()
    start = Start(1, 1, 1, URL, (Try("", b"", 1),), 2.0, 8.0, bearer=bearer)
    await sending.send_start(client, start, limit_s=2.0)  # type: ignore[arg-type]
    await sending.send_broadcast(client, Parcel(7, URL, b"", 10.0, bearer=bearer))  # type: ignore[arg-type]
    assert client.headers == [headers, headers]
