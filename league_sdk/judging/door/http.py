"""The HTTP side of a referee: reads requests within their budgets, and passes on to judging what it has to answer.

It runs in a process of its own (``door/__main__.py``): whatever strangers send is read, parsed and refused here.
A message is refused in the dialect that it came in, and by a JSON-RPC error if it cannot be read (ruling, section 5).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any

from aiohttp import web

from league_sdk.judging.door import mounting
from league_sdk.judging.door.answering import HEALTH, METRICS, Answering, Judging
from league_sdk.judging.door.budgets import Budgets, too_often
from league_sdk.judging.door.calling import Call
from league_sdk.judging.door.tools import NAMES
from league_sdk.judging.observing import metrics
from league_sdk.mcp.versions import is_mcp
from league_sdk.protocol import SDK_VERSION
from league_sdk.protocol.dispatch import Post, Reply
from league_sdk.protocol.errors import LeagueError, NotARequest, TooOften
from league_sdk.protocol.limits import MAX_BODY_BYTES
from league_sdk.serving import check_length, post_of, respond, response, too_large

BODY_TIMEOUT_S = 10.0
"""How long a body may take to arrive; the same as at the site itself."""
HEALTH_CACHED_S = 0.5
"""Judging is asked for its health at most twice a second, however many callers want to know."""
HEALTH_TIMEOUT_S = 5.0


class DoorHandlers:
    """Answers what players and the league manager send to a referee.

    Args:
        judging: answers what is passed on.
        budgets: who may send how much.
        body_timeout_s: how long a body may take to arrive.
    """

    def __init__(self, judging: Judging, budgets: Budgets, *, body_timeout_s: float = BODY_TIMEOUT_S) -> None:
        self._judging = judging
        self._body_timeout_s = body_timeout_s
        self._budgets = budgets
        self._mcp = mounting.make_server()
        self._answered: Counter[tuple[str, str]] = Counter()
        self._health: asyncio.Task[dict[str, Any]] | None = None
        self._health_until = 0.0

    def _counts(self) -> dict[str, Any]:
        """How many requests the door has answered by itself, and how many it has refused."""
        return {
            "answered": [[name, code, number] for (name, code), number in self._answered.items()],
            "turned_away": dict(self._budgets.turned_away),
        }

    async def mcp(self, request: web.Request) -> web.StreamResponse:
        """Answer a request, or refuse it, in the dialect or the version of MCP that it came in."""
        if request.method != "POST" and not is_mcp(None, request.headers):
            return await self.not_found(request)
        exchange, call = Answering(self._judging), self._call(request)
        mcp_reply: Reply | None = None
        with exchange.guarded():
            if not self._budgets.take_request(call.caller, call.address):
                raise too_often()
            check_length(request)
            with self._budgets.pending_request(call.caller, call.address):
                post = await _read(request, self._body_timeout_s)
                with self._budgets.pending_body(call.caller, len(post.body)):
                    if is_mcp(post.decoded, request.headers):
                        mcp_reply = await mounting.answer(self._mcp, call, request.method, request.headers, post)
                    else:
                        exchange.answer(await call.answer(exchange.read(post)))
        reply = exchange.reply if mcp_reply is None else mcp_reply
        if not call.passed_on:
            self._answered[_name_of(exchange, mcp_reply), _outcome_of(exchange, mcp_reply)] += 1
        if exchange.reply.status == TooOften.http_status:
            answer = response(reply)
            # Perhaps the body was not read: the next request on this connection would begin in the middle of it.
            answer.force_close()
            return answer
        return await respond(request, reply)

    def _call(self, request: web.BaseRequest) -> Call:
        return Call(request, self._judging, self._budgets)

    async def health(self, request: web.Request) -> web.Response:
        """Answer 200 from registration until the referee leaves (000 section 8), and nothing about its matches."""
        if refused := self._refusal_of(request):
            return refused
        if self._health is None or (self._health.done() and time.monotonic() >= self._health_until):
            self._health = asyncio.create_task(
                self._judging.perform(HEALTH, {}, _nobody_waits), name="health of judging"
            )
            self._health_until = time.monotonic() + HEALTH_CACHED_S
        try:
            async with asyncio.timeout(HEALTH_TIMEOUT_S):
                health = await asyncio.shield(self._health)
        except (TimeoutError, LeagueError):
            health = {
                "status": "silent",
                "agent_id": self._judging.referee_id or None,
                "version": SDK_VERSION,
                "uptime": 0,
            }
        return web.json_response(health, status=200 if health["status"] == "ok" else 503)

    async def metrics(self, request: web.Request) -> web.Response:
        """Metrics for Prometheus; they need a key because they tell that matches are played."""
        if refused := self._refusal_of(request):
            return refused
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        call = self._call(request)
        key = token.strip() if scheme.lower() == "bearer" else ""
        try:
            with self._budgets.pending_request(call.caller, call.address):
                answer = await self._judging.perform(METRICS, {"key": key, "counts": self._counts()}, _nobody_waits)
        except TooOften:
            return _too_many_requests()
        except LeagueError as error:
            return web.json_response({"error": error.message}, status=503)
        return web.Response(body=answer["text"].encode(), status=answer["status"], headers=answer["headers"])

    async def not_found(self, request: web.Request) -> web.Response:
        """Answer 404, within a budget as well."""
        if refused := self._refusal_of(request):
            return refused
        return web.json_response({"error": "Messages are sent by POST to /mcp."}, status=404)

    def _refusal_of(self, request: web.Request) -> web.Response | None:
        """The refusal of a request beyond its caller's budget; None if it may go on."""
        call = self._call(request)
        room = self._budgets.take_request(call.caller, call.address)
        return None if room else _too_many_requests()


def _too_many_requests() -> web.Response:
    answer = web.json_response({"error": "Too many requests: try again later."}, status=429)
    answer.force_close()
    return answer


async def _nobody_waits() -> bool:
    """For requests that change nothing, whether or not somebody waits."""
    return False


def _name_of(exchange: Answering, mcp_reply: Reply | None) -> str:
    """What a request that the door has answered is counted as."""
    if mcp_reply is not None:
        return "mcp"
    return exchange.request.name if exchange.request is not None and exchange.request.name in NAMES else "other"


def _outcome_of(exchange: Answering, mcp_reply: Reply | None) -> str:
    if mcp_reply is not None:
        return metrics.OK if mcp_reply.status < 400 else f"HTTP {mcp_reply.status}"
    return exchange.error.error_code if exchange.error else metrics.OK


async def _read(request: web.Request, timeout_s: float) -> Post:
    """The request with its body, decoded if possible. If not, the protocol that the request speaks refuses it later."""
    try:
        async with asyncio.timeout(timeout_s):
            post = post_of(request, await request.read())
    except TimeoutError:
        # The sender may go on like this for hours, and does not read an answer meanwhile.
        if request.transport is not None:
            request.transport.abort()
        expected = f"all of it in {timeout_s:g} s"
        raise NotARequest("The body took too long.", field="body", seen="not all of it", expected=expected) from None
    except web.HTTPRequestEntityTooLarge:
        raise too_large() from None
    with suppress(LeagueError):
        post = replace(post, decoded=post.decode())
    return post


_SEAT = r"{seat:[tT][oO][kK]_[0-9a-fA-F]{32}}"


def application(judging: Judging, budgets: Budgets, *, body_timeout_s: float = BODY_TIMEOUT_S) -> web.Application:
    """The routes of a referee.

    Args:
        judging: answers what is passed on.
        budgets: who may send how much; they know the league manager's token.
        body_timeout_s: how long a body may take to arrive.
    """
    handlers = DoorHandlers(judging, budgets, body_timeout_s=body_timeout_s)
    app = web.Application(client_max_size=MAX_BODY_BYTES + 1)
    app.router.add_get("/health", handlers.health)
    app.router.add_get("/metrics", handlers.metrics)
    # A seat's path ends in its secret, whatever stands before it. After the match its callers count as strangers.
    # Upper and lower case do not matter, as some agents write /MCP.
    for path in ("/", "/mcp", "/mcp/", r"/{mcp:[mM][cC][pP]}", r"/{mcp:[mM][cC][pP]}/", rf"/mcp/{_SEAT}"):
        app.router.add_route("*", path, handlers.mcp)
    app.router.add_route("*", rf"/{{before:.*}}/{_SEAT}", handlers.mcp)
    app.router.add_route("*", "/{other:.*}", handlers.not_found)
    return app
