"""The check of sessions of MCP: whether one lives beyond a call, and whether DELETE ends it."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web

from league_sdk.conformance.report import Report, Verdict
from league_sdk.dialects.discovery import LIMIT_S
from tests.league_sdk.conformance.agents import SHORT_LIMITS, Wrong, checked, clause, failed_and_tolerated, having
from tests.league_sdk.conformance.servers import Stateless, WithSessions
from tests.sizes import sampled

pytestmark = pytest.mark.usefixtures("hunts_without_pauses")
OF_SESSIONS = {"mcp.session", "mcp.session_end"}
OTHER_SESSION = "s9999"
"""A session that no answer to ``initialize`` gives."""


class Noted(WithSessions):
    """A server that notes the session of each ``tools/list``; tests override what happens after its answer."""

    def __init__(self) -> None:
        super().__init__()
        self.listings: list[str] = []

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        reply = await super().serve(request)
        if request.method == "POST" and b"tools/list" in await request.read():
            self.listings.append(request.headers["Mcp-Session-Id"])
            self.after(self.listings[-1], reply)
        return reply

    def after(self, session_id: str, reply: web.StreamResponse) -> None:
        """Called after an answer to ``tools/list``."""


def session_found(report: Report) -> str:
    """Why the session is tolerated only; the report has nothing about its end, and the agent can play."""
    assert report.can_play
    assert failed_and_tolerated(report)[1] & OF_SESSIONS == {"mcp.session"}
    assert not [one for one in report.clauses if one.id == "mcp.session_end"]
    return clause(report, "mcp.session").why


async def test_tools_are_listed_three_times_in_one_session_which_is_ended_once() -> None:
    agent = Noted()
    report = await checked(agent)
    assert having(report, Verdict.CONFORMS) >= OF_SESSIONS
    assert clause(report, "mcp.session_end").why == "After DELETE a call with it is answered with HTTP 404."
    [session] = set(agent.listings)
    assert len(agent.listings) == 3 and agent.deleted.count(session) == 1


class Forgets(Noted):
    """Forgets a session after one call."""

    def after(self, session_id: str, reply: web.StreamResponse) -> None:
        # The list keeps its length, which numbers the next session.
        self.session_ids = [one for one in self.session_ids if one != session_id] + [OTHER_SESSION]


async def test_a_session_that_is_forgotten_after_one_call_is_reported() -> None:
    assert session_found(await checked(Forgets())) == (
        "It took one call of its session, and refused the next: error -32600: Session not found. "
        "Keep a session until DELETE ends it, or give none."
    )


class Renews(Noted):
    """Gives a new session with each answer, and takes no other."""

    def after(self, session_id: str, reply: web.StreamResponse) -> None:
        self.session_ids = [OTHER_SESSION]
        reply.headers["Mcp-Session-Id"] = OTHER_SESSION


async def test_a_session_that_is_replaced_by_each_answer_is_reported() -> None:
    assert session_found(await checked(Renews())) == (
        "It gave another session with a later answer, and refused the one of initialize: error -32600: Session not "
        "found. Give a session with the answer to initialize only, and keep it."
    )


class Chatters(Noted):
    """Gives another session with each answer, and takes the first one all the same."""

    def after(self, session_id: str, reply: web.StreamResponse) -> None:
        reply.headers["Mcp-Session-Id"] = "x" * 300


async def test_another_session_in_a_later_answer_is_reported() -> None:
    why = session_found(await checked(Chatters()))
    assert why.startswith('A later answer had another Mcp-Session-Id than initialize gave, "xxx')
    assert why.endswith("some clients take that one. Give a session with the answer to initialize only.")
    assert len(why) < 400


class Repeats(Noted):
    """Repeats the session in every answer, as the SDKs do."""

    def after(self, session_id: str, reply: web.StreamResponse) -> None:
        reply.headers["Mcp-Session-Id"] = session_id


class Hangs(Noted):
    """Answers the first ``tools/list`` only."""

    async def call(self, method: Any, params: Any) -> Any:
        if method == "tools/list" and self.listings:
            await self.never()
        return await super().call(method, params)


async def test_a_session_whose_next_call_is_not_answered_is_reported() -> None:
    why = session_found(await checked(Hangs()))
    assert why.startswith("It answered one call of its session, and not the next: ")


class Ends(Noted):
    """Answers DELETE with a status, and keeps the session all the same unless that is 200.

    Args:
        deleted: the status for DELETE; None: it does not answer.
        after: if ``deleted`` is 200, the status for later calls with the session; None: it does not answer.
    """

    def __init__(self, deleted: int | None, after: int | None = 404) -> None:
        super().__init__()
        self.status, self.status_after = deleted, after

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "DELETE":
            await super().serve(request)
            return web.Response(status=await self.or_never(self.status))
        if request.headers.get("Mcp-Session-Id") in self.deleted and self.status == 200:
            return web.json_response(self.lost("gone"), status=await self.or_never(self.status_after))
        return await super().serve(request)

    def knows(self, session_id: str | None) -> bool:
        return session_id in self.session_ids

    async def or_never(self, status: int | None) -> int:
        if status is None:
            await asyncio.wait([asyncio.ensure_future(self.over.wait())], timeout=20)
        return status or 500


AFTERWARDS = (
    "DELETE was answered with HTTP {}, and a call with that session afterwards with HTTP {}. Better answer it with "
    "404, by which clients know that they have to begin anew."
)
UNKNOWN = "It did not answer {} in time: whether its session is over is not known."


@pytest.mark.parametrize(
    ("deleted", "after", "verdict", "why"),
    sampled(
        [
            (405, None, Verdict.CONFORMS, "It takes no DELETE (HTTP 405), as MCP allows: it ends sessions by itself."),
            (200, 404, Verdict.CONFORMS, "After DELETE a call with it is answered with HTTP 404."),
            (204, None, Verdict.TOLERATED, AFTERWARDS.format(204, 200)),
            (200, 400, Verdict.TOLERATED, AFTERWARDS.format(200, 400)),
            (
                501,
                None,
                Verdict.TOLERATED,
                "DELETE was answered with HTTP 501. Better answer 405 if you do not let clients end a session.",
            ),
            (
                307,
                None,
                Verdict.TOLERATED,
                "DELETE was answered with HTTP 307. Better answer 405 if you do not let clients end a session.",
            ),
            (None, None, Verdict.SKIPPED, UNKNOWN.format("DELETE")),
            (200, None, Verdict.SKIPPED, UNKNOWN.format("tools/list")),
        ]
    ),
)
async def test_what_delete_does_is_reported_as_advice(
    deleted: int | None, after: int | None, verdict: Verdict, why: str
) -> None:
    agent = Ends(deleted, after)
    report = await checked(agent)
    assert report.can_play
    one = clause(report, "mcp.session_end")
    assert (one.verdict, one.why) == (verdict, why)
    assert failed_and_tolerated(report)[1] & OF_SESSIONS == ({one.id} if verdict is Verdict.TOLERATED else set())
    # What DELETE did is not tried again at the end.
    [session] = set(agent.listings)
    assert agent.deleted.count(session) == 1


async def test_a_session_in_every_answer_is_not_a_mistake() -> None:
    assert having(await checked(Repeats()), Verdict.CONFORMS) >= OF_SESSIONS


class Both(Stateless, Noted):
    """A server of both eras: calls that say their version need no session."""

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Mcp-Protocol-Version") == "2026-07-28":
            return await Stateless.serve(self, request) if request.method != "POST" else await self.plain(request)
        return await Noted.serve(self, request)

    async def plain(self, request: web.BaseRequest) -> web.StreamResponse:
        body = json.loads(await request.read())
        try:
            result = await self.call(body["method"], body.get("params") or {})
        except Wrong as wrong:
            return web.json_response(self.error(body["id"], wrong.code))
        return web.json_response(self.reply(body["id"], result))

    async def call(self, method: Any, params: Any) -> Any:
        return self.initialized(params) if method == "initialize" else await super().call(method, params)


async def test_a_server_of_both_eras_is_checked_in_both() -> None:
    agent = Both()
    report = await checked(agent)
    assert clause(report, "mcp.version").why == "It speaks MCP 2026-07-28."
    assert having(report, Verdict.CONFORMS) >= OF_SESSIONS | {"mcp.greeting", "mcp.list"}

    class NoName(Both):
        def initialized(self, params: Any) -> Any:
            return super().initialized(params) | {"serverInfo": {}}

    why = clause(await checked(NoName()), "mcp.greeting").why
    assert why.startswith("serverInfo.name in initialize was missing")


class Hostile(Noted):
    """Gives another huge session id with every answer, and never answers DELETE."""

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "DELETE":
            self.deleted.append("")
            await asyncio.wait([asyncio.ensure_future(self.over.wait())], timeout=30)
            return web.Response(status=204)
        reply = await super(Noted, self).serve(request)
        if request.method == "POST" and b"tools/list" in await request.read():
            self.listings.append("")
        reply.headers["Mcp-Session-Id"] = f"{len(self.called_methods)}" + "y" * 7000
        return reply

    def knows(self, session_id: str | None) -> bool:
        return True


class Drips(Ends):
    """Ends a session with an answer to DELETE that never ends."""

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method != "DELETE":
            return await super().serve(request)
        await super().serve(request)
        response = web.StreamResponse(status=200)
        await response.prepare(request)
        with suppress(ConnectionError):
            while not self.over.is_set():
                await response.write(b"x" * 65536)
                await asyncio.sleep(0)
        return response


@pytest.mark.parametrize("agent", [Hostile(), Drips(200, None)], ids=lambda agent: type(agent).__name__)
async def test_a_hostile_server_costs_the_check_a_few_requests_and_seconds(agent: Noted) -> None:
    begun = time.monotonic()
    report = await checked(agent, limits=SHORT_LIMITS)
    assert report.can_play
    assert time.monotonic() - begun < 12 + 2 * LIMIT_S
    assert len(agent.listings) <= 6 and len(agent.deleted) <= 3
    assert len(json.dumps(report.to_json())) < 200_000
