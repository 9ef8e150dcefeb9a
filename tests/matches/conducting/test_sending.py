"""Starts and broadcasts: their tries, outcomes, headers and ids (ruling, sections 3, 6 and 10)."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from league_sdk.dialects.hunt import Hunt, Memory
from league_sdk.protocol.messages import MessageType
from league_sdk.transport.client import Broken, NotReached, Reply, TimedOut
from league_sdk.transport.relayed import league_away
from matches.conducting import outgoing, sending
from matches.conducting.outgoing import Start, Try
from matches.conducting.parcels import Parcel, rpc_id_of

URL = "http://127.0.0.1:8001/mcp"
ROUND = {"message_type": "ROUND_ANNOUNCEMENT", "round_id": 1, "matches": []}


class UnreachableAtFirst:
    """Replaces the HTTP client: the agent is unreachable for some calls, then answers each."""

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
    parcel, client = Parcel(7, URL, b"", 10.0, hunt), UnreachableAtFirst(1)
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


def rpc_reply(**what: Any) -> Reply:
    return Reply(200, {"jsonrpc": "2.0", "id": 1, **what}, "", 0.0)


NOT_REACHED = NotReached("no connection", connected=False)
CUT_OFF = Broken("the connection was closed without an answer", connected=True)
SILENT = TimedOut("no answer within 2 s", connected=True)


@pytest.mark.parametrize(
    ("end", "sent_before", "in_doubt"),
    [
        (NOT_REACHED, False, False),
        # The referee that took the earlier start may be unreachable only at this moment.
        (NOT_REACHED, True, True),
        (CUT_OFF, False, True),
        (SILENT, False, True),
        # The referee may have too many connections at this moment.
        (TimedOut("no connection within 2 s", connected=False), False, True),
        # Over its line, while a process of the site stood still.
        (league_away(connected=False), False, True),
        (league_away(connected=True), False, True),
        # A proxy may have passed the start on before it timed out.
        (Reply(504, "<html>Gateway Time-out</html>", "", 0.0), False, True),
        (Reply(200, None, "it is empty", 0.0), False, True),
        (Reply(502, {"detail": "Bad Gateway"}, "", 0.0), False, True),
        (rpc_reply(result={"accepted": False}), True, False),
        (rpc_reply(error={"code": -32001, "message": "…", "data": {"error_code": "E012"}}), True, False),
        (rpc_reply(result={"accepted": True}), True, False),
    ],
)
async def test_a_start_that_may_have_arrived_is_in_doubt_until_the_referee_has_answered(
    end: Exception | Reply, sent_before: bool, in_doubt: bool
) -> None:
    start = Start(1, 1, 1, URL, 2.0, 8.0, b"{}", sent_before=sent_before)
    [offered] = await sending.send_starts(Scripted(end), [start], limit_s=2.0)  # type: ignore[arg-type]
    assert offered.in_doubt == in_doubt


@pytest.mark.parametrize(
    ("end", "is_taken"), [(SILENT, True), (league_away(connected=True), True), (league_away(connected=False), False)]
)
async def test_a_referee_that_plays_before_it_answers_has_taken_its_start(end: Exception, is_taken: bool) -> None:
    first = Try("start_match", b"{}", 1)
    start = Start(1, 1, 1, URL, 2.0, 8.0, b"{}", sends_progress=False, tries=(first,))
    [offered] = await sending.send_starts(Scripted(end), [start], limit_s=2.0)  # type: ignore[arg-type]
    assert (offered.problem == "") is is_taken
    assert not offered.in_doubt


def starts(count: int = 3, **more: Any) -> list[Start]:
    """Starts of several matches at one referee of the site."""
    return [Start(n, 1, 1, URL, 2.0, 8.0, b'{"match_id":"R1M%d"}' % n, **more) for n in range(1, count + 1)]


ACCEPTED = {"accepted": True, "reason": None}
BUSY = {"accepted": False, "reason": "this referee plays 32 matches already"}
REFUSED = {"accepted": False, "reason": "settings is wrong.", "error_code": "E002"}
ANOTHER_TOKEN = {
    "accepted": False,
    "reason": "start_match is not taken.",
    "error_code": "E012",
}


async def test_the_starts_of_one_referee_are_one_call_with_an_answer_for_each() -> None:
    client = RecordingClient(rpc_reply(result={"matches": [ACCEPTED, BUSY, REFUSED, ANOTHER_TOKEN, None]}))
    offered = await sending.send_starts(client, starts(5, bearer="tok_1"), limit_s=2.0)  # type: ignore[arg-type]
    assert [(one.problem == "", one.counts, one.in_doubt) for one in offered] == [
        (True, False, False),
        (False, False, False),
        (False, True, False),
        (False, False, False),
        (False, True, False),
    ]
    [call] = client.calls
    assert (call["method"], call["params"]["auth_token"]) == ("start_matches", "tok_1")
    assert call["params"]["matches"] == [{"match_id": f"R1M{n}"} for n in range(1, 6)]


@pytest.mark.parametrize(("end", "in_doubt"), [(NOT_REACHED, False), (CUT_OFF, True), (SILENT, True)])
async def test_if_a_call_with_several_starts_fails_all_of_them_are_in_doubt_or_none(
    end: Exception, in_doubt: bool
) -> None:
    offered = await sending.send_starts(Scripted(end), starts(), limit_s=2.0)  # type: ignore[arg-type]
    assert [one.in_doubt for one in offered] == [in_doubt] * 3


@pytest.mark.parametrize(
    "answer",
    [
        # An earlier version of the site's referee, an answer for too few matches, a proxy that gave up.
        rpc_reply(
            error={"code": -32601, "message": "This referee has no such method.", "data": {"error_code": "E002"}}
        ),
        rpc_reply(result={"matches": [ACCEPTED]}),
        Reply(504, "<html>Gateway Time-out</html>", "", 0.0),
    ],
)
async def test_without_an_answer_for_each_match_each_start_is_sent_alone(answer: Reply) -> None:
    client = RecordingClient(answer, rpc_reply(result=ACCEPTED))
    offered = await sending.send_starts(client, starts(), limit_s=2.0)  # type: ignore[arg-type]
    assert offered == [sending.StartResult()] * 3
    assert [call["method"] for call in client.calls] == ["start_matches", *["start_match"] * 3]
    assert [call["params"] for call in client.calls[1:]] == [{"match_id": f"R1M{n}"} for n in range(1, 4)]


def test_starts_go_in_one_call_by_referee_and_up_to_the_limit_of_a_body() -> None:
    def start(number: int, referee: int, size: int = 10, *, limit_s: float = 2.0, several: bool = True) -> Start:
        return Start(number, 1, referee, URL, limit_s, 8.0, b"x" * size, takes_several=several)

    large = outgoing.MAX_STARTS_BYTES // 2 + 1
    starts = [start(1, 1), start(2, 2), start(3, 1), start(4, 3, several=False), start(5, 3, several=False)]
    starts += [start(6, 2, large), start(7, 2, large), start(8, 2), start(9, 1, limit_s=0.05)]
    calls = [[one.match_pk for one in call] for call in outgoing.in_calls(starts)]
    assert calls == [[1, 3], [2, 6], [4], [5], [7, 8], [9]]
    assert outgoing.in_calls([]) == []


class RecordingClient:
    """Replaces the HTTP client: records each call, and gives the answers in order; the last one repeatedly."""

    def __init__(self, *answers: Reply) -> None:
        self.answers = list(answers)
        self.headers: list[Any] = []
        self.calls: list[Any] = []

    async def post(self, url: str, body: bytes, *, limit_s: float, headers: Any = None) -> Reply:
        self.headers.append(headers)
        self.calls.append(json.loads(body) if body else None)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.mark.parametrize(("bearer", "headers"), [("", None), ("tok_1", {"authorization": "Bearer tok_1"})])
async def test_requests_to_referees_of_the_site_have_an_authorization_header(bearer: str, headers: Any) -> None:
    """The door of a referee serves the league manager first, and must recognise it before it reads the body."""
    client = RecordingClient(rpc_reply(result={"accepted": True}))
    start = Start(1, 1, 1, URL, 2.0, 8.0, b"{}", bearer=bearer)
    await sending.send_starts(client, [start], limit_s=2.0)  # type: ignore[arg-type]
    await sending.send_broadcast(client, Parcel(7, URL, b"", 10.0, bearer=bearer))  # type: ignore[arg-type]
    assert client.headers == [headers, headers]


def test_the_ids_of_requests_do_not_tell_how_many_deliveries_lie_between_them() -> None:
    """Behind a freeze they would tell that somebody gets no messages any more."""
    ids = [rpc_id_of(number) for number in range(1, 101)]
    assert ids == [rpc_id_of(number) for number in range(1, 101)]
    assert len({later - earlier for earlier, later in pairwise(ids)}) > 90
    assert all(one > 0 and one + 99 < 2**31 for one in ids)
